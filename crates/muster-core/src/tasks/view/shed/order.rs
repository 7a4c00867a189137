//! What each view loses, first to last. A list is a concatenation of the parts below.

use serde_json::{Value, json};

use super::{cut_items, cut_texts, drop_of, saved, strip_payload};
use crate::budget::{BudgetAction, CutEnd};

type Part = &'static [BudgetAction];

pub(super) const RADAR: &[Part] = &[THIN, SCREEN, META, ZERO, CORE, NEEDED];

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
    NEEDED,
];

pub(super) const HANDOFF: &[Part] = &[
    THIN,
    SCREEN,
    META,
    ZERO,
    &[
        BudgetAction::cut("handoff.notes.*.text", 160),
        BudgetAction::pop("handoff.done", CutEnd::Last, 1),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 3),
        BudgetAction::pop("handoff.notes", CutEnd::Last, 0),
        BudgetAction::pop("handoff.remaining", CutEnd::Last, 2),
        BudgetAction::pop("handoff.risks", CutEnd::Last, 0),
        BudgetAction::drop("handoff.done"),
        BudgetAction::drop("handoff.risks"),
        BudgetAction::drop("handoff.notes"),
    ],
    CORE,
    &[BudgetAction::drop("handoff")],
    NEEDED,
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
    NEEDED,
];

/// The super view and the snapshot: history and counters go first, then what the capsule repeats,
/// then memory; what the next action needs stays longest (EASE-COST-2).
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
    ],
    META,
    ZERO,
    COUNTERS,
    &[
        BudgetAction::cut("memory.notes.entries.*.content", 256),
        BudgetAction::keep("memory.notes.entries.*.meta", &["source", "card_id", "step_id"]),
        BudgetAction::drop("memory.cards.*.meta"),
        BudgetAction::cut("memory.cards.*.text", 180),
        BudgetAction::other("signals.evidence", |list| cut_texts(list, 160)),
        BudgetAction::pop("signals.evidence", CutEnd::Last, 0),
        BudgetAction::pop("signals.blockers", CutEnd::Last, 3),
        BudgetAction::other("signals.decisions", |list| cut_texts(list, 160)),
        BudgetAction::pop("signals.decisions", CutEnd::Last, 1),
        BudgetAction::pop("memory.notes.entries", CutEnd::Oldest, 3),
        BudgetAction::pop("memory.cards", CutEnd::Last, 3),
        BudgetAction::drop("signals"),
        BudgetAction::drop("timeline"),
        BudgetAction::drop("graph_diff"),
        BudgetAction::pop("memory.notes.entries", CutEnd::Oldest, 0),
        BudgetAction::pop("memory.cards", CutEnd::Last, 0),
        BudgetAction::drop("memory.cards_pagination"),
        BudgetAction::drop("memory.notes.pagination"),
        BudgetAction::drop("memory.trace.pagination"),
    ],
    CAPSULE_DETAIL,
    CORE,
    CAPSULE_END,
    NEEDED,
];

/// What is left of a view after everything else: which plan or task it is about.
pub(super) const TAIL: Part = &[
    BudgetAction::drop("steps"),
    BudgetAction::keep("target", &["id"]),
    BudgetAction::drop("target"),
];

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
    BudgetAction::drop("stale_checks"),
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

/// Proof: output first, then steps and findings; the checks of the task stay longest.
pub(super) const PROOF: Part = &[
    BudgetAction::drop("steps.*.checks.*.tail"),
    BudgetAction::drop("checks.*.tail"),
    BudgetAction::drop("findings.*.tests"),
    BudgetAction::drop("steps.*.checks.*.failed_tests"),
    BudgetAction::drop("checks.*.failed_tests"),
    BudgetAction::cut("steps.*.title", 80),
    BudgetAction::pop("steps", CutEnd::Last, 3),
    BudgetAction::pop("findings", CutEnd::Last, 3),
    BudgetAction::pop("protected.changes", CutEnd::Last, 5),
    BudgetAction::pop("waivers_asked", CutEnd::Last, 0),
    BudgetAction::pop("steps", CutEnd::Last, 0),
    BudgetAction::pop("findings", CutEnd::Last, 0),
    BudgetAction::cut("target.title", 80),
    BudgetAction::drop("project"),
    BudgetAction::drop("waivers_asked"),
    BudgetAction::drop("steps"),
    BudgetAction::drop("findings"),
    BudgetAction::pop("protected.changes", CutEnd::Last, 1),
    BudgetAction::keep("protected", &["state"]),
    BudgetAction::pop("checks", CutEnd::Last, 0),
    BudgetAction::keep("target", &["id"]),
    BudgetAction::drop("checks"),
    BudgetAction::drop("protected"),
    BudgetAction::drop("workspace"),
    BudgetAction::drop("target"),
];
pub(super) const PROOF_TAIL: Part = &[BudgetAction::drop("holds")];

/// Row keys that are dropped first.
const ROW_DETAILS: &[&str] =
    &["depends_on", "domain", "assignee", "tags", "qualified_id", "updated_at_ms"];
