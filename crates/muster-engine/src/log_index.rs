//! The index of what events say, and searches that use it.
//!
//! ```text
//!   log:   1 ─────────────── indexed through ─── ... ─── head
//!          found by the index                 read by the search itself
//! ```
//!
//! Events are indexed after they were written, many in one transaction, so that a write costs
//! nothing more. A search reads the events after the indexed position itself, so that it misses
//! nothing that is committed. Where very many are not indexed, as in a store of an earlier layout,
//! it indexes them first, for a limited time, and reports how many are left.

use std::time::{Duration, Instant};

use muster_core::{
    Aggregate, LogPosition, SearchTopic, SearchWords, run::RunAggregate, session::SessionAggregate,
    tasks::TaskAggregate,
};
use muster_store::{
    EventEntries, EventRow, FoundDocument, LogEnd, LogPlace, Store, StoreError, StoreSnapshot,
    StreamEvent, StreamRow, StringsQuery,
};

use crate::load;

/// Events that are indexed in one transaction.
const BATCH_EVENTS: u32 = 1_000;
/// Events that a search reads itself at most.
const TAIL_EVENTS_MAX: u32 = 1_000;
/// How long a search indexes events before it goes on without the rest.
const CATCH_UP_MAX: Duration = Duration::from_secs(2);
/// Fewer events are left to searches when there is nothing else to do: a transaction for each of
/// them would cost more than it saves.
const WORTHWHILE_EVENTS: u64 = 256;

/// Indexes the next events; returns how many are left.
pub(crate) fn advance(store: &dyn Store) -> Result<u64, StoreError> {
    let mut snapshot = store.snapshot()?;
    let rows = snapshot.unindexed(LogEnd::Oldest, BATCH_EVENTS)?;
    let count = snapshot.unindexed_count()?;
    drop(snapshot);
    if rows.is_empty() {
        return Ok(0);
    }
    let string = |row: &StreamEvent| Some((place(row), entry(row)?));
    let strings: Vec<(LogPlace, String)> = rows.iter().filter_map(string).collect();
    let covered: Vec<LogPlace> = rows.iter().map(place).collect();
    let mut transaction = store.begin()?;
    transaction.index_events(&EventEntries { strings: &strings, covered: &covered })?;
    transaction.commit()?;
    Ok(count.saturating_sub(rows.len() as u64))
}

fn place(row: &StreamEvent) -> LogPlace {
    let EventRow { seq, global, .. } = row.event;
    LogPlace { stream: row.stream.clone(), seq, global }
}

/// Whether indexing is worth a transaction when there is nothing else to do.
pub(crate) fn is_worthwhile(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.snapshot()?.unindexed_count()? >= WORTHWHILE_EVENTS)
}

/// Indexes every event again.
pub fn rebuild(store: &dyn Store) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    transaction.clear_event_index()?;
    transaction.commit()?;
    while advance(store)? > 0 {}
    Ok(())
}

/// The string that an event is found by.
fn entry(row: &StreamEvent) -> Option<String> {
    let (room, _) = row.stream.split_once('/')?;
    let of_room = match room {
        TaskAggregate::STREAM => entry_of::<TaskAggregate>,
        SessionAggregate::STREAM => entry_of::<SessionAggregate>,
        RunAggregate::STREAM => entry_of::<RunAggregate>,
        _ => return None,
    };
    of_room(&row.event)
}

fn entry_of<A: Aggregate>(row: &EventRow) -> Option<String> {
    if !A::has_strings(&row.kind) {
        return None;
    }
    // `muster doctor` reports an event that cannot be read.
    let event: A::Event = serde_json::from_str(&row.body).ok()?;
    A::strings(&event).map(|strings| strings.entry())
}

/// A search over one snapshot of the whole store.
pub struct StoreSearch<'a> {
    snapshot: Box<dyn StoreSnapshot + 'a>,
    /// Events that are not indexed and can be found, oldest first.
    tail: Vec<(LogPlace, String)>,
    unsearched: u64,
}

