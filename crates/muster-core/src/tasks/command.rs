//! Commands of a workspace. Targets are already resolved; steps are still given as the caller
//! selected them, because finding them belongs to the decision.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use super::origin::NoteOrigin;
use super::{
    check_gate::CheckState,
    entity::{TaskAnswer, TaskStatus},
    event::{EditKind, MetaPatch, OwnPatch, StepFields, WaiverChange},
    history::HistoryOperation,
    id::{CardId, CheckRunId, EntityId, NodeId, PlanId, StepId, TaskId},
    memory::{CardType, NoteEntry},
    path::{NodePath, StepPath},
    step::{Checkpoint, Checkpoints, ItemConfirmation, NodeFields, ProofMode},
};
use crate::checks::{project::AcceptedProject, protected::ProtectedState};
use crate::session::SessionId;
use crate::{
    checks::record::{CheckResult, CheckedWork, TreeState},
    run::node::Process,
};

#[derive(Clone, PartialEq, Debug)]
pub enum TaskCommand {
    CreatePlan(CreatePlan),
    CreateTask(CreateTask),
    /// Change fields of a plan or task.
    Edit(FieldsEdit),
    /// Put a task under another plan.
    MoveTask {
        task: TaskId,
        to: PlanId,
    },
    /// Add steps to a task.
    AddSteps(AddSteps),
    /// Change fields of a step.
    DefineStep(DefineStep),
    /// Write a note on a step.
    NoteStep {
        step: StepTarget,
        note: String,
    },
    /// Confirm or un-confirm checkpoints of a step.
    VerifyStep {
        step: StepTarget,
        /// Checkpoints and their new value.
        confirmations: Vec<(Checkpoint, bool)>,
    },
    /// Confirm single criteria and tests of a step.
    ConfirmItems {
        step: StepTarget,
        items: Vec<ItemConfirmation>,
    },
    /// Close a step whose gate is met, or by force.
    CloseStep {
        step: StepTarget,
        /// Checkpoints that the closing call named: they are required for it (TASKS-GATE-2).
        named: Checkpoints,
        /// Present to skip the gates that can be skipped.
        force: Option<Force>,
    },
    /// Open a closed step again.
    ReopenStep {
        step: StepTarget,
    },
    /// Block or unblock a step.
    BlockStep {
        step: StepTarget,
        blocked: bool,
        /// Why.
        reason: Option<String>,
    },
    /// Answer an agent that wants to stop although checks of the step do not hold.
    AnswerStop {
        step: StepTarget,
        /// The checks that do not hold.
        checks: BTreeMap<String, CheckState>,
    },
    /// Delete a step and everything below it.
    DeleteStep {
        step: StepTarget,
    },
    /// Delete a plan with its tasks, or a task.
    Delete {
        /// The plan or task.
        id: EntityId,
    },
    /// Set the status of a plan or task.
    SetStatus {
        /// The plan or task.
        id: EntityId,
        to: TaskStatus,
    },
    /// Change a plan's checklist.
    SetChecklist(SetChecklist),
    /// Change a plan's contract.
    SetContract(SetContract),
    /// Add a node to a step's sub-plan.
    AddNode {
        step: StepTarget,
        title: String,
        fields: NodeFields,
    },
    /// Change fields of a node.
    DefineNode {
        node: NodeTarget,
        fields: NodeFields,
        /// Their names.
        given: Vec<String>,
    },
    DeleteNode {
        node: NodeTarget,
    },
    /// Attach evidence.
    CaptureEvidence(CaptureEvidence),
    /// Commit a card to the reasoning memory.
    CommitCard(CommitCard),
    /// Commit a note to the reasoning memory.
    CommitNote(NoteEntry),
    /// Emit an event for committed cards.
    AnnounceCards {
        /// The plan or task.
        id: EntityId,
        cards: Vec<(CardId, CardType)>,
        /// Position of the decision's note.
        decision_note_seq: Option<u64>,
    },
    /// Emit an event for a committed note.
    AnnounceNote {
        /// The plan or task.
        id: EntityId,
        /// Position of the note.
        seq: u64,
        title: Option<String>,
    },
    /// Add an operation to the history.
    RecordOperation(HistoryOperation),
    /// Undo or redo an operation.
    Restore {
        /// Position of the operation.
        op_seq: u64,
        /// True for undo, false for redo.
        undo: bool,
    },
    /// Accept the definitions of a project; only for a person.
    AcceptProject(AcceptedProject),
    /// Accept the protected files of a directory as they are; only for a person.
    ReviewProtected(ProtectedState),
    /// Ask for, give or take back the waiver of a check; only a person gives and takes back.
    WaiveCheck(WaiveCheck),
    /// Take a task for the caller.
    ClaimTask {
        task: TaskId,
        lease_seconds: u32,
        /// Where the caller works, if that is known.
        directory: Option<String>,
    },
    /// End the claim of a task.
    ReleaseClaim {
        task: TaskId,
    },
    /// Note where an imported plan or task and its steps came from.
    NoteOrigin(NoteOrigin),
    /// Close a step that its source has closed.
    CloseImportedStep {
        step: StepTarget,
        /// Reason of its waiver.
        reason: String,
    },
    /// Complete a task that its source has completed.
    CompleteImported {
        task: TaskId,
    },
    /// Move or clear focus.
    MoveFocus {
        to: Option<EntityId>,
    },
    /// Store the intent to run a check.
    RequestCheck(RequestCheck),
    /// The process of a check has started.
    StartCheck {
        run: CheckRunId,
        process: Process,
    },
    /// A check has a verdict.
    FinishCheck {
        run: CheckRunId,
        result: Box<CheckResult>,
    },
    /// A check need not run: another run passed on the same files meanwhile.
    AnswerCheck {
        run: CheckRunId,
        /// The run that passed.
        by: CheckRunId,
    },
    /// A check ended without a verdict.
    InterruptCheck {
        run: CheckRunId,
        /// Why.
        reason: String,
    },
    /// Remember that a session wrote its todo list here.
    NoteTodos {
        session: SessionId,
        /// Steps that it links items to.
        steps: Vec<StepId>,
    },
    /// Keep a response for its idempotency key.
    KeepAnswer {
        key: String,
        kept: TaskAnswer,
    },
}

