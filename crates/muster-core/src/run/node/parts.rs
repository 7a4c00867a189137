//! The parts of a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::{
    BlockCode, CommandRight, ConnectionStatus, Containment, NodeTodoStatus, OriginKind,
    PermissionsMode, WaitMode,
};
use crate::run::{
    id::{ApprovalId, NodeId, TurnId},
    moment::Moment,
    record::{GlobalMode, Phase},
    turn::{PromptKind, Trigger, TurnReason, TurnState, TurnStatus},
};

/// The purpose of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// It may change the graph.
    pub spawn_nodes: bool,
    /// It may write code.
    pub write_code: bool,
    /// It may write documentation.
    pub write_docs: bool,
    /// It may run commands.
    pub run_commands: bool,
    /// It only passes work on.
    pub delegate_only: bool,
}

/// What a node must ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Whether its provider asks before it acts.
    pub cli_permissions_mode: PermissionsMode,
    /// Whether a person approves each spawn.
    pub spawn_requires_approval: bool,
}

/// What a node may do now (RUNS-MODE-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rights {
    /// It may write code.
    pub write_code: bool,
    /// It may write documentation.
    pub write_docs: bool,
    /// Commands that it may run.
    pub run_commands: CommandRight,
}

impl Rights {
    /// The rights that capabilities have in a mode and phase.
    pub fn of(capabilities: &Capabilities, mode: GlobalMode, phase: Phase) -> Self {
        let planning = mode == GlobalMode::Planning;
        let docs_phase = phase == Phase::DocsSync;
        let hands = !capabilities.delegate_only;
        Self {
            write_code: capabilities.write_code && hands && !planning && !docs_phase,
            write_docs: capabilities.write_docs && hands,
            run_commands: match capabilities.run_commands {
                false => CommandRight::None,
                true if planning || docs_phase || !hands => CommandRight::ReadOnly,
                true => CommandRight::Full,
            },
        }
    }
}

/// The provider's session of a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSession {
    /// The provider's own id, `pending` until one is known.
    pub session_id: String,
    /// Whether it is resumed when its process has ended.
    pub resume: bool,
    /// Inputs that make the provider forget.
    pub reset_commands: Vec<String>,
}

/// The id of a session that is not known yet.
pub const SESSION_PENDING: &str = "pending";

impl Default for ProviderSession {
    fn default() -> Self {
        Self {
            session_id: SESSION_PENDING.to_owned(),
            resume: true,
            reset_commands: vec!["/new".to_owned(), "/clear".to_owned()],
        }
    }
}

/// Whether a provider is connected, and its last signs of life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connection")]
pub struct ProviderConnection {
    /// Whether it exists.
    pub status: ConnectionStatus,
    /// Whether text is arriving.
    pub streaming: bool,
    /// Last sign of life.
    pub last_heartbeat_at: Option<Moment>,
    /// Last output.
    pub last_output_at: Option<Moment>,
    /// Unknown messages that were skipped since the node was created; absent while
    /// there was none (RUNS-PROV-6).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_messages: u64,
    /// What its program cannot access; absent before the first one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Default for ProviderConnection {
    fn default() -> Self {
        Self {
            status: ConnectionStatus::Idle,
            streaming: false,
            last_heartbeat_at: None,
            last_output_at: None,
            unknown_messages: 0,
            containment: None,
        }
    }
}

/// What a blocked node waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockedReason {
    /// The case.
    pub code: BlockCode,
    /// A sentence for people.
    pub message: String,
    /// Since when.
    pub since: Moment,
    /// The approval, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
}

/// The turn that a node has in flight.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTurn {
    /// Its id.
    pub turn_id: TurnId,
    /// How far it is; `turn.status` events move it.
    pub state: TurnState,
    /// Which attempt at the same inputs it is.
    pub attempt: u32,
    /// Why it began.
    pub trigger: Trigger,
    /// When it began.
    pub started_at: Moment,
    /// Whether its prompt was a full one.
    pub prompt_kind: PromptKind,
    /// The summary that the agent set in it.
    pub summary: Option<String>,
    /// When the summary changed last.
    pub summary_at: Option<Moment>,
}