impl<'a> StoreSearch<'a> {
    /// Begins a search, after it has indexed events if there are too many to read.
    pub fn begin(store: &'a dyn Store) -> Result<Self, StoreError> {
        catch_up(store);
        let mut snapshot = store.snapshot()?;
        let rows = snapshot.unindexed(LogEnd::Newest, TAIL_EVENTS_MAX)?;
        let count = snapshot.unindexed_count()?;
        let tail = rows.iter().filter_map(|row| Some((place(row), entry(row)?))).collect();
        let unsearched = count.saturating_sub(u64::from(TAIL_EVENTS_MAX));
        Ok(Self { snapshot, tail, unsearched })
    }

    /// Events that are neither indexed nor read.
    pub fn unsearched(&self) -> u64 {
        self.unsearched
    }

    /// Streams of the store by name; `prefix` selects some.
    pub fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError> {
        self.snapshot.streams(prefix)
    }

    /// The head of the log and of a stream.
    pub fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError> {
        self.snapshot.head(stream)
    }

    /// A document as it is at the moment of the search.
    pub fn document<A: Aggregate>(
        &mut self,
        stream: &str,
        key: &A::Key,
    ) -> Result<Option<A::Document>, StoreError> {
        let row = self.snapshot.document(stream, &A::address(key))?;
        row.map(|row| load::decode::<A>(stream, &row).map(|(_, document)| document)).transpose()
    }

    /// Events of a topic that may say all of these strings, newest first.
    pub fn events(
        &mut self,
        topic: SearchTopic,
        query: &StringsQuery<'_>,
    ) -> Result<Vec<LogPlace>, StoreError> {
        let mark = topic.mark().to_owned();
        let strings: Vec<String> =
            [mark].into_iter().chain(query.strings.iter().cloned()).collect();
        let limit = query.limit as usize;
        let says = |(place, entry): &&(LogPlace, String)| {
            query.stream.is_none_or(|wanted| wanted == place.stream)
                && strings.iter().all(|string| entry.contains(string))
        };
        let newest = self.tail.iter().rev().filter(says).take(limit);
        let mut found: Vec<LogPlace> = newest.map(|(place, _)| place.clone()).collect();
        let left = u32::try_from(limit - found.len()).unwrap_or(0);
        if left > 0 {
            let query = StringsQuery { strings: &strings, limit: left, ..*query };
            found.extend(self.snapshot.events_with(&query)?);
        }
        Ok(found)
    }

    /// Documents that are found by all of these strings, newest first; `None` if not every document
    /// is indexed.
    pub fn documents(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        self.snapshot.documents_with(query)
    }

    /// The event at a place; `None` if it is gone.
    pub fn event(&mut self, place: &LogPlace) -> Result<Option<EventRow>, StoreError> {
        let found = self.snapshot.tail(&place.stream, place.seq.saturating_sub(1), 1)?;
        Ok(found.into_iter().next().filter(|row| row.seq == place.seq))
    }

    /// Every event of these topics that may contain these words; `None` if there are more than a
    /// limit, if the words are too short for an index, or if not every event can be found.
    pub fn all_events(
        &mut self,
        topics: &[SearchTopic],
        words: &SearchWords,
        (stream, limit): (Option<&str>, u32),
    ) -> Result<Option<Vec<LogPlace>>, StoreError> {
        let Some(strings) = words.indexed().filter(|_| self.unsearched == 0) else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for topic in topics {
            let query = StringsQuery { strings: &strings, stream, limit };
            let places = self.events(*topic, &query)?;
            if places.len() >= limit as usize {
                return Ok(None);
            }
            found.extend(places);
        }
        Ok(Some(found))
    }
}

/// Indexes events for a limited time, if there are too many for a search to read. A failure leaves
/// more to read, and is reported by what cannot be read.
fn catch_up(store: &dyn Store) {
    let deadline = Instant::now() + CATCH_UP_MAX;
    let is_far_behind = || Ok(store.snapshot()?.unindexed_count()? > u64::from(TAIL_EVENTS_MAX));
    let advanced: Result<(), StoreError> = (|| {
        if is_far_behind()? {
            while store.is_free() && advance(store)? > 0 && Instant::now() < deadline {}
        }
        Ok(())
    })();
    if let Err(error) = advanced {
        tracing::warn!(%error, "could not index events for a search");
    }
}
