//! What happened in a run. An event is stored as it is sent: the envelope's `id`, `runId`, `seq`
//! and `ts` follow from its place in the log, everything else is the stored text (RUNS-EV-1).
//!
//! Only the table below maps a fact to its name on the wire. State changes travel as patches of
//! whole fields, so that the server and a client that replay the log get the same state in the same
//! way (RUNS-EV-4).

mod facts;

pub use crate::run::{
    event::facts::{
        ApprovalRequested, ArtifactCreated, BudgetReached, EdgeCreated, FinalStatus, HandoffSent,
        InboxChanged, ItemFate, LogSource, MessageQueued, ModeChanged, NodeConfigured, NodeLogged,
        NodePatched, NodeProgressed, NodeReset, PhaseChanged, ResetMethod, RunChange, RunPatched,
        RunStalled, Scope, SettingChange, TextFinished, TokenUsage, UsageReported, ViolationFound,
        ViolationRule,
    },
    tool::event::{ToolCompleted, ToolError, ToolResult},
    turn::event::{TurnEnded, TurnEnding, TurnMoved, TurnStarted, TurnStep},
};

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

use crate::run::{
    approval::Resolution,
    edge::Actor,
    id::{ApprovalId, EdgeId, NodeId, TurnId},
    turn::Tool,
};

/// A fact about a run, with what it is about.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Event")]
pub struct RunEvent {
    /// The node that it is about; of a handoff, the receiver (RUNS-EV-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Who caused it, unless it was the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The fact.
    #[serde(flatten)]
    pub fact: RunFact,
}

/// What says how to read the rest of an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventHead<'a> {
    #[serde(rename = "type", borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    node_id: Option<NodeId>,
    #[serde(default)]
    turn_id: Option<TurnId>,
    #[serde(default)]
    by: Option<Actor>,
}

impl RunEvent {
    /// Reads the text twice, for the type and then for the fact of that type. A derived reader
    /// would have to copy every value of the event into memory before it knows the type, and would
    /// compile every type inside an event a second time, for reading it from that copy.
    pub fn read(text: &str) -> serde_json::Result<Self> {
        let EventHead { name, node_id, turn_id, by } = serde_json::from_str(text)?;
        Ok(Self { node_id, turn_id, by, fact: RunFact::read(&name, text)? })
    }
}

impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(text.get()).map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventSource {
    /// The contract names it.
    Contract,
    /// Added here; consumers may pass it over.
    Addition,
}

/// Defines the facts, their names on the wire and their source.
macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident($payload:ty) = $name:literal, $source:ident;)*) => {
        /// A fact, in the past tense.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "type")]
        pub enum RunFact {
            $($(#[$doc])* #[serde(rename = $name)] $variant($payload),)*
        }

        impl RunFact {
            /// Name on the wire.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            fn read(name: &str, event: &str) -> serde_json::Result<Self> {
                match name {
                    $($name => serde_json::from_str(event).map(Self::$variant),)*
                    _ => Err(serde_json::Error::custom(format!("unknown type of event {name:?}"))),
                }
            }
        }

        /// Every type of event.
        pub const TYPES: &[(&str, EventSource)] = &[$(($name, EventSource::$source),)*];
    };
}

