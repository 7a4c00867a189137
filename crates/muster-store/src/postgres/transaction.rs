//! A write transaction. Positions are checked against the locked head of the stream; what is
//! written then travels with the next read, or with the commit.

use muster_core::{Address, LogPosition};

use super::{
    link::{Order, SqlParameter, number, parameter, text},
    row::count,
    search,
    session::PostgresSession,
    text::stored,
};
use crate::{
    Append, DocumentChange, DocumentPieces, DocumentRow, EventEntries, EventRow, StoreError,
    StoreSnapshot as _, Transaction, position,
};

const SET_HEAD: &str = "UPDATE muster.stream SET seq = $2, ended = $3 WHERE id = $1";
const INSERT_EVENTS: &str = "\
    INSERT INTO muster.event \
    (stream, seq, at, kind, entity, scope, body, shown, author, intent) \
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], \
    $7::text[], $8::text[], $9::text[], $10::text[])";
const PUT: &str = "\
    INSERT INTO muster.document AS d \
    (stream, kind, name, version, ord, parent, status, rank, marks, pieces, body, brief) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
    ON CONFLICT (stream, kind, name) DO UPDATE SET version = excluded.version, \
    ord = excluded.ord, parent = excluded.parent, status = excluded.status, \
    rank = excluded.rank, marks = excluded.marks, pieces = excluded.pieces, \
    body = excluded.body, brief = coalesce(excluded.brief, d.brief)";
const PUT_PIECE: &str = "\
    INSERT INTO muster.piece (document, number, body) \
    SELECT id, $4, $5 FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3 \
    ON CONFLICT (document, number) DO UPDATE SET body = excluded.body";
const REMOVE_PIECES: &str = "\
    DELETE FROM muster.piece USING muster.document d WHERE piece.document = d.id \
    AND d.stream = $1 AND d.kind = $2 AND d.name = $3 AND piece.number >= d.pieces";
const COUNT_PIECES: &str =
    "SELECT pieces FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3";
const REMOVE: &str = "DELETE FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3";
const REMOVE_ALL: [&str; 3] = [
    "DELETE FROM muster.event_search WHERE stream = $1",
    "DELETE FROM muster.event WHERE stream = $1",
    "DELETE FROM muster.document WHERE stream = $1",
];

pub(super) struct PostgresTransaction<'a> {
    session: PostgresSession<'a>,
}

crate::delegate::reads!(PostgresTransaction<'_>, session);

/// Whether a stream goes on after what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuation {
    Open,
    Ended,
}

impl<'a> PostgresTransaction<'a> {
    pub(super) fn new(session: PostgresSession<'a>) -> Self {
        Self { session }
    }

    /// Writes events and documents of a stream that is locked.
    fn write(
        &mut self,
        stream: i64,
        append: &Append<'_>,
        (head, continuation): (LogPosition, Continuation),
    ) {
        if !append.events.is_empty() {
            let values = event_values(stream, append.events);
            self.session.later(Order::of("appended events", INSERT_EVENTS, values));
            let ended = continuation == Continuation::Ended;
            let values = vec![parameter(stream), number(head.seq), parameter(ended)];
            self.session.later(Order::of("moved a stream's head", SET_HEAD, values));
            self.session.advance(append.stream, head.seq, ended);
        }
        for change in append.documents {
            match change {
                DocumentChange::Put(row, brief) => self.put(stream, row, (1, brief.clone())),
                DocumentChange::PutPieces(document) => self.put_pieces(stream, document),
                DocumentChange::Search(address, said) => {
                    self.session.later(search::put(stream, address, said));
                }
                DocumentChange::Remove(address) => {
                    let values = of_document(stream, address);
                    self.session.later(Order::of("removed a document", REMOVE, values));
                }
            }
        }
    }

    fn put(&mut self, stream: i64, row: &DocumentRow, (pieces, brief): (i64, Option<String>)) {
        let DocumentRow { address, index, version, body } = row;
        let mut values = of_document(stream, address);
        values.extend([
            number(*version),
            number(index.ord),
            text(&index.parent),
            text(&index.status),
            parameter(index.rank.map(i64::from)),
            parameter(i64::from(index.marks)),
            parameter(pieces),
            text(body),
            parameter(brief.map(|brief| stored(&brief).into_owned())),
        ]);
        self.session.later(Order::of("wrote a document", PUT, values));
    }

