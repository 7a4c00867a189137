//! What happened. Events carry everything replay needs; what callers see of them is in `wire`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    entity::{KeptAnswer, Status, Urgency},
    id::{EntityId, PlanId, StepId, TaskId},
    path::StepPath,
    step::{Checkpoint, ProofModes},
};

/// A fact about a workspace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "fact", rename_all = "snake_case")]
pub enum Event {
    /// A plan came to be.
    PlanCreated(PlanCreated),
    /// A task came to be.
    TaskCreated(TaskCreated),
    /// Fields of a plan changed.
    PlanEdited(PlanEdited),
    /// Fields of a task changed.
    TaskEdited(TaskEdited),
    /// Steps were added to a task.
    StepsAdded(StepsAdded),
    /// Fields of a step changed.
    StepDefined(StepDefined),
    /// A note was written on a step.
    StepNoted(StepNoted),
    /// Checkpoints were confirmed or un-confirmed.
    StepVerified(StepVerified),
    /// A step was closed.
    StepDone(StepDone),
    /// Focus moved; seen by nobody but replay.
    FocusMoved {
        /// Where it is now.
        to: Option<EntityId>,
    },
    /// An answer was kept for its idempotency key; seen by nobody but replay.
    AnswerKept {
        /// The key.
        key: String,
        /// What was answered.
        kept: KeptAnswer,
    },
}

impl Event {
    /// The one step the event is about, if it is about one.
    pub fn step(&self) -> Option<&StepRef> {
        match self {
            Self::StepDefined(defined) => Some(&defined.step),
            Self::StepNoted(noted) => Some(&noted.step),
            Self::StepVerified(verified) => Some(&verified.step),
            Self::StepDone(done) => Some(&done.step),
            Self::PlanCreated(_)
            | Self::TaskCreated(_)
            | Self::PlanEdited(_)
            | Self::TaskEdited(_)
            | Self::StepsAdded(_)
            | Self::FocusMoved { .. }
            | Self::AnswerKept { .. } => None,
        }
    }
}

/// A plan came to be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanCreated {
    /// Its id.
    pub id: PlanId,
    /// Its title.
    pub title: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Its structured contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract_data: Option<Map<String, Value>>,
}

/// A task came to be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskCreated {
    /// Its id.
    pub id: TaskId,
    /// Its plan.
    pub parent: PlanId,
    /// Its title.
    pub title: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// Fields of a plan changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanEdited {
    /// The plan.
    pub id: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
    /// Common fields that changed.
    pub meta: MetaPatch,
    /// New contract, `Some(None)` when cleared.
    #[serde(default, with = "double_option", skip_serializing_if = "Option::is_none")]
    pub contract: Option<Option<String>>,
    /// New structured contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract_data: Option<Map<String, Value>>,
}

/// Fields of a task changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskEdited {
    /// The task.
    pub id: TaskId,
    /// Its plan.
    pub parent: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
    /// Common fields that changed.
    pub meta: MetaPatch,
    /// New domain, `Some(None)` when cleared.
    #[serde(default, with = "double_option", skip_serializing_if = "Option::is_none")]
    pub domain: Option<Option<String>>,
}

/// Changed fields that plans and tasks share.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MetaPatch {
    /// New title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New description, `Some(None)` when cleared.
    #[serde(default, with = "double_option", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// New context, `Some(None)` when cleared.
    #[serde(default, with = "double_option", skip_serializing_if = "Option::is_none")]
    pub context: Option<Option<String>>,
    /// New urgency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Urgency>,
    /// New tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// New dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<EntityId>>,
}

/// Steps were added to a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepsAdded {
    /// The step's place.
    pub task: TaskRef,
    /// Step below which they were added; `None` at the task root.
    pub parent_path: Option<StepPath>,
    /// The steps, in path order.
    pub steps: Vec<AddedStep>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A task, its plan, and the task's revision after the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskRef {
    /// The task.
    pub task: TaskId,
    /// Its plan.
    pub parent: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
}

/// One new step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AddedStep {
    /// Its id.
    pub id: StepId,
    /// Its path.
    pub path: StepPath,
    /// Its title.
    pub title: String,
    /// Its lists and proof modes.
    pub fields: StepFields,
}

/// The parts of a step that a definition sets; absent means unchanged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepFields {
    /// New criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<String>>,
    /// New tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<String>>,
    /// New blockers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockers: Option<Vec<String>>,
    /// New proof modes, all four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_modes: Option<ProofModes>,
}

/// A step: where it is and whose it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRef {
    /// Its task.
    pub task: TaskRef,
    /// Its id.
    pub step_id: StepId,
    /// Its path.
    pub path: StepPath,
}

/// Fields of a step changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepDefined {
    /// The step.
    pub step: StepRef,
    /// New title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New lists and proof modes.
    pub fields: StepFields,
    /// Names of the fields that were given.
    pub given: Vec<String>,
    /// Confirmations that a changed list cleared (TASKS-STATE-7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<Checkpoint>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A note was written on a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepNoted {
    /// The step.
    pub step: StepRef,
    /// Number of the note on this step, from 1.
    pub note_seq: u32,
    /// The whole note.
    pub note: String,
}

/// Checkpoints were confirmed or un-confirmed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepVerified {
    /// The step.
    pub step: StepRef,
    /// The checkpoints given and their new value.
    pub confirmations: Vec<(Checkpoint, bool)>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A step was closed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepDone {
    /// The step.
    pub step: StepRef,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// Changes that follow from an event and have no event of their own (TASKS-STATE-6).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Derived {
    /// The task's own status moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusMove>,
    /// Closed steps that were opened again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<StepPath>,
    /// The plan's status moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanMove>,
}

impl Derived {
    /// Whether nothing followed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A status before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StatusMove {
    /// Before.
    pub from: Status,
    /// After.
    pub to: Status,
}

/// A plan's status before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlanMove {
    /// The plan.
    pub id: PlanId,
    /// Before.
    pub from: Status,
    /// After.
    pub to: Status,
    /// Its revision afterwards.
    pub revision: u64,
}

/// Keeps "absent" and "set to nothing" apart: absent is `None`, JSON null is `Some(None)`.
mod double_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Option<String>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<String>>, D::Error> {
        Option::<String>::deserialize(deserializer).map(Some)
    }
}
