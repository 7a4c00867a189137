//! The rules that say no, with their facts. Words for people are put to them in the api crate.

use super::{
    command::StepSelector,
    id::{EntityId, EntityKind, PlanId, StepId, TaskId},
    path::StepPath,
    step::Checkpoint,
};

/// Why a command is refused.
#[derive(Clone, PartialEq, Debug)]
pub enum Rejection {
    /// No target was given and there is no focus.
    NoTarget(Candidates),
    /// The target is of a kind that this call does not take.
    WrongKind {
        /// The target.
        id: EntityId,
        /// The kind it takes.
        wanted: EntityKind,
        /// Whether the target came from focus.
        from_focus: bool,
        /// What could be meant.
        candidates: Candidates,
    },
    /// A task needs a plan, and neither argument nor focus names one.
    ParentMissing,
    /// No such plan or task.
    UnknownEntity {
        /// The id.
        id: EntityId,
        /// Whether the workspace has anything at all to list.
        workspace_known: bool,
    },
    /// No such step in the task.
    UnknownStep {
        /// The task.
        task: TaskId,
        /// How it was named.
        selector: StepSelector,
    },
    /// Path and id name different steps.
    SelectorsDisagree {
        /// The path given.
        path: StepPath,
        /// The id given.
        step_id: StepId,
    },
    /// `expected_revision` is not the current one.
    RevisionMismatch {
        /// The entity.
        id: EntityId,
        /// What was expected.
        expected: u64,
        /// What it is.
        actual: u64,
    },
    /// The key belongs to another call.
    KeyTaken {
        /// The key.
        key: String,
        /// The operation that used it first.
        first_tool: String,
    },
    /// The step is closed already.
    AlreadyClosed {
        /// Its id.
        step_id: StepId,
        /// Its path.
        path: StepPath,
    },
    /// A gate of the step is open.
    GateOpen {
        /// The first gate in order that says no.
        gate: Gate,
        /// The whole state of the gate.
        report: GateReport,
    },
    /// The tree would become too deep.
    TooDeep,
    /// A field was given that this kind of entity does not have.
    ForeignField {
        /// The field, as the caller names it.
        field: &'static str,
        /// The entity.
        id: EntityId,
    },
    /// An entity cannot depend on itself.
    DependsOnItself {
        /// The entity.
        id: EntityId,
    },
    /// Dependencies would form a circle.
    DependencyCircle {
        /// The dependency that leads back.
        through: EntityId,
    },
}

/// The gates of a step in the order they are checked (TASKS-GATE-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gate {
    /// A required checkpoint is unconfirmed.
    Checkpoints,
    /// A required proof is missing.
    Proof,
    /// A child step or sub-plan node is open.
    Children,
    /// The step is blocked.
    Blocked,
}

/// Everything that keeps a step from closing (TASKS-GATE-6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateReport {
    /// The task.
    pub task: TaskId,
    /// The step's id.
    pub step_id: StepId,
    /// The step's path.
    pub path: StepPath,
    /// Required checkpoints that are unconfirmed.
    pub missing_checkpoints: Vec<Checkpoint>,
    /// Required proofs that are absent.
    pub missing_proofs: Vec<Checkpoint>,
    /// Open child steps.
    pub open_children: Vec<StepPath>,
    /// Sub-plan nodes that are not done, as paths.
    pub open_nodes: Vec<String>,
    /// Whether the step is blocked.
    pub blocked: bool,
    /// Why.
    pub block_reason: Option<String>,
    /// Optional checkpoints that are required here, for the retry a caller can fill in.
    pub required_optional: Vec<Checkpoint>,
}

/// What a call without a usable target could have meant (TASKS-TGT-6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Candidates {
    /// These tasks, best first.
    Tasks(Vec<TaskId>),
    /// There are only plans; this is the first.
    Plan(PlanId),
    /// There is nothing yet.
    Nothing,
}
