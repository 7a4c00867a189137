//! The documents of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    receipt::{SessionAnswer, TodoSource},
    watched::{ReportPlace, WatchedAgent},
};
use crate::{
    Timestamp,
    ctree::{Digest, Runner, TreeNode},
    todo::{Op, TodoItem},
};

/// What is left of a session, or the session itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// It lives.
    Open(Box<Session>),
    /// It was deleted; only this is left.
    Ended {
        at: Timestamp,
        /// The response to its creation, for a repetition under the same key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        creation: Option<SessionAnswer>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Session {
    pub status: SessionStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last event was accepted.
    pub last_activity_at: Timestamp,
    /// Number of its last event.
    pub last_seq: u64,
    pub title: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// The mode in use.
    pub mode: Option<String>,
    pub permission_mode: Option<String>,
    /// Its folder.
    pub workspace: Option<String>,
    /// The named token that made it; `None` for callers of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// What its maker attached.
    pub metadata: Option<Map<String, Value>>,
    /// The summary of the newest `completion`.
    pub completion_summary: Option<Value>,
    pub turns: Turns,
    /// Inputs that wait, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<WaitingInput>,
    /// What drives it; without a driver, turns that an input starts end immediately.
    pub driver: Option<SessionDriver>,
    /// Todo scopes besides `main`.
    pub scopes: u64,
    /// Its own todo list in numbers.
    pub todos: Tally,
    /// Its tree in numbers.
    pub tree: TreeSums,
    /// The response to its creation, if it is kept beyond the session's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<SessionAnswer>,
    /// The outside host that drives it, until it releases the session or its lease expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The agent whose hooks report the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<WatchedAgent>>,
    /// The newest report of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportPlace>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SessionStatus {
    /// Not ready yet.
    Starting,
    /// Waits for input.
    Idle,
    /// A turn is running.
    Running,
    /// The agent has finished.
    Completed,
    /// The last turn, or the run, failed.
    Failed,
    Stopped,
}

impl SessionStatus {
    pub const ALL: [Self; 6] =
        [Self::Starting, Self::Idle, Self::Running, Self::Completed, Self::Failed, Self::Stopped];

    /// The status that a word means.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// The turns of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turns {
    /// Number of the newest one; 0 before the first.
    pub newest: u64,
    /// How many ids were assigned, including turns that never began.
    pub named: u64,
    pub running: Option<SessionTurn>,
    /// The status of the session when the running turn has ended, if it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SessionStatus>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionTurn {
    pub id: String,
    pub number: u64,
}

/// An input that waits for its turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitingInput {
    /// Number of its event.
    pub seq: u64,
    /// The turn that will take it.
    pub turn_id: String,
}

/// Phase and status of what drives a session, in its own words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionDriver {
    /// What it is busy with.
    pub phase: String,
    pub status: String,
}

/// An outside host's claim on a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lease {
    pub host: String,
    /// When the claim ends unless the host renews it.
    pub expires_at: Timestamp,
}

impl Lease {
    /// Whether it still counts.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// What takes the inputs of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputTaker {
    /// A run: its turns begin as soon as there is input.
    Run,
    /// An outside host, which begins turns itself.
    Host,
    /// None: turns end immediately.
    Nobody,
}

/// The node of a run that a session belongs to, from its metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeOwner {
    pub run_id: String,
    pub node_id: String,
}

impl NodeOwner {
    /// As metadata of the session.
    pub fn metadata(&self) -> Map<String, Value> {
        let entry = |name: &str, id: &str| (name.to_owned(), Value::String(id.to_owned()));
        Map::from_iter([entry("run_id", &self.run_id), entry("node_id", &self.node_id)])
    }
}

/// A todo list in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Items that are done.
    pub done: usize,
    /// All items.
    pub total: usize,
}

/// Totals of a tree, so that its text can be compiled without reading all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TreeSums {
    /// Characters of all lines, without the line feeds between them.
    pub chars: u64,
    /// Which classes of nodes have occurred, a bit each.
    pub classes: u16,
    /// Budget of the session's own text, in characters.
    pub max_chars: u64,
    /// The hashes of the tree's text, until the tree changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextHashes>,
}

/// The hashes of a compiled text, so that a summary need not compile it again (CC-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TextHashes {
    /// Hash of the remaining tree.
    pub z2: Digest,
    /// Hash of the text.
    pub z3: Digest,
    /// Nodes that were left out.
    pub dropped: u64,
}

impl Session {
    /// What drives the session, as in its tree's summary (CC-6).
    pub fn runner(&self) -> Runner {
        match &self.driver {
            Some(SessionDriver { phase, status }) => {
                Runner { phase: phase.clone(), status: status.clone() }
            }
            None => Runner { phase: "chat".to_owned(), status: self.status.word().to_owned() },
        }
    }

    pub fn input_taker(&self, now: Timestamp) -> InputTaker {
        match &self.lease {
            _ if self.driver.is_some() => InputTaker::Run,
            Some(lease) if lease.is_alive(now) => InputTaker::Host,
            Some(_) | None => InputTaker::Nobody,
        }
    }

    /// The node whose session it is. Any client can write metadata, but only a run is a driver.
    pub fn owner(&self) -> Option<NodeOwner> {
        self.driver.as_ref()?;
        let metadata = self.metadata.as_ref()?;
        let id = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(NodeOwner { run_id: id("run_id")?, node_id: id("node_id")? })
    }

    pub fn next_turn_id(&self) -> String {
        format!("t-{}", self.turns.named + 1)
    }
}

/// The text of an input that waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputText {
    pub text: String,
}

/// A todo list as it was after one revision (TT-11).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The list.
    pub scope: String,
    pub revision: i64,
    /// Number of the event.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
    pub source: TodoSource,
    /// What was done.
    pub op: Op,
    /// The list after it.
    pub items: Vec<TodoItem>,
}

/// A node of the tree, with its text if that is short.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredNode {
    pub node: TreeNode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A requested approval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Permission {
    /// Number of the request event.
    pub seq: u64,
    /// The answer, once there is one.
    pub decision: Option<String>,
}