facts! {
    /// Fields of the run changed, or the run or a node was created.
    RunPatched(RunPatched) = "run.patch", Contract;
    /// The phase changed.
    PhaseChanged(PhaseChanged) = "run.phase", Contract;
    /// A mode changed.
    ModeChanged(ModeChanged) = "run.mode", Contract;
    /// The run goes in circles.
    RunStalled(RunStalled) = "run.stalled", Contract;
    /// The run was deleted; nothing follows.
    RunDeleted(RunDeleted) = "run.deleted", Addition;
    /// A limit is nearly or fully used up.
    BudgetReached(BudgetReached) = "run.budget", Addition;
    /// Fields of a node changed, or it was created.
    NodePatched(NodePatched) = "node.patch", Contract;
    /// A node's status or summary changed.
    NodeProgressed(NodeProgressed) = "node.progress", Contract;
    /// Settings of a node changed.
    NodeConfigured(NodeConfigured) = "node.config", Addition;
    /// A node's context was reset.
    NodeReset(NodeReset) = "node.reset", Addition;
    /// A queued input was removed, or put back.
    InboxChanged(InboxChanged) = "node.inbox", Addition;
    /// A node was deleted.
    NodeDeleted(RunNodeDeleted) = "node.deleted", Addition;
    /// A node's program wrote a line outside its protocol.
    NodeLogged(NodeLogged) = "node.log", Addition;
    /// A node changed what it may not change.
    ViolationFound(ViolationFound) = "node.violation", Addition;
    /// A turn has progressed.
    TurnMoved(TurnMoved) = "turn.status", Addition;
    /// An edge was created or changed.
    EdgeCreated(EdgeCreated) = "edge.created", Contract;
    /// An edge was deleted.
    EdgeDeleted(EdgeDeleted) = "edge.deleted", Contract;
    /// A handoff is in its receiver's inbox.
    HandoffSent(HandoffSent) = "handoff.sent", Contract;
    /// A message is in a node's inbox.
    MessageQueued(MessageQueued) = "message.user", Contract;
    /// Text arrived.
    TextStreamed(TextDelta) = "message.assistant.delta", Contract;
    /// The whole text of a turn.
    TextFinished(TextFinished) = "message.assistant.final", Contract;
    /// A thought arrived.
    ThoughtStreamed(TextDelta) = "message.assistant.thinking.delta", Addition;
    /// A whole thought.
    ThoughtFinished(ThoughtFinished) = "message.assistant.thinking.final", Addition;
    /// A tool call is known.
    ToolProposed(ToolCall) = "tool.proposed", Contract;
    /// A tool is being executed.
    ToolStarted(ToolCall) = "tool.started", Contract;
    /// A tool call has ended.
    ToolCompleted(ToolCompleted) = "tool.completed", Contract;
    /// A person has to answer.
    ApprovalRequested(ApprovalRequested) = "approval.requested", Contract;
    /// A person has answered, or no answer is needed any more.
    ApprovalResolved(ApprovalResolved) = "approval.resolved", Contract;
    /// Nothing waits for the answer any more, but it still counts.
    ApprovalDetached(ApprovalDetached) = "approval.detached", Addition;
    /// A file is complete.
    ArtifactCreated(ArtifactCreated) = "artifact.created", Contract;
    /// A provider reported its usage.
    UsageReported(UsageReported) = "telemetry.usage", Addition;
}

/// A piece of text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delta")]
pub struct TextDelta {
    /// The piece.
    pub delta: String,
}

/// A whole thought.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ThoughtFinished {
    /// The thought.
    pub content: String,
}

/// A deleted run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunDeleted {}

/// How many inputs went with a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeDeleted")]
pub struct RunNodeDeleted {
    /// Inputs that will not be read.
    pub dropped: u32,
}

/// A deleted edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeDeleted {
    /// The edge.
    pub edge_id: EdgeId,
}

/// A tool call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The call.
    pub tool: Tool,
}

/// An approval and its answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResolved {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The answer.
    pub resolution: Resolution,
}

/// An approval that nothing waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDetached {
    /// The approval.
    pub approval_id: ApprovalId,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, from_value, json};

    use super::{RunEvent, RunFact, TextDelta};

    const NODE: &str = "00000000-0000-4000-8000-000000000001";

    #[test]
    fn the_type_may_come_last_and_unknown_fields_are_passed_over() {
        let text = format!(r#"{{"delta":"a\"b","later":[1],"nodeId":"{NODE}","type":"#)
            + r#""message.assistant.delta"}"#;
        let event: RunEvent = from_str(&text).unwrap();
        assert_eq!(event.fact, RunFact::TextStreamed(TextDelta { delta: "a\"b".to_owned() }));
        assert!(event.node_id.is_some() && event.turn_id.is_none() && event.by.is_none());
        assert_eq!(from_value::<RunEvent>(from_str(&text).unwrap()).unwrap(), event);
    }

    #[test]
    fn a_change_of_a_run_holds_its_beginning_only_as_a_whole() {
        let patch = |patch| json!({"type": "run.patch", "patch": patch});
        let read = |value| {
            let RunFact::RunPatched(patched) = from_value::<RunEvent>(value).unwrap().fact else {
                panic!("another type was read")
            };
            *patched.patch
        };
        let whole = json!({
            "name": "x", "nodes": {}, "edges": {}, "artifacts": {}, "approvals": {},
            "activeTurns": 0, "artifactCount": 0, "artifactsTruncated": false,
        });
        let whole = read(patch(whole));
        assert!(whole.beginning.is_some() && whole.nodes.is_some());
        assert!(whole.node_configs.is_none() && whole.run.name.is_some());
        let part = read(patch(json!({"activeTurns": 0})));
        assert!(part.beginning.is_none() && part.run.name.is_none());
    }

    #[test]
    fn what_is_not_an_event_is_refused() {
        let refused = |value| from_value::<RunEvent>(value).unwrap_err().to_string();
        assert!(refused(json!({"type": "run.undone"})).contains("unknown type of event"));
        assert!(refused(json!({"delta": "x"})).contains("missing field `type`"));
        let wrong = json!({"type": "message.assistant.delta", "delta": 7});
        assert!(refused(wrong).contains("expected a string"));
        assert!(from_str::<RunEvent>("[]").is_err());
    }
}
