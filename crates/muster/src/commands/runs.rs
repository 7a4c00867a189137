//! `muster runs`: every run of the server, the newest change first.

use std::process::ExitCode;

use clap::Args;
use muster_core::run::record::{Phase, RunStatus};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    client::Client,
    config::Settings,
    people::{Look, read},
    screen::{Screen, Tone, cut, fill},
};

/// Columns of an id, a status and a phase.
const ID_COLUMNS: usize = 36;
const STATUS_COLUMNS: usize = 9;
const PHASE_COLUMNS: usize = 9;

/// List the runs, newest change first
///
/// With their status, phase, nodes and what waits for you. Asks the running server.
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

/// A run as a line shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    name: String,
    status: RunStatus,
    phase: Phase,
    updated_at: String,
    counts: Counts,
}

#[derive(Deserialize)]
struct Counts {
    nodes: u64,
    running: u64,
    failed: u64,
    approvals: u64,
}

/// Prints the list.
pub(crate) fn run(settings: &Settings, runs: &RunsCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let status = runs.status.as_ref().map(|status| format!("&status={status}"));
    let path = format!("/api/runs?view=summary&limit=500{}", status.unwrap_or_default());
    let answer = client.ask("GET", &path, None)?;
    runs.look.print(&answer, |screen| {
        let rows: Vec<Row> = read(answer.get("runs").unwrap_or(&Value::Null))?;
        if rows.is_empty() {
            return Ok("There are no runs: `muster run \"goal\" --graph FILE` starts one.\n".into());
        }
        Ok(rows.iter().map(|row| line(screen, row)).collect())
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

fn line(screen: Screen, row: &Row) -> String {
    let id = screen.paint(Tone::Strong, &fill(&row.id, ID_COLUMNS));
    let status = screen.paint(tone(row.status), &fill(row.status.name(), STATUS_COLUMNS));
    let phase = fill(row.phase.name(), PHASE_COLUMNS);
    let Counts { nodes, running, failed, approvals } = row.counts;
    let mut told = format!("{running}/{nodes} nodes run");
    if failed > 0 {
        told += &format!(", {failed} failed");
    }
    if approvals > 0 {
        told += &format!(", {approvals} to approve");
    }
    let told = screen.paint(Tone::Faint, &format!("{:<32}  {}", told, row.updated_at));
    format!("{id}  {status}  {phase}  {told}  {}\n", cut(&row.name, 60))
}
