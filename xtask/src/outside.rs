//! Outside checks: official MCP clients against the real program, the official conformance
//! suite against the same adapter with the suite's fixtures, answers against the OpenAPI document,
//! test runners whose output is read, and real agents against a scripted model.
//!
//! Dependencies are installed from the package registries into `target/outside` and reused while
//! the lock file is unchanged. What cannot be installed is skipped with the reason.

pub(crate) mod alone;
mod document;
pub(crate) mod kit;
pub(crate) mod process;
mod runners;

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result};

use crate::{stages::Tally, suite, workspace::Workspace};
use kit::{NodeKit, PythonKit};
use process::{Script, Server, counted};

/// Longest run of one client or of the suite for one revision.
const SCRIPT_TIME_MAX: Duration = Duration::from_secs(120);

/// The protocol revisions that the suite has requirements for.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Scenarios of the tasks extension that have to pass; the suite does not score extensions. The
/// others are about tools that ask for input while they run, which no tool of Muster does.
const EXTENSION_SCENARIOS: [&str; 7] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-request-headers",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
];

/// Runs every outside check that can run here.
pub(crate) fn checks(workspace: &Workspace) -> Result<Tally> {
    let place = workspace.target().join("outside");
    fs::create_dir_all(&place).context("make the folder for outside checks")?;
    let sources = workspace.root().join("tests/clients");
    let node = NodeKit::prepare(&sources, &place);
    let python = PythonKit::prepare(&sources, &place);
    let mut tally = match &node {
        Ok(node) => conformance(workspace, node, &place)?,
        Err(reason) => left_out("conformance suite", reason),
    };
    tally = tally + clients(workspace, &node, &python, &place)?;
    tally = tally + document::check(workspace, &place)?;
    Ok(tally + runners::check(workspace, &node, &place)?)
}

/// Runs the tests with real agents, if they can be installed and isolated.
pub(crate) fn agents(workspace: &Workspace) -> Result<Tally> {
    if !cfg!(target_os = "linux") {
        return Ok(left_out("real agents", "what they leave behind is looked for in /proc"));
    }
    let place = workspace.target().join("outside");
    fs::create_dir_all(&place).context("make the folder for outside checks")?;
    let folder = match kit::agents(&workspace.root().join("tests/agents"), &place) {
        Ok(folder) => folder,
        Err(reason) => {
            let what = "codex, claude, gemini and opencode as people install them";
            return Ok(left_out(what, &reason));
        }
    };
    if !suite::build_agents(workspace)? {
        return Ok(Tally::one(false));
    }
    let inside = folder.to_str().context("the folder of the agents has a name")?;
    let alone = match alone::again(&["agents", "--alone", inside]) {
        Ok(command) => {
            println!("agents have a network of their own: there is loopback and nothing else");
            Some(command)
        }
        Err(reason) => {
            println!("agents have no network of their own, only a trap for proxies: {reason}");
            None
        }
    };
    suite::agents(alone, workspace, &folder)
}

pub(crate) fn left_out(what: &str, reason: &str) -> Tally {
    println!("skipped {what}: {reason}");
    Tally::skip()
}

/// The suite, once for each revision, on one server with its fixtures.
fn conformance(workspace: &Workspace, node: &NodeKit, place: &Path) -> Result<Tally> {
    let program = workspace.target().join("debug/conformance_server");
    let server = Server::start(&mut Command::new(&program), place, "conformance-server")?;
    let url = server.line_with("http://")?;
    let mut tally = tasks_extension(node, place, &program, url.trim())?;
    for revision in REVISIONS {
        let mut command = node.suite();
        command.args(["server", "--url", url.trim(), "--requirements", revision]);
        let name = format!("conformance-{revision}");
        let ended = Script::start(&mut command, place, &name)?.wait(SCRIPT_TIME_MAX)?;
        let extension: &[_] = if revision == REVISIONS[0] { &EXTENSION_SCENARIOS } else { &[] };
        let verdicts = Verdicts::read(&ended.output, extension);
        let mut required = verdicts.required();
        if !ended.succeeded && required.failed == 0 {
            required = required + Tally::one(false);
        }
        println!("{name}: {} scenarios required: {required}", required.passed + required.failed);
        for name in &verdicts.failed {
            println!("  FAILED {name}");
        }
        if required.failed > 0 || required.passed == 0 {
            println!("  the whole output: {}", ended.log.display());
            required = if required.failed > 0 { required } else { Tally::one(false) };
        }
        tally = tally + required;
    }
    Ok(tally)
}

