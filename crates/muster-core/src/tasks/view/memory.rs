//! The reasoning memory of a plan or task: notes, trace and cards, newest pages (part of view 4.7).

use std::{cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::signals::{self, CardView, newest};
use crate::{
    Documents, EventOrder, EventQuery, Recorded, Unloaded,
    tasks::{
        Document, Event, Tasks,
        id::EntityId,
        memory::{CardType, NoteEntry, TraceEntry},
        wire,
    },
};

/// Notes, trace and cards.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct MemoryView {
    /// The notes document.
    pub notes: EntryPage,
    /// The trace document.
    pub trace: EntryPage,
    /// Cards, newest first.
    pub cards: Vec<CardView>,
    /// Where the page of cards is.
    pub cards_pagination: SeqPage,
    /// Counts of all cards.
    pub stats: CardStats,
}

/// Entries of one document, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EntryPage {
    /// The newest ones, oldest first.
    pub entries: Vec<Map<String, Value>>,
    /// Where the page is.
    pub pagination: SeqPage,
}

/// A page by position: cursors mean "older than this".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct SeqPage {
    /// Cursor this page was asked with.
    pub cursor: Option<u64>,
    /// Cursor of the next page.
    pub next_cursor: Option<u64>,
    /// Whether there is one.
    pub has_more: bool,
    /// Entries it could hold.
    pub limit: u32,
    /// Entries on this page.
    pub count: usize,
}

/// Counts of cards.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct CardStats {
    /// All cards.
    pub cards: u64,
    /// By type.
    pub by_type: BTreeMap<CardType, u64>,
}

/// Which pages to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryQuery {
    /// Page of notes.
    pub notes: SeqRequest,
    /// Page of the trace.
    pub trace: SeqRequest,
    /// Page of cards.
    pub cards: SeqRequest,
}

/// A page by position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeqRequest {
    /// Only entries older than this.
    pub cursor: Option<u64>,
    /// Entries at most.
    pub limit: u32,
}

impl SeqRequest {
    /// The page that shows these positions, newest first, of which one more than fits was asked
    /// for.
    fn page(self, positions: &[u64]) -> SeqPage {
        let shown = &positions[..positions.len().min(self.limit as usize)];
        let has_more = positions.len() > shown.len();
        SeqPage {
            cursor: self.cursor,
            next_cursor: shown.last().copied().or(self.cursor).filter(|_| has_more),
            has_more,
            limit: self.limit,
            count: shown.len(),
        }
    }
}

impl MemoryView {
    /// The memory of a plan or task.
    pub fn of(
        docs: &Documents<Tasks>,
        id: EntityId,
        query: &MemoryQuery,
    ) -> Result<Self, Unloaded<Tasks>> {
        let counts = signals::counts(docs, id)?;
        let list = newest("card", id, query.cards.cursor, query.cards.limit + 1);
        let cards: Vec<_> = docs.list(&list)?.into_iter().filter_map(Document::as_card).collect();
        let positions: Vec<u64> = cards.iter().map(|card| card.last_seq).collect();
        let shown = cards.iter().take(query.cards.limit as usize);
        Ok(Self {
            notes: notes(docs, id, query.notes)?,
            trace: trace(docs, id, query.trace)?,
            cards: shown.map(|card| CardView::of(card)).collect(),
            cards_pagination: query.cards.page(&positions),
            stats: CardStats { cards: counts.cards.values().sum(), by_type: counts.cards },
        })
    }
}

fn notes(
    docs: &Documents<Tasks>,
    id: EntityId,
    request: SeqRequest,
) -> Result<EntryPage, Unloaded<Tasks>> {
    let list = newest("note", id, request.cursor, request.limit + 1);
    let mut entries = Vec::new();
    for document in docs.list(&list)? {
        if let Document::Note(note) = document {
            entries.push((note.seq, note_entry(note)));
        }
    }
    Ok(entry_page(entries, request))
}

/// Events of the entity and commits of its cards, merged by position.
fn trace(
    docs: &Documents<Tasks>,
    id: EntityId,
    request: SeqRequest,
) -> Result<EntryPage, Unloaded<Tasks>> {
    let slice = docs.events(&EventQuery {
        entity: Some(id.to_string()),
        scope: None,
        after: Some(request.cursor.unwrap_or(i64::MAX.unsigned_abs())),
        order: EventOrder::NewestFirst,
        limit: request.limit + 1,
    })?;
    let mut entries: Vec<(u64, Map<String, Value>)> =
        slice.iter().map(|recorded| (recorded.global, event_entry(id, recorded))).collect();
    for document in docs.list(&newest("trace", id, request.cursor, request.limit + 1))? {
        if let Document::Trace(entry) = document {
            entries.push((entry.seq, card_entry(entry)));
        }
    }
    entries.sort_by_key(|(seq, _)| Reverse(*seq));
    entries.truncate(request.limit as usize + 1);
    Ok(entry_page(entries, request))
}

fn entry_page(entries: Vec<(u64, Map<String, Value>)>, request: SeqRequest) -> EntryPage {
    let positions: Vec<u64> = entries.iter().map(|(seq, _)| *seq).collect();
    let shown = entries.into_iter().take(request.limit as usize);
    let mut entries: Vec<Map<String, Value>> = shown.map(|(_, entry)| entry).collect();
    entries.reverse();
    EntryPage { entries, pagination: request.page(&positions) }
}

/// A note as callers see it.
pub fn note_entry(note: &NoteEntry) -> Map<String, Value> {
    object(json!({
        "seq": note.seq, "ts": note.at.rfc3339(), "ts_ms": note.at.0, "kind": "note",
        "title": note.title, "format": note.format, "meta": note.meta, "content": note.content,
    }))
}

fn event_entry(id: EntityId, recorded: &Recorded<Event>) -> Map<String, Value> {
    let path = wire::show(recorded).and_then(|event| event.path);
    object(json!({
        "seq": recorded.global, "ts": recorded.at.rfc3339(), "ts_ms": recorded.at.0,
        "kind": "event", "event_id": wire::event_id(recorded.global),
        "event_type": wire::event_type(&recorded.event), "task_id": id, "path": path,
    }))
}

fn card_entry(entry: &TraceEntry) -> Map<String, Value> {
    let card = &entry.card;
    let source = card.meta.get("source").cloned().unwrap_or_else(|| json!("think_card"));
    object(json!({
        "seq": entry.seq, "ts": entry.at.rfc3339(), "ts_ms": entry.at.0, "kind": "note",
        "title": card.title, "format": "think_card",
        "meta": {
            "card_id": card.id, "type": card.kind, "status": card.status, "tags": card.tags,
            "source": source,
        },
        "content": card.text.as_deref().unwrap_or_default(),
    }))
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { unreachable!("entries are objects, got {value}") };
    map
}
