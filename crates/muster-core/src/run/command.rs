//! Commands of a run: from people, from agents through their tools, and from the runtime, which
//! reports the outcome of effects.

pub use crate::run::{
    node::command::{
        CapabilityPatch, EditNode, GraphNodeInput, NodeWish, PermissionPatch, PutEdge, SessionPatch,
    },
    record::command::{
        BootReport, CheckInput, CreateRun, RunFields, SetStatus, SettingsPatch, StatusWish,
        VerifyReport,
    },
    tool::{
        command::{
            AgentCall, ArtifactInput, AskUser, Because, COMPLETE_RUN, CallFiles, CompleteRun,
            ConnectNodes, DisconnectNodes, GATED_TASK_TOOLS, GATED_TOOLS, MakeReport, NodeRef,
            OPEN_CODES, RequestMode, SendHandoff, SetSummary, SpawnEdge, SpawnNode, ToolRequest,
            WaitFor,
        },
        work::{
            DeleteFile, ExecuteCommand, GetNode, ListArtifacts, ListFiles, ListNodes, LookRequest,
            ReadArtifact, ReadFile, WorkRequest, WriteFile, tool_names,
        },
    },
    turn::command::{BeginTurn, CloseTurn, FailStart, PlannedPrompt, Recover, RetryHint},
};

use serde_json::{Map, Value};

use crate::run::{
    allow::RuleNote,
    approval::Verdict,
    artifact::WrittenFile,
    edge::Actor,
    event::{ResetMethod, ToolError, ToolResult},
    id::{ApprovalId, EdgeId, IdSeed, ItemId, NodeId, ToolId, TurnId},
    node::{Containment, NodeTodo, Process},
    provider::{ProviderCaps, ProviderEvent},
    record::{GlobalMode, Mode},
    turn::TurnReason,
};

#[derive(Clone, PartialEq, Debug)]
pub struct RunCommand {
    pub by: Actor,
    /// Source of the ids of what is created.
    pub seed: IdSeed,
    pub ask: Ask,
}