/// The official package for the tasks extension, over both transports, on the same fixtures.
fn tasks_extension(node: &NodeKit, place: &Path, program: &Path, url: &str) -> Result<Tally> {
    let mut stdio = node.script("tasks_extension.mjs");
    stdio.arg("stdio").arg(program).arg("stdio");
    let mut http = node.script("tasks_extension.mjs");
    http.args(["http", url, "-"]);
    let mut tally = Tally::default();
    for (name, mut command) in [("ext-tasks-stdio", stdio), ("ext-tasks-http", http)] {
        tally = tally + judged(name, Script::start(&mut command, place, name)?)?;
    }
    Ok(tally)
}

/// The suite's summary of the scenarios that count.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdicts {
    passed: usize,
    failed: Vec<String>,
}

impl Verdicts {
    /// Reads `✓ name: 2 passed, 0 failed` lines, less the ones listed later as not scored, unless
    /// they are wanted all the same. One that is wanted and did not run counts as failed.
    fn read(output: &str, wanted: &[&str]) -> Self {
        let summary = output.split("=== SUMMARY ===").nth(1).unwrap_or_default();
        let (scored, unscored) = summary.split_once("Not scored").unwrap_or((summary, ""));
        let is_unscored = |name: &str| {
            let lines = unscored.lines().filter_map(|line| line.trim().get('✓'.len_utf8()..));
            lines.map(str::trim).any(|line| line.split(' ').next() == Some(name))
        };
        let mut verdicts = Self::default();
        for line in scored.lines() {
            let Some((name, _)) = line.split_once(": ") else { continue };
            match name.split_once(' ') {
                Some((_, name)) if is_unscored(name) && !wanted.contains(&name) => {}
                Some(("✓", _)) => verdicts.passed += 1,
                Some(("✗", name)) => verdicts.failed.push(name.to_owned()),
                Some(_) | None => {}
            }
        }
        let ran = |name: &str| scored.contains(&format!(" {name}: "));
        let missing = wanted.iter().filter(|name| !ran(name));
        verdicts.failed.extend(missing.map(|name| (*name).to_owned()));
        verdicts
    }

    fn required(&self) -> Tally {
        Tally { passed: self.passed, failed: self.failed.len(), skipped: 0 }
    }
}

