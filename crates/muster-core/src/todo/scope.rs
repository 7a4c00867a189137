//! One list of a session as the server keeps it: the server alone assigns revisions (TS-1).

use serde::{Deserialize, Serialize};

use super::{
    ListChange, Published, ScopeKey, SnapshotResult, TodoCounts, TodoItem, TodoUpdate, WrittenList,
    settle::{settle, written},
};
use crate::Timestamp;

/// A scope as a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TodoScope {
    /// Its stable name.
    pub key: ScopeKey,
    /// The text shown for it.
    pub label: String,
    /// Number of its last accepted update; 0 before the first.
    pub revision: i64,
    /// The list.
    pub items: Vec<TodoItem>,
    /// Its place among the scopes of the session; `main` has 0.
    pub order: u64,
    /// Seq of the event that changed it last; 0 before the first.
    pub updated_seq: u64,
    pub updated_at: Timestamp,
    /// Whether an outside producer numbers its updates. From then on, its updates without a
    /// revision do not change the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub versioned: bool,
}

/// The position of a change in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Number of the event in its session.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
}

/// Why a change was rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TodoRejection {
    /// The revision of the update is not greater than the current one (TS-6).
    RevisionNotNewer {
        /// Which list.
        scope: ScopeKey,
        /// The revision of the update.
        given: i64,
        /// The revision of the list.
        current: i64,
    },
    /// The list has the greatest possible revision, so no update can follow without a gap.
    RevisionsExhausted {
        /// Which list.
        scope: ScopeKey,
        /// The revision of the list.
        current: i64,
    },
}

impl TodoScope {
    /// A scope before its first update. It is unknown, and nothing is sent for it (TD-12).
    pub fn unwritten(key: ScopeKey, order: u64) -> Self {
        Self {
            label: key.as_str().to_owned(),
            key,
            revision: 0,
            items: Vec::new(),
            order,
            updated_seq: 0,
            updated_at: Timestamp::default(),
            versioned: false,
        }
    }

    /// Whether an update was ever accepted.
    pub fn is_known(&self) -> bool {
        self.revision > 0
    }

    /// The published form of an update from outside: its own revision if that is newer, else the
    /// next one (TS-6). The update is assumed to be for this scope; its key is not checked.
    pub fn accept(&self, update: &TodoUpdate) -> Result<Published, TodoRejection> {
        let revision = match update.revision {
            None => self.next_revision()?,
            Some(given) if given > self.revision => given,
            Some(given) => {
                let scope = self.key.clone();
                let current = self.revision;
                return Err(TodoRejection::RevisionNotNewer { scope, given, current });
            }
        };
        let label = update.label.as_ref().unwrap_or(&self.label);
        let change = settle(&self.items, &update.operation);
        Ok(self.published(revision, label, change))
    }

    /// The published form of a written list (TT-9, TT-10).
    pub fn write(&self, list: &WrittenList) -> Result<Published, TodoRejection> {
        let revision = self.next_revision()?;
        let change = written(&self.items, list.as_slice());
        Ok(self.published(revision, &self.label, change))
    }

    /// Applies a published update. Never rejects: it is a fact.
    pub fn follow(&mut self, sent: &Published, stamp: Stamp) {
        sent.change.apply(&mut self.items);
        self.revision = sent.revision;
        self.label.clone_from(&sent.scope_label);
        self.updated_seq = stamp.seq;
        self.updated_at = stamp.at;
    }

    /// The whole list as an update, with its current revision (TS-4).
    pub fn snapshot(&self) -> Published {
        let items = self.items.clone();
        self.published(self.revision, &self.label, ListChange::Replace { items })
    }

    /// The same as the body of the event that a reader gets on connect (TS-5).
    pub fn snapshot_result(&self, as_of_seq: u64) -> SnapshotResult {
        SnapshotResult::of(self.snapshot(), as_of_seq)
    }

    /// How many items have which status.
    pub fn counts(&self) -> TodoCounts {
        TodoCounts::of(&self.items)
    }

    fn next_revision(&self) -> Result<i64, TodoRejection> {
        self.revision.checked_add(1).ok_or_else(|| TodoRejection::RevisionsExhausted {
            scope: self.key.clone(),
            current: self.revision,
        })
    }

    /// An empty list is always sent as a `clear`: some readers ignore a `replace` without items.
    fn published(&self, revision: i64, label: &str, change: ListChange) -> Published {
        let is_empty = matches!(&change, ListChange::Replace { items } if items.is_empty());
        let change = if is_empty { ListChange::Clear } else { change };
        let scope_key = self.key.clone();
        let scope_label = label.to_owned();
        Published { revision, scope_key, scope_label, change }
    }
}
