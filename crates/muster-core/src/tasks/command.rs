//! What can be asked of a workspace. Targets are resolved by then; steps are still selected by the caller's
//! words, because finding them belongs to the decision.

use serde_json::{Map, Value};

use super::{
    entity::KeptAnswer,
    event::{MetaPatch, StepFields},
    id::{EntityId, PlanId, StepId, TaskId},
    path::StepPath,
    step::{Checkpoint, Checkpoints, ProofMode},
};

/// A request to change a workspace.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Create a plan.
    CreatePlan(CreatePlan),
    /// Create a task.
    CreateTask(CreateTask),
    /// Change fields of a plan or task.
    Edit(Edit),
    /// Add steps to a task.
    AddSteps(AddSteps),
    /// Change fields of a step.
    DefineStep(DefineStep),
    /// Write a note on a step.
    NoteStep {
        /// The step.
        step: StepTarget,
        /// The note.
        note: String,
    },
    /// Confirm or un-confirm checkpoints of a step.
    VerifyStep {
        /// The step.
        step: StepTarget,
        /// Checkpoints and their new value.
        confirmations: Vec<(Checkpoint, bool)>,
    },
    /// Close a step whose gate is met.
    CloseStep {
        /// The step.
        step: StepTarget,
        /// Checkpoints that the closing call named: they are required for it (TASKS-GATE-2).
        named: Checkpoints,
    },
    /// Move or clear focus.
    MoveFocus {
        /// Where to.
        to: Option<EntityId>,
    },
    /// Keep an answer for its idempotency key.
    KeepAnswer {
        /// The key.
        key: String,
        /// What was answered.
        kept: KeptAnswer,
    },
}

/// A plan to create.
#[derive(Clone, PartialEq, Debug)]
pub struct CreatePlan {
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: Option<String>,
    /// Its contract.
    pub contract: Option<String>,
    /// Its structured contract.
    pub contract_data: Option<Map<String, Value>>,
}

/// A task to create.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTask {
    /// Its plan.
    pub parent: PlanId,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: Option<String>,
}

/// Fields of a plan or task to change.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// The plan or task.
    pub id: EntityId,
    /// Fields that both have.
    pub meta: MetaPatch,
    /// Fields that only one of them has.
    pub own: OwnPatch,
}

/// Fields that only plans or only tasks have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OwnPatch {
    /// Plan: new contract.
    pub contract: Option<Option<String>>,
    /// Plan: new structured contract.
    pub contract_data: Option<Map<String, Value>>,
    /// Task: new domain.
    pub domain: Option<Option<String>>,
}

/// Steps to add.
#[derive(Clone, PartialEq, Debug)]
pub struct AddSteps {
    /// The task.
    pub task: TaskId,
    /// The step below which they go; `None` at the root.
    pub parent: Option<StepSelector>,
    /// The steps.
    pub steps: Vec<NewStep>,
}

/// A step to add.
#[derive(Clone, PartialEq, Debug)]
pub struct NewStep {
    /// Its title.
    pub title: String,
    /// Its lists and proof modes.
    pub fields: StepFields,
}

/// Fields of a step to change.
#[derive(Clone, PartialEq, Debug)]
pub struct DefineStep {
    /// The step.
    pub step: StepTarget,
    /// New title.
    pub title: Option<String>,
    /// New criteria.
    pub success_criteria: Option<Vec<String>>,
    /// New tests.
    pub tests: Option<Vec<String>>,
    /// New blockers.
    pub blockers: Option<Vec<String>>,
    /// Proof modes to change.
    pub proof_modes: Option<Vec<(Checkpoint, ProofMode)>>,
}

/// A step of a task, in the caller's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepTarget {
    /// The task.
    pub task: TaskId,
    /// The step.
    pub selector: StepSelector,
}

/// How a step was named. With both, both must mean the same step (TASKS-TGT-4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepSelector {
    /// By path.
    Path(StepPath),
    /// By id.
    Id(StepId),
    /// By path and id.
    Both(StepPath, StepId),
}
