//! `muster check`: runs the accepted checks of a project here and now.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::checks::{
    CheckOrder, CheckOutcome, CheckProgress, CheckRunner, ProjectFile, Verdict,
};
use muster_core::checks::{
    definition::{CheckDefinition, ProjectDefinition},
    trust::ProjectTrust,
    verdict::TestCounts,
};
use serde::Serialize;

use super::trust::{project_of, root_of};
use crate::{
    config::Settings,
    output,
    screen::{Color, Screen, Tone},
    stop::StopRequest,
    storage,
};

/// How long the processes of a check may take to end after Ctrl-C.
const STOP_GRACE: std::time::Duration = std::time::Duration::from_secs(10);

/// Run the checks of this project and say what they prove
///
/// Runs the definitions that a person accepted with `muster trust`, in the directory of the
/// muster.toml. A check passes if its command succeeds, its tests passed and none of its files
/// changed while it ran. The exit code is 0 only if all of them passed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster check                    all checks of the project
  muster check tests lint
  muster check --json | jq '.checks[].verdict'")]
pub(crate) struct CheckCommandLine {
    /// Names of checks; all without any
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// A directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Print the outcome as JSON instead of the output of the checks
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CheckReport {
    holds: bool,
    checks: Vec<CheckReportRow>,
}

/// A check in the report.
#[derive(Serialize)]
struct CheckReportRow {
    name: String,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestCounts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_tests: Vec<String>,
    duration_ms: u64,
    tree: String,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbound: Option<String>,
}

pub(crate) fn run(settings: &Settings, asked: &CheckCommandLine) -> anyhow::Result<ExitCode> {
    let project = project_of(&asked.dir)?;
    let known = storage::open(settings)?.project_trust(&root_of(&project)?)?;
    let accepted = accepted(&project, &known)?;
    let chosen = chosen(accepted, &asked.names)?;
    let runner = Arc::new(CheckRunner::new(&storage::directory(settings)?));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut stop = StopRequest::listen(STOP_GRACE)?;
    let mut rows = Vec::new();
    for (name, definition) in chosen {
        let order = CheckOrder {
            id: format!("{name}-{}", std::process::id()),
            definition: definition.clone(),
            root: project.root.clone(),
        };
        let ran = runtime.block_on(async {
            tokio::select! {
                ran = perform(&runner, name, &order, asked.json) => ran,
                () = stop.wait() => bail!("stopped; {name} has no verdict"),
            }
        });
        rows.push(row(name, ran?));
    }
    let holds = rows.iter().all(|row| row.verdict.is_pass());
    let report = CheckReport { holds, checks: rows };
    if asked.json {
        output::print_json(&report)?;
    } else {
        output::print(&summary(&report))?;
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The definitions that count, and a word when the file says something else.
fn accepted<'a>(
    project: &ProjectFile,
    known: &'a ProjectTrust,
) -> anyhow::Result<&'a ProjectDefinition> {
    let Some(accepted) = &known.accepted else {
        bail!(
            "CHECK_UNTRUSTED: nobody has accepted the checks of {} yet; a person does it with \
             `muster trust {}`",
            project.root.display(),
            project.root.display()
        );
    };
    if accepted.definition != project.definition {
        output::remark(
            "muster.toml differs from what was accepted, which is what runs; `muster trust` shows \
             the difference",
        );
    }
    Ok(&accepted.definition)
}

fn chosen<'a>(
    project: &'a ProjectDefinition,
    names: &[String],
) -> anyhow::Result<Vec<(&'a str, &'a CheckDefinition)>> {
    let all = project.checks.iter().map(|(name, check)| (name.as_str(), check));
    if let Some(unknown) = names.iter().find(|name| !project.checks.contains_key(*name)) {
        let known: Vec<&str> = project.checks.keys().map(String::as_str).collect();
        bail!("there is no check {unknown:?}; accepted are: {}", known.join(", "));
    }
    let chosen: Vec<_> = all
        .filter(|(name, _)| names.is_empty() || names.iter().any(|asked| asked == name))
        .collect();
    if chosen.is_empty() {
        bail!("the project declares no checks");
    }
    Ok(chosen)
}

async fn perform(
    runner: &Arc<CheckRunner>,
    name: &str,
    order: &CheckOrder,
    is_quiet: bool,
) -> anyhow::Result<CheckOutcome> {
    if !is_quiet {
        output::remark(&format!("{name}: {}", order.definition.run.line()));
    }
    let progress = |step: CheckProgress<'_>| match step {
        CheckProgress::Waiting => {
            output::remark(&format!("{name}: waiting for another check in this directory"));
        }
        CheckProgress::Repeated => {
            output::remark(&format!("{name}: files changed while it ran; running it once more"));
        }
        CheckProgress::Output(piece) if !is_quiet => pass_on(piece),
        CheckProgress::Output(_) | CheckProgress::Started => {}
    };
    runner.run(order, progress).await.with_context(|| format!("{name} has no verdict"))
}

/// A reader that went away does not stop a check.
fn pass_on(piece: &[u8]) {
    let mut stderr = io::stderr().lock();
    if let Err(error) = stderr.write_all(piece) {
        tracing::debug!(%error, "could not show the output of a check");
    }
}

fn row(name: &str, ran: CheckOutcome) -> CheckReportRow {
    let tests = ran.results.as_ref().map(|results| results.counts);
    CheckReportRow {
        name: name.to_owned(),
        verdict: ran.verdict,
        tests,
        failed_tests: ran.results.map(|results| results.failed).unwrap_or_default(),
        duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        tree: ran.tree.tree,
        scope: ran.tree.scope,
        unbound: ran.tree.unbound,
    }
}

fn summary(report: &CheckReport) -> String {
    let screen = Screen::of_stdout(Color::Auto);
    let mut text = String::new();
    for row in &report.checks {
        let tone = if row.verdict.is_pass() { Tone::Good } else { Tone::Bad };
        let verdict = screen.paint(tone, row.verdict.name());
        text += &format!("{}  {verdict}", row.name);
        if let Some(tests) = row.tests {
            text += &format!("  {} passed, {} failed", tests.passed, tests.failed);
            if tests.skipped > 0 {
                text += &format!(", {} skipped", tests.skipped);
            }
        }
        let seconds = row.duration_ms / 1000;
        let tenths = row.duration_ms / 100 % 10;
        text += &format!("  {seconds}.{tenths} s  files {}\n", &row.scope[..12]);
        for test in &row.failed_tests {
            text += &format!("    {test}\n");
        }
        if let Some(why) = &row.unbound {
            text += &format!("    holds for this run only: {why}\n");
        }
    }
    text
}
