//! A write transaction: positions are checked, then events and documents are written.
//!
//! After any SQLite error the connection is closed and another one opened: what a failed write or
//! sync left in memory is not trusted, and a COMMIT is never retried.

use std::borrow::Cow;

use muster_core::{Address, Index, LogPosition};
use rusqlite::{OptionalExtension as _, Params, Row, ToSql, params};

use super::{event_search, link::Link, pieces, search, view::View, writer::WriteTurn};
use crate::{
    Append, DocumentChange, DocumentPieces, DocumentRow, EventEntries, EventRow, StoreError,
    StoreSnapshot as _, Transaction, position,
};

pub(super) struct SqliteTransaction<'a> {
    view: View<WriteTurn<'a>>,
    /// The error that broke the transaction.
    broken: Option<StoreError>,
}

crate::delegate::reads!(SqliteTransaction<'_>, view);

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(mut turn: WriteTurn<'a>) -> Result<Self, StoreError> {
        turn.link()?;
        turn.mark_used()?;
        if let Err(error) = turn.run("began to write", "BEGIN IMMEDIATE") {
            turn.discard();
            return Err(error);
        }
        turn.confirm_files()?;
        Ok(Self { view: View::new(turn)?, broken: None })
    }

    fn write(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        let stream = match self.view.stream(append.stream)? {
            Some(stream) => stream,
            None => {
                self.run("added a stream", INSERT_STREAM, [append.stream])?;
                self.view.link().connection.last_insert_rowid()
            }
        };
        for event in append.events {
            self.insert_event(stream, event)?;
        }
        for change in append.documents {
            match change {
                DocumentChange::Put(row, brief) => self.put_whole(stream, row, brief.as_deref())?,
                DocumentChange::PutPieces(pieces) => self.put_pieces(stream, pieces)?,
                DocumentChange::Search(address, text) => {
                    if let Some(stored) = self.stored(stream, address)? {
                        search::put(self.view.link(), stored.id, text)?;
                    }
                }
                DocumentChange::Remove(address) => self.remove(stream, address)?,
            }
        }
        Ok(())
    }

    /// The position of the log after these events, if they follow and their stream accepts them.
    fn next_head(&mut self, append: &Append<'_>) -> Result<LogPosition, StoreError> {
        let head = self.view.head(append.stream)?;
        position::refuse_ended(self.view.is_ended(append.stream)?, append.stream)?;
        position::advance(head, append.stream, append.events)
    }

    /// Removes every event and document of a stream.
    fn empty(&mut self, stream: &str) -> Result<(), StoreError> {
        let Some(stream) = self.view.stream(stream)? else { return Ok(()) };
        event_search::remove_all(self.view.link(), stream)?;
        self.run("removed a stream's events", REMOVE_EVENTS, [stream])?;
        search::remove_all(self.view.link(), stream)?;
        self.run("removed a stream's pieces", REMOVE_STREAM_PIECES, [stream])?;
        self.run("removed a stream's briefs", REMOVE_BRIEFS, [stream])?;
        self.run("removed a stream's documents", REMOVE_DOCUMENTS, [stream]).map(drop)
    }

    fn mark_ended(&self, stream: &str) -> Result<(), StoreError> {
        self.run("ended a stream", END_STREAM, [stream]).map(drop)
    }

    fn insert_event(&self, stream: i64, event: &EventRow) -> Result<(), StoreError> {
        let entity = event.subject.as_ref().map(|subject| &subject.entity);
        let scope = event.subject.as_ref().map(|subject| &subject.scope);
        let parameters = params![
            event.global,
            stream,
            event.seq,
            event.at.0,
            event.kind,
            entity,
            scope,
            event.body,
            event.shown,
            event.by,
            event.intent
        ];
        self.run("appended an event", INSERT_EVENT, parameters).map(drop)
    }

    fn put_whole(
        &self,
        stream: i64,
        row: &DocumentRow,
        brief: Option<&str>,
    ) -> Result<(), StoreError> {
        let old = self.stored(stream, &row.address)?;
        let id = self.put(stream, row, old.as_ref(), 0)?;
        if old.is_some_and(|old| old.is_in_pieces()) {
            self.run("removed pieces", REMOVE_PIECES, params![pieces::first(id), pieces::end(id)])?;
        }
        self.put_brief(id, brief)
    }

    fn put_pieces(&self, stream: i64, document: &DocumentPieces) -> Result<(), StoreError> {
        let old = self.stored(stream, &document.first.address)?;
        let id = self.put(stream, &document.first, old.as_ref(), pieces::MARK)?;
        for (at, piece) in (0..).zip(&document.rest) {
            if let Some(piece) = piece {
                let place = pieces::first(id) + at;
                self.run("wrote a piece", PUT_PIECE, params![place, piece])?;
            }
        }
        let count = i64::try_from(document.rest.len()).unwrap_or(i64::MAX);
        if old.is_some_and(|old| old.is_in_pieces()) {
            let after = pieces::first(id) + count;
            self.run("removed pieces", REMOVE_PIECES, params![after, pieces::end(id)])?;
        }
        self.put_brief(id, document.brief.as_deref())
    }

    fn put_brief(&self, id: i64, brief: Option<&str>) -> Result<(), StoreError> {
        let Some(brief) = brief else { return Ok(()) };
        self.run("wrote a brief", PUT_BRIEF, params![id, brief]).map(drop)
    }

    /// Writes a document; returns its row id.
    fn put(
        &self,
        stream: i64,
        row: &DocumentRow,
        old: Option<&StoredColumns>,
        form: i64,
    ) -> Result<i64, StoreError> {
        let DocumentRow { address, index, version, body } = row;
        let marks = i64::from(index.marks) | form;
        let Some(StoredColumns { id, index: old, marks: old_marks }) = old else {
            let Index { ord, parent, status, rank, .. } = index;
            let Address { kind, name } = address;
            let parameters =
                params![stream, kind, name, version, ord, parent, status, rank, marks, body];
            self.run("wrote a document", INSERT_DOCUMENT, parameters)?;
            return Ok(self.view.link().connection.last_insert_rowid());
        };
        // Only changed columns are set, so that no unaffected index is touched.
        let mut sql = "UPDATE document SET version = ?2, body = ?3".to_owned();
        let mut values: Vec<&dyn ToSql> = vec![id, version, body];
        let columns: [(&str, bool, &dyn ToSql); 5] = [
            ("ord", old.ord != index.ord, &index.ord),
            ("parent", old.parent != index.parent, &index.parent),
            ("status", old.status != index.status, &index.status),
            ("rank", old.rank != index.rank, &index.rank),
            ("marks", *old_marks != marks, &marks),
        ];
        for (column, _, value) in columns.into_iter().filter(|(_, differs, _)| *differs) {
            values.push(value);
            sql.push_str(&format!(", {column} = ?{}", values.len()));
        }
        sql.push_str(" WHERE id = ?1");
        self.run("changed a document", &sql, values.as_slice())?;
        Ok(*id)
    }

    /// The row id and the current columns of a document, if it exists.
    fn stored(&self, stream: i64, address: &Address) -> Result<Option<StoredColumns>, StoreError> {
        let link = self.view.link();
        let read = || {
            let mut statement = link.connection.prepare_cached(STORED_INDEX)?;
            let parameters = params![stream, address.kind, address.name];
            let read = |row: &Row<'_>| {
                let index = Index {
                    ord: row.get(1)?,
                    parent: row.get(2)?,
                    status: Cow::Owned(row.get(3)?),
                    rank: row.get(4)?,
                    marks: pieces::marks(row.get(5)?),
                };
                Ok(StoredColumns { id: row.get(0)?, index, marks: row.get(5)? })
            };
            statement.query_row(parameters, read).optional()
        };
        read().map_err(|error| link.failed("looked up a document", &error))
    }

    fn remove(&self, stream: i64, address: &Address) -> Result<(), StoreError> {
        let Some(stored) = self.stored(stream, address)? else { return Ok(()) };
        let id = stored.id;
        search::remove(self.view.link(), id)?;
        if stored.is_in_pieces() {
            self.run("removed pieces", REMOVE_PIECES, params![pieces::first(id), pieces::end(id)])?;
        }
        self.run("removed a brief", REMOVE_BRIEF, [id])?;
        self.run("removed a document", REMOVE_DOCUMENT, [id]).map(drop)
    }

    fn change_index(
        &mut self,
        change: impl FnOnce(&Link) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        change(self.view.link()).inspect_err(|error| self.broken = Some(error.clone()))
    }

    fn run(
        &self,
        action: &'static str,
        sql: &str,
        parameters: impl Params,
    ) -> Result<usize, StoreError> {
        let link = self.view.link();
        let ran = link.connection.prepare_cached(sql).and_then(|mut s| s.execute(parameters));
        ran.map_err(|error| link.failed(action, &error))
    }
}

