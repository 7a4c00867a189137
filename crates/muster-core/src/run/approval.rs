//! Approvals: questions that a person has to answer before something happens.

pub(crate) mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    allow::RuleNote,
    edge::ActorKind,
    id::{ApprovalId, NodeId, RunId, TurnId},
    moment::Moment,
    node::PermissionsMode,
    shape::words,
    turn::Tool,
};

words! {
    /// What is to be approved.
    ApprovalKind {
        /// A call of a tool.
        Tool = "tool",
        /// Another node.
        Spawn = "spawn",
        /// Another edge, or one less.
        Edge = "edge",
        /// Another mode.
        Mode = "mode",
    }
    /// The state of an approval.
    ApprovalStatus {
        /// Not answered yet.
        Pending = "pending",
        /// Yes.
        Approved = "approved",
        /// No.
        Denied = "denied",
        /// Yes, with other arguments.
        Modified = "modified",
    }
    /// What a person answers.
    Verdict {
        /// Yes.
        Approved = "approved",
        /// No.
        Denied = "denied",
        /// Yes, with other arguments.
        Modified = "modified",
    }
}

impl From<Verdict> for ApprovalStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Approved => Self::Approved,
            Verdict::Denied => Self::Denied,
            Verdict::Modified => Self::Modified,
        }
    }
}

/// The answer to an approval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// The answer.
    pub status: Verdict,
    /// The other arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Map<String, Value>>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who answered.
    pub by: ActorKind,
    /// The rule that answered instead of a person, or that a person made with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleNote>,
}

impl Resolution {
    /// A denial by the runtime.
    pub fn denied(reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        let by = ActorKind::Runtime;
        Self { status: Verdict::Denied, modified_args: None, reason, by, rule: None }
    }

    /// The answer to a provider's question that does not become an approval: yes without a gate,
    /// otherwise no (RUNS-APP-1). The contract has no event for it.
    pub fn without_approval(mode: PermissionsMode) -> Self {
        let denied = Self::denied("no person can be asked now");
        match mode {
            PermissionsMode::Skip => Self { status: Verdict::Approved, reason: None, ..denied },
            PermissionsMode::Gated => denied,
        }
    }
}

/// A question that a person has to answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub approval_id: ApprovalId,
    /// Its run.
    pub run_id: RunId,
    /// The node that asks.
    pub node_id: NodeId,
    /// The turn that asks.
    pub turn_id: TurnId,
    /// What is to be approved.
    pub kind: ApprovalKind,
    /// The call.
    pub tool: Tool,
    /// The provider's own id of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_approval_id: Option<String>,
    /// Further words of the asker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether other arguments are possible.
    pub can_modify: bool,
    /// Whether the call no longer waits for it (RUNS-APP-5).
    pub detached: bool,
    /// When it was asked.
    pub requested_at: Moment,
    /// Its state.
    pub status: ApprovalStatus,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// When it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Moment>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ActorKind>,
    /// Which approval of the run it is, counted from one.
    pub number: u64,
}

impl Approval {
    /// Whether it is undecided.
    pub fn is_pending(&self) -> bool {
        self.status == ApprovalStatus::Pending
    }

    /// The arguments to execute with.
    pub fn granted_args(&self) -> &Map<String, Value> {
        let modified = self.resolution.as_ref().and_then(|answer| answer.modified_args.as_ref());
        modified.unwrap_or(&self.tool.args)
    }
}
