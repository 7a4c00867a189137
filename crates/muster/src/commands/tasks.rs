//! `muster tasks`: plans, tasks and steps for people.

pub(crate) mod calls;
mod history;
mod list;
mod next;
mod radar;
mod show;
pub(crate) mod step;

pub(crate) use history::event_line;
pub(crate) use next::{NextCommand, run as next};
pub(crate) use radar::{RadarProgress, report_head, section};
pub(crate) use show::{Show, WholeEntity, evidence_line, receipts, resumed, run as show, whole};

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace},
};

/// Show plans, tasks and steps as a tree with their progress
///
/// The tree of a workspace, or one plan or task in full. Works directly on the store; no
/// server is needed, and nothing is changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster tasks                              the whole workspace
  muster tasks --status ACTIVE --steps      what is under way, step by step
  muster tasks --plan PLAN-001 --tag io     one plan, only tasks with a tag
  muster tasks show TASK-001                one task with checkpoints, proofs and evidence
  muster tasks radar                        where the focused task stands and what is next
  muster tasks next                         what can be worked on now
  muster tasks --json | jq '.tasks[].id'    for programs")]
pub(crate) struct TasksCommand {
    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,

    #[command(flatten)]
    filters: list::Filters,

    #[command(subcommand)]
    view: Option<View>,
}

/// What to show instead of the tree.
#[derive(Subcommand)]
enum View {
    Show(show::Show),
    Radar(radar::RadarCommand),
    Next(next::NextCommand),
}

/// Prints what was asked for.
pub(crate) fn run(settings: &Settings, tasks: &TasksCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &tasks.place)?;
    match &tasks.view {
        None => list::run(&desk, &tasks.look, &tasks.filters)?,
        Some(View::Show(show)) => show::run(&desk, &tasks.look, show)?,
        Some(View::Next(next)) => next::run(&desk, &tasks.look, next)?,
        Some(View::Radar(radar)) => radar::run(&desk, &tasks.look, radar)?,
    }
    Ok(ExitCode::SUCCESS)
}
