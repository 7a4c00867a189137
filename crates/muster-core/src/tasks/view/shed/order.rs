//! What each view loses, first to last. A list is a concatenation of the parts below.

use serde_json::{Value, json};

use super::{cut_items, cut_texts, drop_of, saved, strip_payload};
use crate::budget::{BudgetAction, CutEnd};

type Part = &'static [BudgetAction];

pub(super) const RADAR: &[Part] = &[THIN, SCREEN, META, ZERO, CORE, CORE_END];

pub(super) const CONTEXT_PACK: &[Part] = &[
    &[
        BudgetAction::each("delta.events", CutEnd::Oldest, |event| drop_of(event, "payload")),
        BudgetAction::pop("delta.events", CutEnd::Oldest, 0),
    ],
    THIN,
    SCREEN,
    META,
    ZERO,
    &[BudgetAction::drop("delta")],
    CORE,
    CORE_END,
];

pub(super) const HANDOFF: &[Part] = &[
    THIN,
    SCREEN,
    META,
    ZERO,
    &[
        BudgetAction::pop("handoff.done", CutEnd::Last, 1),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 3),
        BudgetAction::pop("handoff.remaining", CutEnd::Last, 2),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 0),
        BudgetAction::drop("handoff.done"),
        BudgetAction::drop("handoff.risks"),
    ],
    CORE,
    &[BudgetAction::drop("handoff")],
    CORE_END,
];

pub(super) const RESUME_PACK: &[Part] = &[
    &[
        BudgetAction::each("timeline.events", CutEnd::Oldest, |event| drop_of(event, "payload")),
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
    ],
    THIN,
    SCREEN,
    META,
    ZERO,
    CORE,
    CORE_END,
];

/// The super view and the snapshot: detail goes first, the capsule stays longest.
pub(super) const RESUME_SUPER: &[Part] = &[
    &[
        BudgetAction::each("timeline.events", CutEnd::Oldest, |event| drop_of(event, "payload")),
        BudgetAction::cut("memory.trace.entries.*.content", 160),
        BudgetAction::pop("memory.trace.entries", CutEnd::Oldest, 5),
        BudgetAction::pop("timeline.events", CutEnd::Oldest, 5),
    ],
    THIN,
    SCREEN,
    &[
        BudgetAction::pop("graph_diff.changes", CutEnd::Last, 0),
        BudgetAction::pop("memory.trace.entries", CutEnd::Oldest, 0),
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
    ],
    META,
    ZERO,
    &[
        BudgetAction::pop("memory.notes.entries", CutEnd::Oldest, 3),
        BudgetAction::pop("memory.cards", CutEnd::Last, 3),
        BudgetAction::pop("memory.notes.entries", CutEnd::Oldest, 0),
        BudgetAction::pop("memory.cards", CutEnd::Last, 0),
        BudgetAction::pop("signals.decisions", CutEnd::Last, 0),
        BudgetAction::pop("signals.blockers", CutEnd::Last, 0),
        BudgetAction::drop("graph_diff"),
        BudgetAction::drop("memory.stats"),
        BudgetAction::drop("memory.cards_pagination"),
        BudgetAction::drop("memory.notes.pagination"),
        BudgetAction::drop("memory.trace.pagination"),
        BudgetAction::drop("signals"),
        BudgetAction::drop("timeline"),
        BudgetAction::drop("requested"),
        FOCUS,
    ],
    HELD_BY_CAPSULE,
    AROUND_CAPSULE,
    CAPSULE,
];

/// What is left of a view with a target after everything else.
pub(super) const TAIL: Part = &[BudgetAction::drop("radar"), BudgetAction::drop("target")];

/// The lists. Rows of both lose their fields together, so that neither is more detailed than the
/// other.
pub(super) const CONTEXT: Part = &[
    BudgetAction::drop_keys("plans.*", ROW_DETAILS).also("tasks.*"),
    BudgetAction::cut("plans.*.title", 80).also("tasks.*.title"),
    BudgetAction::keep("plans.*", ROW_CORE).also("tasks.*"),
    BudgetAction::pop("tasks", CutEnd::Last, 0),
    BudgetAction::pop("plans", CutEnd::Last, 0),
    BudgetAction::drop("by_status"),
    BudgetAction::drop("tasks_pagination"),
    BudgetAction::drop("plans_pagination"),
    BudgetAction::drop("tasks"),
    BudgetAction::drop("plans"),
];
pub(super) const CONTEXT_TAIL: Part =
    &[BudgetAction::drop("counts"), BudgetAction::drop("workspace")];

/// The event slice.
pub(super) const DELTA: Part = &[
    BudgetAction::pop("events", CutEnd::Last, 1),
    BudgetAction::other("events.*", strip_payload),
    BudgetAction::pop("events", CutEnd::Last, 0),
    BudgetAction::drop("workspace"),
    BudgetAction::drop("events"),
    BudgetAction::drop("has_more"),
];
pub(super) const DELTA_TAIL: Part = &[BudgetAction::drop("cursor")];

