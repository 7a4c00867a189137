//! Searches: documents by what they are found by, events by what they say.
//!
//! ```text
//!   "payment" ── pay, men, ent ──► rows whose grams contain them all ── contain it ──► found
//! ```
//!
//! A gram is three characters in a row, as one number. Sets of numbers have an index in every
//! installation; the extension for grams of text is not in all of them.

use std::collections::BTreeMap;

use muster_core::{Address, FIELD_SEPARATOR, ListQuery};
use tokio_postgres::Row;

use super::{
    link::{Order, SqlParameter, number, parameter, text},
    listing::{self, event_columns},
    row::{self, EVENT_COLUMNS, column, count},
    session::PostgresSession,
};
use crate::{
    EventEntries, FoundDocument, LogEnd, LogPlace, StoreError, StreamEvent, StringsQuery,
    TextMatches,
};

/// Characters of a gram.
const GRAM_CHARS: usize = 3;
/// Bits of a character.
const CHAR_BITS: u32 = 21;

const PUT: &str = "\
    INSERT INTO muster.searched (document, stream, said, grams) \
    SELECT id, $1, $4, $5 FROM muster.document WHERE stream = $1 AND kind = $2 AND name = $3 \
    ON CONFLICT (document) DO UPDATE SET said = excluded.said, grams = excluded.grams";
const STORED: &str = "\
    SELECT s.said FROM muster.document d JOIN muster.searched s ON s.document = d.id \
    WHERE d.stream = $1 AND d.kind = $2 AND d.name = $3";
const DOCUMENTS: &str = "\
    SELECT stream.name, d.kind, d.name, s.said FROM muster.searched s \
    JOIN muster.document d ON d.id = s.document JOIN muster.stream ON stream.id = d.stream \
    WHERE s.grams @> $1 AND ($2::bigint IS NULL OR s.stream = $2) \
    AND (SELECT bool_and(position(sought in s.said) > 0) FROM unnest($3::bytea[]) AS sought) \
    ORDER BY d.id DESC LIMIT $4";
const EVENTS: &str = "\
    SELECT stream.name, s.seq FROM muster.event_search s \
    JOIN muster.event e ON e.stream = s.stream AND e.seq = s.seq \
    JOIN muster.stream ON stream.id = s.stream \
    WHERE s.grams @> $1 AND ($2::bigint IS NULL OR s.stream = $2) \
    ORDER BY s.at DESC, s.stream DESC, s.seq DESC LIMIT $3";
const UNINDEXED_COUNT: &str = "\
    SELECT coalesce(sum(CASE WHEN s.ended THEN (SELECT count(*) FROM muster.event e \
    WHERE e.stream = s.id AND e.seq > coalesce(i.seq, 0)) ELSE s.seq - coalesce(i.seq, 0) END), 0) \
    ::bigint FROM muster.stream s LEFT JOIN muster.event_indexed i ON i.stream = s.id";
const OLDEST: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", s.name FROM muster.stream s LEFT JOIN muster.event_indexed i ON i.stream = s.id \
     JOIN muster.event e ON e.stream = s.id AND e.seq > coalesce(i.seq, 0) \
     WHERE s.seq > coalesce(i.seq, 0) ORDER BY s.id, e.seq LIMIT $1"
);
const NEWEST: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", s.name FROM muster.stream s LEFT JOIN muster.event_indexed i ON i.stream = s.id \
     JOIN muster.event e ON e.stream = s.id AND e.seq > coalesce(i.seq, 0) \
     WHERE s.seq > coalesce(i.seq, 0) ORDER BY e.at DESC, s.id DESC, e.seq DESC LIMIT $1"
);
const ADD_EVENT: &str = "\
    INSERT INTO muster.event_search (stream, seq, at, grams) \
    SELECT e.stream, e.seq, e.at, $3 FROM muster.stream s \
    JOIN muster.event e ON e.stream = s.id AND e.seq = $2 WHERE s.name = $1 \
    ON CONFLICT DO NOTHING";
const MARK_INDEXED: &str = "\
    INSERT INTO muster.event_indexed (stream, seq) \
    SELECT id, $2 FROM muster.stream WHERE name = $1 \
    ON CONFLICT (stream) DO UPDATE SET seq = greatest(event_indexed.seq, excluded.seq)";
const CLEAR_EVENTS: &str = "DELETE FROM muster.event_search WHERE $1";
const CLEAR_INDEXED: &str = "DELETE FROM muster.event_indexed WHERE $1";

