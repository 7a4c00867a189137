//! The test suite: cargo-nextest where it is installed, else cargo's own runner; then the doctests.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    stages::Tally,
    workspace::{Workspace, line_of, output, run},
};

/// Where the tests with real agents are. They are a stage of their own.
const AGENTS: &str = "real_agents::";

/// Where the tests with real test runners are. They are part of the stage `outside`.
const RUNNERS: &str = "real_runners::";

/// Where the tests with a real PostgreSQL are. They are a stage of their own.
const POSTGRES: [&str; 2] = ["postgres::tests::", "on_postgres::"];

/// Where the tests with hostile agents, clients and files are. They are a stage of their own.
const HOSTILE: &str = "hostile::";

/// Where the fuzzers are, in any crate. They are a stage of their own.
const FUZZ: &str = "fuzz::";

/// How long each fuzzer runs as a stage, in seconds.
const FUZZ_SECONDS: u64 = 8;

/// Sets how long a fuzzer runs.
const FUZZ_VARIABLE: &str = "MUSTER_FUZZ_SECONDS";

/// Runs every unit, model, contract and end-to-end test.
pub(crate) fn tests(workspace: &Workspace) -> Result<Tally> {
    part(workspace, Part::Plain)
}

/// Runs the tests with hostile agents, clients and files.
pub(crate) fn hostile(workspace: &Workspace) -> Result<Tally> {
    part(workspace, Part::Hostile)
}

/// Runs every fuzzer for a short time.
pub(crate) fn fuzz(workspace: &Workspace) -> Result<Tally> {
    part(workspace, Part::Fuzz)
}

/// Runs the fuzzers, or those with a word in their names, each for `seconds` seconds.
pub(crate) fn fuzz_for(workspace: &Workspace, seconds: u64, word: Option<&str>) -> Result<bool> {
    let mut command = if has_nextest(workspace) {
        let chosen = word.map_or(String::new(), |word| format!(" & test({word})"));
        let expression = Part::Fuzz.expression() + &chosen;
        let mut command = workspace.cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]);
        command.args(SHOWN).args(["-E", &expression]);
        command
    } else {
        let mut command = workspace.cargo(&TARGETS);
        command.args(["--nocapture", word.unwrap_or(FUZZ)]);
        command
    };
    run(command.env(FUZZ_VARIABLE, seconds.to_string()))
}

/// Shows the output of a fuzzer that found nothing: how much it has tried.
const SHOWN: [&str; 2] = ["--success-output", "immediate"];

/// How the tests are run without cargo-nextest.
const TARGETS: [&str; 7] =
    ["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--"];

/// A part of the tests.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Plain,
    Hostile,
    Fuzz,
}

impl Part {
    fn holds(self, test: &str) -> bool {
        let hostile = test.starts_with(HOSTILE);
        let fuzz = test.starts_with(FUZZ) || test.contains(&format!("::{FUZZ}"));
        let elsewhere = [AGENTS, RUNNERS].iter().chain(&POSTGRES).any(|at| test.starts_with(at));
        match self {
            Self::Plain => !hostile && !fuzz && !elsewhere,
            Self::Hostile => hostile,
            Self::Fuzz => fuzz,
        }
    }

    /// The filter expression for nextest.
    fn expression(self) -> String {
        match self {
            Self::Plain => format!("not test(/^{HOSTILE}/) & not test(/(^|::){FUZZ}/)"),
            Self::Hostile => format!("test(/^{HOSTILE}/)"),
            Self::Fuzz => format!("test(/(^|::){FUZZ}/)"),
        }
    }

    /// Options of nextest besides.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Plain | Self::Hostile => &[],
            Self::Fuzz => &SHOWN,
        }
    }
}

