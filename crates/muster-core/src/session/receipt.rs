//! The receipt of a call, and the response that is kept for a repetition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SessionEvent, body};
use crate::{
    Recorded, Timestamp,
    todo::{ListChange, Published, TodoScope},
};

/// Where a change of a todo list came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TodoSource {
    /// The todo tool.
    TodoWrite,
    /// An event that was reported.
    Event,
}

/// The response to an accepted call; its event holds all of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// Number of that event.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Whether it waits for that turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// Whether a secret was replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The todo list that it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoReceipt>,
}

/// A list and its revision after a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoReceipt {
    /// The list.
    pub scope_key: String,
    pub revision: i64,
    /// Whether the change was applied.
    #[serde(default = "applied", skip_serializing_if = "is_applied")]
    pub applied: bool,
    /// The stored titles, where the whole list was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<Vec<String>>,
}

/// The default for earlier receipts.
fn applied() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_applied(applied: &bool) -> bool {
    *applied
}

impl Receipt {
    /// The receipt of a call with this event.
    pub fn of(recorded: &Recorded<SessionEvent>) -> Self {
        let Recorded { seq, at, event, .. } = recorded;
        let written = event.aside.source == Some(TodoSource::TodoWrite);
        let todo = event.todo().map(|published| TodoReceipt::of(published, written));
        let queued = event.kind == body::USER_MESSAGE
            && event.data.get("queued").is_some_and(|queued| queued == true);
        Self {
            seq: *seq,
            at: *at,
            turn_id: event.place.turn_id.clone(),
            queued,
            redacted: event.aside.redacted,
            todo: todo.or_else(|| event.aside.unapplied.clone()),
        }
    }
}

impl TodoReceipt {
    fn of(published: Published, written: bool) -> Self {
        let titles = match published.change {
            ListChange::Replace { items } if written => {
                Some(items.into_iter().map(|item| item.title).collect())
            }
            ListChange::Replace { .. }
            | ListChange::Clear
            | ListChange::Patch { .. }
            | ListChange::Upsert { .. }
            | ListChange::Delete { .. } => None,
        };
        let scope_key = published.scope_key.to_string();
        let revision = published.revision;
        Self { scope_key, revision, applied: true, titles }
    }

    /// For an update that did not change the list.
    pub(super) fn unapplied(scope: &TodoScope) -> Self {
        let scope_key = scope.key.to_string();
        let revision = scope.revision;
        Self { scope_key, revision, applied: false, titles: None }
    }
}

/// A response that is kept for a repetition of its call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionAnswer {
    /// Digest of the request.
    pub digest: String,
    pub receipt: Receipt,
}
