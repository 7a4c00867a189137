//! Events of tasks. They carry everything replay needs; what callers see of them is in `wire`.

mod check;
mod claim;
mod derived;
mod memory;
mod origin;
mod plan;
mod relocate;
mod restored;
mod step;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use check::{
    CheckEnding, CheckFinished, CheckRequested, CheckStarted, CheckWaiverSet, WaiverChange,
};
pub use claim::{ClaimChange, ClaimSet};
pub use derived::{Derived, PlanMove, StatusMove};
pub use memory::{CardKept, CardsCommitted, EvidenceCaptured, NoteCommitted, NoteKept};
pub use origin::{OriginNoted, StepOrigin};
pub use plan::{ChecklistSet, ContractSet, PlanCreated};
pub use restored::Restored;
pub use step::{
    AddedStep, NodeAdded, NodeDefined, StepBlockSet, StepDefined, StepDeleted, StepDone,
    StepFields, StepNodeDeleted, StepNoted, StepRef, StepReopened, StepVerified, StepsAdded,
    StopAnswered, TaskRef,
};

use crate::checks::{project::AcceptedProject, protected::ProtectedState};

use super::{
    entity::{TaskAnswer, Urgency},
    history::HistoryOperation,
    id::{EntityId, NodeId, PlanId, TaskId},
    optional,
    todos::TodosWritten,
};

/// A fact about a workspace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "fact", rename_all = "snake_case")]
pub enum TaskEvent {
    PlanCreated(PlanCreated),
    TaskCreated(TaskCreated),
    /// Fields of a plan or task changed.
    Edited(FieldsEdited),
    /// A task was put under another plan.
    TaskMoved(TaskMoved),
    /// The status of a plan or task changed.
    StatusSet(StatusSet),
    /// A plan or task was deleted.
    Deleted(Deleted),
    /// A plan's checklist changed.
    ChecklistSet(ChecklistSet),
    /// A plan's contract changed.
    ContractSet(ContractSet),
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
    /// A step was opened again.
    StepReopened(StepReopened),
    /// A step was blocked or unblocked.
    StepBlockSet(StepBlockSet),
    /// An agent wanted to stop although checks of the step did not hold.
    StopAnswered(StopAnswered),
    /// A step and everything below it was deleted.
    StepDeleted(StepDeleted),
    /// A node was added to a step's sub-plan.
    NodeAdded(NodeAdded),
    /// Fields of a node changed.
    NodeDefined(NodeDefined),
    NodeDeleted(StepNodeDeleted),
    /// Evidence was attached.
    EvidenceCaptured(EvidenceCaptured),
    /// Cards were committed to the reasoning memory.
    CardsCommitted(CardsCommitted),
    /// A note was committed to the reasoning memory.
    NoteCommitted(NoteCommitted),
    /// An operation was undone or redone.
    Restored(Restored),
    /// A card as it now is; only for replay.
    CardKept(CardKept),
    /// An entry of the notes document; only for replay.
    NoteKept(NoteKept),
    /// An operation for the history; only for replay.
    OperationRecorded(HistoryOperation),
    /// Focus moved; only for replay.
    FocusMoved {
        to: Option<EntityId>,
    },
    /// A check is going to be run.
    CheckRequested(CheckRequested),
    /// The process of a check has started.
    CheckStarted(CheckStarted),
    /// A run of a check has ended.
    CheckFinished(CheckFinished),
    /// A person has accepted the definitions of a project.
    ProjectAccepted(AcceptedProject),
    /// A person has looked at the protected files of a project.
    ProtectedReviewed(ProtectedState),
    /// The waiver of a check was asked for, given or taken back.
    CheckWaiverSet(CheckWaiverSet),
    /// A task was claimed or released, or its holder wrote to it.
    ClaimSet(ClaimSet),
    /// An import has noted where a plan or task came from.
    OriginNoted(OriginNoted),
    /// A session wrote its todo list here; only for replay.
    TodosWritten(TodosWritten),
    /// A response was kept for its idempotency key; only for replay.
    AnswerKept {
        key: String,
        kept: TaskAnswer,
    },
}

impl TaskEvent {
    /// The one step the event is about, if it is about one.
    pub fn step(&self) -> Option<&StepRef> {
        match self {
            Self::StepDefined(defined) => Some(&defined.step),
            Self::StepNoted(noted) => Some(&noted.step),
            Self::StepVerified(verified) => Some(&verified.step),
            Self::StepDone(done) => Some(&done.step),
            Self::StepReopened(reopened) => Some(&reopened.step),
            Self::StepBlockSet(set) => Some(&set.step),
            Self::StopAnswered(answered) => Some(&answered.step),
            Self::StepDeleted(deleted) => Some(&deleted.step),
            Self::NodeAdded(added) => Some(&added.step),
            Self::NodeDefined(defined) => Some(&defined.step),
            Self::NodeDeleted(deleted) => Some(&deleted.step),
            Self::PlanCreated(_)
            | Self::TaskCreated(_)
            | Self::Edited(_)
            | Self::TaskMoved(_)
            | Self::StatusSet(_)
            | Self::Deleted(_)
            | Self::ChecklistSet(_)
            | Self::ContractSet(_)
            | Self::StepsAdded(_)
            | Self::EvidenceCaptured(_)
            | Self::CardsCommitted(_)
            | Self::NoteCommitted(_)
            | Self::Restored(_)
            | Self::CardKept(_)
            | Self::NoteKept(_)
            | Self::OperationRecorded(_)
            | Self::FocusMoved { .. }
            | Self::CheckRequested(_)
            | Self::CheckStarted(_)
            | Self::CheckFinished(_)
            | Self::ProjectAccepted(_)
            | Self::ProtectedReviewed(_)
            | Self::CheckWaiverSet(_)
            | Self::ClaimSet(_)
            | Self::OriginNoted(_)
            | Self::TodosWritten(_)
            | Self::AnswerKept { .. } => None,
        }
    }
}

