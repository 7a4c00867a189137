//! Replay: the documents that a stream's events add up to, from the first one on.

use crate::{Aggregate, Documents, Recorded};

/// Folds a whole stream into documents, to compare with what the store holds.
pub struct Replay<A: Aggregate> {
    documents: Documents<A>,
}

impl<A: Aggregate> Default for Replay<A> {
    fn default() -> Self {
        Self { documents: Documents::complete() }
    }
}

impl<A: Aggregate> Replay<A> {
    /// Applies the next event.
    pub fn apply(&mut self, event: &Recorded<A::Event>) {
        if A::evolve(&mut self.documents, event).is_err() {
            unreachable!("a complete set of documents never lacks one");
        }
    }

    /// Every document that the events so far leave, by key.
    pub fn documents(&self) -> impl Iterator<Item = (&A::Key, &A::Document)> {
        self.documents.changes().filter_map(|(key, document)| Some((key, document?)))
    }
}
