//! Finds events by what they say, and documents of all streams by what they are found by.
//!
//! Strings of events are indexed after the events were written, many at once, so that writing an
//! event costs nothing more. The string itself is not stored: a row of the index has the position
//! of its event, which has it. So the index can only leave events out; the caller reads the rest.
//!
//! Both indexes are read from their newest entry. With a limit, a string that very many have costs
//! no more than one that a few have.

use std::ops::Deref;

use muster_core::Address;
use rusqlite::{OptionalExtension as _, Row, params};

use super::{link::Link, listing::event_columns, row, search, view::View};
use crate::{EventEntries, FoundDocument, LogPlace, StoreError, StreamEvent, StringsQuery};

const INDEXED: &str = "SELECT v FROM meta WHERE k = 'events_indexed'";
const MARK_INDEXED: &str = "\
    INSERT INTO meta (k, v) VALUES ('events_indexed', ?1) \
    ON CONFLICT DO UPDATE SET v = excluded.v";
const ADD: &str = "INSERT INTO event_search (rowid, text) VALUES (?1, ?2)";
const CLEAR: &str = "INSERT INTO event_search (event_search) VALUES ('delete-all')";
const REMOVE_OF: &str = "\
    DELETE FROM event_search WHERE rowid IN (SELECT global FROM event WHERE stream = ?1)";
const EVENTS: &str = "\
    SELECT event.global, event.seq, stream.name FROM event_search \
    CROSS JOIN event ON event.global = event_search.rowid \
    CROSS JOIN stream ON stream.id = event.stream \
    WHERE event_search MATCH ?1 AND (?2 IS NULL OR event.stream = ?2) \
    ORDER BY event_search.rowid DESC LIMIT ?3";
const DOCUMENTS: &str = "\
    SELECT stream.name, document.kind, document.name, searched.text FROM search \
    CROSS JOIN document ON document.id = search.rowid \
    CROSS JOIN searched ON searched.document = document.id \
    CROSS JOIN stream ON stream.id = document.stream \
    WHERE search MATCH ?1 AND (?2 IS NULL OR document.stream = ?2) \
    ORDER BY search.rowid DESC LIMIT ?3";
const LOG: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", (SELECT name FROM stream WHERE stream.id = event.stream) \
     FROM event WHERE global > ?1 ORDER BY global LIMIT ?2"
);
/// Column of the stream's name after those of the event.
const STREAM_COLUMN: usize = 10;

/// The position up to which events are indexed.
pub(super) fn indexed_through(link: &Link) -> Result<u64, StoreError> {
    let read = || {
        let mut statement = link.connection.prepare_cached(INDEXED)?;
        statement.query_row([], |row| row.get(0)).optional()
    };
    let through = read().map_err(|error| link.failed("looked for the index of events", &error))?;
    Ok(through.unwrap_or(0))
}

/// Adds what events are found by, unless another process has done so.
pub(super) fn add(link: &Link, entries: &EventEntries<'_>) -> Result<(), StoreError> {
    let indexed = indexed_through(link)?;
    let fresh = entries.strings.iter().filter(|(place, _)| place.global > indexed);
    for (place, text) in fresh {
        run(link, ADD, params![place.global, text])?;
    }
    let through = entries.covered.iter().map(|place| place.global).max();
    match through.filter(|through| *through > indexed) {
        Some(through) => run(link, MARK_INDEXED, [through]),
        None => Ok(()),
    }
}

/// Forgets what all events are found by.
pub(super) fn clear(link: &Link) -> Result<(), StoreError> {
    run(link, CLEAR, [])?;
    run(link, MARK_INDEXED, [0])
}

/// The same for the events of a stream.
pub(super) fn remove_all(link: &Link, stream: i64) -> Result<(), StoreError> {
    run(link, REMOVE_OF, [stream])
}

fn run(link: &Link, sql: &str, parameters: impl rusqlite::Params) -> Result<(), StoreError> {
    let ran = link.connection.prepare_cached(sql).and_then(|mut s| s.execute(parameters));
    ran.map(drop).map_err(|error| link.failed("changed the index of events", &error))
}

impl<L: Deref<Target = Link>> View<L> {
    pub(super) fn found_events(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Vec<LogPlace>, StoreError> {
        let Some((expression, stream)) = self.expression(query)? else { return Ok(Vec::new()) };
        // A file of an earlier layout, opened to look at it, has no such index.
        if indexed_through(self.link())? == 0 {
            return Ok(Vec::new());
        }
        let place = |row: &Row<'_>| {
            Ok(LogPlace { global: row.get(0)?, seq: row.get(1)?, stream: row.get(2)? })
        };
        self.many("searched the log", EVENTS, params![expression, stream, query.limit], place)
    }

    pub(super) fn found_documents(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        if !search::is_complete(self.link())? {
            return Ok(None);
        }
        let Some((expression, stream)) = self.expression(query)? else {
            return Ok(Some(Vec::new()));
        };
        let found = |row: &Row<'_>| {
            let kind: String = row.get(1)?;
            let address = Address { kind: kind.into(), name: row.get(2)? };
            Ok(FoundDocument { stream: row.get(0)?, address, searched: row.get(3)? })
        };
        let parameters = params![expression, stream, query.limit];
        self.many("searched documents", DOCUMENTS, parameters, found).map(Some)
    }

    pub(super) fn log_after(&self, after: u64, limit: u32) -> Result<Vec<StreamEvent>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let read = |row: &Row<'_>| {
            Ok(StreamEvent { event: row::event(row)?, stream: row.get(STREAM_COLUMN)? })
        };
        self.many("read the log's tail", LOG, params![after, limit], read)
    }

    /// The query in the form of the index, and the number of its stream; `None` if nothing can
    /// match.
    fn expression(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<(String, Option<i64>)>, StoreError> {
        let mut grams: Vec<String> = Vec::new();
        for string in query.strings {
            let of_string = search::grams(string);
            if of_string.is_empty() || string.contains('\0') {
                return Ok(None);
            }
            grams.extend(of_string);
        }
        let stream = match query.stream {
            Some(name) => match self.stream(name)? {
                Some(stream) => Some(stream),
                None => return Ok(None),
            },
            None => None,
        };
        Ok((!grams.is_empty()).then(|| (grams.join(" AND "), stream)))
    }
}
