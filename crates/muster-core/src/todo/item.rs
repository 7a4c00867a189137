//! One line of a list, and its parts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::{AnyObject, text};

/// A producer's data of an item: any object, unchanged.
pub type TodoMetadata = Map<String, Value>;

/// Name of an item inside its scope. Opaque and exact: neither trimmed nor normalised.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ItemId(String);

impl ItemId {
    /// The id of a string; `None` when it is blank (TD-5).
    pub fn of(given: impl Into<String>) -> Option<Self> {
        let given = given.into();
        (!text::is_blank(&given)).then_some(Self(given))
    }

    /// An id that this room generated; never blank.
    pub(super) fn made(stem: String) -> Self {
        Self(stem)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How far an item is. Every decision uses this, never the word it was given as.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Todo,
    /// Being worked on.
    InProgress,
    /// Finished.
    Done,
    /// Waits for something, or failed.
    Blocked,
    /// Will not be done.
    Canceled,
}

impl TodoStatus {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] =
        [Self::Todo, Self::InProgress, Self::Done, Self::Blocked, Self::Canceled];

    /// The status of a word; an unknown word is `todo` (TD-6).
    pub fn of_word(word: &str) -> Self {
        let word = text::join_words(word, '_').replace('-', "_").to_lowercase();
        match word.as_str() {
            "in_progress" | "inprogress" | "progress" | "active" | "doing" | "started"
            | "running" => Self::InProgress,
            "done" | "complete" | "completed" | "finished" | "closed" => Self::Done,
            "blocked" | "waiting" | "failed" => Self::Blocked,
            "canceled" | "cancelled" | "skipped" | "abandoned" | "deleted" => Self::Canceled,
            // "todo", "pending", "open", "queued", "not_started", and everything else.
            _ => Self::Todo,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Canceled => "canceled",
        }
    }

    /// Whether nothing is left to do: done or canceled.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Canceled)
    }
}

/// Urgency as its producer wrote it; kept, never judged (TD-7).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TodoPriority {
    /// `2`, `1.5`
    Number(Number),
    /// `"high"`, `"P1"`
    Text(String),
}

/// One line of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// Its name inside the scope.
    pub id: ItemId,
    /// What is to be done; trimmed, never blank.
    pub title: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The status as given, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_status: Option<String>,
    /// Urgency, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["string", "number"]), with = "Value")]
    pub priority: Option<TodoPriority>,
    /// What its producer attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AnyObject")]
    pub metadata: Option<TodoMetadata>,
}

/// How many items of a list have which status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct TodoCounts {
    /// Not begun.
    pub todo: usize,
    /// Being worked on.
    pub in_progress: usize,
    /// Finished.
    pub done: usize,
    /// Waiting or failed.
    pub blocked: usize,
    /// Abandoned.
    pub canceled: usize,
    /// All of them, the canceled ones too.
    pub total: usize,
}

impl TodoCounts {
    /// Counts a list.
    pub fn of(items: &[TodoItem]) -> Self {
        let mut counts = Self { total: items.len(), ..Self::default() };
        for item in items {
            *counts.of_status(item.status) += 1;
        }
        counts
    }

    fn of_status(&mut self, status: TodoStatus) -> &mut usize {
        match status {
            TodoStatus::Todo => &mut self.todo,
            TodoStatus::InProgress => &mut self.in_progress,
            TodoStatus::Done => &mut self.done,
            TodoStatus::Blocked => &mut self.blocked,
            TodoStatus::Canceled => &mut self.canceled,
        }
    }
}
