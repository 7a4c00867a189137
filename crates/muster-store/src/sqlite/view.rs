//! Reading: the same statements for a snapshot and for a transaction that reads its own writes.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use muster_core::{Address, EventQuery, ListQuery, LogPosition, Timestamp};
use rusqlite::{OptionalExtension as _, Params, Row, params, params_from_iter};

use super::{
    event_search,
    link::Link,
    listing::{self, document_columns, event_columns},
    row::{document, event},
    search::{self, SearchedIds},
};
use crate::{
    CatalogueQuery, DocumentRow, EventRow, FoundDocument, LogCursor, LogEnd, LogPlace, Numbering,
    ShownRow, StoreError, StoreSnapshot, StreamEvent, StreamRow, StringsQuery, TextMatches,
    prefix as names,
};

/// The number of a stream's newest event; the stream keeps it even after its end.
macro_rules! head {
    () => {
        "(SELECT coalesce(max(seq), 0) FROM event INDEXED BY event_by_seq WHERE stream = stream.id)"
    };
}

/// Reads through a connection that is inside a transaction.
pub(super) struct View<L> {
    link: L,
    global: u64,
    /// The stream that was looked up last. It stays as it is until the view's own transaction
    /// appends to it.
    known: Option<KnownStream>,
    /// The last search: lists of plans and of tasks ask for the same.
    pub(super) searched: Option<SearchedIds>,
}

/// The row of a stream.
#[derive(Clone)]
struct KnownStream {
    name: String,
    id: i64,
    seq: u64,
    ended: bool,
}

impl<L: Deref<Target = Link>> View<L> {
    /// Starts reading; the connection's transaction sees this snapshot from now on.
    pub(super) fn new(link: L) -> Result<Self, StoreError> {
        let global = newest(&link)?;
        Ok(Self { link, global, known: None, searched: None })
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Whatever lends the connection.
    pub(super) fn source(&mut self) -> &mut L {
        &mut self.link
    }

    pub(super) fn is_ended(&mut self, stream: &str) -> Result<bool, StoreError> {
        Ok(self.look_up(stream)?.is_some_and(|stream| stream.ended))
    }

    /// Accounts for what the transaction itself has appended to a stream.
    pub(super) fn advance(&mut self, stream: &str, head: LogPosition) {
        self.global = head.global;
        self.searched = None;
        self.known = self.known.take().filter(|known| known.name == stream);
        if let Some(known) = &mut self.known {
            known.seq = head.seq;
        }
    }

    /// The same for the last events of a stream.
    pub(super) fn advance_to_end(&mut self, stream: &str, head: LogPosition) {
        self.advance(stream, head);
        self.known = None;
    }

    /// The number of the stream in other tables, if it was ever written to.
    pub(super) fn stream(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        Ok(self.look_up(name)?.map(|stream| stream.id))
    }

    fn look_up(&mut self, name: &str) -> Result<Option<&KnownStream>, StoreError> {
        if self.known.as_ref().is_none_or(|known| known.name != name) {
            let sql = concat!("SELECT id, ", head!(), ", ended FROM stream WHERE name = ?1");
            let read = |row: &Row<'_>| {
                let (id, seq, ended) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(KnownStream { name: name.to_owned(), id, seq, ended })
            };
            self.known = self.one("looked up a stream", sql, [name], read)?;
        }
        Ok(self.known.as_ref())
    }

    /// The statuses that a list is merged from: the requested ones, or the existing ones. `None` if
    /// there is nothing to list.
    pub(super) fn statuses<'q>(
        &self,
        stream: i64,
        query: &'q ListQuery,
    ) -> Result<Option<Vec<Cow<'q, str>>>, StoreError> {
        let Some(question) = listing::statuses(stream, query) else {
            let mut wanted = query.statuses.clone();
            wanted.sort_unstable();
            wanted.dedup();
            return Ok(Some(wanted.into_iter().map(Cow::Borrowed).collect()));
        };
        let parameters = params_from_iter(question.parameters);
        let found = self
            .many("listed statuses", &question.sql, parameters, |row| row.get(0).map(Cow::Owned))?;
        Ok((!found.is_empty()).then_some(found))
    }

    pub(super) fn one<T>(
        &self,
        action: &'static str,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self
            .link
            .connection
            .prepare_cached(sql)
            .map_err(|error| self.link.failed(action, &error))?;
        let row = statement.query_row(parameters, read).optional();
        row.map_err(|error| self.link.failed(action, &error))
    }

    pub(super) fn many<T>(
        &self,
        action: &'static str,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self
            .link
            .connection
            .prepare_cached(sql)
            .map_err(|error| self.link.failed(action, &error))?;
        let rows = statement.query_map(parameters, read).and_then(Iterator::collect);
        rows.map_err(|error| self.link.failed(action, &error))
    }
}

