//! Plans and tasks by hand: `add`, `edit`, `done`, `note`, `block`, `unblock`, `next`, `show`,
//! `log` and `rm`.
//!
//! Each command calls the operations that agents call, so every rule holds for people too. What is
//! deliberately not here: rules.

mod add;
mod check_names;
mod confirm;
mod done;
mod edit;
mod entity;
mod log;
mod note;
mod remove;
mod step_flags;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::tasks::{NextCommand, Show, next, show};
use crate::{
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace},
};

/// The commands.
#[derive(Subcommand)]
pub(crate) enum WorkCommand {
    Add(add::Add),
    Edit(edit::EditCommand),
    Done(done::DoneCommand),
    Note(note::NoteCommand),
    Block(note::BlockCommand),
    Unblock(note::UnblockCommand),
    /// List the tasks that can be worked on now, most urgent first
    Next(OfWorkspace<NextCommand>),
    /// Show one plan or task in full: steps, checkpoints, proofs, blockers, evidence
    Show(OfWorkspace<Show>),
    Log(log::LogCommand),
    Rm(remove::RemoveCommand),
}

/// A view with the flags that say where to look and how to print it.
#[derive(Args)]
pub(crate) struct OfWorkspace<V: Args> {
    #[command(flatten)]
    view: V,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

pub(crate) fn run(settings: &Settings, work: &WorkCommand) -> anyhow::Result<ExitCode> {
    match work {
        WorkCommand::Add(add) => add::run(settings, add)?,
        WorkCommand::Edit(edit) => return edit::run(settings, edit),
        WorkCommand::Done(done) => return done::run(settings, done),
        WorkCommand::Note(note) => note::note(settings, note)?,
        WorkCommand::Block(block) => note::block(settings, block)?,
        WorkCommand::Unblock(unblock) => note::unblock(settings, unblock)?,
        WorkCommand::Next(OfWorkspace { view, place, look }) => {
            next(&OpenWorkspace::open(settings, place)?, look, view)?;
        }
        WorkCommand::Show(OfWorkspace { view, place, look }) => {
            show(&OpenWorkspace::open(settings, place)?, look, view)?;
        }
        WorkCommand::Log(log) => log::run(settings, log)?,
        WorkCommand::Rm(remove) => return remove::run(settings, remove),
    }
    Ok(ExitCode::SUCCESS)
}
