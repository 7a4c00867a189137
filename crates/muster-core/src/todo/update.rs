//! A parsed update: typed, but ids and the revision may still be missing.

use super::{ItemId, Op, ScopeKey, TodoItem, TodoMetadata, TodoPatch, TodoPriority, TodoStatus};
use crate::redact;

/// One change of one scope, as a producer requested it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoUpdate {
    /// Which list.
    pub scope: ScopeKey,
    /// A label for the list; without one it keeps its label.
    pub label: Option<String>,
    /// Its number inside the scope, if it has one.
    pub revision: Option<i64>,
    /// What changes.
    pub operation: TodoOperation,
}

/// What an update does to a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TodoOperation {
    /// The list becomes these entries.
    Replace(Vec<TodoEntry>),
    /// The list becomes empty.
    Clear,
    /// Fields of items change.
    Patch(Vec<TodoPatch>),
    /// An item is added, or replaces the one with its id.
    Upsert {
        /// The item.
        entry: TodoEntry,
        /// Where a new one goes; 0 is first, without one it goes to the end.
        position: Option<i64>,
    },
    /// Items go.
    Delete(Vec<ItemId>),
}

/// An item as given, possibly without an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoEntry {
    /// Its id, if one was written.
    pub id: Option<ItemId>,
    /// What is to be done; trimmed, never blank.
    pub title: String,
    /// How far it is.
    pub progress: GivenStatus,
    /// Urgency, as given.
    pub priority: Option<TodoPriority>,
    /// What its producer attached.
    pub metadata: Option<TodoMetadata>,
}

/// A status and the word it was given as.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GivenStatus {
    /// How far.
    pub status: TodoStatus,
    /// The word, when it is not the status itself.
    pub raw: Option<String>,
}

impl TodoOperation {
    /// Its name.
    pub fn op(&self) -> Op {
        match self {
            Self::Replace(_) => Op::Replace,
            Self::Clear => Op::Clear,
            Self::Patch(_) => Op::Patch,
            Self::Upsert { .. } => Op::Upsert,
            Self::Delete(_) => Op::Delete,
        }
    }
}

impl TodoEntry {
    /// The item of this entry, with an id.
    pub(super) fn item(&self, id: ItemId) -> TodoItem {
        TodoItem {
            id,
            title: self.title.clone(),
            status: self.progress.status,
            raw_status: self.progress.raw.clone(),
            priority: self.priority.clone(),
            metadata: self.metadata.clone(),
        }
    }
}

impl TodoUpdate {
    /// Replaces secrets in all strings, ids and the key included; returns whether there was one
    /// (EV-5). An id is always replaced alike, so that later updates still find its item.
    ///
    /// Must be called before the update is accepted: titles are recognised by what is stored.
    pub fn redact(&mut self) -> bool {
        let scope = redact::text(self.scope.as_str()).and_then(|clean| ScopeKey::of(&clean));
        let found = scope.is_some();
        if let Some(scope) = scope {
            self.scope = scope;
        }
        let label = redacted(self.label.as_mut());
        found | label | self.operation.redact()
    }
}

impl TodoOperation {
    fn redact(&mut self) -> bool {
        match self {
            Self::Replace(entries) => {
                entries.iter_mut().fold(false, |found, entry| entry.redact() | found)
            }
            Self::Patch(patches) => {
                patches.iter_mut().fold(false, |found, patch| patch.redact() | found)
            }
            Self::Upsert { entry, .. } => entry.redact(),
            Self::Delete(ids) => ids.iter_mut().fold(false, |found, id| redacted_id(id) | found),
            Self::Clear => false,
        }
    }
}

impl TodoEntry {
    fn redact(&mut self) -> bool {
        self.id.as_mut().is_some_and(redacted_id)
            | redacted(Some(&mut self.title))
            | redacted(self.progress.raw.as_mut())
            | redacted_priority(&mut self.priority)
            | redacted_metadata(self.metadata.as_mut())
    }
}

impl TodoPatch {
    fn redact(&mut self) -> bool {
        redacted_id(&mut self.id)
            | redacted(self.title.as_mut())
            | redacted(self.raw_status.as_mut())
            | redacted_priority(&mut self.priority)
            | redacted_metadata(self.metadata.as_mut())
    }
}

/// Replaces secrets in a string; returns whether there was one.
pub(super) fn redacted(text: Option<&mut String>) -> bool {
    let Some(text) = text else { return false };
    let Some(clean) = redact::text(text) else { return false };
    *text = clean;
    true
}

pub(super) fn redacted_id(id: &mut ItemId) -> bool {
    let Some(clean) = redact::text(id.as_str()).and_then(ItemId::of) else { return false };
    *id = clean;
    true
}

fn redacted_priority(priority: &mut Option<TodoPriority>) -> bool {
    match priority {
        Some(TodoPriority::Text(text)) => redacted(Some(text)),
        Some(TodoPriority::Number(_)) | None => false,
    }
}

fn redacted_metadata(metadata: Option<&mut TodoMetadata>) -> bool {
    metadata.is_some_and(redact::object)
}
