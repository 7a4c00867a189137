//! `muster hook`: the commands that an agent's own hooks run.

mod input;
mod pre_tool_use;
mod session_start;
mod stop;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{
    config::{Settings, TOOLSET},
    output,
    people::{InWorkspace, OpenWorkspace},
    storage,
    workspace::Undecided,
};

/// Commands for the hooks of an agent
///
/// They read the hook's JSON from stdin if there is any, and work without it.
/// `muster setup claude` shows how to configure them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster hook session-start --workspace my-project
  muster hook stop --workspace my-project; echo $?")]
pub(crate) struct Hook {
    #[command(flatten)]
    place: InWorkspace,

    #[command(subcommand)]
    event: Event,
}

/// The events of an agent.
#[derive(Subcommand)]
enum Event {
    /// Print what an agent needs to resume its work, in under 2,000 bytes
    ///
    /// The most important lines come first: which task, what is next, how to close it. Without
    /// open work it prints one line that says so.
    SessionStart,
    /// Ask the server that drives the agent whether a call may be made
    ///
    /// The server starts agents with this hook before each call. The call is on stdin. Exit
    /// code 0 allows it, with other arguments if stdout has any; everything else is
    /// exit code 2 with the reason on stderr, and the call is not made.
    #[command(hide = true)]
    PreToolUse(pre_tool_use::HookEndpoint),
    /// Fail with exit code 2 while started work has not passed its gate
    ///
    /// A step is started when it is open and has a confirmation, a note or evidence. While such a
    /// step of the focused task lacks a checkpoint or a proof, the reason is printed on stderr and
    /// the exit code is 2; otherwise it is 0. An agent that was held back once in a turn
    /// (stop_hook_active in the hook's JSON) may stop.
    Stop,
}

impl Hook {
    /// The exit code of a hook that is a gate. It must refuse whatever fails, so nothing else is
    /// set up before it.
    pub(crate) fn gate(&self) -> Option<ExitCode> {
        match &self.event {
            Event::PreToolUse(asking) => Some(pre_tool_use::run(asking)),
            Event::SessionStart | Event::Stop => None,
        }
    }
}

/// Runs the hook.
pub(crate) fn run(settings: &Settings, hook: &Hook) -> anyhow::Result<ExitCode> {
    let said = input::read();
    // Hooks run in every folder: a machine without a store has no work to show.
    if !storage::directory(settings)?.is_dir() {
        return Ok(ExitCode::SUCCESS);
    }
    let desk = match OpenWorkspace::open_quietly(settings, &hook.place) {
        Ok(desk) => desk,
        // A session must be able to start and end regardless.
        Err(error) if error.is::<Undecided>() => {
            if matches!(hook.event, Event::SessionStart) {
                output::print(&format!("Muster cannot show a workspace: {error}\n"))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(error),
    };
    match &hook.event {
        Event::SessionStart => session_start::run(&desk),
        Event::Stop => stop::run(&desk, &said, settings.get(&TOOLSET)?.value),
        Event::PreToolUse(asking) => Ok(pre_tool_use::run(asking)),
    }
}
