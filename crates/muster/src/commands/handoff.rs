//! `muster handoff`: the shift report of a plan or task.

use std::process::ExitCode;

use clap::Args;
use muster_core::tasks::view::handoff::Handoff;

use super::tasks::{RadarProgress, calls::HandoffCall, report_head, section};
use crate::{
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace},
    screen::{Screen, Tone},
};

/// Print the shift report of a plan or task: done, remaining, risks
///
/// It contains what the next person or agent needs to take over. Nothing is changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster handoff                            of the focused task
  muster handoff PLAN-001 --limit 30
  muster handoff TASK-001 --json | jq .handoff")]
pub(crate) struct HandoffCommand {
    /// Plan or task; the focused one by default
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Maximum number of lines per list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// Prints the report.
pub(crate) fn run(settings: &Settings, handoff: &HandoffCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &handoff.place)?;
    let view = desk.ask(&HandoffCall { target: handoff.id.as_deref(), limit: handoff.limit })?;
    handoff.look.print(&view, |screen| {
        let progress = RadarProgress::of(&view.progress.steps, view.progress.rollup.as_ref());
        Ok(report_head(screen, &view.standing.radar, progress) + &lists(screen, &view.handoff))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn lists(screen: Screen, report: &Handoff) -> String {
    section(screen, Tone::Good, "Done", "✔", &report.done)
        + &section(screen, Tone::Active, "Remaining", "○", &report.remaining)
        + &section(screen, Tone::Bad, "Risks", "!", &report.risks)
}