fn part(workspace: &Workspace, part: Part) -> Result<Tally> {
    if has_nextest(workspace) {
        return nextest(workspace, part);
    }
    println!("cargo-nextest is not installed: running the same tests with cargo test");
    let mut command = workspace.cargo(&TARGETS);
    match part {
        Part::Plain => command.args(["--skip", HOSTILE, "--skip", FUZZ]),
        Part::Hostile => command.arg(HOSTILE),
        Part::Fuzz => command.args(["--nocapture", FUZZ]),
    };
    counted(command.env(FUZZ_VARIABLE, FUZZ_SECONDS.to_string()))
}

fn has_nextest(workspace: &Workspace) -> bool {
    output(&mut workspace.cargo(&["nextest", "--version"])).is_ok()
}

/// Builds the tests with real agents, and the program that taps one.
pub(crate) fn build_agents(workspace: &Workspace) -> Result<bool> {
    let test = ["test", "--workspace", "--test", "e2e", "--no-run"];
    Ok(run(&mut workspace.cargo(&["build", "--workspace", "--examples"]))?
        && run(&mut workspace.cargo(&test))?)
}

/// Runs the tests with the real agents that are installed in a folder, in a separate network or by
/// the plain command.
pub(crate) fn agents(
    alone: Option<Command>,
    workspace: &Workspace,
    folder: &Path,
) -> Result<Tally> {
    counted(&mut alone.unwrap_or_else(|| agents_command(workspace, folder)))
}

/// The command that runs them. They wait for each other rather than for the machine, so more of
/// them run concurrently than there are cores.
pub(crate) fn agents_command(workspace: &Workspace, folder: &Path) -> Command {
    let mut command = workspace.cargo(&["test", "--offline", "--workspace", "--test", "e2e", "--"]);
    command.args(["--ignored", AGENTS, "--test-threads", "4"]).env("MUSTER_TEST_AGENTS", folder);
    command
}

/// Runs the tests with some of the real test runners. `folder` has those that were installed.
pub(crate) fn runners(
    workspace: &Workspace,
    names: &[&str],
    folder: &Path,
    node: &Path,
) -> Result<Tally> {
    let tests = names.iter().map(|name| format!("{RUNNERS}{name}"));
    let mut command = workspace.cargo(&["test", "--workspace", "--test", "e2e", "--"]);
    command.args(["--ignored", "--exact"]).args(tests);
    counted(command.env("MUSTER_TEST_RUNNERS", folder).env("MUSTER_TEST_NODE", node))
}

/// Runs the tests with a real PostgreSQL, whose programs are in a folder.
pub(crate) fn postgres(workspace: &Workspace, programs: &Path) -> Result<Tally> {
    // The whole workspace, because fewer packages would be built with other features, once more.
    let everything = ["test", "--workspace", "--no-fail-fast", "--lib", "--tests", "--"];
    let mut command = workspace.cargo(&everything);
    command.arg("--ignored").args(POSTGRES);
    counted(command.env("MUSTER_TEST_POSTGRES", programs))
}

/// Runs the examples in documentation comments.
pub(crate) fn doctests(workspace: &Workspace) -> Result<Tally> {
    counted(&mut workspace.cargo(&["test", "--workspace", "--no-fail-fast", "--doc"]))
}

fn nextest(workspace: &Workspace, part: Part) -> Result<Tally> {
    let report = workspace.target().join("nextest/counted/junit.xml");
    if report.exists() {
        // The report of an earlier run must not be counted when this one does not get that far.
        fs::remove_file(&report).context("remove the earlier test report")?;
    }
    let everything = ["run", "--workspace", "--no-fail-fast", "--profile", "counted"];
    let expression = part.expression();
    let mut command = workspace.cargo(&["nextest"]);
    command.args(everything).args(part.options()).args(["-E", &expression]);
    let passed = run(command.env(FUZZ_VARIABLE, FUZZ_SECONDS.to_string()))?;
    let listing = ["nextest", "list", "--workspace", "--message-format", "json"];
    let listing: Value = serde_json::from_str(&output(&mut workspace.cargo(&listing))?)?;
    let report = fs::read_to_string(&report).context("read the test report")?;
    let listed = Listed::read(&listing, part);
    let tally = Tally { skipped: listed.ignored, ..reported(&report)? };
    let ran = tally.passed + tally.failed;
    if listed.run != ran {
        bail!("the report is about {ran} tests, but there are {}", listed.run);
    }
    // A failure that the report does not show, such as a failed set-up, counts, too.
    Ok(if !passed && tally.failed == 0 { tally + Tally::one(false) } else { tally })
}

