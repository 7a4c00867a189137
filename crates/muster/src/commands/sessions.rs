//! `muster sessions`: every session of the store, newest first.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use muster_api::{SessionCursor, SessionPage, SessionsRequest};
use muster_core::session::{entity::SessionStatus, view::SessionObject};

use super::session::told;
use crate::{
    config::Settings,
    people::Look,
    screen::{Screen, Tone, cut, fill},
    storage,
};

/// Columns of an id and of a status.
const ID_COLUMNS: usize = 36;
const STATUS_COLUMNS: usize = 9;

/// List the sessions, newest first
///
/// With their status, their todo lists in numbers and how many events they have.
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

    /// Only sessions whose metadata have this value; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,

    /// At most N sessions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    /// Go on behind a list that was cut by --limit
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    cursor: Option<SessionCursor>,

    #[command(flatten)]
    look: Look,
}

/// Prints the list.
pub(crate) fn run(settings: &Settings, sessions: &SessionsCommand) -> anyhow::Result<ExitCode> {
    let app = storage::open_existing(settings)?;
    let request = sessions.request();
    let SessionPage { sessions: found, next } = told(app.sessions().list(&request))?;
    sessions.look.print(&found, |screen| {
        if found.is_empty() && request == SessionsRequest::default() {
            return Ok("There are no sessions yet: `muster session new` makes one.\n".to_owned());
        }
        if found.is_empty() {
            return Ok("No session is like that: `muster sessions` lists all.\n".to_owned());
        }
        let lines = found.iter().map(|session| line(screen, session));
        let mut text = lines.collect::<anyhow::Result<String>>()?;
        if let Some(next) = &next {
            writeln!(text, "There are more: --cursor {next}").context("a line of text")?;
        }
        Ok(text)
    })?;
    Ok(ExitCode::SUCCESS)
}

impl SessionsCommand {
    fn request(&self) -> SessionsRequest {
        SessionsRequest {
            status: self.status,
            workspace: self.workspace.clone(),
            metadata: self.metadata.clone(),
            behind: self.cursor.clone(),
            limit: self.limit,
        }
    }
}

fn status_word(word: &str) -> Result<SessionStatus, String> {
    let words =
        || format!("one of {} is needed", SessionStatus::ALL.map(SessionStatus::word).join(", "));
    SessionStatus::of_word(word).ok_or_else(words)
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a key and a value are needed, with = between them".to_owned()),
    }
}

fn cursor(text: &str) -> Result<SessionCursor, String> {
    text.parse().map_err(|()| "it is not one that an earlier list ended with".to_owned())
}

/// The words for a status, with its colour.
pub(super) fn status(screen: Screen, status: SessionStatus) -> String {
    let tone = match status {
        SessionStatus::Starting | SessionStatus::Idle => Tone::Faint,
        SessionStatus::Running => Tone::Active,
        SessionStatus::Completed => Tone::Good,
        SessionStatus::Failed | SessionStatus::Stopped => Tone::Bad,
    };
    screen.paint(tone, &fill(status.word(), STATUS_COLUMNS))
}

fn line(screen: Screen, session: &SessionObject) -> anyhow::Result<String> {
    let id = fill(session.session_id.as_str(), ID_COLUMNS);
    let todos = format!("{}/{}", session.todos.done, session.todos.total);
    let mut text =
        format!("{}  {}", screen.paint(Tone::Strong, &id), status(screen, session.status));
    let told =
        format!("todo {todos:>5}  {:>6} events  {}", session.last_seq, session.last_activity_at);
    write!(text, "  {}", screen.paint(Tone::Faint, &told)).context("a line of text")?;
    if let Some(title) = &session.title {
        write!(text, "  {}", cut(title, 60)).context("a line of text")?;
    }
    text.push('\n');
    Ok(text)
}
