//! A reader's copy of the lists of one session, kept up to date by its events.
//!
//! Total: every event is handled, in any order and any number of times. A list never goes back to
//! an older revision, and never becomes empty because a connection was lost (TD-28).

mod handled;

use std::collections::BTreeMap;

pub use handled::HandledSeqs;

use super::{
    Fallback, Incoming, Malformed, Op, ScopeKey, TodoCounts, TodoItem, TodoUpdate, read,
    settle::settle,
};
use crate::Timestamp;

/// Type of the event by which the server reports that it dropped events for this reader.
const STREAM_GAP: &str = "stream.gap";

/// One list as a reader knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopeState {
    /// Its stable name.
    pub key: ScopeKey,
    /// The text shown for it.
    pub label: String,
    /// The last accepted revision, if there was one.
    pub revision: Option<i64>,
    /// The list.
    pub items: Vec<TodoItem>,
    /// Whether updates may be missing.
    pub stale: bool,
    /// Whether an update was ever accepted; `main` exists before that.
    pub known: bool,
    /// When the last accepted update happened, according to its event.
    pub updated_at: Option<Timestamp>,
    /// Highest seq of an accepted update.
    accepted_seq: Option<u64>,
}

/// How a new connection continues the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionStart {
    /// It continues exactly after the last event handled.
    Gapless,
    /// Events may be missing.
    WithGap,
}

/// What became of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Handled {
    /// It was handled before (EN-10).
    Redelivered,
    NoUpdate,
    /// Its update is malformed and was counted.
    Malformed(Malformed),
    /// Its update was too late for this scope.
    Ignored(ScopeKey, IgnoredUpdate),
    /// Its update was accepted, even if it changed nothing.
    Accepted(ScopeKey),
}

/// Why an update was not applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IgnoredUpdate {
    /// Its revision is not greater than the last one (TD-13).
    RevisionNotNewer,
    /// It has no revision, and the scope has one (TD-14).
    Unversioned,
    /// It has no revision, and its event is older than the last one accepted (TD-14).
    OlderEvent,
}

/// All lists of one session.
#[derive(Clone, Debug)]
pub struct TodoReader {
    fallback: Fallback,
    scopes: Vec<ScopeState>,
    places: BTreeMap<ScopeKey, usize>,
    handled: HandledSeqs,
    malformed: u64,
    changes: u64,
}

impl TodoReader {
    /// A reader that has seen nothing: `main` exists, empty.
    pub fn new(fallback: Fallback) -> Self {
        let main = ScopeState::unseen(ScopeKey::main());
        Self {
            fallback,
            places: BTreeMap::from([(main.key.clone(), 0)]),
            scopes: vec![main],
            handled: HandledSeqs::default(),
            malformed: 0,
            changes: 0,
        }
    }

    /// Handles an event of the session.
    pub fn handle(&mut self, event: &Incoming<'_>) -> Handled {
        if event.seq.is_some_and(|seq| !self.handled.insert(seq)) {
            return Handled::Redelivered;
        }
        if event.kind == STREAM_GAP {
            self.mark_stale();
        }
        let update = match event.body {
            None => Ok(None),
            Some(body) => read(event.kind, body, self.fallback),
        };
        match update {
            Ok(None) => Handled::NoUpdate,
            Ok(Some(update)) => self.update(&update, event),
            Err(malformed) => {
                self.malformed += 1;
                Handled::Malformed(malformed)
            }
        }
    }

    /// Notes that the connection was lost and how the next one continues (TD-26).
    pub fn reconnected(&mut self, connection: ConnectionStart) {
        match connection {
            ConnectionStart::Gapless => {}
            ConnectionStart::WithGap => self.mark_stale(),
        }
    }

    /// The scopes: `main`, then the others as they appeared.
    pub fn scopes(&self) -> &[ScopeState] {
        &self.scopes
    }

    pub fn scope(&self, key: &ScopeKey) -> Option<&ScopeState> {
        self.places.get(key).and_then(|at| self.scopes.get(*at))
    }

    /// How many updates were malformed.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Increases with every visible change; while it stays the same, nothing is redrawn (UI-6).
    pub fn changes(&self) -> u64 {
        self.changes
    }

    fn mark_stale(&mut self) {
        for scope in self.scopes.iter_mut().filter(|scope| scope.known && !scope.stale) {
            scope.stale = true;
            self.changes += 1;
        }
    }

    fn update(&mut self, update: &TodoUpdate, event: &Incoming<'_>) -> Handled {
        let known = self.places.get(&update.scope).and_then(|at| self.scopes.get_mut(*at));
        let Some(scope) = known else {
            let mut scope = ScopeState::unseen(update.scope.clone());
            scope.accept(update, event);
            self.places.insert(update.scope.clone(), self.scopes.len());
            self.scopes.push(scope);
            self.changes += 1;
            return Handled::Accepted(update.scope.clone());
        };
        let Some(reason) = scope.gate(update, event.seq) else {
            self.changes += u64::from(scope.accept(update, event));
            return Handled::Accepted(update.scope.clone());
        };
        if scope.stale && scope.is_confirmed_by(update) {
            scope.stale = false;
            self.changes += 1;
        }
        Handled::Ignored(update.scope.clone(), reason)
    }
}

impl ScopeState {
    fn unseen(key: ScopeKey) -> Self {
        Self {
            label: key.as_str().to_owned(),
            key,
            revision: None,
            items: Vec::new(),
            stale: false,
            known: false,
            updated_at: None,
            accepted_seq: None,
        }
    }

    /// How many items have which status.
    pub fn counts(&self) -> TodoCounts {
        TodoCounts::of(&self.items)
    }

    /// Why an update is outdated for this list.
    fn gate(&self, update: &TodoUpdate, seq: Option<u64>) -> Option<IgnoredUpdate> {
        match (update.revision, self.revision) {
            (Some(given), Some(last)) => (given <= last).then_some(IgnoredUpdate::RevisionNotNewer),
            (Some(_), None) => None,
            (None, Some(_)) => Some(IgnoredUpdate::Unversioned),
            (None, None) => {
                let is_older = seq.zip(self.accepted_seq).is_some_and(|(seq, last)| seq <= last);
                is_older.then_some(IgnoredUpdate::OlderEvent)
            }
        }
    }

    /// Whether an update confirms that the list is whole, without changing it (TD-27). The snapshot
    /// of an empty list is a `clear`, which confirms nothing else.
    fn is_confirmed_by(&self, update: &TodoUpdate) -> bool {
        let is_snapshot = match update.operation.op() {
            Op::Replace => true,
            Op::Clear => self.items.is_empty(),
            Op::Patch | Op::Upsert | Op::Delete => false,
        };
        is_snapshot && update.revision.is_some() && update.revision == self.revision
    }

    /// Applies an update that passed the gate; returns whether it has a visible effect.
    fn accept(&mut self, update: &TodoUpdate, event: &Incoming<'_>) -> bool {
        let change = settle(&self.items, &update.operation);
        let mut items = self.items.clone();
        change.apply(&mut items);
        let after = Self {
            label: update.label.as_ref().unwrap_or(&self.label).clone(),
            key: self.key.clone(),
            revision: update.revision.or(self.revision),
            items,
            stale: self.stale && !change.op().is_whole(),
            known: true,
            updated_at: event.at.or(self.updated_at),
            accepted_seq: self.accepted_seq.max(event.seq),
        };
        let is_visible = after.label != self.label
            || after.revision != self.revision
            || after.stale != self.stale
            || after.items != self.items;
        *self = after;
        is_visible
    }
}
