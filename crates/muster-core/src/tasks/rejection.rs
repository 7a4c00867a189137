//! The rejections, with their facts. The api crate adds messages for people.

use serde::Serialize;
use serde_json::Value;

use super::{
    changes::EntityChange,
    check_gate::CheckGate,
    claim::TaskClaim,
    command::StepSelector,
    id::{CardId, CheckRunId, EntityId, EntityKind, EvidenceId, NodeId, PlanId, StepId, TaskId},
    path::{NodePath, StepPath},
    step::Checkpoint,
};
use crate::checks::verdict::Verdict;

/// Why a command is refused.
#[derive(Clone, PartialEq, Debug)]
pub enum TaskRejection {
    /// No target was given and there is no focus.
    NoTarget(Candidates),
    /// Another caller moved the focus since the caller last saw it.
    FocusMoved { seen: EntityId, focus: EntityId },
    /// The target is of a kind that this call does not accept.
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
        id: EntityId,
        /// Whether the workspace has anything at all to list.
        workspace_known: bool,
    },
    /// No such step in the task.
    UnknownStep {
        task: TaskId,
        /// How it was named.
        selector: StepSelector,
    },
    /// No step of the workspace ever had this id.
    NoSuchStep { step_id: StepId },
    /// Path and id name different steps.
    SelectorsDisagree {
        /// The path given.
        path: StepPath,
        /// The id given.
        step_id: StepId,
    },
    /// `expected_revision` is not the current one.
    RevisionMismatch {
        id: EntityId,
        expected: u64,
        actual: u64,
        /// What happened since, newest first.
        changed: Vec<EntityChange>,
    },
    /// The step may have changed since `expected_step_revision`.
    StepRevisionMismatch {
        task: TaskId,
        step_id: StepId,
        path: StepPath,
        expected: u64,
        /// The revision of the task.
        actual: u64,
        /// What happened to the step since, newest first.
        changed: Vec<EntityChange>,
    },
    /// The key belongs to another call.
    KeyTaken {
        key: String,
        /// The operation that used it first.
        first_tool: String,
    },
    /// The step is closed already.
    AlreadyClosed { step_id: StepId, path: StepPath },
    /// A gate of the step is open.
    GateOpen {
        /// The first open gate in order.
        gate: StepGate,
        /// The whole state of the gate.
        report: GateReport,
    },
    /// The step is open, so it cannot be reopened.
    NotClosed { step_id: StepId, path: StepPath },
    /// Completing a task with open steps or without steps.
    StepsOpen {
        task: TaskId,
        /// All its steps.
        total: usize,
        /// Open ones.
        open: Vec<(StepId, StepPath)>,
    },
    /// Completing a task whose checks do not hold.
    ChecksOpen { task: TaskId, checks: Vec<CheckGate> },
    /// Only a person may do this.
    PersonRequired(PersonalAct),
    /// Another agent holds the task.
    Claimed { task: TaskId, claim: TaskClaim },
    /// A step has no criterion or test at that place.
    UnknownItem { path: StepPath, checkpoint: Checkpoint, index: u32, count: usize },
    /// No such waiver.
    UnknownWaiver { check: String },
    /// Completing a plan with tasks that are not done.
    TasksOpen {
        plan: PlanId,
        /// Open ones.
        open: Vec<TaskId>,
    },
    /// Completing while a dependency is open.
    DependenciesOpen {
        /// The plan or task.
        id: EntityId,
        /// Open dependencies.
        waiting_on: Vec<EntityId>,
    },
    /// The checklist has no such position.
    ChecklistPosition {
        /// The argument that requested it.
        argument: &'static str,
        /// Points on the list.
        points: usize,
    },
    /// No such node in the task.
    UnknownNode { task: TaskId, name: String },
    /// Path and id name different nodes.
    NodesDisagree {
        /// The path given.
        path: NodePath,
        /// The id given.
        node_id: NodeId,
    },
    /// No such card in this memory.
    UnknownCard {
        /// The plan or task.
        entity: EntityId,
        card: CardId,
    },
    /// No such evidence on this plan or task.
    UnknownEvidence {
        /// The plan or task.
        entity: EntityId,
        /// The record.
        id: EvidenceId,
    },
    /// A card needs a title or text.
    EmptyCard,
    /// A card supports others.
    SupportsItself { card: CardId },
    /// No template of that name, or one of the other kind.
    UnknownTemplate { name: String },
    /// A patch with an invalid field or value.
    BadField {
        /// The field, by its stored name.
        field: String,
        /// What is wrong with it.
        fault: FieldFault,
        /// What would fit.
        expected: String,
    },
    /// There is nothing to undo or redo.
    NothingToRestore {
        /// True for undo.
        undo: bool,
    },
    /// What undo or redo would overwrite has changed since.
    RestoreConflict {
        /// Position of the operation.
        op_seq: u64,
        /// Fields that differ: name, expected, actual.
        fields: Vec<(String, Value, Value)>,
        /// The gate that keeps a step from closing again.
        unmet: Option<(StepGate, GateReport)>,
        /// What happened since, newest first.
        changed: Vec<EntityChange>,
    },
    /// No such run of a check.
    UnknownCheckRun { run: CheckRunId },
    /// The run of a check has ended already.
    CheckRunFinished { run: CheckRunId, verdict: Verdict },
    /// The other run does not answer this one.
    CheckRunDiffers { run: CheckRunId, by: CheckRunId },
    /// The tree would become too deep.
    TooDeep,
    /// A field was given that this kind of entity does not have.
    ForeignField {
        /// The field, as the caller names it.
        field: &'static str,
        id: EntityId,
    },
    /// An entity cannot depend on itself.
    DependsOnItself { id: EntityId },
    /// A task cannot be part of a plan that it has to wait for.
    WaitsForPlan { task: TaskId, plan: PlanId },
    /// Dependencies would form a circle.
    DependencyCircle {
        /// The dependency that leads back.
        through: EntityId,
    },
}