    fn put_pieces(&mut self, stream: i64, document: &DocumentPieces) {
        let DocumentPieces { first, rest, brief } = document;
        let pieces = i64::try_from(rest.len()).unwrap_or(i64::MAX - 1) + 1;
        self.put(stream, first, (pieces, brief.clone()));
        for (at, piece) in (1_i64..).zip(rest) {
            if let Some(piece) = piece {
                let mut values = of_document(stream, &first.address);
                values.extend([parameter(at), text(piece)]);
                self.session.later(Order::of("wrote a piece", PUT_PIECE, values));
            }
        }
        let values = of_document(stream, &first.address);
        self.session.later(Order::of("removed pieces", REMOVE_PIECES, values));
    }

    /// The locked stream and its head after these events, if they follow and it accepts them.
    fn next_head(&mut self, append: &Append<'_>) -> Result<(i64, LogPosition), StoreError> {
        let Some(stream) = self.session.stream(append.stream)? else {
            let finding = "it vanished while it was locked".to_owned();
            return Err(StoreError::Damaged { place: append.stream.to_owned(), finding });
        };
        position::refuse_ended(stream.ended, append.stream)?;
        let head = self.session.head(append.stream)?;
        Ok((stream.id, position::advance(head, append.stream, append.events)?))
    }
}

/// The parameters that name a document.
fn of_document(stream: i64, address: &Address) -> Vec<SqlParameter> {
    vec![parameter(stream), text(&address.kind), text(&address.name)]
}

/// Events as columns.
fn event_values(stream: i64, events: &[EventRow]) -> Vec<SqlParameter> {
    let numbers =
        |read: fn(&EventRow) -> i64| parameter(events.iter().map(read).collect::<Vec<_>>());
    let texts = |read: fn(&EventRow) -> Option<&String>| {
        parameter(
            events
                .iter()
                .map(|event| read(event).map(|text| stored(text).into_owned()))
                .collect::<Vec<_>>(),
        )
    };
    vec![
        parameter(stream),
        numbers(|event| event.seq.cast_signed()),
        numbers(|event| event.at.0),
        texts(|event| Some(&event.kind)),
        texts(|event| event.subject.as_ref().map(|subject| &subject.entity)),
        texts(|event| event.subject.as_ref().map(|subject| &subject.scope)),
        texts(|event| Some(&event.body)),
        texts(|event| event.shown.as_ref()),
        texts(|event| event.by.as_ref()),
        texts(|event| event.intent.as_ref()),
    ]
}

impl Transaction for PostgresTransaction<'_> {
    fn append(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        let (stream, head) = self.next_head(append)?;
        self.write(stream, append, (head, Continuation::Open));
        Ok(())
    }

    fn pieces(&mut self, stream: &str, address: &Address) -> Result<usize, StoreError> {
        let Some(stream) = self.session.stream(stream)? else { return Ok(0) };
        let values = of_document(stream.id, address);
        let order = Order::of("counted pieces", COUNT_PIECES, values);
        let found = self.session.one(order, |row| count(row, 0))?;
        Ok(found.map_or(0, |pieces| usize::try_from(pieces).unwrap_or(usize::MAX)))
    }

    fn end(&mut self, last: &Append<'_>) -> Result<(), StoreError> {
        position::refuse_silent_end(last)?;
        let (stream, head) = self.next_head(last)?;
        for sql in REMOVE_ALL {
            self.session.later(Order::of("emptied a stream", sql, vec![parameter(stream)]));
        }
        self.write(stream, last, (head, Continuation::Ended));
        Ok(())
    }

    /// The index is changed with what it indexes.
    fn rebuild_search(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn index_events(&mut self, entries: &EventEntries<'_>) -> Result<(), StoreError> {
        self.session.add_to_index(entries);
        Ok(())
    }

    fn clear_event_index(&mut self) -> Result<(), StoreError> {
        self.session.clear_index();
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.session.commit()
    }
}
