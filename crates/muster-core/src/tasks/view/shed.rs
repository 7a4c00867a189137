//! In which order each view may lose content when it has to fit a budget (TASKS-BUD-3).

mod pack;
mod resume;

use std::sync::Arc;

use serde_json::{Value, json};

pub use resume::{PageStarts, handoff, resume_pack, resume_super};

use super::context::{cut_pagination, row_number};
use crate::{
    budget::{self, Action, End, Shedding, replace},
    tasks::{id::EvidenceId, wire},
};

pub use pack::context_pack;

/// Row keys that go first from the lists.
const ROW_DETAILS: &[&str] =
    &["depends_on", "domain", "assignee", "tags", "qualified_id", "updated_at_ms"];
/// Row keys that stay longest.
const ROW_CORE: &[&str] =
    &["id", "kind", "title", "revision", "status", "parent", "steps_count", "plan_progress"];

/// Writes the cursor that continues behind an id number.
pub type CursorWriter = Arc<dyn Fn(u64) -> String>;

/// Order of the radar view.
pub fn radar() -> Shedding {
    let mut ordinary = before_core();
    ordinary.extend(core());
    Shedding::new(ordinary, tail())
}

/// What views with a radar lose before their core.
fn before_core() -> Vec<Action> {
    let mut actions = thin();
    actions.push(Action::cut("radar.why", 256));
    actions.push(Action::pop("rollup.tasks", End::Last, 0));
    actions.extend(meta());
    actions.extend(zero());
    actions
}

/// Order of the lists.
pub fn context(start: (u64, u64), cursor: &CursorWriter) -> Shedding {
    let page = |pagination: &'static str, start: u64| -> budget::Page {
        let cursor = Arc::clone(cursor);
        Box::new(move |view, last, count| {
            let Some(Value::Object(page)) = view.get_mut(pagination) else { return 0 };
            let last = last.map_or(start, row_number);
            let fields = cut_pagination(last, count, &*cursor);
            fields.into_iter().map(|(key, value)| replace(page, key, value)).sum()
        })
    };
    // Rows of both lists lose their fields together, so that a list is never finer than the other.
    let mut ordinary = vec![
        Action::drop_keys("plans.*", ROW_DETAILS).also("tasks.*"),
        Action::cut("plans.*.title", 80).also("tasks.*.title"),
        Action::keep("plans.*", ROW_CORE).also("tasks.*"),
        Action::pop_page("tasks", 0, page("tasks_pagination", start.1)),
        Action::pop_page("plans", 0, page("plans_pagination", start.0)),
    ];
    let drops = ["by_status", "tasks_pagination", "plans_pagination", "tasks", "plans"];
    ordinary.extend(drops.map(Action::drop));
    Shedding::new(ordinary, vec![Action::drop("counts"), Action::drop("workspace")])
}

/// Order of the event slice.
pub fn delta(since: Option<u64>) -> Shedding {
    let page = move || -> budget::Page {
        Box::new(move |view, last, _| {
            let seq = last.and_then(|event| event.get("seq")).and_then(Value::as_u64).or(since);
            replace(view, "cursor", json!(seq.map(wire::event_id)))
                + replace(view, "has_more", json!(true))
        })
    };
    let ordinary = vec![
        Action::pop_page("events", 1, page()),
        Action::other("events.*", strip_payload),
        Action::pop_page("events", 0, page()),
        Action::drop("workspace"),
        Action::drop("events"),
        Action::drop("has_more"),
    ];
    Shedding::new(ordinary, vec![Action::drop("cursor")])
}

/// Order of evidence: bodies from the last record on, then records.
pub fn evidence(after: u64) -> Shedding {
    let page: budget::Page = Box::new(move |view, last, count| {
        let Some(Value::Object(page)) = view.get_mut("pagination") else { return 0 };
        let number = last.and_then(|row| row.get("evidence_id")).and_then(Value::as_str);
        let number = number.and_then(|id| id.parse::<EvidenceId>().ok()).map_or(after, |id| id.0);
        let fields = [
            ("next_cursor", json!(super::evidence::cursor(number))),
            ("has_more", json!(true)),
            ("count", json!(count)),
        ];
        fields.into_iter().map(|(key, value)| replace(page, key, value)).sum()
    });
    let mut ordinary = vec![
        Action::each_last("evidence", |row| cut_items(row, 2_000)),
        Action::each_last("evidence", |row| cut_items(row, 200)),
        Action::each_last("evidence", |row| drop_from(row, "items")),
        Action::each_last("evidence", |row| drop_from(row, "attachments")),
        Action::pop_page("evidence", 0, page),
    ];
    ordinary.extend(["step", "workspace", "evidence", "pagination"].map(Action::drop));
    Shedding::new(ordinary, vec![Action::drop("target")])
}

