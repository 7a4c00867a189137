//! Requests about turns, from their drivers.

use crate::run::{
    artifact::WrittenFile,
    id::{ItemId, NodeId, TurnId},
    turn::{PromptKind, PromptParts, Trigger, TurnReason},
};

/// A turn whose prompt is written and whose inputs are chosen (RUNS-TURN-1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BeginTurn {
    pub node: NodeId,
    pub turn: TurnId,
    /// Why it begins, according to the schedule.
    pub trigger: Trigger,
    /// Queued inputs that the prompt holds, in their order.
    pub inputs: Vec<ItemId>,
    pub prompt: PlannedPrompt,
    /// Tree before the turn.
    pub tree: Option<String>,
}

/// A prompt that is written but not sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedPrompt {
    pub kind: PromptKind,
    /// Hash of the effective prompt.
    pub hash: String,
    /// Hash of what will be sent.
    pub sent_hash: String,
    pub parts: PromptParts,
    /// `prompt.full.txt`.
    pub full: WrittenFile,
    /// `prompt.blocks.json`.
    pub blocks: WrittenFile,
}

/// A turn that could not be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailStart {
    pub node: NodeId,
    pub turn: TurnId,
    /// Why it would have begun.
    pub trigger: Trigger,
    /// Why it cannot.
    pub reason: TurnReason,
    /// In words.
    pub detail: Option<String>,
}

/// A provider's hint about a retry of a failed turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RetryHint {
    /// Whether a retry would be useless; otherwise the reason of the failure decides.
    pub useless: bool,
    /// How long it wants to wait.
    pub after_ms: Option<u32>,
}

/// A turn that is over, with its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloseTurn {
    pub turn: TurnId,
    pub text: String,
    /// `diff.patch`, of every turn that was sent.
    pub diff: Option<WrittenFile>,
    /// `transcript.md`, of every turn that was sent.
    pub transcript: Option<WrittenFile>,
    /// `provider.log`, when the provider failed.
    pub log: Option<WrittenFile>,
    /// Reports about the turn, such as `docs.sync.json`.
    pub reports: Vec<WrittenFile>,
    /// The context pack for automatic handoffs that give work.
    pub pack: Option<WrittenFile>,
    /// The provider's hint about a retry.
    pub retry: RetryHint,
    /// Whether its process has exited.
    pub process_gone: bool,
}

/// What a start finds, or a shutdown leaves: turns that were in flight and cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recover {
    /// True for a shutdown, false for a start.
    pub shutdown: bool,
    /// Every turn in flight, with the text that the log has of it and a diff from its saved tree.
    pub turns: Vec<CloseTurn>,
}