/// What is stored of a document besides its body.
struct StoredColumns {
    id: i64,
    index: Index,
    /// The marks with what only the store knows.
    marks: i64,
}

impl StoredColumns {
    fn is_in_pieces(&self) -> bool {
        self.marks & pieces::MARK != 0
    }
}

const PUT_PIECE: &str = "\
    INSERT INTO piece (id, body) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET body = excluded.body";
const REMOVE_PIECES: &str = "DELETE FROM piece WHERE id BETWEEN ?1 AND ?2";
const COUNT_PIECES: &str = "SELECT count(*) FROM piece WHERE id BETWEEN ?1 AND ?2";
const REMOVE_STREAM_PIECES: &str = "\
    DELETE FROM piece WHERE id >> 20 IN \
    (SELECT id FROM document WHERE stream = ?1 AND (marks & 256) <> 0)";
const INSERT_STREAM: &str = "INSERT INTO stream (name) VALUES (?1)";
const END_STREAM: &str = "UPDATE stream SET ended = 1 WHERE name = ?1";
const REMOVE_EVENTS: &str = "DELETE FROM event INDEXED BY event_by_seq WHERE stream = ?1";
const REMOVE_DOCUMENTS: &str = "DELETE FROM document INDEXED BY document_by_name WHERE stream = ?1";
const INSERT_EVENT: &str = "\
    INSERT INTO event (global, stream, seq, at, kind, entity, scope, body, shown, author, intent) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const STORED_INDEX: &str = "\
    SELECT id, ord, parent, status, rank, marks FROM document \
    WHERE stream = ?1 AND kind = ?2 AND name = ?3";
