//! Searches for a string inside what documents are found by.
//!
//! ```text
//!   "payment" ── "pay" AND "men" AND "ent" ──► candidates ── contain it ──► ids ──► counts, page
//!                index of three characters      searched
//! ```
//!
//! The index has no positions: it is a fifth of the size of one that has them. It can only leave
//! documents out; whether one of the rest contains the string is read from what was stored.
//!
//! Until `meta` marks the index as complete, only those strings are written, and no search uses
//! them.

use std::ops::Deref;

use muster_core::{Address, FIELD_SEPARATOR, Index, ListQuery};
use rusqlite::{OptionalExtension as _, Row, params, params_from_iter};

use super::{link::Link, listing, pieces, view::View};
use crate::{StoreError, TextMatches};

/// Characters of an entry of the index.
const GRAM_CHARS: usize = 3;
/// Up to this many documents are looked up one by one; for more, the index of the list is walked.
const LOOKED_UP_MAX: usize = 3_000;

const IS_COMPLETE: &str = "SELECT EXISTS (SELECT 1 FROM meta WHERE k = 'searchable')";
const MARK_COMPLETE: &str =
    "INSERT INTO meta (k, v) VALUES ('searchable', 1) ON CONFLICT DO NOTHING";
const REBUILD: &str = "INSERT INTO search (search) VALUES ('rebuild')";
const STORED: &str = "SELECT text FROM searched WHERE document = ?1";
const STORED_OF: &str = "\
    SELECT searched.text FROM document JOIN searched ON searched.document = document.id \
    WHERE document.stream = ?1 AND document.kind = ?2 AND document.name = ?3";
const PUT: &str = "\
    INSERT INTO searched (document, text) VALUES (?1, ?2) \
    ON CONFLICT DO UPDATE SET text = excluded.text";
const REMOVE: &str = "DELETE FROM searched WHERE document = ?1";
const ADD_ENTRY: &str = "INSERT INTO search (rowid, text) VALUES (?1, ?2)";
const REMOVE_ENTRY: &str = "INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ?2)";
const REMOVE_ENTRIES_OF: &str = "\
    INSERT INTO search (search, rowid, text) SELECT 'delete', searched.document, searched.text \
    FROM document CROSS JOIN searched ON searched.document = document.id \
    WHERE document.stream = ?1";
const REMOVE_ALL_OF: &str = "\
    DELETE FROM searched WHERE document IN (SELECT id FROM document WHERE stream = ?1)";

const CONTAINING: &str = "SELECT document FROM searched WHERE instr(text, ?1) > 0";
const WITH_GRAM: &str = "SELECT rowid FROM search WHERE search MATCH ?1";
const WITH_GRAMS_CONTAINING: &str = "\
    SELECT searched.document FROM search CROSS JOIN searched ON searched.document = search.rowid \
    WHERE search MATCH ?1 AND instr(searched.text, ?2) > 0";
const FOUND: &str = "\
    SELECT kind, name, version, ord, parent, status, rank, marks FROM document \
    WHERE id = ?1 AND stream = ?2";

/// Row ids of all documents that are found by a string, in order.
pub(super) struct SearchedIds {
    text: String,
    ids: Vec<i64>,
}

/// Whether the index has every document.
pub(super) fn is_complete(link: &Link) -> Result<bool, StoreError> {
    let read = || link.connection.prepare_cached(IS_COMPLETE)?.query_row([], |row| row.get(0));
    read().map_err(|error| link.failed("looked for the index of searches", &error))
}

/// What a document is found by.
pub(super) fn stored(
    link: &Link,
    stream: i64,
    address: &Address,
) -> Result<Option<String>, StoreError> {
    let parameters = params![stream, address.kind, address.name];
    let read = || {
        let mut statement = link.connection.prepare_cached(STORED_OF)?;
        statement.query_row(parameters, |row| row.get(0)).optional()
    };
    read().map_err(|error| link.failed("read what a document is found by", &error))
}

/// Finds a document by this string from now on.
pub(super) fn put(link: &Link, document: i64, text: &str) -> Result<(), StoreError> {
    let before = stored_text(link, document)?;
    if before.as_deref() == Some(text) {
        return Ok(());
    }
    remove_entry(link, document, before.as_deref())?;
    if is_complete(link)? {
        run(link, ADD_ENTRY, params![document, text])?;
    }
    run(link, PUT, params![document, text])
}

/// Forgets what a document was found by.
pub(super) fn remove(link: &Link, document: i64) -> Result<(), StoreError> {
    let Some(before) = stored_text(link, document)? else { return Ok(()) };
    remove_entry(link, document, Some(&before))?;
    run(link, REMOVE, [document])
}

/// The same for all documents of a stream.
pub(super) fn remove_all(link: &Link, stream: i64) -> Result<(), StoreError> {
    if is_complete(link)? {
        run(link, REMOVE_ENTRIES_OF, [stream])?;
    }
    run(link, REMOVE_ALL_OF, [stream])
}

/// Builds the index again.
pub(super) fn rebuild(link: &Link) -> Result<(), StoreError> {
    run(link, REBUILD, [])?;
    run(link, MARK_COMPLETE, [])
}

fn stored_text(link: &Link, document: i64) -> Result<Option<String>, StoreError> {
    let read = || {
        let mut statement = link.connection.prepare_cached(STORED)?;
        statement.query_row([document], |row| row.get(0)).optional()
    };
    read().map_err(|error| link.failed("read what a document is found by", &error))
}

fn remove_entry(link: &Link, document: i64, before: Option<&str>) -> Result<(), StoreError> {
    match before {
        Some(before) if is_complete(link)? => run(link, REMOVE_ENTRY, params![document, before]),
        Some(_) | None => Ok(()),
    }
}

