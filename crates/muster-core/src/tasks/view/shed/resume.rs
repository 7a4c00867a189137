//! Orders of the handoff and of the resume views.

use serde_json::{Map, Value, json};

use super::{core, cut_texts, meta, radar, tail, thin, zero};
use crate::{
    budget::{self, Action, End, Page, Shedding, replace},
    tasks::view::graph_page::GraphCursor,
};

/// Order of the handoff view.
pub fn handoff() -> Shedding {
    let mut ordinary = thin();
    ordinary.push(Action::cut("radar.why", 256));
    ordinary.push(Action::pop("rollup.tasks", End::Last, 0));
    ordinary.extend(meta());
    ordinary.extend(zero());
    ordinary.extend([
        Action::pop("handoff.done", End::Last, 1),
        Action::pop("handoff.risks", End::Last, 3),
        Action::pop("handoff.remaining", End::Last, 2),
        Action::pop("handoff.risks", End::Last, 0),
        Action::drop("handoff.done"),
        Action::drop("handoff.risks"),
    ]);
    let mut last = core();
    let final_action = last.pop();
    ordinary.extend(last);
    ordinary.push(Action::drop("handoff"));
    ordinary.extend(final_action);
    Shedding::new(ordinary, tail())
}

/// Order of the resume pack.
pub fn resume_pack() -> Shedding {
    let mut ordinary = vec![
        Action::each_oldest("timeline.events", drop_payload),
        Action::pop("timeline.events", End::Oldest, 5),
        Action::other("signals.evidence", |list| cut_texts(list, 160)),
        Action::other("signals.decisions", |list| cut_texts(list, 160)),
        Action::pop("timeline.events", End::Oldest, 0),
        Action::pop("signals.evidence", End::Last, 0),
        Action::pop("signals.blockers", End::Last, 3),
        Action::pop("signals.decisions", End::Last, 1),
        Action::drop("timeline"),
        Action::drop("signals"),
        Action::drop("truncated"),
    ];
    let rest = radar();
    ordinary.extend(rest.ordinary);
    Shedding { ordinary, minimal: rest.minimal, ledger: Some(mark_truncated) }
}

/// Positions just before the newest entry of each page: where an emptied page starts again.
#[derive(Clone, Copy, Debug)]
pub struct PageStarts {
    /// Of the notes.
    pub notes: u64,
    /// Of the trace.
    pub trace: u64,
    /// Of the cards.
    pub cards: u64,
    /// Of the graph's difference.
    pub graph: GraphCursor,
}

