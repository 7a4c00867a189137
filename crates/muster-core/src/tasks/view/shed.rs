//! The order in which each view loses content when it has to fit a budget (TASKS-BUD-3).

mod pack;
mod resume;

use std::sync::Arc;

use serde_json::{Value, json};

pub use resume::{PageStarts, handoff, resume_pack, resume_super};

use super::context::{cut_pagination, row_number};
use crate::{
    budget::{self, BudgetAction, CutEnd, Shedding, replace},
    tasks::{id::EvidenceId, wire},
};

pub use pack::context_pack;

/// Row keys that are dropped first.
const ROW_DETAILS: &[&str] =
    &["depends_on", "domain", "assignee", "tags", "qualified_id", "updated_at_ms"];
/// Row keys that stay longest.
const ROW_CORE: &[&str] =
    &["id", "kind", "title", "revision", "status", "parent", "steps_count", "plan_progress"];

/// Writes the cursor that continues after an id number.
pub type CursorWriter = Arc<dyn Fn(u64) -> String>;

/// Order of the radar view.
pub fn radar() -> Shedding {
    let mut ordinary = before_core();
    ordinary.extend(core());
    Shedding::new(ordinary, tail())
}

/// What views with a radar lose before their core.
fn before_core() -> Vec<BudgetAction> {
    let mut actions = thin();
    actions.push(BudgetAction::cut("radar.why", 256));
    actions.push(BudgetAction::pop("rollup.tasks", CutEnd::Last, 0));
    actions.extend(meta());
    actions.extend(zero());
    actions
}

/// Order of the lists.
pub fn context(start: (u64, u64), cursor: &CursorWriter) -> Shedding {
    let page = |pagination: &'static str, start: u64| -> budget::PageCounter {
        let cursor = Arc::clone(cursor);
        Box::new(move |view, last, count| {
            let Some(Value::Object(page)) = view.get_mut(pagination) else { return 0 };
            cut_pagination(page, cursor(last.map_or(start, row_number)), count)
        })
    };
    // Rows of both lists lose their fields together, so that neither is more detailed than the
    // other.
    let mut ordinary = vec![
        BudgetAction::drop_keys("plans.*", ROW_DETAILS).also("tasks.*"),
        BudgetAction::cut("plans.*.title", 80).also("tasks.*.title"),
        BudgetAction::keep("plans.*", ROW_CORE).also("tasks.*"),
        BudgetAction::pop_page("tasks", 0, page("tasks_pagination", start.1)),
        BudgetAction::pop_page("plans", 0, page("plans_pagination", start.0)),
    ];
    let drops = ["by_status", "tasks_pagination", "plans_pagination", "tasks", "plans"];
    ordinary.extend(drops.map(BudgetAction::drop));
    Shedding::new(ordinary, vec![BudgetAction::drop("counts"), BudgetAction::drop("workspace")])
}

/// Order of the event slice.
pub fn delta(since: Option<u64>) -> Shedding {
    let page = move || -> budget::PageCounter {
        Box::new(move |view, last, _| {
            let seq = last.and_then(|event| event.get("seq")).and_then(Value::as_u64).or(since);
            replace(view, "cursor", seq.map(wire::event_id)) + replace(view, "has_more", true)
        })
    };
    let ordinary = vec![
        BudgetAction::pop_page("events", 1, page()),
        BudgetAction::other("events.*", strip_payload),
        BudgetAction::pop_page("events", 0, page()),
        BudgetAction::drop("workspace"),
        BudgetAction::drop("events"),
        BudgetAction::drop("has_more"),
    ];
    Shedding::new(ordinary, vec![BudgetAction::drop("cursor")])
}

/// Order of evidence: bodies from the last record on, then records.
pub fn evidence(after: u64) -> Shedding {
    let page: budget::PageCounter = Box::new(move |view, last, count| {
        let Some(Value::Object(page)) = view.get_mut("pagination") else { return 0 };
        let number = last.and_then(|row| row.get("evidence_id")).and_then(Value::as_str);
        let number = number.and_then(|id| id.parse::<EvidenceId>().ok()).map_or(after, |id| id.0);
        cut_pagination(page, super::evidence::cursor(number), count)
    });
    let mut ordinary = vec![
        BudgetAction::each_last("evidence", |row| cut_items(row, 2_000)),
        BudgetAction::each_last("evidence", |row| cut_items(row, 200)),
        BudgetAction::each_last("evidence", |row| drop_from(row, "items")),
        BudgetAction::each_last("evidence", |row| drop_from(row, "attachments")),
        BudgetAction::pop_page("evidence", 0, page),
    ];
    ordinary.extend(["step", "workspace", "evidence", "pagination"].map(BudgetAction::drop));
    Shedding::new(ordinary, vec![BudgetAction::drop("target")])
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

/// Drops a key of an object; returns the characters saved.
fn drop_from(row: &mut Value, key: &str) -> isize {
    let before = budget::size(row);
    if let Value::Object(map) = row {
        map.shift_remove(key);
    }
    before as isize - budget::size(row) as isize
}

/// Removes an event's payload and marks that.
fn strip_payload(event: &mut Value) -> isize {
    let before = budget::size(event);
    if let Value::Object(map) = event
        && map.shift_remove("payload").is_some()
    {
        map.insert("payload_truncated".to_owned(), true.into());
    }
    before as isize - budget::size(event) as isize
}

/// `THIN`: long strings of the target.
fn thin() -> Vec<BudgetAction> {
    let mut actions = vec![BudgetAction::drop("target.contract_data")];
    actions.extend(
        ["target.contract", "target.description", "target.context"]
            .map(|text| BudgetAction::cut(text, 256)),
    );
    let drops = ["target.context", "target.contract", "target.description", "target.checklist"];
    actions.extend(drops.map(BudgetAction::drop));
    actions
}

/// `META`: rarely needed fields of the target.
fn meta() -> Vec<BudgetAction> {
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
    .map(BudgetAction::drop)
    .into()
}

/// `ZERO`: values that equal a missing key.
fn zero() -> Vec<BudgetAction> {
    vec![BudgetAction::other("steps", |steps| {
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
fn core() -> Vec<BudgetAction> {
    vec![
        BudgetAction::cut("radar.why", 120),
        BudgetAction::pop("radar.blockers", CutEnd::Last, 1),
        BudgetAction::pop("radar.verify", CutEnd::Last, 1),
        BudgetAction::pop("radar.next", CutEnd::Last, 1),
        BudgetAction::drop("requested"),
        BudgetAction::drop_root(&["focus", "focus_restored", "focus_previous"]),
        BudgetAction::drop("radar.why"),
        BudgetAction::keep("steps.first_open", &["step_id", "path", "title"]),
        BudgetAction::drop("rollup"),
        BudgetAction::drop("steps"),
        BudgetAction::cut("radar.now", 80),
        BudgetAction::drop("radar.blockers"),
        BudgetAction::drop("radar.verify"),
        BudgetAction::keep("reasoning_ref", &["branch"]),
        BudgetAction::keep("target", &["id", "kind", "title", "revision", "status"]),
        BudgetAction::cut("target.title", 80),
        BudgetAction::drop("radar.now"),
        BudgetAction::keep("target", &["id", "revision", "status"]),
        BudgetAction::drop("workspace"),
        BudgetAction::keep("target", &["id"]),
        BudgetAction::drop("reasoning_ref"),
    ]
}

/// `TAIL`: the minimal signal.
fn tail() -> Vec<BudgetAction> {
    vec![BudgetAction::drop("radar"), BudgetAction::drop("target")]
}