/// Counts of a JUnit report: the first element sums all others.
fn reported(report: &str) -> Result<Tally> {
    let start = report.find("<testsuites").context("the test report has no summary")?;
    let element = report[start..].split('>').next().unwrap_or_default();
    let count = |name: &str| -> Result<usize> {
        let value = element.split(&format!(" {name}=\"")).nth(1);
        let digits = value.and_then(|value| value.split('"').next());
        digits.context("the test report lacks a count")?.parse().context("count in the test report")
    };
    let failed = count("failures")? + count("errors")?;
    let passed = count("tests")?.saturating_sub(failed);
    Ok(Tally { passed, failed, skipped: 0 })
}

/// How many tests of a part a nextest listing has.
#[derive(Debug, Default, PartialEq)]
struct Listed {
    run: usize,
    ignored: usize,
}

impl Listed {
    fn read(listing: &Value, part: Part) -> Self {
        let suites = listing["rust-suites"].as_object().into_iter().flat_map(|all| all.values());
        let cases = suites.filter_map(|suite| suite["testcases"].as_object()).flatten();
        let mut listed = Self::default();
        for (_, case) in cases.filter(|(name, _)| part.holds(name)) {
            if case["ignored"] == true {
                listed.ignored += 1;
            } else {
                listed.run += 1;
            }
        }
        listed
    }
}

/// Runs cargo's own test runner and counts by its summary lines.
fn counted(command: &mut Command) -> Result<Tally> {
    println!("$ {}", line_of(command));
    let mut child = command.stdout(Stdio::piped()).spawn().context("start the tests")?;
    let stdout = child.stdout.take().context("the tests have an output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        tally = tally + summary(&line).unwrap_or_default();
    }
    let passed = child.wait()?.success();
    Ok(if !passed && tally.failed == 0 { tally + Tally::one(false) } else { tally })
}

/// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn summary(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |name: &str| {
        let part = counts.split("; ").find(|part| part.ends_with(name))?;
        part.split(' ').next()?.parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_counted_by_its_first_element() {
        let report = "<?xml version=\"1.0\"?>\n<testsuites name=\"nextest-run\" tests=\"7\" \
                      failures=\"2\" errors=\"1\" time=\"0.5\">\n<testsuite tests=\"7\"/>";
        assert_eq!(reported(report).unwrap(), Tally { passed: 4, failed: 3, skipped: 0 });
        assert!(reported("<testsuites tests=\"x\">").is_err());
        assert!(reported("").is_err());
    }

    #[test]
    fn tests_are_counted_by_their_part_in_every_suite() {
        let case = |ignored: bool| json!({"ignored": ignored});
        let listing = json!({"rust-suites": {
            "a": {"testcases": {"one": case(true), "two": case(false)}},
            "b": {"testcases": {
                "three": case(true),
                "real_agents::codex::one": case(true),
                "real_runners::pytest": case(true),
                "hostile::four": case(false),
                "fuzz::lines::five": case(false),
                "config::fuzz::six": case(false),
            }},
        }});
        assert_eq!(Listed::read(&listing, Part::Plain), Listed { run: 1, ignored: 2 });
        assert_eq!(Listed::read(&listing, Part::Hostile), Listed { run: 1, ignored: 0 });
        assert_eq!(Listed::read(&listing, Part::Fuzz), Listed { run: 2, ignored: 0 });
    }

    #[test]
    fn summary_lines_are_counted() {
        let line = "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out";
        assert_eq!(summary(line), Some(Tally { passed: 3, failed: 2, skipped: 1 }));
        assert_eq!(summary("test a::b ... ok"), None);
    }
}
