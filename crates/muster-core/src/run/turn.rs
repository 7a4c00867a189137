//! A turn: one attempt of a node to answer its inputs, from the prompt to the diff.

pub(crate) mod closing;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod evolve;
pub(crate) mod failure;
pub(crate) mod rules;
mod words;

pub use words::{Executor, PromptKind, Trigger, TurnReason, TurnState, TurnStatus};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    id::{ApprovalId, ArtifactId, ItemId, NodeId, RunId, ToolId, TurnId},
    inbox::ItemKind,
    moment::Moment,
    node::{Provider, Rights},
    settings::Usage,
};

/// Whether a failed turn is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryPolicy {
    Never,
    /// As soon as it can be.
    AtOnce,
    /// With growing pauses, up to the limit of the run's settings.
    Growing,
    /// When the provider allows it, or with long pauses.
    RateLimit,
    /// Once, after the context was reset.
    OnceAfterReset,
}

impl TurnReason {
    /// How a turn that ends for this reason has ended (6.3 of the rules).
    pub fn status(self) -> TurnStatus {
        match self {
            Self::Done => TurnStatus::Completed,
            Self::UserInterrupt
            | Self::RunPaused
            | Self::ServerRestart
            | Self::ServerShutdown
            | Self::NodeStopped
            | Self::NodeReset
            | Self::NodeDeleted
            | Self::RunDeleted
            | Self::RunCompleted => TurnStatus::Interrupted,
            Self::SpawnFailed
            | Self::HandshakeFailed
            | Self::Exited
            | Self::Silent
            | Self::TurnTimeout
            | Self::ProtocolError
            | Self::ProviderError
            | Self::RateLimited
            | Self::AuthRequired
            | Self::ContextOverflow
            | Self::TemplateMissing
            | Self::PromptTooLarge
            | Self::WorktreeFailed
            | Self::BudgetExceeded
            | Self::StoreFailed => TurnStatus::Failed,
        }
    }

    /// Whether it is retried automatically (6.3 of the rules).
    pub fn retry(self) -> RetryPolicy {
        match self {
            Self::HandshakeFailed
            | Self::Exited
            | Self::Silent
            | Self::ProtocolError
            | Self::ProviderError => RetryPolicy::Growing,
            Self::StoreFailed => RetryPolicy::AtOnce,
            Self::RateLimited => RetryPolicy::RateLimit,
            Self::ContextOverflow => RetryPolicy::OnceAfterReset,
            Self::Done
            | Self::UserInterrupt
            | Self::RunPaused
            | Self::ServerRestart
            | Self::ServerShutdown
            | Self::NodeStopped
            | Self::NodeReset
            | Self::NodeDeleted
            | Self::RunDeleted
            | Self::RunCompleted
            | Self::SpawnFailed
            | Self::TurnTimeout
            | Self::AuthRequired
            | Self::TemplateMissing
            | Self::PromptTooLarge
            | Self::WorktreeFailed
            | Self::BudgetExceeded => RetryPolicy::Never,
        }
    }

    /// Whether the turn continues when the run is resumed (RUNS-REC-3).
    pub fn resumes(self) -> bool {
        matches!(self, Self::RunPaused | Self::ServerRestart | Self::ServerShutdown)
    }
}

/// An input that a turn has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Consumed {
    /// What it is.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// Whether an earlier turn had it already.
    pub redelivered: bool,
}

/// Hashes of the parts of a prompt, so that the next one can leave out what is known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptParts {
    /// The system and role blocks.
    pub identity: String,
    /// The mode block.
    pub mode: String,
    /// The override block, empty without one.
    pub override_text: String,
    /// The run's name.
    pub run: String,
    /// Goal and definition of done.
    pub goal: String,
    /// The node itself.
    pub own: String,
    /// The bound task and its capsule.
    pub task: String,
}

/// Files that a turn produced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnArtifacts {
    /// `prompt.full.txt`.
    pub prompt_full: Option<ArtifactId>,
    /// `prompt.blocks.json`.
    pub prompt_blocks: Option<ArtifactId>,
    /// `diff.patch`.
    pub diff: Option<ArtifactId>,
    /// `transcript.md`.
    pub transcript: Option<ArtifactId>,
    /// `provider.log`.
    pub log: Option<ArtifactId>,
}

impl Executor {
    /// The default, which events omit.
    fn provider() -> Self {
        Self::Provider
    }

    /// Whether the provider executes it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_provider(&self) -> bool {
        *self == Self::Provider
    }
}

/// A tool call as events show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its id.
    pub id: ToolId,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The provider's own id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Who executes it.
    #[serde(default = "Executor::provider", skip_serializing_if = "Executor::is_provider")]
    pub executor: Executor,
}

/// A tool call that is not completed yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenTool {
    /// The call.
    pub tool: Tool,
    /// Whether execution has begun.
    pub started: bool,
    /// The approval that it waits for.
    pub approval_id: Option<ApprovalId>,
}

/// A turn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Turn")]
pub struct NodeTurn {
    /// Its id.
    pub id: TurnId,
    /// Its run.
    pub run_id: RunId,
    /// Its node.
    pub node_id: NodeId,
    /// Which turn of the run it is, counted from one.
    pub number: u64,
    /// Which attempt at the same inputs it is.
    pub attempt: u32,
    /// The turn that it tries again.
    pub retry_of: Option<TurnId>,
    /// Why it began.
    pub trigger: Trigger,
    /// How far it is.
    pub state: TurnState,
    /// When it began.
    pub started_at: Moment,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// Whether its prompt was a full one.
    pub prompt_kind: PromptKind,
    /// Hash of the effective prompt.
    pub prompt_hash: String,
    /// Hash of what was sent.
    pub sent_hash: String,
    /// The prompt, part by part.
    pub prompt_parts: PromptParts,
    /// Whether the provider has the prompt.
    pub sent: bool,
    /// Inputs that it has taken.
    pub consumed: Vec<Consumed>,
    /// How it ended.
    pub status: Option<TurnStatus>,
    /// Why it ended, or is about to.
    pub reason: Option<TurnReason>,
    /// What is known of a failure.
    pub detail: Option<String>,
    /// Family of program.
    pub provider: Provider,
    /// The provider's session.
    pub session_id: String,
    /// Rights that the turn has.
    pub effective: Rights,
    /// Tree before the turn.
    pub tree: Option<String>,
    /// What it has used.
    pub usage: Usage,
    /// Hash of its final text.
    pub output_hash: Option<String>,
    /// Hash of what it changed.
    pub diff_hash: Option<String>,
    /// First line of its final text.
    pub summary: Option<String>,
    /// Files that it produced.
    pub artifacts: TurnArtifacts,
    /// Reports that it made.
    pub reports: Vec<ArtifactId>,
    /// Nodes that it sent handoffs to.
    pub sent_to: Vec<NodeId>,
    /// Handoffs that it sent.
    pub handoffs: u32,
    /// Tool calls that are open.
    pub tools: Vec<OpenTool>,
    /// Position in the log where it began.
    pub seq: u64,
}

impl NodeTurn {
    /// Whether it has not ended.
    pub fn is_live(&self) -> bool {
        self.state != TurnState::Ended
    }

    /// The open call that this id names.
    pub fn tool(&self, id: ToolId) -> Option<&OpenTool> {
        self.tools.iter().find(|open| open.tool.id == id)
    }

    /// The open call that the provider calls by this id.
    pub fn tool_of_provider(&self, provider_id: &str) -> Option<&OpenTool> {
        self.tools.iter().find(|open| open.tool.provider_id.as_deref() == Some(provider_id))
    }
}