/// Every client, each over stdio and over HTTP.
fn clients(
    workspace: &Workspace,
    node: &Result<NodeKit, String>,
    python: &Result<PythonKit, String>,
    place: &Path,
) -> Result<Tally> {
    let storage = place.join("storage");
    if storage.exists() {
        fs::remove_dir_all(&storage).context("remove the stores of the last run")?;
    }
    let muster = workspace.muster();
    let mut serve = Command::new(&muster);
    serve.args(["serve", "--addr", "127.0.0.1:0", "--storage-dir"]).arg(storage.join("http"));
    let server = Server::start(&mut serve, place, "muster-serve")?;
    let url = server.text_after("listens on")?;
    let token = fs::read_to_string(storage.join("http/token")).context("read the token")?;
    let http = ["http".to_owned(), format!("{url}/mcp?toolset=full"), token.trim().to_owned()];

    let mut tally = Tally::default();
    let mut scripts = Vec::new();
    for client in CLIENTS {
        for transport in ["stdio", "http"] {
            let name = format!("{}-{transport}", client.name);
            let command = match client.language {
                Language::JavaScript => node.as_ref().map(|node| node.script(client.file)),
                Language::Python => python.as_ref().map(|python| python.script(client.file)),
            };
            let mut command = match command {
                Ok(command) => command,
                Err(reason) => {
                    tally = tally + left_out(&name, reason);
                    continue;
                }
            };
            command.args(client.mode);
            if transport == "http" {
                command.args(&http);
            } else {
                command.arg("stdio").arg(&muster).args(["mcp", "--toolset", "full"]);
                command.arg("--storage-dir").arg(storage.join(&name));
            }
            scripts.push((name.clone(), Script::start(&mut command, place, &name)?));
        }
    }
    for mode in ["auto", "legacy"] {
        let Ok(node) = node else { continue };
        let name = format!("roots-{mode}");
        let mut command = node.script("roots.mjs");
        command.arg(mode).arg(&muster).args(["mcp", "--toolset", "full", "--storage-dir"]);
        command.arg(storage.join(&name));
        scripts.push((name.clone(), Script::start(&mut command, place, &name)?));
    }
    for (name, script) in scripts {
        tally = tally + judged(&name, script)?;
    }
    Ok(tally)
}

/// Waits for a client and reads its last line.
fn judged(name: &str, script: Script) -> Result<Tally> {
    let ended = script.wait(SCRIPT_TIME_MAX)?;
    let mut tally = counted(&ended.output).unwrap_or_default();
    if tally.failed == 0 && (!ended.succeeded || tally.passed == 0) {
        tally = tally + Tally::one(false);
    }
    println!("{name}: {tally}");
    if tally.failed > 0 {
        println!("{}", ended.output.trim_end());
    }
    Ok(tally)
}

#[derive(Clone, Copy)]
enum Language {
    JavaScript,
    Python,
}

/// One client in one mode.
struct Client {
    name: &'static str,
    language: Language,
    file: &'static str,
    mode: &'static [&'static str],
}

const CLIENTS: [Client; 7] = [
    Client {
        name: "python-auto",
        language: Language::Python,
        file: "python_client.py",
        mode: &["auto"],
    },
    Client {
        name: "python-legacy",
        language: Language::Python,
        file: "python_client.py",
        mode: &["legacy"],
    },
    Client { name: "typescript-v1", language: Language::JavaScript, file: "sdk_v1.mjs", mode: &[] },
    Client {
        name: "typescript-v2-auto",
        language: Language::JavaScript,
        file: "client_v2.mjs",
        mode: &["auto"],
    },
    Client {
        name: "typescript-v2-legacy",
        language: Language::JavaScript,
        file: "client_v2.mjs",
        mode: &["legacy"],
    },
    Client {
        name: "inspector-legacy",
        language: Language::JavaScript,
        file: "inspector.mjs",
        mode: &["legacy"],
    },
    Client {
        name: "inspector-modern",
        language: Language::JavaScript,
        file: "inspector.mjs",
        mode: &["modern"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scored_scenarios_count() {
        let output = "✓ before: 1 passed, 0 failed\n=== SUMMARY ===\n\
                      ✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 3 failed\n\
                      ✗ tasks: 0 passed, 9 failed\n✓ extra: 1 passed, 0 failed\n\n\
                      Total: 4 passed, 12 failed\n\nNot scored for 2025-11-25: 1 failing.\n  \
                      ✗ tasks (extension)\n  ✓ extra (pending)\n";
        let expected = Verdicts { passed: 1, failed: vec!["tools-list".to_owned()] };
        assert_eq!(Verdicts::read(output, &[]), expected);
        assert_eq!(Verdicts::read("no summary", &[]), Verdicts::default());
        let wanted = Verdicts::read(output, &["tasks", "extra", "absent"]);
        assert_eq!(wanted.passed, 2);
        assert_eq!(wanted.failed, ["tools-list", "tasks", "absent"]);
    }
}
