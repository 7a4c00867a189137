//! A store in memory, lost when the process ends.
//!
//! It is the reference for what the trait promises: plain maps, linear filters, no index. Tests of
//! the layers above use it; it is deliberately not fast and not durable.

mod found;
mod stream;
mod transaction;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use muster_core::{Address, EventOrder, EventQuery, ListOrder, ListQuery, LogPosition, Mark};

use crate::{
    Append, CatalogueQuery, Damage, Description, DocumentRow, EventRow, FoundDocument, LogCursor,
    LogEnd, LogPlace, Numbering, SCHEMA_VERSION, ShownRow, Store, StoreError, StoreSnapshot,
    StreamEvent, StreamRow, StringsQuery, TextMatches, Transaction, position,
};
use stream::{Document, Stream, admits};
use transaction::MemoryTransaction;

#[derive(Default)]
pub struct MemoryStore {
    shared: Mutex<Shared>,
    released: Condvar,
}

#[derive(Default)]
struct Shared {
    committed: Arc<State>,
    writing: bool,
}

/// A snapshot of everything; streams are shared between snapshots until one is changed.
#[derive(Clone, Default)]
struct State {
    global: u64,
    /// Documents ever written.
    written: u64,
    streams: BTreeMap<String, Arc<Stream>>,
    /// The events of all streams, in the order in which they were written.
    order: Arc<Vec<(Arc<str>, u64)>>,
    numbering: Numbering,
    /// What events are found by, by stream and number.
    said: Arc<BTreeMap<(String, u64), String>>,
    /// The number up to which that is known of each stream.
    indexed: Arc<BTreeMap<String, u64>>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// A store whose events get their positions in this way.
    pub fn numbered(numbering: Numbering) -> Self {
        let committed = Arc::new(State { numbering, ..State::default() });
        Self { shared: Mutex::new(Shared { committed, writing: false }), ..Self::default() }
    }

    /// The state is replaced whole or not at all, so a panic elsewhere cannot leave it half done.
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        let mut shared = self
            .released
            .wait_while(self.shared(), |shared| shared.writing)
            .unwrap_or_else(PoisonError::into_inner);
        shared.writing = true;
        let state = State::clone(&shared.committed);
        Ok(Box::new(MemoryTransaction { store: self, state }))
    }

    fn is_free(&self) -> bool {
        !self.shared().writing
    }

    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        Ok(Box::new(State::clone(&self.shared().committed)))
    }

    fn position(&self) -> Result<u64, StoreError> {
        Ok(self.shared().committed.global)
    }

    fn rest(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        Err(StoreError::Directory {
            path: target.to_owned(),
            cause: "a store in memory has no file to copy".to_owned(),
        })
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        Ok(Vec::new())
    }

    fn describe(&self) -> Description {
        Description {
            engine: "memory".to_owned(),
            location: None,
            bytes: None,
            schema_version: SCHEMA_VERSION,
            is_older: false,
            kept: Vec::new(),
        }
    }
}

impl State {
    fn advance(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        let ended = self.streams.get(append.stream).is_some_and(|stream| stream.ended);
        position::refuse_ended(ended, append.stream)?;
        let head = self.head(append.stream)?;
        let head = position::advance(head, append.stream, append.events)?;
        self.global += append.events.len() as u64;
        let name: Arc<str> = append.stream.into();
        let places = append.events.iter().map(|event| (Arc::clone(&name), event.seq));
        Arc::make_mut(&mut self.order).extend(places);
        let stream = self.streams.entry(append.stream.to_owned()).or_default();
        let stream = Arc::make_mut(stream);
        stream.seq = head.seq;
        stream.events.extend(append.events.iter().cloned().map(Arc::new));
        for change in append.documents {
            self.written += 1;
            stream.change(change, self.written);
        }
        Ok(())
    }

    /// The documents of a list, sorted and cut.
    fn found(&self, stream: &str, query: &ListQuery) -> Vec<&Document> {
        let Some(stream) = self.streams.get(stream) else { return Vec::new() };
        let mut found: Vec<&Document> = stream
            .documents
            .values()
            .filter(|document| query.admits(&document.row.address, &document.row.index))
            .collect();
        let ord = |document: &Document| (document.row.index.ord, document.born);
        match query.order {
            ListOrder::Ascending => found.sort_by_key(|document| ord(document)),
            ListOrder::Descending => {
                found.sort_by_key(|document| std::cmp::Reverse(ord(document)));
            }
            ListOrder::Rank => {
                found.sort_by_key(|document| (document.row.index.rank, ord(document)));
            }
            ListOrder::RankDescending => {
                let key = |document: &Document| (document.row.index.rank, ord(document));
                found.sort_by_key(|document| std::cmp::Reverse(key(document)));
            }
        }
        found.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
        found
    }
}

impl StoreSnapshot for State {
    fn numbering(&self) -> Numbering {
        self.numbering
    }

    fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError> {
        let seq = self.streams.get(stream).map_or(0, |stream| stream.seq);
        let global = match self.numbering {
            Numbering::OneLog => self.global,
            Numbering::PerStream => seq,
        };
        Ok(LogPosition { global, seq })
    }

    fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError> {
        let found = self.streams.iter().filter(|(name, _)| name.starts_with(prefix));
        let row = |(name, stream): (&String, &Arc<Stream>)| {
            let name = name.clone();
            let seq = stream.seq;
            let ended = stream.ended;
            StreamRow { name, seq, ended }
        };
        Ok(found.map(row).collect())
    }

