//! `muster todo`: a session's todo lists, shown and written.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use muster_api::{ApiError, App, SessionsRequest};
use muster_core::{
    session::{SessionId, view::ScopeView},
    text,
    todo::{ScopeKey, TodoStatus},
};
use serde::Serialize;

use super::session::{named, or_fault};
use crate::{
    config::Settings,
    output,
    people::{Look, arguments},
    screen::{Screen, Tone},
    watching,
};

/// Show or write a session's todo list
///
/// The same list that agents use with todo_read and todo_write.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster todo show                          of the newest session
  muster todo show ID --scope lane-a
  muster todo write ID 'Write the test' 'Make it pass'
  muster todo write ID --expected-revision 3 'Make it pass'")]
pub(crate) struct Todo {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    look: Look,
}

#[derive(Subcommand)]
enum Action {
    /// Print the todo lists of a session
    Show {
        /// The session; the newest one by default
        id: Option<String>,
        /// Only this list
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
    },
    /// Replace a session's own list
    Write {
        /// The session
        id: String,
        /// The whole list, one item each
        items: Vec<String>,
        /// Fail if the list has another revision by now
        #[arg(long, value_name = "N")]
        expected_revision: Option<u64>,
    },
}

#[derive(Serialize)]
struct TodoWriteCall<'a> {
    session_id: &'a str,
    items: &'a [String],
    expected_revision: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(settings: &Settings, todo: &Todo) -> anyhow::Result<ExitCode> {
    let app = watching::open(settings)?;
    match &todo.action {
        Action::Show { id, scope } => {
            let id = match id {
                Some(id) => named(id)?,
                None => newest(&app)?,
            };
            show(&app, &id, scope.as_deref(), &todo.look)?;
        }
        Action::Write { id, items, expected_revision } => {
            let expected_revision = *expected_revision;
            let call = TodoWriteCall { session_id: id, items, expected_revision };
            let answer = app.call("todo_write", arguments(&call));
            if let Some(error) = answer.error {
                return Err(anyhow!(complaint(&error)));
            }
            if todo.look.json {
                output::print_json(&answer.result)?;
            } else {
                show(&app, &named(id)?, None, &todo.look)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Why nothing was written; a list that changed in the meantime is shown in its current state.
fn complaint(error: &ApiError) -> String {
    let Some(items) = error.details.get("items").and_then(|items| items.as_array()) else {
        return format!("{}\n  {}", error.message, error.recovery);
    };
    let lines = items
        .iter()
        .filter_map(|title| title.as_str())
        .map(|title| format!("\n  {}", text::join_words(title, ' ')));
    format!("{}; it is now{}", error.message, lines.collect::<String>())
}

fn newest(app: &App) -> anyhow::Result<SessionId> {
    let request = SessionsRequest { limit: Some(1), ..SessionsRequest::default() };
    let newest = or_fault(app.sessions().list(&request))?.sessions.into_iter().next();
    newest
        .map(|session| session.session_id)
        .ok_or_else(|| anyhow!("there are no sessions yet: `muster session new` creates one"))
}

fn show(app: &App, id: &SessionId, scope: Option<&str>, look: &Look) -> anyhow::Result<()> {
    let scope = scope.and_then(ScopeKey::of);
    let todos = or_fault(app.sessions().todos(id, scope.as_ref()))?;
    look.print(&todos, |screen| {
        if todos.scopes.is_empty() {
            return Ok(format!("{id} has no todo list yet\n"));
        }
        todos.scopes.iter().map(|scope| list(screen, scope)).collect()
    })
}

fn list(screen: Screen, scope: &ScopeView) -> anyhow::Result<String> {
    let counts = &scope.counts;
    let head = format!("{}  {}/{} done", scope.scope_label, counts.done, counts.total);
    let revision = screen.paint(Tone::Faint, &format!("revision {}", scope.revision));
    let mut text = format!("{}  {revision}\n", screen.paint(Tone::Strong, &head));
    for item in &scope.items {
        let (glyph, tone) = match item.status {
            TodoStatus::Todo => ("○", Tone::Faint),
            TodoStatus::InProgress => ("◐", Tone::Active),
            TodoStatus::Done => ("●", Tone::Good),
            TodoStatus::Blocked => ("▲", Tone::Bad),
            TodoStatus::Canceled => ("✕", Tone::Faint),
        };
        let title = text::join_words(&item.title, ' ');
        writeln!(text, "  {} {title}", screen.paint(tone, glyph))?;
    }
    Ok(text)
}