/// Evidence: bodies from the last record on, then records.
pub(super) const EVIDENCE: Part = &[
    BudgetAction::each("evidence", CutEnd::Last, |row| cut_items(row, 2_000)),
    BudgetAction::each("evidence", CutEnd::Last, |row| cut_items(row, 200)),
    BudgetAction::each("evidence", CutEnd::Last, |row| drop_of(row, "items")),
    BudgetAction::each("evidence", CutEnd::Last, |row| drop_of(row, "attachments")),
    BudgetAction::pop("evidence", CutEnd::Last, 0),
    BudgetAction::drop("step"),
    BudgetAction::drop("workspace"),
    BudgetAction::drop("evidence"),
    BudgetAction::drop("pagination"),
];
pub(super) const EVIDENCE_TAIL: Part = &[BudgetAction::drop("target")];

/// Row keys that are dropped first.
const ROW_DETAILS: &[&str] =
    &["depends_on", "domain", "assignee", "tags", "qualified_id", "updated_at_ms"];
/// Row keys that stay longest.
const ROW_CORE: &[&str] =
    &["id", "kind", "title", "revision", "status", "parent", "steps_count", "plan_progress"];

/// Long strings of the target.
const THIN: Part = &[
    BudgetAction::drop("target.contract_data"),
    BudgetAction::cut("target.contract", 256),
    BudgetAction::cut("target.description", 256),
    BudgetAction::cut("target.context", 256),
    BudgetAction::drop("target.context"),
    BudgetAction::drop("target.contract"),
    BudgetAction::drop("target.description"),
    BudgetAction::drop("target.checklist"),
];

/// Detail of the radar and of a plan's tasks.
const SCREEN: Part =
    &[BudgetAction::cut("radar.why", 256), BudgetAction::pop("rollup.tasks", CutEnd::Last, 0)];

/// Rarely needed fields of the target.
const META: Part = &[
    BudgetAction::drop("target.created_at_ms"),
    BudgetAction::drop("target.updated_at_ms"),
    BudgetAction::drop("target.phase"),
    BudgetAction::drop("target.component"),
    BudgetAction::drop("target.assignee"),
    BudgetAction::drop("target.domain"),
    BudgetAction::drop("target.tags"),
    BudgetAction::drop("target.depends_on"),
    BudgetAction::drop("target.priority"),
    BudgetAction::drop("target.qualified_id"),
    BudgetAction::drop("target.waiting_on"),
];

/// Values that equal a missing key.
const ZERO: Part = &[BudgetAction::other("steps", |steps| {
    saved(steps, |steps| {
        let Value::Object(map) = steps else { return };
        map.retain(|key, value| !(counts_trouble(key) && *value == json!(0)));
        if let Some(Value::Object(first)) = map.get_mut("first_open") {
            first.retain(|_, value| !says_nothing(value));
        }
    })
})];

const FOCUS: BudgetAction = BudgetAction::drop_root(&["focus", "focus_restored", "focus_previous"]);
const FIRST_OPEN: BudgetAction =
    BudgetAction::keep("steps.first_open", &["step_id", "path", "title"]);

/// Down to the id and the next line.
const CORE: Part = &[
    BudgetAction::cut("radar.why", 120),
    BudgetAction::pop("radar.blockers", CutEnd::Last, 1),
    BudgetAction::pop("radar.verify", CutEnd::Last, 1),
    BudgetAction::pop("radar.next", CutEnd::Last, 1),
    BudgetAction::drop("requested"),
    FOCUS,
    BudgetAction::drop("radar.why"),
    FIRST_OPEN,
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
];
const CORE_END: Part = &[BudgetAction::drop("reasoning_ref")];

/// Fields that the capsule still contains when they are dropped from the view.
const HELD_BY_CAPSULE: Part = &[
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
];

const AROUND_CAPSULE: Part = &[
    BudgetAction::drop("memory"),
    FIRST_OPEN,
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
        saved(degradation, |degradation| {
            *degradation = json!({"minimal": true, "signals": [], "truncated_fields": ["*"]});
        })
    }),
];

const CAPSULE: Part = &[
    BudgetAction::keep("capsule", &["type", "version", "target", "action"]),
    BudgetAction::keep("capsule.target", &["id"]),
    BudgetAction::drop("capsule"),
    BudgetAction::drop("degradation"),
];

fn counts_trouble(key: &str) -> bool {
    key.starts_with("missing_") || key == "forced" || key == "blocked"
}

fn says_nothing(value: &Value) -> bool {
    [json!(false), Value::Null, json!(0), json!("off")].contains(value)
}