    fn document(
        &mut self,
        stream: &str,
        address: &Address,
    ) -> Result<Option<DocumentRow>, StoreError> {
        let stream = self.streams.get(stream);
        let document = stream.and_then(|stream| stream.documents.get(address));
        Ok(document.map(|document| DocumentRow::clone(&document.row)))
    }

    fn version(&mut self, stream: &str, address: &Address) -> Result<Option<u64>, StoreError> {
        Ok(self.document(stream, address)?.map(|row| row.version))
    }

    fn list_versions(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Vec<(Address, u64)>, StoreError> {
        let rows = self.list(stream, query)?;
        Ok(rows.into_iter().map(|row| (row.address, row.version)).collect())
    }

    fn list(&mut self, stream: &str, query: &ListQuery) -> Result<Vec<DocumentRow>, StoreError> {
        let found = self.found(stream, query).into_iter();
        Ok(found.map(|document| DocumentRow::clone(&document.row)).collect())
    }

    fn briefs(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Option<Vec<Arc<str>>>, StoreError> {
        let found = self.found(stream, query).into_iter();
        Ok(found.map(|document| document.brief.clone()).collect())
    }

    fn search(
        &mut self,
        stream: &str,
        query: &ListQuery,
        text: &str,
    ) -> Result<Option<TextMatches>, StoreError> {
        let whole = ListQuery { after: None, limit: None, ..query.clone() };
        let mut matches = TextMatches::default();
        for document in self.found(stream, &whole) {
            if document.searched.as_ref().is_some_and(|searched| searched.contains(text)) {
                let row = &document.row;
                if matches.count(query, (&row.index.status, row.index.ord), matches.page.len()) {
                    matches.page.push((row.address.clone(), row.version));
                }
            }
        }
        Ok(Some(matches))
    }

    fn documents_with(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        Ok(Some(self.found_documents(query)))
    }

    fn events_with(&mut self, query: &StringsQuery<'_>) -> Result<Vec<LogPlace>, StoreError> {
        Ok(self.found_events(query))
    }

    fn unindexed_count(&mut self) -> Result<u64, StoreError> {
        Ok(self.unindexed_places().count() as u64)
    }

    fn log(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<Vec<(LogCursor, StreamEvent)>, StoreError> {
        Ok(self.events_after(after.order).take(limit as usize).collect())
    }

    fn unindexed(&mut self, end: LogEnd, limit: u32) -> Result<Vec<StreamEvent>, StoreError> {
        Ok(self.unindexed_events(end, limit as usize))
    }

    fn searched(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        let stream = self.streams.get(stream);
        let document = stream.and_then(|stream| stream.documents.get(address));
        Ok(document.and_then(|document| document.searched.as_deref().map(str::to_owned)))
    }

    fn is_searchable(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn brief(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        let stream = self.streams.get(stream);
        let document = stream.and_then(|stream| stream.documents.get(address));
        Ok(document.and_then(|document| document.brief.as_deref().map(str::to_owned)))
    }

    fn catalogue(
        &mut self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, DocumentRow)>, StoreError> {
        let catalogued = |document: &Document| {
            let index = &document.row.index;
            document.row.address.kind == query.kind
                && index.marks & Mark::Catalogued as u8 != 0
                && query.below.is_none_or(|below| index.ord < below)
        };
        let mut found: Vec<(&String, &Document)> = Vec::new();
        for (name, stream) in &self.streams {
            found.extend(stream.documents.values().map(|document| (name, document)));
        }
        found.retain(|(_, document)| catalogued(document));
        found.sort_by_key(|(_, document)| {
            std::cmp::Reverse((document.row.index.ord, document.born))
        });
        found.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
        let row = |(name, document): (&String, &Document)| {
            (name.clone(), DocumentRow::clone(&document.row))
        };
        Ok(found.into_iter().map(row).collect())
    }

    fn documents(&mut self, stream: &str) -> Result<Vec<DocumentRow>, StoreError> {
        let Some(stream) = self.streams.get(stream) else { return Ok(Vec::new()) };
        Ok(stream.documents.values().map(|document| DocumentRow::clone(&document.row)).collect())
    }

    fn events(&mut self, stream: &str, query: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        let Some(stream) = self.streams.get(stream) else { return Ok(Vec::new()) };
        let admitted = stream.events.iter().filter(|event| admits(query, event));
        let limit = query.limit as usize;
        Ok(match query.order {
            EventOrder::OldestFirst => {
                admitted.take(limit).map(|event| EventRow::clone(event)).collect()
            }
            EventOrder::NewestFirst => {
                admitted.rev().take(limit).map(|event| EventRow::clone(event)).collect()
            }
        })
    }

    fn shown(
        &mut self,
        stream: &str,
        query: &EventQuery,
    ) -> Result<Option<Vec<ShownRow>>, StoreError> {
        let row = |event: EventRow| {
            Some(ShownRow { global: event.global, at: event.at, shown: event.shown?, by: event.by })
        };
        Ok(self.events(stream, query)?.into_iter().map(row).collect())
    }

    fn tail(&mut self, stream: &str, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        let Some(stream) = self.streams.get(stream) else { return Ok(Vec::new()) };
        let first = stream.events.partition_point(|event| event.seq <= after);
        let newer = stream.events[first..].iter().take(limit as usize);
        Ok(newer.map(|event| EventRow::clone(event)).collect())
    }
}
