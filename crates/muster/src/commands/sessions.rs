//! `muster sessions`: every session of the store, newest first.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use muster_api::{SessionCursor, SessionPage, SessionsRequest};
use muster_core::session::{entity::SessionStatus, view::SessionObject};

use super::session::or_fault;
use crate::{
    config::Settings,
    people::Look,
    screen::{Screen, Tone, cut, fill, spelled_out},
    watching,
};

/// Columns of an id and of a status.
const ID_COLUMNS: usize = 36;
const STATUS_COLUMNS: usize = 9;
/// Columns of what an agent is doing.
const STATE_COLUMNS: usize = 50;

/// List the sessions, newest first
///
/// Shows their status, their todo counts and how many events they have.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster sessions
  muster sessions --status running
  muster sessions --workspace ~/code/acme --limit 20
  muster sessions --json | jq '.[].session_id'
  muster session watch ID                   follow one")]
pub(crate) struct SessionsCommand {
    /// Only sessions with this status
    #[arg(long, value_name = "STATUS", value_parser = status_word)]
    status: Option<SessionStatus>,

    /// Only sessions of this folder
    #[arg(long, value_name = "DIR")]
    workspace: Option<String>,

    /// Only sessions whose metadata has this value; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,

    /// At most N sessions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    /// Continue after a list that was cut by --limit
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    cursor: Option<SessionCursor>,

    #[command(flatten)]
    look: Look,
}

/// Prints the list.
pub(crate) fn run(settings: &Settings, sessions: &SessionsCommand) -> anyhow::Result<ExitCode> {
    let app = watching::open(settings)?;
    let request = sessions.request();
    let SessionPage { sessions: found, next } = or_fault(app.sessions().list(&request))?;
    sessions.look.print(&found, |screen| {
        if found.is_empty() && request == SessionsRequest::default() {
            return Ok("No sessions yet: `muster session new` creates one.\n".to_owned());
        }
        if found.is_empty() {
            return Ok("No session matches: `muster sessions` lists all.\n".to_owned());
        }
        let lines = found.iter().map(|session| line(screen, session));
        let mut text = lines.collect::<anyhow::Result<String>>()?;
        if let Some(next) = &next {
            writeln!(text, "More: --cursor {next}").context("a line of text")?;
        }
        Ok(text)
    })?;
    Ok(ExitCode::SUCCESS)
}

impl SessionsCommand {
    fn request(&self) -> SessionsRequest {
        SessionsRequest {
            made_by: None,
            status: self.status,
            workspace: self.workspace.clone(),
            metadata: self.metadata.clone(),
            after: self.cursor.clone(),
            limit: self.limit,
        }
    }
}

fn status_word(word: &str) -> Result<SessionStatus, String> {
    let words =
        || format!("expected one of {}", SessionStatus::ALL.map(SessionStatus::word).join(", "));
    SessionStatus::of_word(word).ok_or_else(words)
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

fn cursor(text: &str) -> Result<SessionCursor, String> {
    text.parse().map_err(|()| "it is not the cursor of an earlier list".to_owned())
}

/// The label of a status, with its colour.
pub(super) fn status(screen: Screen, status: SessionStatus) -> String {
    let tone = match status {
        SessionStatus::Starting | SessionStatus::Idle => Tone::Faint,
        SessionStatus::Running => Tone::Active,
        SessionStatus::Completed => Tone::Good,
        SessionStatus::Failed | SessionStatus::Stopped => Tone::Bad,
    };
    screen.paint(tone, &fill(status.word(), STATUS_COLUMNS))
}

/// What the agent of a watched session is up to.
fn watched_state(session: &SessionObject) -> Option<String> {
    let waiting = session.waiting.as_ref().map(|waiting| format!("waits: {}", waiting.text));
    let state = waiting.or_else(|| session.doing.clone());
    state.map(|state| cut(&spelled_out(&state), STATE_COLUMNS))
}

fn line(screen: Screen, session: &SessionObject) -> anyhow::Result<String> {
    let id = fill(session.session_id.as_str(), ID_COLUMNS);
    let todos = format!("{}/{}", session.todos.done, session.todos.total);
    let mut text =
        format!("{}  {}", screen.paint(Tone::Strong, &id), status(screen, session.status));
    let numbers =
        format!("todo {todos:>5}  {:>6} events  {}", session.last_seq, session.last_activity_at);
    write!(text, "  {}", screen.paint(Tone::Faint, &numbers)).context("a line of text")?;
    if let Some(title) = &session.title {
        write!(text, "  {}", cut(title, 60)).context("a line of text")?;
    }
    if let Some(host) = session.host {
        let state = watched_state(session).unwrap_or_default();
        let note = format!("  {} {state}", host.name());
        write!(text, "{}", screen.paint(Tone::Faint, note.trim_end())).context("a line of text")?;
    }
    text.push('\n');
    Ok(text)
}
