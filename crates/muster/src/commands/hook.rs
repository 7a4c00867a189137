//! `muster hook`: the commands that an agent's own hooks run.

mod guard;
mod input;
mod pre_tool_use;
mod report;
mod session_start;
mod stop;
mod unproven;

use std::{process::ExitCode, time::Duration};

use clap::{Args, Subcommand};

pub(crate) use guard::{guarded, misused};
pub(crate) use report::run_as_written;

use crate::{
    arguments::GlobalFlags,
    config::{Settings, TOOLSET},
    output,
    people::{InWorkspace, OpenWorkspace},
    storage,
    workspace::Undecided,
};

/// Seconds that a hook may run checks, unless it says otherwise.
const CHECKS_SECONDS: u64 = 45;
const CHECKS_SECONDS_MAX: u64 = 3_600;
/// How long a hook may take beside the checks.
const OWN_TIME_MAX: Duration = Duration::from_secs(10);
/// How long agents have to wait for a hook at least: longer than it takes.
pub(crate) const HOST_SECONDS: u64 = CHECKS_SECONDS + 15;

/// Commands for the hooks of an agent
///
/// They read the hook's JSON from stdin if there is any, and work without it.
/// `muster setup` shows how to configure them. On
/// any error of Muster the agent goes on, with one line on stderr.
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
    /// A step is started when it is open and has a confirmation, a note or evidence. While checks
    /// of such a step of the focused task do not hold, the reason is printed on stderr and the exit
    /// code is 2, at most three times for a step; then the agent may stop, and the step is marked
    /// for a person. Checks that are quick enough are run first. A blocked step does not
    /// keep the agent.
    ///
    /// A step that lacks another checkpoint or a proof keeps an agent once in a turn
    /// (stop_hook_active in the hook's JSON). On any error the agent may stop.
    Stop(CheckWait),
    /// Fail with exit code 2 while checks of the started step do not hold
    ///
    /// For agents that ask before they mark one of their own tasks as completed. It looks at
    /// checks as `muster hook stop` does, and counts for the same three times.
    TaskCompleted(CheckWait),
    /// Report what an agent does, for the list of sessions
    ///
    /// The hook's JSON is on stdin. It is left in the storage folder, where a running server finds
    /// it at once and any other command later. Nothing is printed, the exit code is 0,
    /// and the command ends after a quarter of a second at the latest.
    Report(report::ReportCall),
}

/// How long a hook may run checks.
#[derive(Args)]
struct CheckWait {
    /// Seconds that checks may run
    #[arg(long = "wait", value_name = "SECONDS", default_value_t = CHECKS_SECONDS,
          value_parser = clap::value_parser!(u64).range(..=CHECKS_SECONDS_MAX))]
    seconds: u64,
}

impl CheckWait {
    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

impl Hook {
    /// The exit code of a hook that is a gate. It must refuse whatever fails, so nothing else is
    /// set up before it.
    pub(crate) fn gate(&self) -> Option<ExitCode> {
        match &self.event {
            Event::PreToolUse(asking) => Some(pre_tool_use::run(asking)),
            Event::SessionStart | Event::Stop(_) | Event::TaskCompleted(_) | Event::Report(_) => {
                None
            }
        }
    }

    /// The exit code of a hook that only reports. It may take no time, so nothing else is set up
    /// before it either.
    pub(crate) fn report(&self, shared: &GlobalFlags) -> Option<ExitCode> {
        match &self.event {
            Event::Report(call) => Some(report::run(shared.clone(), &self.place, call)),
            Event::SessionStart
            | Event::PreToolUse(_)
            | Event::Stop(_)
            | Event::TaskCompleted(_) => None,
        }
    }

    /// How long the hook may take in all.
    pub(crate) fn limit(&self) -> Duration {
        match &self.event {
            Event::SessionStart | Event::PreToolUse(_) | Event::Report(_) => OWN_TIME_MAX,
            Event::Stop(wait) | Event::TaskCompleted(wait) => wait.time() + OWN_TIME_MAX,
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
        Event::Stop(wait) => stop::run(&desk, &said, (settings.get(&TOOLSET)?.value, wait.time())),
        Event::TaskCompleted(wait) => {
            stop::task_completed(&desk, (settings.get(&TOOLSET)?.value, wait.time()))
        }
        Event::PreToolUse(asking) => Ok(pre_tool_use::run(asking)),
        Event::Report(call) => Ok(report::run(settings.shared().clone(), &hook.place, call)),
    }
}