const INSERT_DOCUMENT: &str = "\
    INSERT INTO document (stream, kind, name, version, ord, parent, status, rank, marks, body) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const REMOVE_DOCUMENT: &str = "DELETE FROM document WHERE id = ?1";
const PUT_BRIEF: &str = "\
    INSERT INTO brief (document, body) VALUES (?1, ?2) \
    ON CONFLICT DO UPDATE SET body = excluded.body";
const REMOVE_BRIEF: &str = "DELETE FROM brief WHERE document = ?1";
const REMOVE_BRIEFS: &str = "\
    DELETE FROM brief WHERE document IN (SELECT id FROM document WHERE stream = ?1)";

impl Transaction for SqliteTransaction<'_> {
    fn append(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let head = self.next_head(append)?;
        self.write(append).inspect_err(|error| self.broken = Some(error.clone()))?;
        self.view.advance(append.stream, head);
        Ok(())
    }

    fn pieces(&mut self, stream: &str, address: &Address) -> Result<usize, StoreError> {
        let Some(stream) = self.view.stream(stream)? else { return Ok(0) };
        let Some(stored) = self.stored(stream, address)? else { return Ok(0) };
        if !stored.is_in_pieces() {
            return Ok(1);
        }
        let link = self.view.link();
        let range = params![pieces::first(stored.id), pieces::end(stored.id)];
        let count = link
            .connection
            .prepare_cached(COUNT_PIECES)
            .and_then(|mut statement| statement.query_row(range, |row| row.get::<_, usize>(0)));
        count.map(|count| 1 + count).map_err(|error| link.failed("counted pieces", &error))
    }

    fn end(&mut self, last: &Append<'_>) -> Result<(), StoreError> {
        position::refuse_silent_end(last)?;
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let head = self.next_head(last)?;
        let emptied = self.empty(last.stream).and_then(|()| self.write(last));
        let ended = emptied.and_then(|()| self.mark_ended(last.stream));
        ended.inspect_err(|error| self.broken = Some(error.clone()))?;
        self.view.advance_to_end(last.stream, head);
        Ok(())
    }

    fn rebuild_search(&mut self) -> Result<(), StoreError> {
        self.change_index(search::rebuild)
    }

    fn index_events(&mut self, entries: &EventEntries<'_>) -> Result<(), StoreError> {
        self.change_index(|link| event_search::add(link, entries))
    }

    fn clear_event_index(&mut self) -> Result<(), StoreError> {
        self.change_index(event_search::clear)
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let committed = self.view.source().run("committed", "COMMIT");
        match &committed {
            Ok(()) => self.view.source().checkpoint_if_grown(),
            Err(error) => self.broken = Some(error.clone()),
        }
        committed
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if self.broken.is_some() {
            let turn = self.view.source();
            turn.discard();
            // Immediately, so that no other process has to judge what is left in the log.
            if let Err(error) = turn.link() {
                tracing::warn!(%error, "could not restart the write-ahead log");
            }
        }
    }
}
