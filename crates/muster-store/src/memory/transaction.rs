//! Writing in memory: a transaction has a state of its own, which replaces the committed one.

use std::{collections::BTreeMap, sync::Arc};

use muster_core::Address;

use super::{MemoryStore, State, stream::Stream};
use crate::{Append, EventEntries, LogPlace, StoreError, Transaction, position};

pub(super) struct MemoryTransaction<'a> {
    pub(super) store: &'a MemoryStore,
    pub(super) state: State,
}

crate::delegate::reads!(MemoryTransaction<'_>, state);

impl Transaction for MemoryTransaction<'_> {
    fn append(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        self.state.advance(append)
    }

    fn pieces(&mut self, stream: &str, address: &Address) -> Result<usize, StoreError> {
        let stream = self.state.streams.get(stream);
        let document = stream.and_then(|stream| stream.documents.get(address));
        Ok(document.map_or(0, |document| 1 + document.pieces.len()))
    }

    fn end(&mut self, last: &Append<'_>) -> Result<(), StoreError> {
        position::refuse_silent_end(last)?;
        self.state.advance(&Append { documents: &[], ..*last })?;
        let kept = last.events.iter().cloned().map(Arc::new).collect();
        let stream = self.state.streams.entry(last.stream.to_owned()).or_default();
        let seq = stream.seq;
        let mut ended = Stream { seq, ended: true, events: kept, documents: BTreeMap::new() };
        for change in last.documents {
            self.state.written += 1;
            ended.change(change, self.state.written);
        }
        *stream = Arc::new(ended);
        Ok(())
    }

    /// There is no index: every search reads every string.
    fn rebuild_search(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn index_events(&mut self, entries: &EventEntries<'_>) -> Result<(), StoreError> {
        let state = &mut self.state;
        let is_fresh = |place: &LogPlace| place.seq > state.indexed_of(&place.stream);
        let fresh = entries.strings.iter().filter(|(place, _)| is_fresh(place));
        let fresh = fresh.map(|(place, text)| ((place.stream.clone(), place.seq), text.clone()));
        let fresh: Vec<_> = fresh.collect();
        Arc::make_mut(&mut state.said).extend(fresh);
        let indexed = Arc::make_mut(&mut state.indexed);
        for place in entries.covered {
            let through = indexed.entry(place.stream.clone()).or_default();
            *through = place.seq.max(*through);
        }
        Ok(())
    }

    fn clear_event_index(&mut self) -> Result<(), StoreError> {
        self.state.said = Arc::default();
        self.state.indexed = Arc::default();
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.store.shared().committed = Arc::new(self.state.clone());
        Ok(())
    }
}

impl Drop for MemoryTransaction<'_> {
    fn drop(&mut self) {
        self.store.shared().writing = false;
        self.store.released.notify_one();
    }
}
