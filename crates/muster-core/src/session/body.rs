//! Types of events, and the bodies that the server itself writes.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Timestamp,
    ctree::{NodeId, Runner, Sections},
    todo::Published,
};

/// The session was created, or one of its fields changed.
pub const SESSION_META: &str = "session.meta";
/// The session was deleted; the last event of its log, which no reader gets.
pub const SESSION_ENDED: &str = "session.ended";
/// An outside host has claimed the session, renewed its claim, or released it.
pub const SESSION_DRIVER: &str = "session.driver";
/// What is known of the agent whose hooks report the session.
pub const SESSION_WATCHED: &str = "session.watched";
/// A turn began.
pub const TURN_START: &str = "turn_start";
pub const TURN_END: &str = "turn_end";
/// An input was accepted.
pub const USER_MESSAGE: &str = "user_message";
/// A finished answer.
pub const ASSISTANT_MESSAGE: &str = "assistant_message";
/// A tool is called.
pub const TOOL_CALL: &str = "tool_call";
/// A tool has returned.
pub const TOOL_RESULT: &str = "tool_result";
/// A task or sub-agent changed.
pub const TASK_EVENT: &str = "task_event";
/// A node of the C-Tree was created.
pub const CTREE_NODE: &str = "ctree_node";
/// The summary of the C-Tree changed in another way.
pub const CTREE_SNAPSHOT: &str = "ctree_snapshot";
/// An approval is wanted.
pub const PERMISSION_REQUEST: &str = "permission_request";
/// An approval was resolved.
pub const PERMISSION_RESPONSE: &str = "permission_response";
/// A running turn was interrupted.
pub const INTERRUPT: &str = "interrupt";
/// A turn ended, or the agent reports that it has finished.
pub const COMPLETION: &str = "completion";
/// The session's run ended.
pub const RUN_FINISHED: &str = "run_finished";

/// Whether only the server writes events of this type (HB-10).
pub fn is_reserved(kind: &str) -> bool {
    kind.starts_with("stream.")
        || kind.starts_with("ctree_")
        || kind.starts_with("session.")
        || kind == RUN_FINISHED
}

/// Body of `session.meta`. The first one of a session contains everything it was created with.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(default)]
pub struct SessionMeta {
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// Recorded, not interpreted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_path: Option<String>,
    /// Recorded, not interpreted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Value>,
    /// What its maker attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// How many steps an agent may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// The named token that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// Body of `session.driver`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HostChange {
    /// The host; null if there is none any more.
    pub host: Option<String>,
    /// When its lease expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<Timestamp>,
    /// Why there is none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// Body of `turn_start`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TurnStart {
    /// Its number.
    pub turn: u64,
    /// The session's mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Body of `turn_end`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TurnEnd {
    /// Its number.
    pub turn: u64,
    /// How it ended.
    pub status: &'static str,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// Body of the `completion` that goes with the end of a turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TurnCompletion {
    /// The turn's number.
    pub turn: u64,
    /// How the turn went.
    pub summary: TurnSummary,
}

/// How a turn went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TurnSummary {
    /// Whether it ended on its own.
    pub completed: bool,
    /// Why it ended; the status if no reason was given.
    pub reason: String,
    /// The status of its `turn_end`.
    pub status: String,
}

impl TurnCompletion {
    /// The summary of a turn, from the body of its end.
    pub(super) fn of(turn: u64, end: &Map<String, Value>) -> Self {
        let word = |field| end.get(field).and_then(Value::as_str);
        let status = word("status").unwrap_or("completed");
        let reason = word("reason").unwrap_or(status).to_owned();
        let completed = status == "completed";
        let status = status.to_owned();
        Self { turn, summary: TurnSummary { completed, reason, status } }
    }
}

/// Body of `user_message`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UserMessage {
    pub text: String,
    /// The author, if not the person at the keyboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether it waits for its turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
}

/// Body of `interrupt`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Interrupt {
    pub turn: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Body of the `tool_result` that a written todo list is published with (TS-3).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListWritten {
    /// `todo:<scope>:<revision>`
    pub call_id: String,
    /// `todo_write`
    pub tool: &'static str,
    /// `ok`
    pub status: &'static str,
    /// Never.
    pub error: bool,
    /// Always.
    pub success: bool,
    /// In a word.
    pub message: String,
    /// The update.
    pub todo: Published,
}

impl ListWritten {
    /// The result that publishes a list.
    pub fn of(todo: Published, items: usize) -> Self {
        let plural = if items == 1 { "" } else { "s" };
        let message = format!("{items} item{plural}");
        let tool = "todo_write";
        let status = "ok";
        Self { call_id: todo.call_id(), tool, status, error: false, success: true, message, todo }
    }
}

/// Body of `permission_response`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PermissionResponse {
    pub request_id: String,
    /// The answer.
    pub decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A rule that goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Value>,
    /// How far it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Body of `task_event` for a task of Muster itself; ids of the tree are added when it is recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TaskEventBody {
    /// What happened, for example `task.updated`.
    pub kind: String,
    pub task_id: String,
    /// One of `pending`, `running`, `completed`, `failed`, `canceled`.
    pub status: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Body of `ctree_snapshot`: sections for readers, and the event's effects on the tree or the
/// session, which readers ignore.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TreeSnapshotBody {
    /// The sections that changed.
    #[serde(flatten)]
    pub sections: Sections,
    /// A node was pinned or unpinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// What drives the session from now on; null if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Option<Runner>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pin {
    pub node_id: NodeId,
    /// Whether it holds.
    pub pinned: bool,
}