/// A decision about an approval, of a person or of a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolve {
    pub approval: ApprovalId,
    /// The answer.
    pub verdict: Verdict,
    /// Changed arguments, with the matching verdict.
    pub modified_args: Option<Map<String, Value>>,
    /// Why.
    pub reason: Option<String>,
    /// The rule that decides, or that is made with the decision.
    pub rule: Option<RuleNote>,
    /// Files that were written for the approved call.
    pub files: CallFiles,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    CreateRun(Box<CreateRun>),
    /// Change fields of the run.
    EditRun(Box<RunFields>),
    /// Start, pause, stop, complete or give up the run.
    SetStatus(SetStatus),
    /// Change one or both modes.
    SetModes {
        /// Who keeps the orchestrator going.
        mode: Option<Mode>,
        /// Write access of the nodes.
        global_mode: Option<GlobalMode>,
    },
    /// The checks of the environment have ended.
    ReportBoot(Box<BootReport>),
    /// Run the checks, whatever the phase.
    StartVerify,
    /// A person has seen that a declaration was refused.
    DismissRefusal,
    /// The checks have ended.
    ReportVerification(Box<VerifyReport>),
    /// End everything in flight, because the run is about to be deleted.
    DeleteRun,
    /// Delete the run, once nothing of it is in flight.
    RemoveRun,
    CreateNode(Box<GraphNodeInput>),
    /// Send a message to a node.
    SendMessage {
        /// Its receiver; without one, the only possible node.
        node: Option<NodeId>,
        content: String,
        /// Whether the turn in flight ends for it.
        interrupt: bool,
        /// Its id, if the sender has to know it before; a fresh one otherwise.
        id: Option<ItemId>,
    },
    /// Deliver an input again whose turns failed.
    ResendItem {
        node: NodeId,
        /// The input.
        item: ItemId,
    },
    /// Remove a queued or failed input.
    CancelItem {
        node: NodeId,
        /// The input.
        item: ItemId,
    },
    /// Change settings of a node, hold or release it.
    EditNode(Box<EditNode>),
    DeleteNode {
        node: NodeId,
    },
    /// End the turn in flight.
    InterruptNode {
        node: NodeId,
    },
    /// End the turn in flight and the process, and hold the node.
    StopNode {
        node: NodeId,
    },
    /// Release a node and let it work on its inputs.
    StartNode {
        node: NodeId,
    },
    /// Clear a node's context.
    ResetNode {
        node: NodeId,
        /// Why.
        reason: Option<String>,
    },
    /// A node's context was cleared.
    ReportReset {
        node: NodeId,
        method: ResetMethod,
    },
    /// A node's session could not be resumed.
    ReportSessionLost {
        node: NodeId,
    },
    /// A provider's process began, or ended.
    ReportProcess {
        node: NodeId,
        /// The process, if it began.
        process: Option<Process>,
    },
    /// A provider is opened with this containment.
    ReportContainment {
        node: NodeId,
        /// What it is kept from.
        containment: Containment,
    },
    /// A provider reports its capabilities.
    ReportCaps {
        node: NodeId,
        caps: Box<ProviderCaps>,
    },
    /// A provider has sent messages that were not understood.
    ReportUnknown {
        node: NodeId,
        /// How many more since the last report.
        more: u64,
    },
    /// A node works in this directory.
    PlaceNode {
        node: NodeId,
        /// The directory.
        workdir: String,
    },
    /// Something is left of a node, which may have been removed (RUNS-NODE-7).
    NoteLeft {
        node: NodeId,
        /// What, where and why.
        line: String,
    },
    /// A node's todo list, as its session keeps it.
    ShowTodos {
        node: NodeId,
        /// The list.
        todos: Vec<NodeTodo>,
    },
    /// Create an edge, or change one.
    PutEdge(PutEdge),
    /// Remove an edge.
    DeleteEdge {
        edge: EdgeId,
    },
    BeginTurn(Box<BeginTurn>),
    /// A turn cannot be sent.
    FailStart(FailStart),
    /// The provider has the prompt.
    ReportSent {
        turn: TurnId,
    },
    /// A report of the provider.
    Report {
        turn: TurnId,
        event: ProviderEvent,
    },
    /// No output for half of the time that it may be silent.
    ReportSilence {
        turn: TurnId,
    },
    /// A turn has to end, for a reason that the runtime found.
    EndTurn {
        turn: TurnId,
        /// Why.
        reason: TurnReason,
        /// In words.
        detail: Option<String>,
    },
    /// The time of a budget may be used up.
    CheckBudget {
        turn: TurnId,
    },
    /// A turn is over.
    CloseTurn(Box<CloseTurn>),
    /// An agent calls a tool of Muster.
    CallTool(Box<AgentCall>),
    /// A call was refused with this error.
    RefuseTool {
        call: Box<AgentCall>,
        /// Why.
        error: ToolError,
    },
    /// A call that the runtime executed has its outcome.
    FinishTool {
        /// The turn that it belongs to.
        turn: TurnId,
        /// The call.
        tool: ToolId,
        /// The outcome.
        result: ToolResult,
        /// What went wrong.
        error: Option<ToolError>,
    },
    /// A call has waited long enough for its approval.
    HoldExpired {
        approval: ApprovalId,
    },
    /// Answer an approval.
    Resolve(Box<Resolve>),
    /// End every turn, because the server shuts down.
    ShutDown,
    /// Nothing of the run is in flight any more.
    Recover(Box<Recover>),
    /// A file was written.
    RecordArtifact {
        /// The node that it belongs to; the runtime for those of the run.
        node: NodeId,
        /// The turn that it belongs to.
        turn: Option<TurnId>,
        file: Box<WrittenFile>,
    },
}
