//! One stream in memory: its events and its documents.

use std::{collections::BTreeMap, sync::Arc};

use muster_core::{Address, EventChoice, EventOrder, EventQuery};

use crate::{DocumentChange, DocumentPieces, DocumentRow, EventRow};

#[derive(Clone, Default)]
pub(super) struct Stream {
    pub(super) seq: u64,
    pub(super) ended: bool,
    pub(super) events: Vec<Arc<EventRow>>,
    pub(super) documents: BTreeMap<Address, Document>,
}

/// A document and when it was first written, which breaks ties in lists.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) born: u64,
    pub(super) row: Arc<DocumentRow>,
    pub(super) brief: Option<Arc<str>>,
    pub(super) searched: Option<Arc<str>>,
    /// The pieces of the body after the first.
    pub(super) pieces: Vec<Arc<str>>,
}

impl Stream {
    fn in_pieces(
        &self,
        DocumentPieces { first, rest, brief }: &DocumentPieces,
        now: u64,
    ) -> Document {
        let old = self.documents.get(&first.address);
        let mut pieces: Vec<Arc<str>> = Vec::new();
        for (at, piece) in rest.iter().enumerate() {
            let kept = || old.and_then(|old| old.pieces.get(at).cloned());
            pieces.extend(piece.as_deref().map(Arc::from).or_else(kept));
        }
        let body = [&*first.body].into_iter().chain(pieces.iter().map(AsRef::as_ref)).collect();
        Document {
            born: old.map_or(now, |document| document.born),
            row: Arc::new(DocumentRow { body, ..first.clone() }),
            brief: brief.as_deref().map(Arc::from),
            searched: old.and_then(|document| document.searched.clone()),
            pieces,
        }
    }

    pub(super) fn change(&mut self, change: &DocumentChange, now: u64) {
        match change {
            DocumentChange::Put(row, brief) => {
                let before = self.documents.get(&row.address);
                let born = before.map_or(now, |document| document.born);
                let searched = before.and_then(|document| document.searched.clone());
                let brief = brief.as_deref().map(Arc::from);
                let pieces = Vec::new();
                let row = Arc::new(row.clone());
                let address = row.address.clone();
                self.documents.insert(address, Document { born, row, brief, searched, pieces });
            }
            DocumentChange::PutPieces(change) => {
                let document = self.in_pieces(change, now);
                self.documents.insert(change.first.address.clone(), document);
            }
            DocumentChange::Search(address, text) => {
                if let Some(document) = self.documents.get_mut(address) {
                    document.searched = Some(Arc::from(text.as_str()));
                }
            }
            DocumentChange::Remove(address) => {
                self.documents.remove(address);
            }
        }
    }
}

/// Whether an event is in a slice.
pub(super) fn admits(query: &EventQuery, event: &EventRow) -> bool {
    let Some(subject) = &event.subject else { return false };
    let in_range = match query.order {
        EventOrder::OldestFirst => query.after.is_none_or(|after| event.global > after),
        EventOrder::NewestFirst => query.after.is_none_or(|after| event.global < after),
    };
    let chosen = match query.choice {
        EventChoice::All => true,
        EventChoice::Kind(kind) => event.kind == kind,
        EventChoice::Intended => event.intent.is_some(),
    };
    in_range
        && chosen
        && event.global > query.above
        && query.entity.as_ref().is_none_or(|entity| *entity == subject.entity)
        && query.scope.as_ref().is_none_or(|scope| *scope == subject.scope)
}