/// Position of the newest event that the connection can see.
pub(super) fn newest(link: &Link) -> Result<u64, StoreError> {
    let read = || {
        let mut statement = link.connection.prepare_cached("SELECT max(global) FROM event")?;
        let newest: Option<i64> = statement.query_row([], |row| row.get(0))?;
        Ok(newest)
    };
    let newest = read().map_err(|error| link.failed("read the log's head", &error))?;
    Ok(newest.map_or(0, i64::cast_unsigned))
}

impl<L: Deref<Target = Link>> StoreSnapshot for View<L> {
    fn numbering(&self) -> Numbering {
        Numbering::OneLog
    }

    fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError> {
        let seq = self.look_up(stream)?.map_or(0, |stream| stream.seq);
        Ok(LogPosition { global: self.global, seq })
    }

    fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(StreamRow { name: row.get(0)?, seq: row.get(1)?, ended: row.get(2)? })
        };
        match names::first_after(prefix) {
            None => {
                let sql = concat!(
                    "SELECT name, ",
                    head!(),
                    ", ended FROM stream WHERE name >= ?1 ORDER BY name"
                );
                self.many("listed streams", sql, [prefix], read)
            }
            Some(end) => {
                let sql = concat!(
                    "SELECT name, ",
                    head!(),
                    ", ended FROM stream WHERE name >= ?1 AND name < ?2 ORDER BY name"
                );
                self.many("listed streams", sql, [prefix, &end], read)
            }
        }
    }

    fn document(
        &mut self,
        stream: &str,
        address: &Address,
    ) -> Result<Option<DocumentRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        let sql = concat!(
            "SELECT ",
            document_columns!(),
            " FROM document WHERE stream = ?1 AND kind = ?2 AND name = ?3"
        );
        let parameters = params![stream, address.kind, address.name];
        self.one("read a document", sql, parameters, |row| document(address.kind.clone(), row))
    }

    fn version(&mut self, stream: &str, address: &Address) -> Result<Option<u64>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        let sql = "SELECT version FROM document WHERE stream = ?1 AND kind = ?2 AND name = ?3";
        let parameters = params![stream, address.kind, address.name];
        self.one("read a document's version", sql, parameters, |row| row.get(0))
    }

    fn list_versions(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Vec<(Address, u64)>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let Some(statuses) = self.statuses(stream, query)? else { return Ok(Vec::new()) };
        let statuses: Vec<&str> = statuses.iter().map(AsRef::as_ref).collect();
        let question = listing::versions(stream, query, &statuses);
        let parameters = params_from_iter(question.parameters);
        self.many("listed versions", &question.sql, parameters, |row| {
            let kind = Cow::Borrowed(query.kind);
            Ok((Address { kind, name: row.get(0)? }, row.get(1)?))
        })
    }

    fn list(&mut self, stream: &str, query: &ListQuery) -> Result<Vec<DocumentRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let Some(statuses) = self.statuses(stream, query)? else { return Ok(Vec::new()) };
        let statuses: Vec<&str> = statuses.iter().map(AsRef::as_ref).collect();
        let question = listing::documents(stream, query, &statuses);
        let parameters = params_from_iter(question.parameters);
        self.many("listed documents", &question.sql, parameters, |row| {
            document(Cow::Borrowed(query.kind), row)
        })
    }

    fn briefs(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Option<Vec<Arc<str>>>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Some(Vec::new())) };
        let Some(statuses) = self.statuses(stream, query)? else { return Ok(Some(Vec::new())) };
        let statuses: Vec<&str> = statuses.iter().map(AsRef::as_ref).collect();
        let question = listing::briefs(stream, query, &statuses);
        let parameters = params_from_iter(question.parameters);
        let found: Vec<Option<Arc<str>>> =
            self.many("listed briefs", &question.sql, parameters, |row| row.get(0))?;
        Ok(found.into_iter().collect())
    }

    fn search(
        &mut self,
        stream: &str,
        query: &ListQuery,
        text: &str,
    ) -> Result<Option<TextMatches>, StoreError> {
        self.matches(stream, query, text)
    }

    fn searched(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        search::stored(&self.link, stream, address)
    }

    fn is_searchable(&mut self) -> Result<bool, StoreError> {
        search::is_complete(&self.link)
    }

    fn documents_with(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        self.found_documents(query)
    }

    fn events_with(&mut self, query: &StringsQuery<'_>) -> Result<Vec<LogPlace>, StoreError> {
        self.found_events(query)
    }

    fn unindexed_count(&mut self) -> Result<u64, StoreError> {
        Ok(self.global.saturating_sub(event_search::indexed_through(&self.link)?))
    }

    fn log(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<Vec<(LogCursor, StreamEvent)>, StoreError> {
        let rows = self.log_after(after.order, limit)?;
        Ok(rows.into_iter().map(|row| (LogCursor::at(row.event.global), row)).collect())
    }

    fn unindexed(&mut self, end: LogEnd, limit: u32) -> Result<Vec<StreamEvent>, StoreError> {
        let indexed = event_search::indexed_through(&self.link)?;
        let after = match end {
            LogEnd::Oldest => indexed,
            LogEnd::Newest => indexed.max(self.global.saturating_sub(u64::from(limit))),
        };
        self.log_after(after, limit)
    }

    fn brief(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        let sql = "SELECT brief.body FROM document JOIN brief ON brief.document = document.id \
                   WHERE document.stream = ?1 AND document.kind = ?2 AND document.name = ?3";
        let parameters = params![stream, address.kind, address.name];
        self.one("read a brief", sql, parameters, |row| row.get(0))
    }

    fn catalogue(
        &mut self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, DocumentRow)>, StoreError> {
        let question = listing::catalogue(query);
        let parameters = params_from_iter(question.parameters);
        self.many("listed a catalogue", &question.sql, parameters, |row| {
            Ok((row.get(8)?, document(Cow::Borrowed(query.kind), row)?))
        })
    }

    fn documents(&mut self, stream: &str) -> Result<Vec<DocumentRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let sql = concat!(
            "SELECT ",
            document_columns!(),
            ", kind FROM document INDEXED BY document_by_name WHERE stream = ?1 ORDER BY kind, name"
        );
        self.many("read all documents", sql, [stream], |row| document(Cow::Owned(row.get(8)?), row))
    }

    fn events(&mut self, stream: &str, query: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        let name = stream;
        let Some(stream) = self.stream(name)? else { return Ok(Vec::new()) };
        let bounds = self.bounds(name, stream, query)?;
        let question = listing::events(stream, query, bounds);
        let parameters = params_from_iter(question.parameters);
        self.many("listed events", &question.sql, parameters, event)
    }

    fn shown(
        &mut self,
        stream: &str,
        query: &EventQuery,
    ) -> Result<Option<Vec<ShownRow>>, StoreError> {
        let name = stream;
        let Some(stream) = self.stream(name)? else { return Ok(Some(Vec::new())) };
        let bounds = self.bounds(name, stream, query)?;
        let question = listing::shown(stream, query, bounds);
        let parameters = params_from_iter(question.parameters);
        let read = |row: &Row<'_>| {
            let global = row.get(0)?;
            let at = Timestamp(row.get(1)?);
            let shown = row.get(2)?;
            let shown: Option<String> = shown;
            let by = row.get(3)?;
            Ok(shown.map(|shown| ShownRow { global, at, shown, by }))
        };
        let found = self.many("listed what is shown", &question.sql, parameters, read)?;
        Ok(found.into_iter().collect())
    }

    fn tail(&mut self, stream: &str, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let sql = concat!(
            "SELECT ",
            event_columns!(),
            " FROM event WHERE stream = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
        );
        let parameters = params![stream, listing::above(Some(after)), limit];
        self.many("read a stream's tail", sql, parameters, event)
    }
}