/// Every three characters in a row, each once.
pub(super) fn grams(text: &str) -> Vec<i64> {
    let characters: Vec<char> = text.chars().collect();
    let gram = |window: &[char]| {
        window
            .iter()
            .fold(0, |gram, character| gram << CHAR_BITS | i64::from(u32::from(*character)))
    };
    let mut grams: Vec<i64> = characters.windows(GRAM_CHARS).map(gram).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// The statement that lets a document be found by a string.
pub(super) fn put(stream: i64, address: &Address, said: &str) -> Order {
    let values = vec![
        parameter(stream),
        text(&address.kind),
        text(&address.name),
        parameter(said.as_bytes().to_vec()),
        parameter(grams(said)),
    ];
    Order::of("wrote what a document is found by", PUT, values)
}

fn said(row: &Row, at: usize) -> Result<String, StoreError> {
    let bytes: Vec<u8> = column(row, at)?;
    String::from_utf8(bytes).map_err(|error| StoreError::Damaged {
        place: "what a document is found by".to_owned(),
        finding: error.to_string(),
    })
}

/// The grams of all strings and the number of the stream.
type Expression = (Vec<i64>, Option<i64>);

impl PostgresSession<'_> {
    pub(super) fn searched_text(
        &mut self,
        stream: &str,
        address: &Address,
    ) -> Result<Option<String>, StoreError> {
        let Some(stream) = self.stream(stream)? else { return Ok(None) };
        let values = vec![parameter(stream.id), text(&address.kind), text(&address.name)];
        let order = Order::of("read what a document is found by", STORED, values);
        self.one(order, |row| said(row, 0))
    }

    pub(super) fn matches(
        &mut self,
        stream: &str,
        query: &ListQuery,
        sought: &str,
    ) -> Result<Option<TextMatches>, StoreError> {
        if sought.contains([FIELD_SEPARATOR, '\0']) {
            return Ok(None);
        }
        let mut matches = TextMatches::default();
        let Some(stream) = self.stream(stream)? else { return Ok(Some(matches)) };
        for row in self.ask(listing::search(stream.id, query, sought, grams(sought)))? {
            let status: String = column(&row, 3)?;
            if matches.count(query, (&status, count(&row, 2)?), matches.page.len()) {
                let kind = query.kind.into();
                let address = Address { kind, name: column(&row, 0)? };
                matches.page.push((address, count(&row, 1)?));
            }
        }
        Ok(Some(matches))
    }

    pub(super) fn found_documents(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Vec<FoundDocument>, StoreError> {
        let Some((grams, stream)) = self.expression(query)? else { return Ok(Vec::new()) };
        let sought: Vec<Vec<u8>> =
            query.strings.iter().map(|string| string.as_bytes().to_vec()).collect();
        let values = vec![
            parameter(grams),
            parameter(stream),
            parameter(sought),
            parameter(i64::from(query.limit)),
        ];
        self.many(Order::of("searched documents", DOCUMENTS, values), |row| {
            let kind: String = column(row, 1)?;
            let address = Address { kind: kind.into(), name: column(row, 2)? };
            Ok(FoundDocument { stream: column(row, 0)?, address, searched: said(row, 3)? })
        })
    }

    pub(super) fn found_events(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Vec<LogPlace>, StoreError> {
        let Some((grams, stream)) = self.expression(query)? else { return Ok(Vec::new()) };
        let values: Vec<SqlParameter> =
            vec![parameter(grams), parameter(stream), parameter(i64::from(query.limit))];
        self.many(Order::of("searched the log", EVENTS, values), |row| {
            let seq = count(row, 1)?;
            Ok(LogPlace { stream: column(row, 0)?, seq, global: seq })
        })
    }

    /// The query in the form of the index; `None` if nothing can match.
    fn expression(&mut self, query: &StringsQuery<'_>) -> Result<Option<Expression>, StoreError> {
        let mut all: Vec<i64> = Vec::new();
        for string in query.strings {
            let of_string = grams(string);
            if of_string.is_empty() {
                return Ok(None);
            }
            all.extend(of_string);
        }
        let stream = match query.stream {
            Some(name) => match self.stream(name)? {
                Some(stream) => Some(stream.id),
                None => return Ok(None),
            },
            None => None,
        };
        Ok((!all.is_empty()).then_some((all, stream)))
    }

    pub(super) fn count_unindexed(&mut self) -> Result<u64, StoreError> {
        let order = Order::of("counted events to index", UNINDEXED_COUNT, Vec::new());
        Ok(self.one(order, |row| count(row, 0))?.unwrap_or(0))
    }

    pub(super) fn unindexed_events(
        &mut self,
        end: LogEnd,
        limit: u32,
    ) -> Result<Vec<StreamEvent>, StoreError> {
        let sql = match end {
            LogEnd::Oldest => OLDEST,
            LogEnd::Newest => NEWEST,
        };
        let order = Order::of("read events to index", sql, vec![parameter(i64::from(limit))]);
        let mut found = self.many(order, |row| {
            Ok(StreamEvent { event: row::event(row)?, stream: column(row, EVENT_COLUMNS)? })
        })?;
        if end == LogEnd::Newest {
            found.reverse();
        }
        Ok(found)
    }

    pub(super) fn add_to_index(&mut self, entries: &EventEntries<'_>) {
        for (place, said) in entries.strings {
            let values = vec![text(&place.stream), number(place.seq), parameter(grams(said))];
            self.later(Order::of("indexed an event", ADD_EVENT, values));
        }
        // In the order of their names, as every server marks them.
        let mut through: BTreeMap<&str, u64> = BTreeMap::new();
        for place in entries.covered {
            let last = through.entry(&place.stream).or_default();
            *last = place.seq.max(*last);
        }
        for (stream, seq) in through {
            let values = vec![text(stream), number(seq)];
            self.later(Order::of("marked events as indexed", MARK_INDEXED, values));
        }
    }

    pub(super) fn clear_index(&mut self) {
        for sql in [CLEAR_EVENTS, CLEAR_INDEXED] {
            self.later(Order::of("cleared the index of events", sql, vec![parameter(true)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::grams;

    #[test]
    fn a_string_has_the_grams_of_every_string_that_it_contains() {
        assert!(grams("").is_empty() && grams("pa").is_empty());
        assert_eq!(grams("aaaa").len(), 1);
        let whole = grams("grüße \u{10FFFF}\u{10FFFF}\u{10FFFF} an alle");
        for part in ["grü", "üße ", "\u{10FFFF}\u{10FFFF}\u{10FFFF}", "alle"] {
            assert!(grams(part).iter().all(|gram| *gram >= 0 && whole.contains(gram)), "{part}");
        }
        assert!(!whole.contains(&grams("ane")[0]));
    }
}