/// The last turn of a node that ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastTurn {
    /// Its id.
    pub turn_id: TurnId,
    /// How it ended.
    pub status: TurnStatus,
    /// Why.
    pub reason: TurnReason,
    /// When.
    pub ended_at: Moment,
    /// What is known of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A retry that is planned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The attempt that it will be.
    pub attempt: u32,
    /// Allowed retries.
    pub max: u32,
    /// When it is due.
    pub at: Moment,
    /// What failed.
    pub reason: TurnReason,
}

/// Nodes that a node waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    /// Who.
    pub node_ids: Vec<NodeId>,
    /// How many of them.
    pub mode: WaitMode,
    /// In the waiting agent's words.
    pub note: Option<String>,
    /// Since when.
    pub since: Moment,
    /// Those that have sent something or failed.
    pub heard: Vec<NodeId>,
}

impl WaitingFor {
    /// Whether handoffs may wake the node (RUNS-SCH-1).
    pub fn is_met(&self) -> bool {
        match self.mode {
            WaitMode::All => self.node_ids.iter().all(|id| self.heard.contains(id)),
            WaitMode::Any => self.node_ids.iter().any(|id| self.heard.contains(id)),
        }
    }
}

/// How often a node's results repeated (RUNS-LOOP).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repetition {
    /// Hash of the last text.
    pub output_hash: Option<String>,
    /// Hash of the last change.
    pub diff_hash: Option<String>,
    /// Equal outputs in a row.
    pub output_count: u32,
    /// Equal changes in a row.
    pub diff_count: u32,
    /// Turns up to this number no longer count.
    pub since_turn: u64,
    /// The node that it hands tasks back and forth with, for the brake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_back: Option<HandedBack>,
}

/// An exchange of tasks between two nodes without any other node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandedBack {
    /// The other node.
    pub node_id: NodeId,
    /// Turns of both nodes in the exchange so far.
    pub turns: u32,
}

/// Who created a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Origin")]
pub struct NodeOrigin {
    /// The kind.
    pub kind: OriginKind,
    /// The spawning node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The approval of the spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
}

/// An entry of a node's todo list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTodo {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: NodeTodoStatus,
    /// The same as an activity.
    pub active_form: String,
}

/// What waits in a node's inbox, by what it can wake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueueCounts {
    /// Order of the next input that goes to the front.
    pub front: u64,
    /// Order of the next input that goes to the back.
    pub back: u64,
    /// Messages of people.
    pub user: u32,
    /// Of those, the ones that interrupted.
    pub interrupts: u32,
    /// Tool results and verification reports, which wake an orchestrator in any mode.
    pub waking: u32,
    /// Handoffs and notes.
    pub other: u32,
    /// Since when the oldest of them waits.
    pub since: Option<Moment>,
}

/// First order of a queue, with room in front.
const QUEUE_MIDDLE: u64 = 1 << 32;

impl Default for QueueCounts {
    fn default() -> Self {
        let front = QUEUE_MIDDLE - 1;
        let back = QUEUE_MIDDLE;
        Self { front, back, user: 0, interrupts: 0, waking: 0, other: 0, since: None }
    }
}

impl QueueCounts {
    /// How many inputs wait.
    pub fn len(&self) -> u32 {
        self.user + self.waking + self.other
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A question that an agent asked a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Question")]
pub struct NodeQuestion {
    /// The question.
    pub text: String,
    /// Answers to choose from.
    pub options: Vec<String>,
    /// When it was asked.
    pub asked_at: Moment,
}

/// Leave to make one certain call once (RUNS-APP-5).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The approval that it came from.
    pub approval_id: ApprovalId,
    /// Name of the tool.
    pub name: String,
    /// Its exact arguments.
    pub args: Map<String, Value>,
}

/// A provider's process, told apart from a later one with the same number by its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// The operating system's number.
    pub pid: u32,
    /// When it started, as the operating system says.
    pub started: u64,
}