fn run(link: &Link, sql: &str, parameters: impl rusqlite::Params) -> Result<(), StoreError> {
    let ran = link.connection.prepare_cached(sql).and_then(|mut s| s.execute(parameters));
    ran.map(drop).map_err(|error| link.failed("changed the index of searches", &error))
}

impl<L: Deref<Target = Link>> View<L> {
    /// Documents of a list that are found by a string.
    pub(super) fn matches(
        &mut self,
        stream: &str,
        query: &ListQuery,
        text: &str,
    ) -> Result<Option<TextMatches>, StoreError> {
        if text.contains([FIELD_SEPARATOR, '\0']) || !is_complete(self.link())? {
            return Ok(None);
        }
        let Some(stream) = self.stream(stream)? else { return Ok(Some(TextMatches::default())) };
        let searched = match self.searched.take().filter(|searched| searched.text == text) {
            Some(searched) => searched,
            None => SearchedIds { text: text.to_owned(), ids: self.containing(text)? },
        };
        let found = if searched.ids.len() > LOOKED_UP_MAX {
            self.walked(stream, query, &searched.ids)
        } else {
            self.looked_up(stream, query, &searched.ids)
        };
        self.searched = Some(searched);
        found.map(Some)
    }

    /// Row ids of all documents that are found by a string, in order.
    fn containing(&self, text: &str) -> Result<Vec<i64>, StoreError> {
        let action = "searched";
        let id = |row: &Row<'_>| row.get(0);
        let grams = grams(text);
        match grams.as_slice() {
            [] => self.many(action, CONTAINING, [text], id),
            // Beyond ASCII the index takes a few characters for the same.
            [gram] if gram.len() == GRAM_CHARS + 2 => self.many(action, WITH_GRAM, [gram], id),
            grams => {
                let all = grams.join(" AND ");
                self.many(action, WITH_GRAMS_CONTAINING, [all.as_str(), text], id)
            }
        }
    }

    /// The matches among a few documents.
    fn looked_up(
        &self,
        stream: i64,
        query: &ListQuery,
        ids: &[i64],
    ) -> Result<TextMatches, StoreError> {
        let whole = ListQuery { after: None, ..query.clone() };
        let mut listed = Vec::new();
        for id in ids {
            let found = self.one("looked up a match", FOUND, params![id, stream], found)?;
            listed.extend(found.filter(|(address, _, index)| whole.admits(address, index)));
        }
        listed.sort_by_key(|(_, _, index)| index.ord);
        let mut matches = TextMatches::default();
        for (address, version, index) in listed {
            if matches.count(query, (&index.status, index.ord), matches.page.len()) {
                matches.page.push((address, version));
            }
        }
        Ok(matches)
    }

    /// The matches among many documents: the index of the list has all but the names of the page.
    fn walked(
        &self,
        stream: i64,
        query: &ListQuery,
        ids: &[i64],
    ) -> Result<TextMatches, StoreError> {
        let mut matches = TextMatches::default();
        let mut page = Vec::new();
        let whole = ListQuery { after: None, limit: None, ..query.clone() };
        let Some(statuses) = self.statuses(stream, &whole)? else { return Ok(matches) };
        let statuses: Vec<&str> = statuses.iter().map(AsRef::as_ref).collect();
        let question = listing::counted(stream, &whole, &statuses);
        let parameters = params_from_iter(question.parameters);
        let counted = |row: &Row<'_>| {
            let id: i64 = row.get(1)?;
            let listed = ids.binary_search(&id).is_ok();
            let status = row.get_ref(2)?.as_str()?;
            if listed && matches.count(query, (status, row.get(0)?), page.len()) {
                page.push(id);
            }
            Ok(())
        };
        self.many("counted matches", &question.sql, parameters, counted)?;
        for id in page {
            let found = self.one("looked up a match", FOUND, params![id, stream], found)?;
            matches.page.extend(found.map(|(address, version, _)| (address, version)));
        }
        Ok(matches)
    }
}

fn found(row: &Row<'_>) -> rusqlite::Result<(Address, u64, Index)> {
    let kind: String = row.get(0)?;
    let status: String = row.get(5)?;
    let index = Index {
        ord: row.get(3)?,
        parent: row.get(4)?,
        status: status.into(),
        rank: row.get(6)?,
        marks: pieces::marks(row.get(7)?),
    };
    Ok((Address { kind: kind.into(), name: row.get(1)? }, row.get(2)?, index))
}

/// Entries of the index that together cover a string, quoted for a query; none for a shorter one.
///
/// Neighbouring entries share two of their characters. Every third one, and the last, exclude
/// nearly as much as all of them.
pub(super) fn grams(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let Some(last) = characters.len().checked_sub(GRAM_CHARS) else { return Vec::new() };
    let starts = (0..last).step_by(GRAM_CHARS).chain([last]);
    let gram = |at: usize| {
        let gram: String = characters[at..at + GRAM_CHARS].iter().collect();
        format!("\"{}\"", gram.replace('"', "\"\""))
    };
    starts.map(gram).collect()
}

#[cfg(test)]
mod tests {
    use super::grams;

    #[test]
    fn every_character_is_covered_and_quotes_are_doubled() {
        assert!(grams("").is_empty() && grams("pa").is_empty());
        assert_eq!(grams("pay"), ["\"pay\""]);
        assert_eq!(grams("payment"), ["\"pay\"", "\"men\"", "\"ent\""]);
        assert_eq!(grams("paymen"), ["\"pay\"", "\"men\""]);
        assert_eq!(grams("ü\"ß"), ["\"ü\"\"ß\""]);
    }
}
