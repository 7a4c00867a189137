//! One stream's part of a transaction: drafted, appended, and cached once it is committed.

use std::sync::Arc;

use muster_core::{Aggregate, Documents, Draft, Env, LogPosition, Recorded, WorkRefusal};
use muster_store::{Append, DocumentChange, StoreError, Transaction};

use crate::{
    cache::Cache,
    growth::{GrowthHub, StreamCommit},
    load::{self, DocumentSource},
    rows,
    trees::{self, Trees},
};

/// What an engine keeps in memory of its store.
#[derive(Default)]
pub(crate) struct EngineCaches {
    pub(crate) cache: Cache,
    pub(crate) trees: Trees,
    pub(crate) hub: Arc<GrowthHub>,
}

/// The result of a draft, or the rejection of a rule.
pub(crate) type Ruled<A, T> = Result<T, Box<<A as Aggregate>::Rejection>>;

/// The changes of one stream.
pub(crate) struct StreamWrite<A: Aggregate> {
    stream: String,
    kept: Arc<EngineCaches>,
    documents: Documents<A>,
    events: Vec<Recorded<A::Event>>,
    changes: Vec<DocumentChange>,
}

impl<A: Aggregate> StreamWrite<A> {
    pub(crate) fn of(stream: String, kept: Arc<EngineCaches>) -> Self {
        let documents = Documents::default();
        let events = Vec::new();
        let changes = Vec::new();
        Self { stream, kept, documents, events, changes }
    }

    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// Forgets a draft that was not kept.
    pub(crate) fn reset(&mut self) {
        let stream = std::mem::take(&mut self.stream);
        *self = Self::of(stream, Arc::clone(&self.kept));
    }

    /// Runs the work until everything it needs is loaded; a rejected draft leaves nothing.
    pub(crate) fn draft<T>(
        &mut self,
        transaction: &mut dyn Transaction,
        head: LogPosition,
        env: &Env,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>>,
    ) -> Result<Ruled<A, T>, StoreError> {
        let stream = self.stream.as_str();
        let cache = &self.kept.cache;
        let mut source = DocumentSource { stream, snapshot: transaction, cache, committed: false };
        let mut events = Vec::new();
        let outcome = load::answer(&mut source, &mut self.documents, |docs| {
            let mut draft = Draft::new(docs, head, env.clone());
            let value = work(&mut draft)?;
            events = draft.into_events();
            Ok(value)
        })?;
        if outcome.is_ok() {
            self.events = events;
        }
        Ok(outcome)
    }

    /// How many events were drafted.
    pub(crate) fn events(&self) -> u64 {
        self.events.len() as u64
    }

    /// Writes what was drafted.
    pub(crate) fn append(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        let Some(last) = self.events.last() else { return Ok(()) };
        let stream = self.stream.as_str();
        self.changes = rows::document_changes(transaction, stream, &self.documents, last.global)?;
        let rows = rows::event_rows::<A>(&self.events);
        let documents = self.changes.as_slice();
        if !A::ends(&last.event) {
            return transaction.append(&Append { stream, events: &rows, documents });
        }
        let (earlier, last) = rows.split_at(rows.len() - 1);
        transaction.append(&Append { stream, events: earlier, documents: &[] })?;
        transaction.end(&Append { stream, events: last, documents })
    }

    /// Caches the changed documents; must only be called after the commit.
    pub(crate) fn keep(&self) {
        let EngineCaches { cache, trees, hub } = &*self.kept;
        rows::keep_changes(&self.stream, &self.documents, &self.changes, cache);
        if let (Some(first), Some(last)) = (self.events.first(), self.events.last()) {
            let changed = self.documents.changes().filter_map(|(_, document)| document);
            let moments = (first.seq - 1, last.seq);
            trees.note(&self.stream, moments, changed.map(trees::anything::<A>));
            let positions = (first.global, last.global);
            hub.notify(&StreamCommit { stream: &self.stream, first: first.seq, positions });
        }
    }
}
