//! The rejections, with their facts. Messages and codes for callers are made elsewhere; the code of
//! each variant is in its comment.

use super::{
    approval::Resolution,
    command::StatusWish,
    id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, ToolId, TurnId},
    inbox::ItemState,
    record::{Phase, RunStatus},
};
use crate::tasks::id::TaskId;

#[derive(Clone, PartialEq, Debug)]
pub enum RunRejection {
    /// The run was never created (`UNKNOWN_RUN`).
    UnknownRun,
    /// The run exists already (`BAD_VALUE`).
    RunExists,
    /// No such node (`UNKNOWN_NODE`).
    UnknownNode { id: NodeId },
    /// No node has this alias (`UNKNOWN_NODE`).
    UnknownAlias { alias: String },
    /// No such edge (`UNKNOWN_EDGE`).
    UnknownEdge { id: EdgeId },
    /// No such turn (`UNKNOWN_TURN`).
    UnknownTurn { id: TurnId },
    /// No such input (`UNKNOWN_ITEM`).
    UnknownItem { id: ItemId },
    /// No such approval (`UNKNOWN_APPROVAL`).
    UnknownApproval { id: ApprovalId },
    /// No such artifact in this run, or one of another kind (`UNKNOWN_ARTIFACT`).
    UnknownArtifact { id: ArtifactId },
    /// A string that is not a reference to an artifact (`UNKNOWN_ARTIFACT`).
    BadReference {
        /// The text.
        reference: String,
    },
    /// Invalid arguments of a tool (`INVALID_INPUT`).
    InvalidArguments {
        /// What is wrong with them.
        fault: String,
    },
    /// No such tool (`INVALID_INPUT`).
    NoSuchTool { name: String },
    /// No such open call (`INVALID_INPUT`).
    UnknownTool { id: ToolId },
    /// A turn is in flight (`NODE_RUNNING`).
    NodeRunning { id: NodeId },
    /// No turn is in flight (`NODE_NOT_RUNNING`).
    NodeNotRunning { id: NodeId },
    /// The run has ended (`RUN_NOT_ACTIVE`).
    RunNotActive { status: RunStatus },
    /// No way leads there (`BAD_TRANSITION`).
    BadTransition { from: RunStatus, phase: Phase, to: StatusWish },
    /// It was resolved before (`ALREADY_RESOLVED`).
    AlreadyResolved {
        id: ApprovalId,
        /// The answer that counts.
        resolution: Option<Resolution>,
    },
    /// Work is open (`OPEN_WORK`).
    OpenWork { open: Vec<OpenWork> },
    /// The bound task is not done (`TASK_NOT_DONE`).
    TaskNotDone { task: TaskId },
    /// The checks are running (`VERIFY_RUNNING`).
    VerifyRunning,
    /// A turn is in flight (`RUN_BUSY`).
    RunBusy,
    /// The input no longer waits (`ITEM_CONSUMED`).
    ItemConsumed {
        /// The input.
        id: ItemId,
        /// Its state.
        state: ItemState,
    },
    /// The run has a contract version that this program does not know (`CONTRACT_VERSION`).
    ContractVersion { version: String },
    /// An invalid value (`BAD_VALUE`).
    BadValue {
        /// The field, with dots between levels.
        field: String,
        /// What would fit.
        expected: String,
    },
    /// A string or list is too long (`TOO_LONG`).
    TooLong {
        field: String,
        /// How much fits.
        max: usize,
    },
    /// A value is needed (`MISSING_FIELD`).
    MissingField { field: &'static str },
    /// From and to are the same node (`SELF_EDGE`).
    SelfEdge,
    /// The maximum number is reached (`LIMIT_REACHED`).
    LimitReached {
        what: Limited,
        /// How many.
        max: u64,
    },
    /// The provider cannot take changed arguments (`MODIFY_UNSUPPORTED`).
    ModifyUnsupported { id: ApprovalId },
    /// No receiver was given and none can be inferred (`NO_TARGET_NODE`).
    NoTargetNode,
    /// The caller may not do this (`FORBIDDEN`).
    Forbidden {
        /// What is missing.
        right: Right,
    },
    /// A node cannot give a right that it lacks (`FORBIDDEN_CAPABILITY`).
    ForbiddenCapability {
        /// The rights.
        lacking: Vec<&'static str>,
    },
    /// No edge leads there (`NO_EDGE`).
    NoEdge {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
    },
    /// The node cannot begin a turn now; the scheduler has to choose again.
    NotRunnable { id: NodeId },
    /// The turn has ended, or belongs to another node.
    TurnNotLive { id: TurnId },
    /// The phase has changed.
    WrongPhase { phase: Phase },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limited {
    /// Nodes of a run.
    Nodes,
    /// Edges of a run.
    Edges,
    /// Tool calls open in a turn.
    OpenTools,
    /// Handoffs of a turn.
    Handoffs,
}

/// A right that an agent may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// To change the graph.
    SpawnNodes,
    /// To complete the run.
    Orchestrator,
}

/// Something that keeps a run from being complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenWork {
    /// A node runs.
    Running(NodeId),
    /// A node will try again.
    Retrying(NodeId),
    /// Inputs wait for a node.
    Queued(NodeId),
    /// An approval is pending.
    Approval(ApprovalId),
}
