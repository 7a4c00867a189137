//! From a draft to rows: its events and the documents that it changed.

use std::{borrow::Cow, sync::Arc};

use muster_core::{Aggregate, Compact as _, Documents, Recorded, searched_text};
use muster_store::{
    DocumentChange, DocumentPieces, DocumentRow, EventRow, StoreError, Transaction,
};

use crate::cache::Cache;

/// Bytes that a piece of a large document counts in the cache, about those that it has.
const PIECE_BYTES: usize = 4_096;

/// Encodes a draft's events as rows.
pub(crate) fn event_rows<A: Aggregate>(events: &[Recorded<A::Event>]) -> Vec<EventRow> {
    let row = |recorded: &Recorded<A::Event>| EventRow {
        global: recorded.global,
        seq: recorded.seq,
        at: recorded.at,
        kind: A::event_type(&recorded.event).to_owned(),
        subject: A::subject(&recorded.event),
        body: encoded(serde_json::to_string(&recorded.event)),
        shown: A::fact(&recorded.event),
        by: recorded.by.as_deref().map(|by| encoded(serde_json::to_string(by))),
        intent: recorded.intent.as_deref().map(str::to_owned),
    };
    events.iter().map(row).collect()
}

/// Encodes a draft's document changes as rows, as of a log position; then what changed documents
/// are found by, if that is something else than before.
pub(crate) fn document_changes<A: Aggregate>(
    transaction: &mut dyn Transaction,
    stream: &str,
    documents: &Documents<A>,
    version: u64,
) -> Result<Vec<DocumentChange>, StoreError> {
    let mut changes = Vec::new();
    for (key, document) in documents.changes() {
        changes.push(match document {
            Some(document) if A::pieces(document) > 1 => {
                let stored = transaction.pieces(stream, &A::address(key))?;
                // A document that was stored whole, or is new, is written whole.
                let before = documents.stored(key).filter(|before| A::pieces(before) == stored);
                put_pieces::<A>((key, version), document, before.filter(|_| stored > 1))
            }
            Some(document) => put::<A>(key, document, version),
            None => DocumentChange::Remove(A::address(key)),
        });
    }
    let found_by = |(key, document): (&A::Key, Option<&A::Document>)| {
        let fields = A::searched(document?);
        let before = documents.stored(key);
        (before.is_none_or(|before| A::searched(before) != fields))
            .then(|| search::<A>(key, &fields))?
    };
    changes.extend(documents.changes().filter_map(found_by));
    Ok(changes)
}

/// The change that lets a document be found by its fields, if it has any that are searched.
pub(crate) fn search<A: Aggregate>(
    key: &A::Key,
    fields: &[Cow<'_, str>],
) -> Option<DocumentChange> {
    Some(DocumentChange::Search(A::address(key), searched_text(fields)?))
}

/// The change that writes a large document.
fn put_pieces<A: Aggregate>(
    (key, version): (&A::Key, u64),
    document: &A::Document,
    before: Option<&A::Document>,
) -> DocumentChange {
    let pieces = A::encode_pieces(document, before);
    let pieces =
        pieces.unwrap_or_else(|error| unreachable!("domain types are plain JSON: {error}"));
    let mut pieces = pieces.into_iter();
    let body = pieces.next().flatten().unwrap_or_default();
    let first = DocumentRow { address: A::address(key), index: A::index(document), version, body };
    DocumentChange::PutPieces(DocumentPieces {
        first,
        rest: pieces.collect(),
        brief: brief::<A>(document),
    })
}

/// Caches the documents that a committed draft has changed.
pub(crate) fn keep_changes<A: Aggregate>(
    stream: &str,
    documents: &Documents<A>,
    changes: &[DocumentChange],
    cache: &Cache,
) {
    for ((_, document), change) in documents.changed().zip(changes) {
        let (row, bytes) = match change {
            DocumentChange::Put(row, _) => (row, row.body.len()),
            DocumentChange::PutPieces(pieces) => {
                (&pieces.first, pieces.first.body.len() + PIECE_BYTES * pieces.rest.len())
            }
            DocumentChange::Search(..) | DocumentChange::Remove(_) => continue,
        };
        if let Some(document) = document {
            cache.keep::<A>(stream, row, bytes, Arc::clone(document));
        }
    }
}

/// The change that writes a document and its brief.
pub(crate) fn put<A: Aggregate>(
    key: &A::Key,
    document: &A::Document,
    version: u64,
) -> DocumentChange {
    DocumentChange::Put(document_row::<A>(key, document, version), brief::<A>(document))
}

/// The stored text of a document's brief, if it has one.
pub(crate) fn brief<A: Aggregate>(document: &A::Document) -> Option<String> {
    A::brief(document).map(|brief| brief.write())
}

pub(crate) fn document_row<A: Aggregate>(
    key: &A::Key,
    document: &A::Document,
    version: u64,
) -> DocumentRow {
    DocumentRow {
        address: A::address(key),
        index: A::index(document),
        version,
        body: encoded(A::encode(document)),
    }
}

fn encoded(text: serde_json::Result<String>) -> String {
    text.unwrap_or_else(|error| unreachable!("domain types are plain JSON: {error}"))
}
