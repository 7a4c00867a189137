//! Reading: the same statements for a snapshot and for a transaction that reads its own writes.

use std::sync::Arc;

use muster_core::{Address, EventQuery, ListQuery, LogPosition};
use tokio_postgres::Row;

use super::{
    link::{Order, number, parameter, text},
    listing::{self, Selected, document_columns, event_columns},
    row::{DOCUMENT_COLUMNS, EVENT_COLUMNS, column, count, document, event},
    session::PostgresSession,
    text::stored,
};
use crate::{
    CatalogueQuery, DocumentRow, EventRow, FetchedDocument, FoundDocument, LogCursor, LogEnd,
    LogPlace, Numbering, ShownRow, StoreError, StoreSnapshot, StreamEvent, StreamRow, StringsQuery,
    TextMatches, WantedDocument, prefix as names,
};

const STREAMS: &str = "\
    SELECT name, seq, ended FROM muster.stream \
    WHERE name >= $1 AND ($2::text IS NULL OR name < $2) AND seq > 0 ORDER BY name";
const DOCUMENT: &str = concat!(
    "SELECT ",
    document_columns!(),
    " FROM muster.document d WHERE d.stream = $1 AND d.kind = $2 AND d.name = $3"
);
const FETCH: &str = concat!(
    "SELECT ",
    document_columns!(),
    ", w.place, FALSE FROM unnest($2::text[], $3::text[], $4::bigint[]) \
     WITH ORDINALITY AS w (kind, name, held, place) \
     JOIN muster.document d ON d.stream = $1 AND d.kind = w.kind AND d.name = w.name \
     WHERE w.held IS NULL OR d.version <> w.held \
     UNION ALL SELECT '', '', 0, 0, '', '', NULL, 0, '', w.place, TRUE \
     FROM unnest($2::text[], $3::text[], $4::bigint[]) \
     WITH ORDINALITY AS w (kind, name, held, place) \
     JOIN muster.document d ON d.stream = $1 AND d.kind = w.kind AND d.name = w.name \
     AND d.version = w.held"
);
const VERSION: &str =
    "SELECT version FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3";
const BRIEF: &str =
    "SELECT brief FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3";
const DOCUMENTS: &str = concat!(
    "SELECT ",
    document_columns!(),
    " FROM muster.document d WHERE d.stream = $1 ORDER BY d.kind, d.name"
);
const TAIL: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM muster.event e WHERE e.stream = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3"
);
/// Events of transactions that are older than every one that is still open: none comes before them
/// later on.
const LOG: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", s.name, e.txn::text::bigint, e.stream FROM muster.event e \
     JOIN muster.stream s ON s.id = e.stream \
     WHERE (e.txn, e.stream, e.seq) > ($1::bigint::text::xid8, $2::bigint, $3::bigint) \
     AND e.txn < pg_snapshot_xmin(pg_current_snapshot()) \
     ORDER BY e.txn, e.stream, e.seq LIMIT $4"
);

impl PostgresSession<'_> {
    /// The first row of a statement about one document.
    fn of_document<T>(
        &mut self,
        (action, sql): (&'static str, &'static str),
        (stream, address): (&str, &Address),
        read: impl FnOnce(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        let values = vec![parameter(stream.id), text(&address.kind), text(&address.name)];
        self.one(Order::of(action, sql, values), read)
    }
}