impl TaskEvent {
    /// The part of the server that the event comes from, if no caller made it.
    pub(super) fn server_part(&self) -> Option<&'static str> {
        if let Self::StepVerified(verified) = self
            && !verified.proofs.is_empty()
        {
            return Some("check");
        }
        None
    }

    /// The one node the event is about, if it is about one.
    pub fn node_id(&self) -> Option<NodeId> {
        if let Self::NodeAdded(added) = self {
            Some(added.node.id)
        } else if let Self::NodeDefined(defined) = self {
            Some(defined.node_id)
        } else if let Self::NodeDeleted(deleted) = self {
            Some(deleted.node_id)
        } else {
            None
        }
    }

    /// The plan that the event takes a task from or puts it back under, besides the plan whose
    /// timeline shows the event.
    pub fn other_plan(&self) -> Option<PlanId> {
        if let Self::TaskMoved(moved) = self {
            Some(moved.from)
        } else if let Self::Restored(restored) = self {
            restored.other_plan()
        } else {
            None
        }
    }

    /// The consequences of the event, if it can have any.
    pub fn derived(&self) -> Option<&Derived> {
        match self {
            Self::TaskCreated(created) => Some(&created.derived),
            Self::TaskMoved(moved) => Some(&moved.derived),
            Self::StatusSet(set) => Some(&set.derived),
            Self::StepsAdded(added) => Some(&added.derived),
            Self::StepDefined(defined) => Some(&defined.derived),
            Self::StepVerified(verified) => Some(&verified.derived),
            Self::StepDone(done) => Some(&done.derived),
            Self::StepReopened(reopened) => Some(&reopened.derived),
            Self::StepDeleted(deleted) => Some(&deleted.derived),
            Self::NodeAdded(added) => Some(&added.derived),
            Self::NodeDefined(defined) => Some(&defined.derived),
            Self::Restored(restored) => Some(&restored.derived),
            Self::PlanCreated(_)
            | Self::Edited(_)
            | Self::Deleted(_)
            | Self::ChecklistSet(_)
            | Self::ContractSet(_)
            | Self::StepNoted(_)
            | Self::StepBlockSet(_)
            | Self::StopAnswered(_)
            | Self::NodeDeleted(_)
            | Self::EvidenceCaptured(_)
            | Self::CardsCommitted(_)
            | Self::NoteCommitted(_)
            | Self::CardKept(_)
            | Self::NoteKept(_)
            | Self::OperationRecorded(_)
            | Self::FocusMoved { .. }
            | Self::CheckRequested(_)
            | Self::CheckStarted(_)
            | Self::CheckFinished(_)
            | Self::ProjectAccepted(_)
            | Self::ProtectedReviewed(_)
            | Self::CheckWaiverSet(_)
            | Self::ClaimSet(_)
            | Self::OriginNoted(_)
            | Self::TodosWritten(_)
            | Self::AnswerKept { .. } => None,
        }
    }
}

/// A plan or task, the plan whose timeline shows it, and its revision after the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EntityRef {
    /// The plan or task.
    pub id: EntityId,
    /// Its plan; of a plan, itself.
    pub plan: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskCreated {
    pub id: TaskId,
    pub parent: PlanId,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// Fields of a plan or task changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FieldsEdited {
    /// The plan or task.
    pub subject: EntityRef,
    /// Common fields that changed.
    pub meta: MetaPatch,
    /// Fields of the kind that changed.
    pub own: OwnPatch,
    /// Whether it was edited as a whole or field by field.
    pub manner: EditKind,
}

/// How fields of a plan or task were changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditKind {
    /// By `tasks_edit`.
    Edit,
    /// By a patch that named these fields.
    Patch(Vec<String>),
}

/// Changed fields that plans and tasks share.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MetaPatch {
    /// New title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New description, `Some(None)` when cleared.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// New context, `Some(None)` when cleared.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
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

/// Changed fields that only plans or only tasks have; `Some(None)` clears.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OwnPatch {
    /// Plan: new contract.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub contract: Option<Option<String>>,
    /// Plan: new structured contract.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub contract_data: Option<Option<Map<String, Value>>>,
    /// Task: new domain.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub domain: Option<Option<String>>,
    /// Task: new phase.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub phase: Option<Option<String>>,
    /// Task: new component.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub component: Option<Option<String>>,
    /// Task: new assignee.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Option<String>>,
    /// Task: all of its own checks from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<String>>,
}

/// A task was put under another plan, which is its parent in `task`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskMoved {
    pub task: TaskRef,
    /// The plan that it was under.
    pub from: PlanId,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// The status of a plan or task changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StatusSet {
    /// The plan or task.
    pub subject: EntityRef,
    /// Before and after.
    #[serde(rename = "move")]
    pub moved: StatusMove,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A plan or task was deleted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deleted {
    /// The plan or task.
    pub id: EntityId,
    /// Its plan; of a plan, itself.
    pub plan: PlanId,
    pub title: String,
}
