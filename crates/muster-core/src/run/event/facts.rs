//! What the facts of a run hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, value::RawValue};

use crate::run::{
    approval::{Approval, ApprovalKind},
    artifact::Artifact,
    edge::Edge,
    id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, ToolId},
    inbox::{HandoffEnvelope, ItemKind, NodeMessage},
    node::{Node, NodeConfig, NodePatch, NodeStatus, Provider},
    record::{BudgetLevel, GlobalMode, LoopEvidence, Mode, Phase, PhaseReason, Run, RunPatch},
    settings::{Metric, Usage},
    shape::words,
    turn::Tool,
};

/// Fields of a run that changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunPatched {
    /// The fields.
    pub patch: Box<RunChange>,
}

/// A partial run: its own fields, and entries of its maps.
#[derive(Clone, PartialEq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunChange {
    /// Own fields.
    #[serde(flatten)]
    pub run: RunPatch,
    /// Nodes that were created; sent a second time, for consumers of run patches (RUNS-ORD-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<NodeId, Node>>")]
    pub nodes: Option<BTreeMap<NodeId, NodePatch>>,
    /// Settings of nodes that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_configs: Option<BTreeMap<NodeId, NodeConfig>>,
    /// What a run has none of when it is created; later changes are events of their own.
    #[serde(flatten)]
    pub beginning: Option<Beginning>,
}

/// The part of a new run that later events add to (RUNS-EV-4).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Beginning {
    /// Edges, by id.
    pub edges: BTreeMap<EdgeId, Edge>,
    /// Artifacts, by id.
    pub artifacts: BTreeMap<ArtifactId, Artifact>,
    /// Pending approvals, by id.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// Turns in flight.
    pub active_turns: u32,
    /// Existing artifacts.
    pub artifact_count: u64,
    /// Whether `artifacts` holds only the newest.
    pub artifacts_truncated: bool,
}

/// The fields of a change that are not fields of the run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangedEntries {
    #[serde(default)]
    nodes: Option<BTreeMap<NodeId, NodePatch>>,
    #[serde(default)]
    node_configs: Option<BTreeMap<NodeId, NodeConfig>>,
}

/// Reads the text once for each part, like [`RunEvent::read`](crate::run::event::RunEvent::read).
impl<'de> Deserialize<'de> for RunChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let text = text.get();
        let run = serde_json::from_str(text).map_err(D::Error::custom)?;
        let entries = serde_json::from_str(text).map_err(D::Error::custom)?;
        let ChangedEntries { nodes, node_configs } = entries;
        Ok(Self { run, nodes, node_configs, beginning: serde_json::from_str(text).ok() })
    }
}

impl RunChange {
    /// The full patch of a new run.
    pub fn whole(run: &Run) -> Self {
        Self {
            run: RunPatch::whole(run),
            nodes: Some(BTreeMap::new()),
            node_configs: Some(BTreeMap::new()),
            beginning: Some(Beginning::default()),
        }
    }
}

/// A phase and the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhaseChanged {
    /// The phase now.
    pub phase: Phase,
    /// The previous phase; none when the run was created.
    pub previous_phase: Option<Phase>,
    /// Why.
    pub reason: PhaseReason,
}

/// Both modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeChanged {
    /// Who keeps the orchestrator going.
    pub mode: Mode,
    /// Write access of the nodes.
    pub global_mode: GlobalMode,
}

/// What shows a stall.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunStalled {
    /// What shows it.
    pub evidence: LoopEvidence,
}