/// A run of a check that a caller needs.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestCheck {
    /// Name of the check.
    pub check: String,
    /// Digest of its definition.
    pub definition: String,
    /// The command line.
    pub command: String,
    pub directory: String,
    /// The Muster process that is going to run it.
    pub runner: Process,
    /// The files as they are.
    pub files: TreeState,
    pub asked_for: Option<CheckedWork>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreatePlan {
    pub title: String,
    pub description: Option<String>,
    pub contract: Option<String>,
    /// Its structured contract.
    pub contract_data: Option<Map<String, Value>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateTask {
    pub parent: PlanId,
    pub title: String,
    pub description: Option<String>,
}

/// Fields of a plan or task to change.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldsEdit {
    /// The plan or task.
    pub id: EntityId,
    /// Fields that both have.
    pub meta: MetaPatch,
    /// Fields that only one of them has.
    pub own: OwnPatch,
    /// Which edit was requested.
    pub manner: EditKind,
}

/// Skips the gates that force can skip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Force {
    /// Why.
    pub reason: Option<String>,
}

/// A plan's checklist to change; absent means unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetChecklist {
    pub plan: PlanId,
    /// All points from now on.
    pub steps: Option<Vec<String>>,
    /// Points done.
    pub current: Option<u32>,
    /// Free text about it.
    pub doc: Option<Option<String>>,
    /// Whether to advance by one point.
    pub advance: bool,
}

/// A plan's contract to change; absent means unchanged.
#[derive(Clone, PartialEq, Debug)]
pub struct SetContract {
    pub plan: PlanId,
    /// New text.
    pub contract: Option<Option<String>>,
    /// New structured form.
    pub contract_data: Option<Map<String, Value>>,
    /// Whether to remove both.
    pub clear: bool,
}

/// Evidence to attach.
#[derive(Clone, PartialEq, Debug)]
pub struct CaptureEvidence {
    /// The plan or task.
    pub id: EntityId,
    /// The step; `None` for the root.
    pub step: Option<StepSelector>,
    /// Checkpoints it is linked to.
    pub checkpoints: Checkpoints,
    /// Artifacts.
    pub items: Vec<Map<String, Value>>,
    /// Check lines.
    pub checks: Vec<String>,
    /// Links and file names.
    pub attachments: Vec<String>,
}

/// A card to commit: new, or an update of an existing one.
#[derive(Clone, PartialEq, Debug)]
pub struct CommitCard {
    /// The plan or task.
    pub entity: EntityId,
    /// The card to update.
    pub id: Option<CardId>,
    pub kind: Option<CardType>,
    pub title: Option<String>,
    pub text: Option<String>,
    pub status: Option<String>,
    /// Its labels.
    pub tags: Option<Vec<String>>,
    /// Its facts.
    pub meta: Option<Map<String, Value>>,
    pub supports: Vec<CardId>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AddSteps {
    pub task: TaskId,
    /// The parent of the new steps; `None` at the root.
    pub parent: Option<StepSelector>,
    pub steps: Vec<NewStep>,
}

/// A step to add.
#[derive(Clone, PartialEq, Debug)]
pub struct NewStep {
    pub title: String,
    /// Its lists and proof modes.
    pub fields: StepFields,
}

/// Fields of a step to change.
#[derive(Clone, PartialEq, Debug)]
pub struct DefineStep {
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
    /// All checks from now on.
    pub checks: Option<Vec<String>>,
}

/// The waiver of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct WaiveCheck {
    pub task: TaskId,
    /// The step; `None` for the whole task.
    pub step: Option<StepSelector>,
    /// Name of the check.
    pub check: String,
    pub change: WaiverChange,
}

/// A step of a task, as the caller selects it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepTarget {
    pub task: TaskId,
    pub selector: StepSelector,
}

/// A node of a task, as the caller selects it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeTarget {
    pub task: TaskId,
    pub path: Option<NodePath>,
    pub id: Option<NodeId>,
}

/// How a step was named. With both, both must mean the same step (TASKS-TGT-4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepSelector {
    Path(StepPath),
    Id(StepId),
    Both(StepPath, StepId),
}
