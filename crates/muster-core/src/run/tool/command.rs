//! Requests of agents, as the tools that they call. The comment of a tool is what a model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    run::{
        artifact::WrittenFile,
        command::{CapabilityPatch, PermissionPatch},
        edge::EdgeType,
        id::{EdgeId, ItemId, ToolId, TurnId},
        inbox::HandoffStatus,
        node::{Provider, WaitMode},
        record::{DoneClaim, GlobalMode},
        shape::words,
        tool::arguments::tools,
    },
    tasks::id::TaskId,
};

/// A call of an agent, made in its turn.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentCall {
    /// The turn; its node is the caller, whatever the arguments say (RUNS-TOOL-1).
    pub turn: TurnId,
    /// The call's own id, if the caller has to know it beforehand.
    pub tool: Option<ToolId>,
    /// The provider's id of the call.
    pub provider_id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Files that were written for it.
    pub files: CallFiles,
    /// Whether the task that the run is bound to is done, where that matters.
    pub task_done: Option<bool>,
}

/// Files that were written for a call before it is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallFiles {
    /// The context pack of a handoff.
    pub pack: Option<WrittenFile>,
    /// A message that is too long for a handoff, whole.
    pub overflow: Option<WrittenFile>,
    /// `report.json`.
    pub report: Option<WrittenFile>,
}

tools! {
    /// A tool that changes a run, with its arguments.
    ToolRequest;
    /// Create a node.
    SpawnNode(Box<SpawnNode>) = "spawn_node",
    /// Connect two nodes.
    CreateEdge(ConnectNodes) = "create_edge",
    /// Remove an edge.
    DeleteEdge(DisconnectNodes) = "delete_edge",
    /// Send a handoff.
    SendHandoff(Box<SendHandoff>) = "send_handoff",
    /// Report a result.
    Report(Box<MakeReport>) = "report",
    /// Wait for other nodes.
    WaitFor(WaitFor) = "wait_for",
    /// Ask a person.
    AskUser(AskUser) = "ask_user",
    /// Declare the run done.
    CompleteRun(CompleteRun) = "complete_run",
    /// Say that the run goes in circles.
    ReportStall(Because) = "report_stall",
    /// Set the short live status.
    SetSummary(SetSummary) = "set_summary",
    /// Ask for another mode.
    RequestMode(RequestMode) = "request_mode",
    /// Ask for a fresh context.
    RequestReset(Because) = "request_reset",
}

/// Tools that a gated node must ask for (RUNS-TOOL-8).
pub const GATED_TOOLS: [&str; 3] = ["command", "write_file", "delete_file"];
/// Tools of the task store that delete or revert work: a gated node must ask for them, too. A batch
/// only where it holds one of them, which is for its caller to find out.
pub const GATED_TASK_TOOLS: [&str; 5] =
    ["tasks_batch", "tasks_delete", "tasks_redo", "tasks_task_delete", "tasks_undo"];
/// The tool that declares the run done.
pub const COMPLETE_RUN: &str = "complete_run";
/// Codes with which it is refused because something is open (RUNS-DONE-2).
pub const OPEN_CODES: [&str; 2] = ["OPEN_WORK", "TASK_NOT_DONE"];

words! {
    /// Which edge a spawned node gets.
    SpawnEdge {
        /// One from its parent, for tasks.
        Task = "task",
        /// None.
        None = "none",
    }
}

/// A node of the same run: its id or alias.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeRef(pub String);

/// An artifact of the same run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ArtifactInput {
    /// `artifact://ID`.
    Reference(String),
    /// With a word on what it is.
    Link {
        /// What it is.
        #[serde(rename = "type", default)]
        kind: Option<String>,
        /// `artifact://ID`.
        #[serde(rename = "ref")]
        reference: String,
    },
}