impl StoreSnapshot for PostgresSession<'_> {
    fn numbering(&self) -> Numbering {
        Numbering::PerStream
    }

    fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError> {
        let seq = self.stream(stream)?.map_or(0, |stream| stream.seq);
        Ok(LogPosition { global: seq, seq })
    }

    fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError> {
        let values = vec![text(prefix), parameter(names::first_after(prefix))];
        self.many(Order::of("listed streams", STREAMS, values), |row| {
            Ok(StreamRow { name: column(row, 0)?, seq: count(row, 1)?, ended: column(row, 2)? })
        })
    }

    fn document(
        &mut self,
        stream: &str,
        address: &Address,
    ) -> Result<Option<DocumentRow>, StoreError> {
        self.of_document(("read a document", DOCUMENT), (stream, address), document)
    }

    fn fetch(
        &mut self,
        stream: &str,
        wanted: &[WantedDocument],
    ) -> Result<Vec<FetchedDocument>, StoreError> {
        let mut fetched = vec![FetchedDocument::Absent; wanted.len()];
        let Some(stream) = self.stream(stream)? else { return Ok(fetched) };
        let kinds: Vec<String> =
            wanted.iter().map(|wanted| wanted.address.kind.to_string()).collect();
        let names: Vec<String> =
            wanted.iter().map(|wanted| stored(&wanted.address.name).into_owned()).collect();
        let held: Vec<Option<i64>> =
            wanted.iter().map(|wanted| wanted.held.map(u64::cast_signed)).collect();
        let values =
            vec![parameter(stream.id), parameter(kinds), parameter(names), parameter(held)];
        for row in self.ask(Order::of("read documents", FETCH, values))? {
            let place = usize::try_from(count(&row, DOCUMENT_COLUMNS)?).unwrap_or(usize::MAX);
            let Some(slot) = fetched.get_mut(place - 1) else { continue };
            let is_held: bool = column(&row, DOCUMENT_COLUMNS + 1)?;
            *slot = match is_held {
                true => FetchedDocument::Unchanged,
                false => FetchedDocument::Row(document(&row)?),
            };
        }
        Ok(fetched)
    }

    fn version(&mut self, stream: &str, address: &Address) -> Result<Option<u64>, StoreError> {
        let sql = ("read a document's version", VERSION);
        self.of_document(sql, (stream, address), |row| count(row, 0))
    }

    fn list(&mut self, stream: &str, query: &ListQuery) -> Result<Vec<DocumentRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        self.many(listing::list(Selected::Documents, stream.id, query), document)
    }

    fn list_versions(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Vec<(Address, u64)>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        self.many(listing::list(Selected::Versions, stream.id, query), |row| {
            Ok((Address { kind: query.kind.into(), name: column(row, 0)? }, count(row, 1)?))
        })
    }

    fn briefs(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Option<Vec<Arc<str>>>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Some(Vec::new())) };
        let found: Vec<Option<String>> =
            self.many(listing::list(Selected::Briefs, stream.id, query), |row| column(row, 0))?;
        Ok(found.into_iter().map(|brief| brief.map(Arc::from)).collect())
    }

    fn brief(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        let read = |row: &Row| column(row, 0);
        Ok(self.of_document(("read a brief", BRIEF), (stream, address), read)?.flatten())
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
        self.searched_text(stream, address)
    }

    /// What documents are found by is written with them, since the first layout.
    fn is_searchable(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn documents_with(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        self.found_documents(query).map(Some)
    }

    fn events_with(&mut self, query: &StringsQuery<'_>) -> Result<Vec<LogPlace>, StoreError> {
        self.found_events(query)
    }

    fn unindexed_count(&mut self) -> Result<u64, StoreError> {
        self.count_unindexed()
    }

    fn unindexed(&mut self, end: LogEnd, limit: u32) -> Result<Vec<StreamEvent>, StoreError> {
        self.unindexed_events(end, limit)
    }

    fn log(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<Vec<(LogCursor, StreamEvent)>, StoreError> {
        let values = vec![
            number(after.order),
            number(after.stream),
            number(after.seq),
            parameter(i64::from(limit)),
        ];
        self.many(Order::of("read events of all streams", LOG, values), |row| {
            let event = event(row)?;
            let stream = column(row, EVENT_COLUMNS)?;
            let cursor = LogCursor {
                order: count(row, EVENT_COLUMNS + 1)?,
                stream: count(row, EVENT_COLUMNS + 2)?,
                seq: event.seq,
            };
            Ok((cursor, StreamEvent { stream, event }))
        })
    }

    fn catalogue(
        &mut self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, DocumentRow)>, StoreError> {
        self.many(listing::catalogue(query), |row| {
            Ok((column(row, DOCUMENT_COLUMNS)?, document(row)?))
        })
    }

    fn documents(&mut self, stream: &str) -> Result<Vec<DocumentRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let order = Order::of("read all documents", DOCUMENTS, vec![parameter(stream.id)]);
        self.many(order, document)
    }

    fn events(&mut self, stream: &str, query: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        self.many(listing::events(stream.id, query), event)
    }

    fn shown(
        &mut self,
        stream: &str,
        query: &EventQuery,
    ) -> Result<Option<Vec<ShownRow>>, StoreError> {
        let row = |event: EventRow| {
            let EventRow { global, at, shown, by, .. } = event;
            Some(ShownRow { global, at, shown: shown?, by })
        };
        Ok(self.events(stream, query)?.into_iter().map(row).collect())
    }

    fn tail(&mut self, stream: &str, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(Vec::new()) };
        let values = vec![parameter(stream.id), number(after), parameter(i64::from(limit))];
        self.many(Order::of("read a stream's tail", TAIL, values), event)
    }
}
