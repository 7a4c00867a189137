//! Replay: the documents that result from a stream's events, from the first one on.

use std::collections::BTreeMap;

use crate::{Aggregate, Documents, Recorded};

/// Folds a whole stream into documents, to compare with what the store holds.
pub struct Replay<A: Aggregate> {
    documents: Documents<A>,
    /// Position of the event that changed a document last.
    changed: BTreeMap<A::Key, u64>,
}

impl<A: Aggregate> Default for Replay<A> {
    fn default() -> Self {
        Self { documents: Documents::complete(), changed: BTreeMap::new() }
    }
}

impl<A: Aggregate> Replay<A> {
    /// Applies the next event.
    pub fn apply(&mut self, event: &Recorded<A::Event>) {
        if A::evolve(&mut self.documents, event).is_err() {
            unreachable!("a complete set of documents never lacks one");
        }
        for key in self.documents.touched() {
            self.changed.insert(key.clone(), event.global);
        }
        self.documents.seal();
    }

    /// Position of the event that changed a document last; zero for one that none has.
    pub fn changed(&self, key: &A::Key) -> u64 {
        self.changed.get(key).copied().unwrap_or(0)
    }

    /// Every document that the events so far leave, by key.
    pub fn documents(&self) -> impl Iterator<Item = (&A::Key, &A::Document)> {
        self.documents.changes().filter_map(|(key, document)| Some((key, document?)))
    }
}
