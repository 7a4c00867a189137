//! Orders of the handoff and of the resume views.

use serde_json::{Map, Value, json};

use super::{core, cut_pagination, cut_texts, meta, radar, tail, thin, zero};
use crate::{
    budget::{self, BudgetAction, CutEnd, PageCounter, Shedding, replace},
    tasks::view::graph_page::GraphCursor,
};

/// Order of the handoff view.
pub fn handoff() -> Shedding {
    let mut ordinary = thin();
    ordinary.push(BudgetAction::cut("radar.why", 256));
    ordinary.push(BudgetAction::pop("rollup.tasks", CutEnd::Last, 0));
    ordinary.extend(meta());
    ordinary.extend(zero());
    ordinary.extend([
        BudgetAction::pop("handoff.done", CutEnd::Last, 1),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 3),
        BudgetAction::pop("handoff.remaining", CutEnd::Last, 2),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 0),
        BudgetAction::drop("handoff.done"),
        BudgetAction::drop("handoff.risks"),
    ]);
    let mut last = core();
    let final_action = last.pop();
    ordinary.extend(last);
    ordinary.push(BudgetAction::drop("handoff"));
    ordinary.extend(final_action);
    Shedding::new(ordinary, tail())
}

/// Order of the resume pack.
pub fn resume_pack() -> Shedding {
    let mut ordinary = vec![
        BudgetAction::each_oldest("timeline.events", drop_payload),
        BudgetAction::pop("timeline.events", CutEnd::Oldest, 5),
        BudgetAction::other("signals.evidence", |list| cut_texts(list, 160)),
        BudgetAction::other("signals.decisions", |list| cut_texts(list, 160)),
        BudgetAction::pop("timeline.events", CutEnd::Oldest, 0),
        BudgetAction::pop("signals.evidence", CutEnd::Last, 0),
        BudgetAction::pop("signals.blockers", CutEnd::Last, 3),
        BudgetAction::pop("signals.decisions", CutEnd::Last, 1),
        BudgetAction::drop("timeline"),
        BudgetAction::drop("signals"),
        BudgetAction::drop("truncated"),
    ];
    let rest = radar();
    ordinary.extend(rest.ordinary);
    Shedding { ordinary, minimal: rest.minimal, ledger: Some(mark_truncated) }
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

/// Order of the super view and the snapshot: detail goes first, the capsule stays longest.
pub fn resume_super(starts: PageStarts) -> Shedding {
    let by = |at, key: &'static str, start: u64| {
        let position = move |last: Option<&Value>| {
            let position = last.and_then(|entry| entry.get(key)).and_then(Value::as_u64);
            position.unwrap_or(start).into()
        };
        page(at, position)
    };
    let trace = || by("memory.trace.pagination", "seq", starts.trace);
    let notes = || by("memory.notes.pagination", "seq", starts.notes);
    let cards = || by("memory.cards_pagination", "last_seq", starts.cards);
    let graph = || {
        page("graph_diff.pagination", move |last: Option<&Value>| {
            json!(last.and_then(GraphCursor::after).unwrap_or(starts.graph))
        })
    };
    let mut ordinary = vec![
        BudgetAction::each_oldest("timeline.events", drop_payload),
        BudgetAction::cut("memory.trace.entries.*.content", 160),
        BudgetAction::pop_with("memory.trace.entries", CutEnd::Oldest, 5, trace()),
        BudgetAction::pop("timeline.events", CutEnd::Oldest, 5),
    ];
    ordinary.extend(thin());
    ordinary.extend([
        BudgetAction::cut("radar.why", 256),
        BudgetAction::pop("rollup.tasks", CutEnd::Last, 0),
        BudgetAction::pop_with("graph_diff.changes", CutEnd::Last, 0, graph()),
        BudgetAction::pop_with("memory.trace.entries", CutEnd::Oldest, 0, trace()),
        BudgetAction::pop("timeline.events", CutEnd::Oldest, 0),
        BudgetAction::cut("memory.notes.entries.*.content", 256),
        BudgetAction::keep("memory.notes.entries.*.meta", &["source", "card_id", "step_id"]),
        BudgetAction::drop("memory.cards.*.meta"),
        BudgetAction::cut("memory.cards.*.text", 180),
        BudgetAction::other("signals.evidence", |list| cut_texts(list, 160)),
        BudgetAction::pop("signals.evidence", CutEnd::Last, 0),
        BudgetAction::pop("signals.blockers", CutEnd::Last, 3),
        BudgetAction::other("signals.decisions", |list| cut_texts(list, 160)),
        BudgetAction::pop("signals.decisions", CutEnd::Last, 1),
    ]);
    ordinary.extend(meta());
    ordinary.extend(zero());
    ordinary.extend([
        BudgetAction::pop_with("memory.notes.entries", CutEnd::Oldest, 3, notes()),
        BudgetAction::pop_with("memory.cards", CutEnd::Last, 3, cards()),
        BudgetAction::pop_with("memory.notes.entries", CutEnd::Oldest, 0, notes()),
        BudgetAction::pop_with("memory.cards", CutEnd::Last, 0, cards()),
        BudgetAction::pop("signals.decisions", CutEnd::Last, 0),
        BudgetAction::pop("signals.blockers", CutEnd::Last, 0),
    ]);
    ordinary.extend(
        [
            "graph_diff",
            "memory.stats",
            "memory.cards_pagination",
            "memory.notes.pagination",
            "memory.trace.pagination",
            "signals",
            "timeline",
            "requested",
        ]
        .map(BudgetAction::drop),
    );
    ordinary.push(BudgetAction::drop_root(&["focus", "focus_restored", "focus_previous"]));
    ordinary.extend(held_by_capsule());
    ordinary.extend(around_capsule());
    ordinary.extend(capsule_itself());
    Shedding { ordinary, minimal: tail(), ledger: Some(write_down) }
}

