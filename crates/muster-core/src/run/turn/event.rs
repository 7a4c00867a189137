//! The progress of a turn, as in `turn.status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{
    id::TurnId,
    moment::Moment,
    node::{Provider, Rights},
    turn::{Consumed, PromptKind, PromptParts, Trigger, TurnReason},
};

/// A turn has progressed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TurnMoved {
    /// Which attempt at the same inputs it is.
    pub attempt: u32,
    /// What happened.
    #[serde(flatten)]
    pub step: TurnStep,
}

/// What happened to a turn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status")]
pub enum TurnStep {
    /// It began; its prompt is written.
    #[serde(rename = "turn.started")]
    Started(Box<TurnStarted>),
    /// The provider has the prompt.
    #[serde(rename = "waiting_for_model")]
    Sent,
    /// A tool is in flight.
    #[serde(rename = "tool.pending")]
    ToolPending,
    /// An approval is pending.
    #[serde(rename = "awaiting_approval")]
    AwaitingApproval,
    /// No output for half of the allowed time.
    #[serde(rename = "silent")]
    Silent,
    /// It is about to end, for this reason.
    #[serde(rename = "finishing")]
    Finishing(TurnEnding),
    /// The provider reported success.
    #[serde(rename = "turn.completed")]
    Completed(TurnEnded),
    /// It was ended from outside.
    #[serde(rename = "turn.interrupted")]
    Interrupted(TurnEnded),
    /// It could not continue.
    #[serde(rename = "turn.failed")]
    Failed(TurnEnded),
}

/// How a turn began.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// Which turn of the run it is, counted from one.
    pub number: u64,
    /// Why it began.
    pub trigger: Trigger,
    /// Inputs that it took.
    pub consumed: Vec<Consumed>,
    /// Whether its prompt is a full one.
    pub prompt_kind: PromptKind,
    /// Hash of the effective prompt.
    pub prompt_hash: String,
    /// Hash of what is sent.
    pub sent_hash: String,
    /// The prompt, part by part.
    pub prompt_parts: PromptParts,
    /// The turn that it tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TurnId>,
    /// Family of program.
    pub provider: Provider,
    /// The provider's session.
    pub session_id: String,
    /// Rights that it has.
    pub effective: Rights,
    /// Tree before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// Why a turn is about to end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnding {
    /// Why.
    pub reason: TurnReason,
    /// What is known of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a turn ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnded {
    /// Why.
    pub reason: TurnReason,
    /// What is known of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Moment>,
    /// Hash of its final text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// Hash of what it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_hash: Option<String>,
    /// First line of its final text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl TurnEnded {
    /// An end that left nothing.
    pub fn plain(reason: TurnReason) -> Self {
        Self {
            reason,
            detail: None,
            retry_at: None,
            output_hash: None,
            diff_hash: None,
            summary: None,
        }
    }
}