words! {
    /// Whose limit it is.
    Scope {
        /// The run's.
        Run = "run",
        /// A node's.
        Node = "node",
    }
    /// The state of a queued input.
    ItemFate {
        /// A person removed it.
        Cancelled = "cancelled",
        /// Its node was deleted.
        Dropped = "dropped",
        /// It was put back unsent, or a person sends it again.
        Returned = "returned",
        /// The turns that took it failed, and it is not delivered again automatically.
        Failed = "failed",
    }
    /// How a context was reset.
    ResetMethod {
        /// By an input that the provider understands.
        Command = "command",
        /// By a session of its own.
        NewSession = "newSession",
    }
    /// Where a line of a log comes from.
    LogSource {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
        /// Muster.
        Runtime = "runtime",
    }
    /// Which right was missing.
    ViolationRule {
        /// PLANNING allows documentation only.
        PlanningWrite = "planning_write",
        /// The node has no such capability.
        CapabilityWrite = "capability_write",
        /// The node only passes work on.
        DelegateOnly = "delegate_only",
        /// DOCS_SYNC allows documentation only.
        DocsSyncWrite = "docs_sync_write",
    }
    /// Whether the text is complete.
    FinalStatus {
        /// It is.
        Final = "final",
        /// The turn ended before.
        Interrupted = "interrupted",
    }
}

/// A limit that is nearly or fully used up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReached {
    /// Whose limit it is.
    pub scope: Scope,
    /// What is limited.
    pub metric: Metric,
    /// How much is used.
    pub used: f64,
    /// The limit.
    pub limit: f64,
    /// How far.
    pub level: BudgetLevel,
}

/// Fields of a node that changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodePatched {
    /// The fields.
    pub patch: Box<NodePatch>,
}

/// A node's status and summary.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeProgressed {
    /// What it does now.
    pub status: NodeStatus,
    /// In words.
    pub summary: String,
}

/// Settings that changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeConfigured {
    /// One entry per setting.
    pub changes: Vec<SettingChange>,
}

/// A setting before and after.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettingChange {
    /// Its name, with dots between levels.
    pub path: String,
    /// Before.
    pub from: Value,
    /// After.
    pub to: Value,
}

/// How and why a context was reset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeReset {
    /// How.
    pub method: ResetMethod,
    /// Why.
    pub reason: Option<String>,
}

/// The state of a queued input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxChanged {
    /// The input.
    pub item_id: ItemId,
    /// Its state.
    pub state: ItemFate,
}

/// A line that a program wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeLogged {
    /// Where it comes from.
    pub source: LogSource,
    /// The line.
    pub line: String,
    /// Lines before it that were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

/// What a node changed without the right to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ViolationFound {
    /// Which right was missing.
    pub rule: ViolationRule,
    /// What it changed.
    pub paths: Vec<String>,
}

/// An edge that was created or changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EdgeCreated {
    /// The edge, whole.
    pub edge: Edge,
    /// Whether it existed before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub updated: bool,
}

/// A handoff that was delivered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandoffSent {
    /// The handoff.
    pub envelope: HandoffEnvelope,
    /// Place in the receiver's queue.
    pub order: u64,
}

/// A message that was queued.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageQueued {
    /// The message.
    pub message: NodeMessage,
    /// What it is in the inbox.
    pub kind: ItemKind,
    /// Place in the queue.
    pub order: u64,
    /// The tool whose outcome it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
}

/// The whole text of a turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextFinished {
    /// The text.
    pub content: String,
    /// Whether it is complete.
    pub status: FinalStatus,
}

/// A question to a person.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequested {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The call.
    pub tool: Tool,
    /// Further words of the asker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What is to be approved.
    pub kind: ApprovalKind,
    /// Whether other arguments are possible.
    pub can_modify: bool,
    /// The provider's own id of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_approval_id: Option<String>,
}

/// A file that is complete.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactCreated {
    /// The file.
    pub artifact: Artifact,
}

/// What a provider used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UsageReported {
    /// Family of program.
    pub provider: Provider,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much.
    pub usage: TokenUsage,
}

/// Tokens and cost of one report.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Both, or the provider's report.
    pub total_tokens: u64,
    /// Cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<TokenUsage> for Usage {
    fn from(tokens: TokenUsage) -> Self {
        Self {
            prompt_tokens: tokens.prompt_tokens,
            completion_tokens: tokens.completion_tokens,
            total_tokens: tokens.total_tokens,
            cost_usd: tokens.cost_usd,
            ..Self::default()
        }
    }
}
