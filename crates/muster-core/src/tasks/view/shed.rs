//! The order in which each view loses content when it has to fit a budget (TASKS-BUD-3).
//!
//! `order` has the lists, one per view; here is what a list cannot say: how pages keep their
//! pagination and how a view reports that it was cut.

mod order;

use serde_json::{Map, Value, json};

use super::{
    context::{cut_pagination, row_number},
    graph_page::GraphCursor,
};
use crate::{
    PageCursor,
    budget::{self, BudgetAction, PageCounter, Shedding, drop_key, replace},
    tasks::{
        id::{EntityId, EvidenceId},
        wire,
    },
};

/// Order of the radar view.
pub fn radar() -> Shedding {
    about_one(order::RADAR)
}

/// Order of the context pack: payloads and events first, then as the radar.
pub fn context_pack() -> Shedding {
    about_one(order::CONTEXT_PACK)
}

/// Order of the handoff view.
pub fn handoff() -> Shedding {
    about_one(order::HANDOFF)
}

/// Order of the resume pack.
pub fn resume_pack() -> Shedding {
    Shedding { ledger: Some(mark_truncated), ..about_one(order::RESUME_PACK) }
}

/// Positions just before the newest entry of each page: where an emptied page starts again.
#[derive(Clone, Copy, Debug)]
pub struct PageStarts {
    pub notes: u64,
    pub trace: u64,
    pub cards: u64,
    /// Of the graph's difference.
    pub graph: GraphCursor,
}

/// Order of the super view and the snapshot.
pub fn resume_super(starts: PageStarts) -> Shedding {
    let by = |at, key: &'static str, start: u64| {
        page(at, move |last| {
            let position = last.and_then(|entry| entry.get(key)).and_then(Value::as_u64);
            position.unwrap_or(start).into()
        })
    };
    let graph = page("graph_diff.pagination", move |last| {
        json!(last.and_then(GraphCursor::after).unwrap_or(starts.graph))
    });
    let pages = vec![
        ("memory.trace.entries", by("memory.trace.pagination", "seq", starts.trace)),
        ("memory.notes.entries", by("memory.notes.pagination", "seq", starts.notes)),
        ("memory.cards", by("memory.cards_pagination", "last_seq", starts.cards)),
        ("graph_diff.changes", graph),
    ];
    Shedding { ledger: Some(write_down), pages, ..about_one(order::RESUME_SUPER) }
}

/// Order of the lists, whose cursors are bound to filters.
pub fn context(start: (u64, u64), filters: &str) -> Shedding {
    let rows = |at, start| {
        let filters = filters.to_owned();
        page(at, move |last| {
            let next = PageCursor { at: last.map_or(start, row_number), of: &filters };
            next.to_string().into()
        })
    };
    let pages = vec![
        ("plans", rows("plans_pagination", start.0)),
        ("tasks", rows("tasks_pagination", start.1)),
    ];
    Shedding { pages, ..Shedding::new(order::CONTEXT.to_vec(), order::CONTEXT_TAIL.to_vec()) }
}

/// Order of the event slice.
pub fn delta(since: Option<u64>) -> Shedding {
    let page: PageCounter = Box::new(move |view, last, _| {
        let seq = last.and_then(|event| event.get("seq")).and_then(Value::as_u64).or(since);
        replace(view, "cursor", seq.map(wire::event_id)) + replace(view, "has_more", true)
    });
    let pages = vec![("events", page)];
    Shedding { pages, ..Shedding::new(order::DELTA.to_vec(), order::DELTA_TAIL.to_vec()) }
}

/// Order of evidence.
pub fn evidence(after: u64, target: EntityId) -> Shedding {
    let records = page("pagination", move |last| {
        let number = last.and_then(|row| row.get("evidence_id")).and_then(Value::as_str);
        let number = number.and_then(|id| id.parse::<EvidenceId>().ok()).map_or(after, |id| id.0);
        PageCursor { at: number, of: target }.to_string().into()
    });
    let pages = vec![("evidence", records)];
    Shedding { pages, ..Shedding::new(order::EVIDENCE.to_vec(), order::EVIDENCE_TAIL.to_vec()) }
}

/// Order of the proof of a task.
pub fn proof() -> Shedding {
    Shedding::new(order::PROOF.to_vec(), order::PROOF_TAIL.to_vec())
}

fn about_one(order: &[&[BudgetAction]]) -> Shedding {
    Shedding::new(order.concat(), order::TAIL.to_vec())
}

/// Keeps the pagination at a path correct while entries are cut: `next` is the cursor after the
/// last one left.
fn page(at: &'static str, next: impl Fn(Option<&Value>) -> Value + 'static) -> PageCounter {
    Box::new(move |view, last, count| {
        let mut place = view;
        let mut saved = 0;
        let mut parts = at.split('.').peekable();
        while let Some(part) = parts.next() {
            let Some(Value::Object(next)) = place.get_mut(part) else { return saved };
            place = next;
            if parts.peek().is_some()
                && let Some(Value::Object(summary)) = place.get_mut("summary")
            {
                saved += replace(summary, "partial", true);
            }
        }
        saved + cut_pagination(place, next(last), count)
    })
}

/// Changes a value and returns the characters saved.
fn saved(value: &mut Value, change: impl FnOnce(&mut Value)) -> isize {
    let before = budget::size(value) as isize;
    change(value);
    before - budget::size(value) as isize
}

/// Cuts every string inside a value; returns the characters saved.
fn cut_texts(value: &mut Value, max: usize) -> isize {
    match value {
        Value::String(string) => budget::cut(string, max),
        Value::Array(items) => items.iter_mut().map(|item| cut_texts(item, max)).sum(),
        Value::Object(map) => map.values_mut().map(|item| cut_texts(item, max)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Cuts the strings of a record's items.
fn cut_items(row: &mut Value, max: usize) -> isize {
    row.get_mut("items").map_or(0, |items| cut_texts(items, max))
}

fn drop_of(row: &mut Value, key: &str) -> isize {
    row.as_object_mut().map_or(0, |map| drop_key(map, key))
}

/// Removes an event's payload and marks that.
fn strip_payload(event: &mut Value) -> isize {
    saved(event, |event| {
        if let Value::Object(map) = event
            && map.shift_remove("payload").is_some()
        {
            map.insert("payload_truncated".to_owned(), true.into());
        }
    })
}

/// Marks the pack as cut.
fn mark_truncated(view: &mut Map<String, Value>, _: &str, _: bool) -> isize {
    replace(view, "truncated", true)
}

/// Lists in the super view what was cut, each field once (TASKS-BUD-4).
fn write_down(view: &mut Map<String, Value>, field: &str, minimal: bool) -> isize {
    let marked = replace(view, "truncated", true);
    let Some(degradation) = view.get_mut("degradation") else { return marked };
    // "*" covers everything already.
    if degradation.get("truncated_fields") == Some(&json!(["*"])) {
        return marked;
    }
    marked
        + saved(degradation, |degradation| {
            push(degradation, "signals", "budget_truncated");
            push(degradation, "truncated_fields", field);
            if minimal {
                push(degradation, "signals", "minimal_signal");
                degradation["minimal"] = true.into();
            }
        })
}

/// Adds a word to a list once.
fn push(object: &mut Value, list: &str, word: &str) {
    if let Some(Value::Array(words)) = object.get_mut(list)
        && !words.iter().any(|known| known == word)
    {
        words.push(word.into());
    }
}
