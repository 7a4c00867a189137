//! Where an imported plan, task or step came from, and what its source said of it.
//!
//! A second import compares three things: what the source says now, what Muster holds now, and
//! what the last import wrote. The last of these is kept here, as digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    TaskDocs, TaskKey, TaskLookup,
    check_gate::ProjectGate,
    entity::{Task, TaskStatus},
    event::StepOrigin,
    id::EntityId,
    lookup,
    step::Step,
};
use crate::{CallFacts, checks::definition::GatePolicy, run::hash::sha256_hex};

/// Characters of a digest in `seen`. It only has to differ for two values of one field, which no
/// attacker chooses.
const DIGEST_CHARS: usize = 16;

/// Reason of the waiver of a step that was closed at its source (HOST-IMP-1).
pub const CLOSED_BEFORE: &str = "closed before Muster, without proof";
/// How the reason begins if it was cancelled there.
pub const CANCELLED_BEFORE: &str = "cancelled before Muster, without proof";

/// Key in `seen` of how far the item was here after the last import.
pub const STATE_SEEN: &str = "state";
/// Key in `seen` of how far it was at its source.
pub const AT_SOURCE: &str = "at_source";
/// Keys of `meta` for dependencies that could not be set: on nothing, in a circle, too many.
pub const LEFT_NEEDS: [&str; 3] =
    ["unresolved_dependencies", "circular_dependencies", "more_dependencies"];

/// The free object of a plan, task or step: what its source said and no field holds.
pub type FreeMeta = Map<String, Value>;

/// The source of an imported plan, task or step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct ItemOrigin {
    /// Name of the form, such as `beads`.
    pub form: String,
    /// Name of the source: a path or a word of the caller.
    pub source: String,
    /// Its id there.
    pub id: String,
    /// What the last import wrote, by field: digests, and the state in its word.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, String>,
}

impl ItemOrigin {
    /// Whether both name the same item.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.form, &self.source, &self.id) == (&other.form, &other.source, &other.id)
    }

    /// What views show of it.
    #[must_use]
    pub fn shown(&self) -> Value {
        serde_json::json!({"form": self.form, "source": self.source, "id": self.id})
    }
}

/// Where an imported plan or task came from.
#[derive(Clone, PartialEq, Debug)]
pub struct NoteOrigin {
    /// The plan or task.
    pub id: EntityId,
    pub origin: ItemOrigin,
    /// Its free object from now on.
    pub meta: FreeMeta,
    /// New and changed steps.
    pub steps: Vec<StepOrigin>,
}

/// The free object as views show it: with the source, without what only imports compare.
#[must_use]
pub fn shown_meta(meta: &FreeMeta, origin: Option<&ItemOrigin>) -> FreeMeta {
    let mut shown = meta.clone();
    if let Some(origin) = origin {
        shown.insert("import".to_owned(), origin.shown());
    }
    shown
}

/// The digest of a value in `seen`.
#[must_use]
pub fn value_digest(value: &Value) -> String {
    let mut digest = sha256_hex(value.to_string().as_bytes());
    digest.truncate(DIGEST_CHARS);
    digest
}

/// How far an imported task is, in the words that imports compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportedProgress {
    Open,
    Active,
    Blocked,
    Closed,
}

impl ImportedProgress {
    /// The word in `seen`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::Closed => "closed",
        }
    }

    /// How far a task is now.
    #[must_use]
    pub fn of_task(task: &Task) -> Self {
        match task.meta.status {
            TaskStatus::Done => Self::Closed,
            _ if is_blocked(task) => Self::Blocked,
            TaskStatus::Active => Self::Active,
            TaskStatus::Todo => Self::Open,
        }
    }

    /// How far a step is now.
    #[must_use]
    pub fn of_step(step: &Step) -> Self {
        if step.is_closed() {
            Self::Closed
        } else if step.block.is_some() {
            Self::Blocked
        } else {
            Self::Open
        }
    }
}

fn is_blocked(task: &Task) -> bool {
    task.steps.iter().any(|step| !step.is_closed() && step.block.is_some())
}

/// Whether anyone has worked on an imported task in Muster: closing it because its source did
/// would hide that.
#[must_use]
pub fn is_worked_on(task: &Task) -> bool {
    let is_touched = |step: &Step| {
        let is_started = step.notes > 0
            || step.evidence > 0
            || !step.confirmed.is_empty()
            || !step.items.is_empty()
            || !step.nodes.is_empty();
        is_started || (step.origin.is_none() && !step.is_closed())
    };
    task.claim.is_some() || task.steps.iter().any(is_touched)
}

/// Whether a caller may close what an import brought. A person may. An agent may do so only with a
/// task that the same call has created, and only where closing needs no proof: it could claim as
/// much without an import.
pub fn may_close_imported(docs: &TaskDocs, call: &CallFacts, task: &Task) -> TaskLookup<bool> {
    let is_new = docs.original(&TaskKey::Task(task.id))?.is_none();
    Ok(call.is_person() || (is_new && !closing_is_guarded(docs, call, task)?))
}

/// Whether closing needs proof here, so that only a person may take over what a source says is
/// closed. Any accepted project of the workspace counts, wherever the call comes from.
pub fn closing_is_guarded(docs: &TaskDocs, call: &CallFacts, task: &Task) -> TaskLookup<bool> {
    let is_guarded = lookup::projects(docs)?.is_some_and(|projects| {
        projects.accepted.iter().any(|project| {
            project.gates == GatePolicy::Strict
                || project.required().next().is_some()
                || !project.protected.is_empty()
        })
    });
    let has_checks =
        !task.checks.is_empty() || task.steps.iter().any(|step| !step.checks.is_empty());
    Ok(is_guarded || has_checks || ProjectGate::of(docs, call)?.is_strict())
}
