//! `muster session`: create, show, message, watch and delete one session.

mod line;
mod watch;

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use muster_api::{App, InputFault, SessionFault, Told};
use muster_core::session::{
    SessionCommand, SessionId,
    command::{Create, SessionInput},
};

use crate::{
    config::{CTREES_MAX_CHARS, Settings},
    person,
    screen::spelled_out,
    storage, watching,
};

/// Work with one session
///
/// A session is a conversation with its own event log, todo lists and context tree. Agents and
/// programs use it over HTTP and MCP; these commands are the same for people.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster session new --title 'Release 1.0'
  muster session watch ID                   live, from now on
  muster session watch ID --replay          everything so far, then live
  muster session say ID 'how far are you?'
  muster session delete ID")]
pub(crate) struct SessionCommandLine {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create a session and print its id
    New {
        /// Title in lists
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// First input
        #[arg(long, value_name = "TEXT")]
        task: Option<String>,
    },
    /// Print a session as JSON
    Show {
        /// The session
        id: String,
    },
    /// Follow a session's events until Ctrl+C
    Watch(watch::WatchSession),
    /// Send a message to a session
    Say {
        /// The session
        id: String,
        /// The message
        text: String,
    },
    /// Delete a session with its events, lists and tree, after asking
    Delete {
        /// The session
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// The old name of `delete --yes`
    #[command(hide = true)]
    End {
        /// The session
        id: String,
    },
}

/// Runs the command.
pub(crate) fn run(settings: &Settings, session: &SessionCommandLine) -> anyhow::Result<ExitCode> {
    match &session.action {
        Action::New { title, task } => {
            let app = storage::open(settings)?;
            let max_chars = Some(settings.get(&CTREES_MAX_CHARS)?.value);
            let title = title.clone();
            let task = task.clone();
            let create = Create { title, task, max_chars, ..Create::default() };
            let made = or_fault(app.sessions().create(create))?;
            crate::output::print(&format!("{}\n", made.id))?;
        }
        Action::Show { id } => {
            let app = watching::open(settings)?;
            let id = named(id)?;
            crate::output::print_json(&or_fault(app.sessions().show(&id))?)?;
        }
        Action::Watch(watch) => return watch::run(settings, watch),
        Action::Say { id, text } => {
            let app = watching::open(settings)?;
            let input = SessionInput { text: text.clone(), source: None, key: None };
            let said = app.sessions().say(&named(id)?, input).map_err(|fault| match fault {
                InputFault::Session(fault) => refused(fault),
                InputFault::Node(fault) => anyhow!(fault.detail),
            })?;
            let line = match (said.queued, said.turn_id) {
                (true, None) => "queued for the next turn of its node\n".to_owned(),
                (true, Some(_)) => format!("queued as event {}\n", said.seq),
                (false, _) => format!("accepted as event {}\n", said.seq),
            };
            crate::output::print(&line)?;
        }
        Action::Delete { id, yes } => return delete(settings, id, *yes),
        Action::End { id } => return delete(settings, id, true),
    }
    Ok(ExitCode::SUCCESS)
}

/// Deletes a session that a person, or a flag, says yes to.
fn delete(settings: &Settings, id: &str, is_certain: bool) -> anyhow::Result<ExitCode> {
    let app = watching::open(settings)?;
    let shown = or_fault(app.sessions().show(&named(id)?))?;
    if !is_certain {
        let title = shown.title.as_deref().map(|title| format!(" {}", spelled_out(title)));
        let name = format!("session {id}{}", title.unwrap_or_default());
        if !person::is_at_terminal() {
            bail!("{name} would be deleted for good: add --yes, or run this at a terminal");
        }
        if !person::says_yes(&format!("Delete {name} with all of its events? y/n: "))? {
            crate::output::print("Nothing was deleted.\n")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    perform(&app, id, SessionCommand::End)?;
    crate::output::print(&format!("deleted {id}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn perform(
    app: &App,
    id: &str,
    command: SessionCommand,
) -> anyhow::Result<muster_core::session::SessionCommandResult> {
    or_fault(app.sessions().perform(&named(id)?, command))
}

pub(super) fn named(id: &str) -> anyhow::Result<SessionId> {
    match SessionId::of(id) {
        Some(id) => Ok(id),
        None => bail!("{id:?} is not a session id: `muster sessions` lists them"),
    }
}

/// A response about a session, or why there is none.
pub(super) fn or_fault<T>(answer: Told<T>) -> anyhow::Result<T> {
    answer.map_err(refused)
}

fn refused(fault: SessionFault) -> anyhow::Error {
    match fault {
        SessionFault::Store(error) => anyhow!(error),
        SessionFault::Refused(rejection) => anyhow!(line::refusal(&rejection)),
    }
}
