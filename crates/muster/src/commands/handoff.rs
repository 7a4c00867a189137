//! `muster handoff`: the shift report of a plan or task.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::tasks::{RadarLines, RadarProgress, report_head, section, target};
use crate::{
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace, read},
    screen::{Screen, Tone},
};

/// Print the shift report of a plan or task: done, remaining, risks
///
/// What the next one has to know to take over. Nothing is changed; focus stays where it is.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster handoff                            of the focused task
  muster handoff PLAN-001 --limit 30
  muster handoff TASK-001 --json | jq .handoff")]
pub(crate) struct HandoffCommand {
    /// Plan or task; without it the focused one
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Lines of each list at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// The three lists.
#[derive(Deserialize)]
struct Report {
    done: Vec<String>,
    remaining: Vec<String>,
    risks: Vec<String>,
}

/// Prints the report.
pub(crate) fn run(settings: &Settings, handoff: &HandoffCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &handoff.place)?;
    let mut arguments = target(handoff.id.as_deref());
    arguments["limit"] = json!(handoff.limit);
    let raw = desk.ask("tasks_handoff", arguments)?;
    handoff.look.print(&raw, |screen| {
        let head =
            report_head(screen, &read::<RadarLines>(&raw["radar"])?, RadarProgress::of(&raw));
        Ok(head + &lists(screen, &read(&raw["handoff"])?))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn lists(screen: Screen, report: &Report) -> String {
    section(screen, Tone::Good, "Done", "✔", &report.done)
        + &section(screen, Tone::Active, "Remaining", "○", &report.remaining)
        + &section(screen, Tone::Bad, "Risks", "!", &report.risks)
}
