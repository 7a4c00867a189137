//! `muster runs`: every run of the server, newest change first.

use std::process::ExitCode;

use clap::Args;
use muster_core::{
    Json,
    run::{
        record::{Phase, RunStatus},
        view::snapshot::RunSnapshot,
    },
    text,
};

use super::run::answers::ListedRuns;
use crate::{
    client::Client,
    config::Settings,
    people::Look,
    screen::{Screen, Tone, ago, counted, cut, fill},
};

/// Columns of an id, a status and a phase.
const ID_COLUMNS: usize = 8;
const STATUS_COLUMNS: usize = 9;
const PHASE_COLUMNS: usize = 9;

/// List the runs, newest change first
///
/// Shows their status, phase, nodes and what waits for you. Asks the running server.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster runs
  muster runs --status running
  muster runs --json | jq '.runs[].id'
  muster run watch ID                       follow one")]
pub(crate) struct RunsCommand {
    /// Only runs with this status: queued, running, paused, completed, failed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    #[command(flatten)]
    look: Look,
}

/// Prints the list.
pub(crate) fn run(settings: &Settings, runs: &RunsCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let status = runs.status.as_ref().map(|status| format!("&status={status}"));
    let path = format!("/api/runs?view=summary&limit=500{}", status.unwrap_or_default());
    let answer: Json = client.get(&path)?;
    runs.look.print(&answer, |screen| {
        let ListedRuns { runs } = answer.try_read()?;
        if runs.is_empty() {
            return Ok("No runs: `muster run start GOAL` starts one.\n".into());
        }
        Ok(runs.iter().map(|run| line(screen, run)).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The colour of a status.
pub(super) fn tone(status: RunStatus) -> Tone {
    match status {
        RunStatus::Queued => Tone::Faint,
        RunStatus::Running => Tone::Active,
        RunStatus::Paused => Tone::Strong,
        RunStatus::Completed => Tone::Good,
        RunStatus::Failed => Tone::Bad,
    }
}

fn line(screen: Screen, RunSnapshot { run, counts, .. }: &RunSnapshot<'_>) -> String {
    let id = run.id.map(|id| id.to_string()).unwrap_or_default();
    let id = screen.paint(Tone::Strong, &fill(text::short_id(&id), ID_COLUMNS));
    let status = fill(run.status.map_or("", RunStatus::name), STATUS_COLUMNS);
    let status = screen.paint(run.status.map_or(Tone::Faint, tone), &status);
    let phase = fill(run.phase.map_or("", Phase::name), PHASE_COLUMNS);
    let mut summary = String::new();
    if let Some(counts) = counts {
        let nodes = counted(counts.nodes, "node");
        summary += &format!("{} of {nodes} working", counts.running);
        if counts.failed > 0 {
            summary += &format!(", {} failed", counts.failed);
        }
        if counts.approvals > 0 {
            summary += &format!(", {} to approve", counts.approvals);
        }
    }
    let changed = run.updated_at.map(|at| ago(at.0)).unwrap_or_default();
    let summary = screen.paint(Tone::Faint, &format!("{summary:<32}  {changed:<11}"));
    let name = cut(run.name.as_deref().unwrap_or_default(), 60);
    let folder = screen.paint(Tone::Faint, &run.cwd.as_deref().map(folder).unwrap_or_default());
    format!("{id}  {status}  {phase}  {summary}  {name}  {folder}\n")
}

/// The end of a path: `/home/ada/src/harbour` is `src/harbour`.
fn folder(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').filter(|part| !part.is_empty()).take(2).collect();
    parts.reverse();
    parts.join("/")
}