/// Cuts every text inside a value; answers the characters saved.
fn cut_texts(value: &mut Value, max: usize) -> isize {
    match value {
        Value::String(string) => budget::cut(string, max),
        Value::Array(items) => items.iter_mut().map(|item| cut_texts(item, max)).sum(),
        Value::Object(map) => map.values_mut().map(|item| cut_texts(item, max)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Cuts the texts of a record's items.
fn cut_items(row: &mut Value, max: usize) -> isize {
    row.get_mut("items").map_or(0, |items| cut_texts(items, max))
}

/// Drops a key of an object; answers the characters saved.
fn drop_from(row: &mut Value, key: &str) -> isize {
    let before = budget::size(row);
    if let Value::Object(map) = row {
        map.shift_remove(key);
    }
    before as isize - budget::size(row) as isize
}

/// Removes an event's payload and says so.
fn strip_payload(event: &mut Value) -> isize {
    let before = budget::size(event);
    if let Value::Object(map) = event
        && map.shift_remove("payload").is_some()
    {
        map.insert("payload_truncated".to_owned(), Value::Bool(true));
    }
    before as isize - budget::size(event) as isize
}

/// `THIN`: long texts of the target.
fn thin() -> Vec<Action> {
    let mut actions = vec![Action::drop("target.contract_data")];
    actions.extend(
        ["target.contract", "target.description", "target.context"]
            .map(|text| Action::cut(text, 256)),
    );
    let drops = ["target.context", "target.contract", "target.description", "target.checklist"];
    actions.extend(drops.map(Action::drop));
    actions
}

/// `META`: fields of the target that are seldom needed.
fn meta() -> Vec<Action> {
    [
        "target.created_at_ms",
        "target.updated_at_ms",
        "target.phase",
        "target.component",
        "target.assignee",
        "target.domain",
        "target.tags",
        "target.depends_on",
        "target.priority",
        "target.qualified_id",
        "target.waiting_on",
    ]
    .map(Action::drop)
    .into()
}

/// `ZERO`: what a missing key says as well.
fn zero() -> Vec<Action> {
    vec![Action::other("steps", |steps| {
        let before = budget::size(steps);
        if let Value::Object(map) = steps {
            map.retain(|key, value| !(counts_trouble(key) && *value == json!(0)));
            if let Some(Value::Object(first)) = map.get_mut("first_open") {
                first.retain(|_, value| !says_nothing(value));
            }
        }
        before as isize - budget::size(steps) as isize
    })]
}

fn counts_trouble(key: &str) -> bool {
    key.starts_with("missing_") || key == "forced" || key == "blocked"
}

fn says_nothing(value: &Value) -> bool {
    [json!(false), Value::Null, json!(0), json!("off")].contains(value)
}

/// `CORE`: down to the id and the next line.
fn core() -> Vec<Action> {
    vec![
        Action::cut("radar.why", 120),
        Action::pop("radar.blockers", End::Last, 1),
        Action::pop("radar.verify", End::Last, 1),
        Action::pop("radar.next", End::Last, 1),
        Action::drop("requested"),
        Action::drop_root(&["focus", "focus_restored", "focus_previous"]),
        Action::drop("radar.why"),
        Action::keep("steps.first_open", &["step_id", "path", "title"]),
        Action::drop("rollup"),
        Action::drop("steps"),
        Action::cut("radar.now", 80),
        Action::drop("radar.blockers"),
        Action::drop("radar.verify"),
        Action::keep("reasoning_ref", &["branch"]),
        Action::keep("target", &["id", "kind", "title", "revision", "status"]),
        Action::cut("target.title", 80),
        Action::drop("radar.now"),
        Action::keep("target", &["id", "revision", "status"]),
        Action::drop("workspace"),
        Action::keep("target", &["id"]),
        Action::drop("reasoning_ref"),
    ]
}

/// `TAIL`: the minimal signal.
fn tail() -> Vec<Action> {
    vec![Action::drop("radar"), Action::drop("target")]
}
