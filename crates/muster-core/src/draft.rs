//! A draft: what one transaction would append, computed before anything is written.

use std::sync::Arc;

use crate::{Aggregate, Author, Documents, Env, LogPosition, Recorded, Unloaded, WorkRefusal};

/// Events and document changes of one transaction in the making.
///
/// Macros and batches apply several commands to one draft; it is stored whole or not at all.
pub struct Draft<'a, A: Aggregate> {
    documents: &'a mut Documents<A>,
    env: Env,
    head: LogPosition,
    sealed: usize,
}

impl<'a, A: Aggregate> Draft<'a, A> {
    /// An empty draft on top of the given documents and log position.
    pub fn new(documents: &'a mut Documents<A>, head: LogPosition, env: Env) -> Self {
        documents.reset();
        Self { documents, env, head, sealed: 0 }
    }

    /// The documents as the draft would leave them.
    pub fn documents(&self) -> &Documents<A> {
        self.documents
    }

    /// The moment of the call.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Decides one command; returns the events that it emitted.
    ///
    /// A command may be refused after it has emitted some of its events. If it was the first of its
    /// call, they are dropped here; otherwise the caller abandons the call or the whole draft.
    pub fn apply(&mut self, command: &A::Command) -> Result<&[Recorded<A::Event>], WorkRefusal<A>> {
        let first = self.events().len();
        let decided = A::decide(self, command);
        if decided.is_err() && first == self.sealed {
            self.abandon_call();
        }
        decided.map(|()| &self.events()[first..])
    }

    /// Adds the next event and applies it to the documents. Nothing else writes to a stream.
    pub(crate) fn emit(&mut self, event: A::Event) -> Result<A::Applied, Unloaded<A>> {
        self.emit_as(self.env.call.by.clone(), event)
    }

    /// The same for an event whose author is not the caller.
    pub(crate) fn emit_by(
        &mut self,
        author: Author,
        event: A::Event,
    ) -> Result<A::Applied, Unloaded<A>> {
        self.emit_as(Some(Arc::new(author)), event)
    }

    fn emit_as(
        &mut self,
        by: Option<Arc<Author>>,
        event: A::Event,
    ) -> Result<A::Applied, Unloaded<A>> {
        let count = self.events().len() as u64 + 1;
        let recorded = Recorded {
            global: self.head.global + count,
            seq: self.head.seq + count,
            at: self.env.now,
            by,
            intent: None,
            event,
        };
        let applied = A::evolve(self.documents, &recorded)?;
        self.documents.record(recorded);
        Ok(applied)
    }

    /// Names what the caller asked for on one of the events of the current call.
    pub fn intend(&mut self, at: usize, intent: &str) -> Result<(), Unloaded<A>> {
        let at = self.sealed + at;
        let Some(recorded) = self.documents.name_intent(at, intent) else { return Ok(()) };
        A::evolve_intent(self.documents, &recorded)
    }

    /// The same draft for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Draft<'_, A> {
        Draft {
            documents: self.documents,
            env: self.env.clone(),
            head: self.head,
            sealed: self.sealed,
        }
    }

    /// Starts the next call of the same transaction: revisions are counted from here.
    pub fn next_call(&mut self) {
        self.documents.seal();
        self.sealed = self.events().len();
    }

    /// Drops the current call, keeping the calls before it.
    pub fn abandon_call(&mut self) {
        self.documents.rollback(self.sealed);
    }

    /// Events drafted so far.
    pub fn events(&self) -> &[Recorded<A::Event>] {
        self.documents.drafted()
    }

    /// Events of the current call.
    pub fn call_events(&self) -> &[Recorded<A::Event>] {
        &self.events()[self.sealed..]
    }

    /// Drops everything: nothing of the draft will be stored.
    pub fn clear(&mut self) {
        self.documents.reset();
        self.sealed = 0;
    }

    /// Ends the draft and returns its events; the changed documents stay in the working set.
    pub fn into_events(self) -> Vec<Recorded<A::Event>> {
        self.documents.take_drafted()
    }
}