/// What only a person may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PersonalAct {
    AcceptProject,
    /// Close what an import brought, where closing needs proof.
    CloseImported {
        task: TaskId,
    },
    /// Accept changes of protected files.
    ReviewProtected,
    Waive {
        task: TaskId,
        check: String,
    },
    /// Take a check off a step or, without a path, off the whole task.
    DropChecks {
        path: Option<StepPath>,
        checks: Vec<String>,
    },
    /// Ask for less proof than before.
    WeakenProof {
        path: StepPath,
        checkpoint: Checkpoint,
    },
    /// Rewrite the criteria or tests of a step that was begun.
    RewriteStarted {
        path: StepPath,
        checkpoint: Checkpoint,
    },
    /// Lift a block that a person has set.
    LiftBlock {
        path: StepPath,
    },
}

impl PersonalAct {
    /// Name for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AcceptProject => "accept_project",
            Self::CloseImported { .. } => "close_imported",
            Self::ReviewProtected => "review_protected",
            Self::Waive { .. } => "waive",
            Self::DropChecks { .. } => "drop_checks",
            Self::WeakenProof { .. } => "weaken_proof",
            Self::RewriteStarted { .. } => "rewrite_started",
            Self::LiftBlock { .. } => "lift_block",
        }
    }
}

/// What is wrong with a field of a patch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldFault {
    Unknown,
    /// The field does not take this operation.
    NotAllowed,
    /// A value is needed.
    Missing,
    /// The value is of the wrong type or form.
    BadValue,
    /// The value has the right type but is invalid for this call.
    BadFormat,
    /// The value is too large.
    OutOfRange,
}

/// The gates of a step in the order they are checked (TASKS-GATE-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StepGate {
    /// A required checkpoint is unconfirmed.
    Checkpoints,
    /// A required proof is missing.
    Proof,
    /// A check does not hold on the files of the call.
    Checks,
    /// A child step or sub-plan node is open.
    Children,
    /// The step is blocked.
    Blocked,
}

/// Everything that keeps a step from closing (TASKS-GATE-6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GateReport {
    pub task: TaskId,
    pub step_id: StepId,
    pub path: StepPath,
    /// Required checkpoints that are unconfirmed.
    pub missing_checkpoints: Vec<Checkpoint>,
    /// The unconfirmed criteria and tests, in words (EASE-DONE-3).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<String>,
    /// Required proofs that are absent.
    pub missing_proofs: Vec<Checkpoint>,
    /// Checks that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckGate>,
    /// Open child steps.
    pub open_children: Vec<StepPath>,
    /// Sub-plan nodes that are not done, as paths.
    pub open_nodes: Vec<String>,
    /// Whether the step is blocked.
    pub blocked: bool,
    /// Why.
    pub block_reason: Option<String>,
    /// Whether the step is closed.
    #[serde(skip)]
    pub closed: bool,
    /// All failing steps, when the whole task was to be completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepPath>,
    /// Whether criteria were confirmed as a whole where each has to be named.
    #[serde(skip)]
    pub one_by_one: bool,
    /// Whether the rejected call itself created the task, so that it does not exist now.
    #[serde(skip)]
    pub is_undone: bool,
}

/// Suggestions for a call without a usable target (TASKS-TGT-6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Candidates {
    /// These tasks, best first.
    Tasks(Vec<TaskId>),
    /// There are only plans; this is the first.
    Plan(PlanId),
    /// The target is this plan, which has no task yet.
    EmptyPlan(PlanId),
    /// There is nothing yet.
    Nothing,
}