/// Row keys that stay longest.
const ROW_CORE: &[&str] =
    &["id", "kind", "title", "revision", "status", "parent", "steps_count", "plan_progress"];

/// Long strings of the target.
const THIN: Part = &[
    BudgetAction::drop("target.meta"),
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

/// Numbers and references that repeat what the view shows elsewhere.
const COUNTERS: Part = &[
    BudgetAction::drop("capsule.counts"),
    BudgetAction::drop("capsule.graph_diff"),
    BudgetAction::drop("capsule.last_event"),
    BudgetAction::drop("capsule.reasoning_ref"),
    BudgetAction::drop("memory.stats"),
    BudgetAction::drop("capsule.radar"),
    BudgetAction::drop("requested"),
];

const FOCUS: BudgetAction = BudgetAction::drop_root(&["focus", "focus_restored", "focus_previous"]);
/// What the next action needs of a step.
const STEP_NEEDED: &[&str] = &[
    "task",
    "step_id",
    "path",
    "title",
    "success_criteria",
    "tests",
    "checks",
    "unconfirmed",
    "confirmations",
];

/// Down to what the next action needs.
const CORE: Part = &[
    BudgetAction::cut("radar.why", 120),
    BudgetAction::pop("radar.blockers", CutEnd::Last, 3),
    BudgetAction::drop("requested"),
    FOCUS,
    BudgetAction::drop("radar.why"),
    BudgetAction::drop("rollup"),
    // The first open step says the same.
    BudgetAction::pop("radar.verify", CutEnd::Last, 1),
    BudgetAction::drop("radar.verify"),
    BudgetAction::keep("steps.first_open", STEP_NEEDED),
    BudgetAction::keep("steps", &["total", "completed", "first_open"]),
    BudgetAction::cut("radar.now", 80),
    BudgetAction::keep("reasoning_ref", &["branch"]),
    BudgetAction::keep("target", &["id", "kind", "title", "revision", "status"]),
    BudgetAction::cut("target.title", 80),
    BudgetAction::drop("radar.now"),
    BudgetAction::keep("steps", &["first_open"]),
    BudgetAction::keep("target", &["id", "revision", "status"]),
    BudgetAction::drop("workspace"),
];

/// What the next action needs, the least of it first.
const NEEDED: Part = &[
    BudgetAction::other("radar", |radar| {
        saved(radar, |radar| {
            let Value::Object(map) = radar else { return };
            map.retain(|_, value| !says_nothing(value));
        })
    }),
    BudgetAction::other("steps.first_open", |step| cut_lines(step, 160)),
    BudgetAction::pop("radar.blockers", CutEnd::Last, 1),
    BudgetAction::drop("radar.blockers"),
    BudgetAction::pop("radar.next", CutEnd::Last, 1),
    BudgetAction::drop("radar"),
    BudgetAction::other("steps.first_open", |step| cut_lines(step, 80)),
    BudgetAction::drop("steps.first_open.confirmations"),
    BudgetAction::pop("steps.first_open.tests", CutEnd::Last, 1),
    BudgetAction::pop("steps.first_open.success_criteria", CutEnd::Last, 1),
    BudgetAction::keep("steps.first_open", &["task", "step_id", "path", "title"]),
    BudgetAction::cut("steps.first_open.title", 80),
    BudgetAction::drop("reasoning_ref"),
];

/// The capsule around its action.
const CAPSULE_DETAIL: Part = &[
    BudgetAction::pop("capsule.handoff.done", CutEnd::Last, 1),
    BudgetAction::pop("capsule.handoff.risks", CutEnd::Last, 1),
    BudgetAction::pop("capsule.handoff.remaining", CutEnd::Last, 1),
    BudgetAction::drop("capsule.handoff.done"),
    BudgetAction::drop("capsule.handoff"),
    BudgetAction::drop("capsule.escalation"),
    BudgetAction::drop("memory"),
    BudgetAction::keep("capsule", &["type", "version", "target", "action"]),
    BudgetAction::keep("capsule.target", &["id"]),
    BudgetAction::other("degradation", |degradation| {
        saved(degradation, |degradation| {
            *degradation = json!({"minimal": false, "signals": [], "truncated_fields": ["*"]});
        })
    }),
];

const CAPSULE_END: Part = &[
    BudgetAction::drop("reasoning_ref"),
    BudgetAction::drop("degradation"),
    BudgetAction::drop("truncated"),
    BudgetAction::keep("capsule", &["action"]),
    BudgetAction::drop("capsule"),
];

fn counts_trouble(key: &str) -> bool {
    key.starts_with("missing_") || key == "forced" || key == "blocked"
}

fn says_nothing(value: &Value) -> bool {
    [json!(false), Value::Null, json!(0), json!("off"), json!([])].contains(value)
}

/// Cuts the criteria and tests of a step.
fn cut_lines(step: &mut Value, max: usize) -> isize {
    let lists = ["success_criteria", "tests"];
    lists.iter().filter_map(|list| Some(cut_texts(step.get_mut(list)?, max))).sum()
}
