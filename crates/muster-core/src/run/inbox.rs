//! The inbox of a node: messages, handoffs, tool results and notes, in one order.

pub(crate) mod evolve;
pub(crate) mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    artifact::ArtifactLink,
    edge::Direction,
    id::{EdgeId, ItemId, NodeId, RunId, ToolId, TurnId},
    moment::Moment,
    shape::words,
};

words! {
    /// What a queued input is.
    ItemKind {
        /// A person's message.
        Message = "message",
        /// A handoff.
        Handoff = "handoff",
        /// The outcome of a tool.
        ToolResult = "toolResult",
        /// A note of the runtime.
        System = "system",
    }
    /// The state of a queued input.
    ItemState {
        /// It waits.
        Queued = "queued",
        /// A turn has taken it.
        Consumed = "consumed",
        /// A person removed it.
        Cancelled = "cancelled",
        /// Its node was deleted.
        Dropped = "dropped",
        /// The turns that took it failed, and it is not delivered again automatically.
        Failed = "failed",
    }
    /// Who speaks in a message.
    Role {
        /// A person.
        User = "user",
        /// An agent.
        Assistant = "assistant",
        /// The runtime.
        System = "system",
    }
    /// Marks an envelope as what it is.
    EnvelopeKind {
        /// A handoff.
        Handoff = "handoff",
    }
}

/// A message to a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Message")]
pub struct NodeMessage {
    /// Its id.
    pub id: ItemId,
    /// Its run.
    pub run_id: RunId,
    /// Its receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Who speaks.
    pub role: Role,
    /// The message.
    pub content: String,
    /// Whether it interrupted.
    pub interrupt: bool,
    /// When it was accepted.
    pub created_at: Moment,
}

/// The sender's report about its work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandoffStatus {
    /// Whether it succeeded.
    pub ok: bool,
    /// Why, or why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a handoff carries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Payload {
    /// In words.
    pub message: String,
    /// In fields of the sender's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Map<String, Value>>,
    /// Files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<ArtifactLink>>,
    /// How it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<HandoffStatus>,
}

/// The cause of a handoff.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvelopeMeta {
    /// What it is to its receiver.
    pub direction: Direction,
    /// Whether the end of a turn sent it.
    pub auto: bool,
    /// The edge that permitted it; none for handoffs of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_id: Option<EdgeId>,
    /// The turn that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The handoff that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ItemId>,
    /// Whether it is a report of VERIFY, which wakes an orchestrator in any mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

/// A handoff.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Envelope")]
pub struct HandoffEnvelope {
    /// What it is.
    pub kind: EnvelopeKind,
    /// Its id.
    pub id: ItemId,
    /// Its sender; the runtime for its own.
    pub from_node_id: NodeId,
    /// Its receiver.
    pub to_node_id: NodeId,
    /// When it was sent.
    pub created_at: Moment,
    /// What it carries.
    pub payload: Payload,
    /// The context pack that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_ref: Option<String>,
    /// Its cause.
    pub meta: EnvelopeMeta,
}

/// What a queued input holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Content")]
pub enum InboxContent {
    /// A message, a note, or the outcome of a tool.
    Message(NodeMessage),
    /// A handoff.
    Envelope(Box<HandoffEnvelope>),
}

/// A queued input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxItem {
    /// Its id: that of its message or envelope.
    pub id: ItemId,
    /// Its node.
    pub node_id: NodeId,
    /// What it is.
    pub kind: ItemKind,
    /// Place in the queue.
    pub order: u64,
    /// Whether it interrupted.
    pub interrupt: bool,
    /// Its state.
    pub state: ItemState,
    /// When it was queued.
    pub enqueued_at: Moment,
    /// The turn that took it.
    pub consumed_turn_id: Option<TurnId>,
    /// The tool whose outcome it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// What it holds.
    pub content: InboxContent,
}

impl InboxItem {
    /// Whether it wakes an orchestrator in any mode, besides messages of people (RUNS-AUTO-4).
    pub fn is_waking(&self) -> bool {
        match &self.content {
            InboxContent::Envelope(envelope) => envelope.meta.verify,
            InboxContent::Message(_) => self.kind == ItemKind::ToolResult,
        }
    }

    /// The handoff that it holds.
    pub fn envelope(&self) -> Option<&HandoffEnvelope> {
        match &self.content {
            InboxContent::Envelope(envelope) => Some(envelope),
            InboxContent::Message(_) => None,
        }
    }
}
