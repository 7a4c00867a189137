//! `muster sessions`: every session of the store, newest first.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use muster_core::session::{entity::Status, view::SessionObject};
use serde_json::json;

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
/// With their status, their todo list in numbers and how many events they have.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster sessions
  muster sessions --json | jq '.[].session_id'
  muster session watch ID                   follow one")]
pub(crate) struct Sessions {
    #[command(flatten)]
    look: Look,
}

/// Prints the list.
pub(crate) fn run(settings: &Settings, sessions: &Sessions) -> anyhow::Result<ExitCode> {
    let app = storage::open_existing(settings)?;
    let found = told(app.sessions().list())?;
    sessions.look.print(&json!(found), |screen| {
        if found.is_empty() {
            return Ok("There are no sessions yet: `muster session new` makes one.\n".to_owned());
        }
        found.iter().map(|session| line(screen, session)).collect()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The words for a status, with its colour.
pub(super) fn status(screen: Screen, status: Status) -> String {
    let tone = match status {
        Status::Starting | Status::Idle => Tone::Faint,
        Status::Running => Tone::Active,
        Status::Completed => Tone::Good,
        Status::Failed | Status::Stopped => Tone::Bad,
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
