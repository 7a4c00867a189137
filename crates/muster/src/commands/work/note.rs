//! `muster note`, `muster block` and `muster unblock`: what is written at a step.

use anyhow::bail;
use clap::Args;
use muster_core::tasks::view::step_object::StepObject;

use super::entity::{EntityNow, choices, step_name};
use crate::{
    commands::completions::entity_ids,
    commands::tasks::calls::{BlockCall, NoteCall},
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace},
};

/// The step of a task.
#[derive(Args)]
pub(super) struct OfStep {
    /// The task
    #[arg(value_name = "ID", add = entity_ids())]
    id: String,

    /// The step: its path such as s:0, or its id; the first open one by default
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
}

/// Write a note at a step: what was found, tried or decided
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster note TASK-001 'the header has 12 fields, not 11'
  muster note TASK-001 --step s:2 'tried mmap: no faster'")]
pub(crate) struct NoteCommand {
    #[command(flatten)]
    at: OfStep,

    /// The note
    #[arg(value_name = "TEXT")]
    text: String,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// Block a step: it waits for something and cannot be closed
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster block TASK-001 'waits for the samples of the customer'
  muster unblock TASK-001                   when they are there")]
pub(crate) struct BlockCommand {
    #[command(flatten)]
    at: OfStep,

    /// What it waits for
    #[arg(value_name = "REASON")]
    reason: String,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// Unblock a step
#[derive(Args)]
pub(crate) struct UnblockCommand {
    /// The task
    #[arg(value_name = "ID", add = entity_ids())]
    id: String,

    /// The step: its path such as s:0, or its id; the only blocked one by default
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

pub(super) fn note(settings: &Settings, note: &NoteCommand) -> anyhow::Result<()> {
    let desk = OpenWorkspace::open(settings, &note.place)?;
    let task = EntityNow::read_task(&desk, &note.at.id)?;
    let step = task.step(note.at.step.as_deref())?;
    let call = NoteCall { task: task.id(), step_id: &step.step_id, note: &note.text };
    let written = desk.ask(&call)?;
    note.look.print(&written, |_| Ok(format!("noted at {} of {}\n", step_name(step), task.id())))
}

pub(super) fn block(settings: &Settings, block: &BlockCommand) -> anyhow::Result<()> {
    let desk = OpenWorkspace::open(settings, &block.place)?;
    let task = EntityNow::read_task(&desk, &block.at.id)?;
    let step = task.step(block.at.step.as_deref())?;
    let reason = Some(block.reason.trim()).filter(|reason| !reason.is_empty());
    if reason.is_none() {
        bail!("say what {} waits for", step_name(step));
    }
    let call = BlockCall { task: task.id(), step_id: &step.step_id, blocked: true, reason };
    let written = desk.ask(&call)?;
    block.look.print(&written, |_| Ok(format!("blocked: {} of {}\n", step_name(step), task.id())))
}

pub(super) fn unblock(settings: &Settings, unblock: &UnblockCommand) -> anyhow::Result<()> {
    let desk = OpenWorkspace::open(settings, &unblock.place)?;
    let task = EntityNow::read_task(&desk, &unblock.id)?;
    let step = match &unblock.step {
        Some(named) => task.step(Some(named))?,
        None => only_blocked(&task)?,
    };
    let call = BlockCall { task: task.id(), step_id: &step.step_id, blocked: false, reason: None };
    let written = desk.ask(&call)?;
    unblock
        .look
        .print(&written, |_| Ok(format!("unblocked: {} of {}\n", step_name(step), task.id())))
}

fn only_blocked(task: &EntityNow) -> anyhow::Result<&StepObject> {
    let blocked: Vec<&StepObject> = task.steps.iter().filter(|step| step.blocked).collect();
    match blocked[..] {
        [only] => Ok(only),
        [] => bail!("{} has no blocked step", task.id()),
        _ => bail!(
            "{} has several blocked steps, name one with --step:\n{}",
            task.id(),
            choices(blocked.into_iter())
        ),
    }
}