/// Fields that the capsule still contains when they are dropped from the view.
fn held_by_capsule() -> Vec<BudgetAction> {
    vec![
        BudgetAction::cut("radar.why", 120),
        BudgetAction::pop("radar.blockers", CutEnd::Last, 1),
        BudgetAction::pop("radar.verify", CutEnd::Last, 1),
        BudgetAction::pop("radar.next", CutEnd::Last, 1),
        BudgetAction::drop("radar.why"),
        BudgetAction::drop("radar.blockers"),
        BudgetAction::drop("radar.verify"),
        BudgetAction::drop("radar.now"),
        BudgetAction::keep("reasoning_ref", &["branch"]),
        BudgetAction::drop("capsule.reasoning_ref"),
        BudgetAction::drop("capsule.counts"),
        BudgetAction::drop("capsule.graph_diff"),
        BudgetAction::drop("capsule.last_event"),
        BudgetAction::pop("capsule.handoff.done", CutEnd::Last, 1),
        BudgetAction::pop("capsule.handoff.risks", CutEnd::Last, 1),
        BudgetAction::pop("capsule.handoff.remaining", CutEnd::Last, 1),
        BudgetAction::pop("capsule.radar.blockers", CutEnd::Last, 1),
        BudgetAction::pop("capsule.radar.verify", CutEnd::Last, 1),
        BudgetAction::pop("capsule.radar.next", CutEnd::Last, 1),
        BudgetAction::drop("capsule.handoff.done"),
        BudgetAction::cut("capsule.radar.why", 80),
    ]
}

fn around_capsule() -> Vec<BudgetAction> {
    vec![
        BudgetAction::drop("memory"),
        BudgetAction::keep("steps.first_open", &["step_id", "path", "title"]),
        BudgetAction::drop("steps"),
        BudgetAction::drop("rollup"),
        BudgetAction::drop("reasoning_ref"),
        BudgetAction::drop("truncated"),
        BudgetAction::keep("target", &["id", "kind", "title", "revision", "status"]),
        BudgetAction::keep("target", &["id"]),
        BudgetAction::drop("capsule.handoff"),
        BudgetAction::drop("capsule.radar.why"),
        BudgetAction::drop("capsule.radar.blockers"),
        BudgetAction::drop("capsule.radar.verify"),
        BudgetAction::drop("capsule.escalation"),
        BudgetAction::drop("workspace"),
        BudgetAction::other("degradation", |degradation| {
            let before = budget::size(degradation);
            *degradation = json!({"minimal": true, "signals": [], "truncated_fields": ["*"]});
            before as isize - budget::size(degradation) as isize
        }),
    ]
}

fn capsule_itself() -> Vec<BudgetAction> {
    vec![
        BudgetAction::keep("capsule", &["type", "version", "target", "action"]),
        BudgetAction::keep("capsule.target", &["id"]),
        BudgetAction::drop("capsule"),
        BudgetAction::drop("degradation"),
    ]
}

/// Keeps a page correct while entries are cut: `next` is the cursor after the last one left.
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

fn drop_payload(event: &mut Value) -> isize {
    super::drop_from(event, "payload")
}

/// Marks the pack as cut.
fn mark_truncated(view: &mut Map<String, Value>, _: &str, _: bool) -> isize {
    replace(view, "truncated", true)
}

/// Lists in the super view what was cut, each field once (TASKS-BUD-4).
fn write_down(view: &mut Map<String, Value>, field: &str, minimal: bool) -> isize {
    let mut saved = replace(view, "truncated", true);
    let Some(Value::Object(degradation)) = view.get_mut("degradation") else { return saved };
    // "*" covers everything already.
    if degradation.get("truncated_fields") == Some(&json!(["*"])) {
        return saved;
    }
    let before = budget::size(&Value::Object(degradation.clone()));
    push(degradation, "signals", "budget_truncated");
    push(degradation, "truncated_fields", field);
    if minimal {
        push(degradation, "signals", "minimal_signal");
        degradation.insert("minimal".to_owned(), true.into());
    }
    saved += before as isize - budget::size(&Value::Object(degradation.clone())) as isize;
    saved
}

/// Adds a word to a list once.
fn push(object: &mut Map<String, Value>, list: &str, word: &str) {
    if let Some(Value::Array(words)) = object.get_mut(list)
        && !words.iter().any(|known| known == word)
    {
        words.push(word.into());
    }
}