/// Create a node. It gets an edge from you and, with instructions or input, a first task. It has no
/// right that you lack. A person may have to approve it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpawnNode {
    /// Its name for people.
    pub label: String,
    /// Its role: orchestrator, planner, implementer, reviewer, investigator, or a template.
    pub role: String,
    /// What it shall do.
    #[serde(default)]
    pub instructions: Option<String>,
    /// What it needs for that, in fields.
    #[serde(default)]
    pub input: Option<Map<String, Value>>,
    /// Artifacts that it needs.
    #[serde(default)]
    pub artifacts: Vec<ArtifactInput>,
    /// Family of program; yours by default.
    #[serde(default)]
    pub provider: Option<Provider>,
    /// Named command of the server's configuration; yours by default.
    #[serde(default)]
    pub profile: Option<String>,
    /// Model; yours by default.
    #[serde(default)]
    pub model: Option<String>,
    /// Its name for agents.
    #[serde(default)]
    pub alias: Option<String>,
    /// Its purpose.
    #[serde(default)]
    pub capabilities: CapabilityPatch,
    /// What it must ask for.
    #[serde(default)]
    pub permissions: PermissionPatch,
    /// Its task in the task store.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// Whether it gets a context pack.
    #[serde(default = "yes")]
    pub context: bool,
    /// Whether it is connected with you.
    #[serde(default = "SpawnEdge::task")]
    pub edge: SpawnEdge,
}

impl SpawnEdge {
    fn task() -> Self {
        Self::Task
    }
}

fn yes() -> bool {
    true
}

/// Connect two nodes, so that one can send to the other. A person may have to approve it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectNodes {
    /// Where it leads.
    pub to: NodeRef,
    /// Where it begins; you by default.
    #[serde(default)]
    pub from: Option<NodeRef>,
    /// What it carries by default.
    #[serde(rename = "type", default)]
    pub kind: Option<EdgeType>,
    /// Its name.
    #[serde(default)]
    pub label: Option<String>,
    /// Whether it may be used in both directions.
    #[serde(default)]
    pub bidirectional: Option<bool>,
}

/// Remove an edge. A person may have to approve it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisconnectNodes {
    /// The edge.
    pub edge: EdgeId,
}

/// Send a handoff to a node that you are connected with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendHandoff {
    /// Its receiver.
    pub to: NodeRef,
    /// In words.
    pub message: String,
    /// In fields.
    #[serde(default)]
    pub structured: Option<Map<String, Value>>,
    /// Artifacts that belong to it.
    #[serde(default)]
    pub artifacts: Vec<ArtifactInput>,
    /// How it went.
    #[serde(default)]
    pub status: Option<HandoffStatus>,
    /// Whether a context pack goes with it; tasks have one by default, reports have none.
    #[serde(default)]
    pub context: Option<bool>,
    /// The handoff that it answers.
    #[serde(default)]
    pub reply_to: Option<ItemId>,
}

/// Report a result: it is kept as an artifact and sent to your orchestrators.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakeReport {
    /// In words.
    pub message: String,
    /// How it went.
    #[serde(default)]
    pub status: Option<HandoffStatus>,
    /// In fields.
    #[serde(default)]
    pub structured: Option<Map<String, Value>>,
    /// Artifacts that belong to it.
    #[serde(default)]
    pub artifacts: Vec<ArtifactInput>,
    /// One receiver instead of your orchestrators.
    #[serde(default)]
    pub to: Option<NodeRef>,
}

/// Sleep after this turn until the named nodes have sent something or failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitFor {
    /// The nodes.
    pub nodes: Vec<NodeRef>,
    /// Whether each of them, or one, has to.
    #[serde(default)]
    pub mode: Option<WaitMode>,
    /// What you wait for.
    #[serde(default)]
    pub note: Option<String>,
}

/// Ask the user something. You rest after this turn until the answer comes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUser {
    /// The question.
    pub question: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Declare the run done. It is refused while others work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteRun {
    /// What was reached.
    pub summary: String,
    /// How it went.
    #[serde(default)]
    pub status: Option<HandoffStatus>,
    /// Artifacts that show it.
    #[serde(default)]
    pub artifacts: Vec<ArtifactInput>,
    /// For each line of the definition of done, whether it is met and what shows that.
    #[serde(default, rename = "doneWhen")]
    pub claims: Vec<DoneClaim>,
}

/// A reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Because {
    /// Why.
    pub reason: String,
}

/// Say in a few words what you are doing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSummary {
    /// Three to six words.
    pub summary: String,
}

/// Ask the user to switch between PLANNING and IMPLEMENTATION.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMode {
    /// The mode.
    pub global_mode: GlobalMode,
    /// Why.
    pub reason: String,
}
