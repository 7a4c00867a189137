//! The reasoning memory of a plan or task: notes, trace and cards, newest pages (part of view 4.7).

use std::{cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    notes,
    page::CursorPage,
    signals::{CardView, newest},
};
use crate::{
    EventQuery, ListQuery, Recorded, Slice,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskLookup,
        id::{CardId, EntityId},
        lookup,
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
    pub cards_pagination: CursorPage<u64>,
    /// Counts of all cards.
    pub stats: CardStats,
}

/// Entries of one document, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EntryPage {
    /// The newest ones, oldest first.
    pub entries: Vec<MemoryEntry>,
    /// Where the page is.
    pub pagination: CursorPage<u64>,
}

/// An entry of the notes or the trace.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MemoryEntry {
    /// A note, or a card as it was committed.
    Note(NoteView),
    /// An event of the entity.
    Event(EventEntry),
}

/// A note, or a card as it was committed.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct NoteView {
    pub seq: u64,
    pub ts: String,
    pub ts_ms: i64,
    pub kind: &'static str,
    pub title: Option<String>,
    pub format: Option<String>,
    pub meta: EntryMeta,
    pub content: String,
}

/// Facts about an entry.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EntryMeta {
    /// Of a note: the facts that its writer attached, including the source.
    Free(Map<String, Value>),
    /// Of a card.
    Card(CardMeta),
}

/// Facts about a card that was committed.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct CardMeta {
    pub card_id: CardId,
    #[serde(rename = "type")]
    pub kind: CardType,
    pub status: String,
    pub tags: Vec<String>,
    pub source: Value,
}

/// An event of the entity.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EventEntry {
    pub seq: u64,
    pub ts: String,
    pub ts_ms: i64,
    pub kind: &'static str,
    pub event_id: String,
    pub event_type: &'static str,
    pub task_id: EntityId,
    pub path: Option<String>,
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
    /// The page that shows these positions, newest first, of which one more than fits was
    /// requested.
    fn page(self, positions: &[u64]) -> CursorPage<u64> {
        let shown = &positions[..positions.len().min(self.limit as usize)];
        let has_more = positions.len() > shown.len();
        CursorPage {
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
    pub fn of(docs: &TaskDocs, id: EntityId, query: &MemoryQuery) -> TaskLookup<Self> {
        let counts = lookup::memory_counts(docs, id)?;
        let [cards, _] = lists(id, query);
        let cards: Vec<_> =
            docs.list(&cards)?.into_iter().filter_map(TaskDocument::as_card).collect();
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

/// The lists that the pages are read from: cards and commits of cards.
pub(super) fn lists(id: EntityId, query: &MemoryQuery) -> [ListQuery; 2] {
    let page = |kind, page: SeqRequest| newest(kind, id, page.cursor, page.limit + 1);
    [page("card", query.cards), page("trace", query.trace)]
}

pub(super) fn notes(docs: &TaskDocs, id: EntityId, request: SeqRequest) -> TaskLookup<EntryPage> {
    let notes = notes::newest(docs, id, request.cursor, request.limit + 1)?;
    Ok(entry_page(notes.iter().map(|note| MemoryEntry::note(note)).collect(), request))
}

/// Events of the entity and commits of its cards, merged by position.
fn trace(docs: &TaskDocs, id: EntityId, request: SeqRequest) -> TaskLookup<EntryPage> {
    let slice = trace_events(docs, id, request)?;
    let mut entries: Vec<MemoryEntry> =
        slice.iter().map(|recorded| MemoryEntry::event(id, recorded)).collect();
    for document in docs.list(&newest("trace", id, request.cursor, request.limit + 1))? {
        if let TaskDocument::Trace(entry) = document {
            entries.push(MemoryEntry::commit(entry));
        }
    }
    entries.sort_by_key(|entry| Reverse(entry.seq()));
    entries.truncate(request.limit as usize + 1);
    Ok(entry_page(entries, request))
}

/// The events that can be on a page of the trace.
pub(super) fn trace_events(
    docs: &TaskDocs,
    id: EntityId,
    request: SeqRequest,
) -> TaskLookup<Slice<TaskEvent>> {
    docs.events(&EventQuery {
        after: Some(request.cursor.unwrap_or(i64::MAX.unsigned_abs())),
        ..EventQuery::newest_of(id.to_string(), request.limit + 1)
    })
}

fn entry_page(mut entries: Vec<MemoryEntry>, request: SeqRequest) -> EntryPage {
    let positions: Vec<u64> = entries.iter().map(MemoryEntry::seq).collect();
    entries.truncate(request.limit as usize);
    entries.reverse();
    EntryPage { entries, pagination: request.page(&positions) }
}

impl MemoryEntry {
    /// A note as callers see it.
    pub fn note(note: &NoteEntry) -> Self {
        Self::Note(NoteView {
            seq: note.seq,
            ts: note.at.rfc3339(),
            ts_ms: note.at.0,
            kind: "note",
            title: note.title.clone(),
            format: note.format.clone(),
            meta: EntryMeta::Free(note.meta.clone()),
            content: note.content.clone(),
        })
    }

    fn event(id: EntityId, recorded: &Recorded<TaskEvent>) -> Self {
        Self::Event(EventEntry {
            seq: recorded.global,
            ts: recorded.at.rfc3339(),
            ts_ms: recorded.at.0,
            kind: "event",
            event_id: wire::event_id(recorded.global),
            event_type: wire::event_type(&recorded.event),
            task_id: id,
            path: wire::path(&recorded.event),
        })
    }

    fn commit(entry: &TraceEntry) -> Self {
        let card = &entry.card;
        let source = card.meta.get("source").cloned().unwrap_or_else(|| "think_card".into());
        Self::Note(NoteView {
            seq: entry.seq,
            ts: entry.at.rfc3339(),
            ts_ms: entry.at.0,
            kind: "note",
            title: card.title.clone(),
            format: Some("think_card".to_owned()),
            meta: EntryMeta::Card(CardMeta {
                card_id: card.id,
                kind: card.kind,
                status: card.status.clone(),
                tags: card.tags.clone(),
                source,
            }),
            content: card.text.clone().unwrap_or_default(),
        })
    }

    /// Its position.
    pub fn seq(&self) -> u64 {
        match self {
            Self::Note(note) => note.seq,
            Self::Event(event) => event.seq,
        }
    }
}