/// Order of the super view and the snapshot: detail goes first, the capsule stays longest.
pub fn resume_super(starts: PageStarts) -> Shedding {
    let by = |at, key: &'static str, start: u64| {
        let position = move |last: Option<&Value>| {
            let position = last.and_then(|entry| entry.get(key)).and_then(Value::as_u64);
            json!(position.unwrap_or(start))
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
        Action::each_oldest("timeline.events", drop_payload),
        Action::cut("memory.trace.entries.*.content", 160),
        Action::pop_with("memory.trace.entries", End::Oldest, 5, trace()),
        Action::pop("timeline.events", End::Oldest, 5),
    ];
    ordinary.extend(thin());
    ordinary.extend([
        Action::cut("radar.why", 256),
        Action::pop("rollup.tasks", End::Last, 0),
        Action::pop_with("graph_diff.changes", End::Last, 0, graph()),
        Action::pop_with("memory.trace.entries", End::Oldest, 0, trace()),
        Action::pop("timeline.events", End::Oldest, 0),
        Action::cut("memory.notes.entries.*.content", 256),
        Action::keep("memory.notes.entries.*.meta", &["source", "card_id", "step_id"]),
        Action::drop("memory.cards.*.meta"),
        Action::cut("memory.cards.*.text", 180),
        Action::other("signals.evidence", |list| cut_texts(list, 160)),
        Action::pop("signals.evidence", End::Last, 0),
        Action::pop("signals.blockers", End::Last, 3),
        Action::other("signals.decisions", |list| cut_texts(list, 160)),
        Action::pop("signals.decisions", End::Last, 1),
    ]);
    ordinary.extend(meta());
    ordinary.extend(zero());
    ordinary.extend([
        Action::pop_with("memory.notes.entries", End::Oldest, 3, notes()),
        Action::pop_with("memory.cards", End::Last, 3, cards()),
        Action::pop_with("memory.notes.entries", End::Oldest, 0, notes()),
        Action::pop_with("memory.cards", End::Last, 0, cards()),
        Action::pop("signals.decisions", End::Last, 0),
        Action::pop("signals.blockers", End::Last, 0),
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
        .map(Action::drop),
    );
    ordinary.push(Action::drop_root(&["focus", "focus_restored", "focus_previous"]));
    ordinary.extend(held_by_capsule());
    ordinary.extend(around_capsule());
    ordinary.extend(capsule_itself());
    Shedding { ordinary, minimal: tail(), ledger: Some(write_down) }
}

/// What the capsule still holds when it goes from the view.
fn held_by_capsule() -> Vec<Action> {
    vec![
        Action::cut("radar.why", 120),
        Action::pop("radar.blockers", End::Last, 1),
        Action::pop("radar.verify", End::Last, 1),
        Action::pop("radar.next", End::Last, 1),
        Action::drop("radar.why"),
        Action::drop("radar.blockers"),
        Action::drop("radar.verify"),
        Action::drop("radar.now"),
        Action::keep("reasoning_ref", &["branch"]),
        Action::drop("capsule.reasoning_ref"),
        Action::drop("capsule.counts"),
        Action::drop("capsule.graph_diff"),
        Action::drop("capsule.last_event"),
        Action::pop("capsule.handoff.done", End::Last, 1),
        Action::pop("capsule.handoff.risks", End::Last, 1),
        Action::pop("capsule.handoff.remaining", End::Last, 1),
        Action::pop("capsule.radar.blockers", End::Last, 1),
        Action::pop("capsule.radar.verify", End::Last, 1),
        Action::pop("capsule.radar.next", End::Last, 1),
        Action::drop("capsule.handoff.done"),
        Action::cut("capsule.radar.why", 80),
    ]
}

fn around_capsule() -> Vec<Action> {
    vec![
        Action::drop("memory"),
        Action::keep("steps.first_open", &["step_id", "path", "title"]),
        Action::drop("steps"),
        Action::drop("rollup"),
        Action::drop("reasoning_ref"),
        Action::drop("truncated"),
        Action::keep("target", &["id", "kind", "title", "revision", "status"]),
        Action::keep("target", &["id"]),
        Action::drop("capsule.handoff"),
        Action::drop("capsule.radar.why"),
        Action::drop("capsule.radar.blockers"),
        Action::drop("capsule.radar.verify"),
        Action::drop("capsule.escalation"),
        Action::drop("workspace"),
        Action::other("degradation", |degradation| {
            let before = budget::size(degradation);
            *degradation = json!({"minimal": true, "signals": [], "truncated_fields": ["*"]});
            before as isize - budget::size(degradation) as isize
        }),
    ]
}

fn capsule_itself() -> Vec<Action> {
    vec![
        Action::keep("capsule", &["type", "version", "target", "action"]),
        Action::keep("capsule.target", &["id"]),
        Action::drop("capsule"),
        Action::drop("degradation"),
    ]
}

/// Keeps a page true while entries go: `next` is the cursor that continues after the last one left.
fn page(at: &'static str, next: impl Fn(Option<&Value>) -> Value + 'static) -> Page {
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
                saved += replace(summary, "partial", json!(true));
            }
        }
        let fields =
            [("next_cursor", next(last)), ("has_more", json!(true)), ("count", json!(count))];
        saved + fields.into_iter().map(|(key, value)| replace(place, key, value)).sum::<isize>()
    })
}

fn drop_payload(event: &mut Value) -> isize {
    super::drop_from(event, "payload")
}

/// The pack says that it was cut.
fn mark_truncated(view: &mut Map<String, Value>, _: &str, _: bool) -> isize {
    replace(view, "truncated", json!(true))
}

/// The super view says what was cut, each field once (TASKS-BUD-4).
fn write_down(view: &mut Map<String, Value>, field: &str, minimal: bool) -> isize {
    let mut saved = replace(view, "truncated", json!(true));
    let Some(Value::Object(degradation)) = view.get_mut("degradation") else { return saved };
    // "*" says everything already.
    if degradation.get("truncated_fields") == Some(&json!(["*"])) {
        return saved;
    }
    let before = budget::size(&Value::Object(degradation.clone()));
    push(degradation, "signals", "budget_truncated");
    push(degradation, "truncated_fields", field);
    if minimal {
        push(degradation, "signals", "minimal_signal");
        degradation.insert("minimal".to_owned(), json!(true));
    }
    saved += before as isize - budget::size(&Value::Object(degradation.clone())) as isize;
    saved
}

/// Adds a word to a list once.
fn push(object: &mut Map<String, Value>, list: &str, word: &str) {
    if let Some(Value::Array(words)) = object.get_mut(list)
        && !words.iter().any(|known| known == word)
    {
        words.push(json!(word));
    }
}
