//! Requests about turns: whoever drives them says how far they are.

use crate::run::{
    artifact::WrittenFile,
    id::{ItemId, NodeId, TurnId},
    turn::{PromptKind, PromptParts, Trigger, TurnReason},
};

/// A turn whose prompt is written and whose inputs are chosen (RUNS-TURN-1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BeginTurn {
    pub node: NodeId,
    /// The turn's id.
    pub turn: TurnId,
    /// Why it begins, as the schedule said.
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
    /// Whether it tells everything.
    pub kind: PromptKind,
    /// Hash of the effective prompt.
    pub hash: String,
    /// Hash of what will be sent.
    pub sent_hash: String,
    /// What it says, part by part.
    pub parts: PromptParts,
    /// `prompt.full.txt`.
    pub full: WrittenFile,
    /// `prompt.blocks.json`.
    pub blocks: WrittenFile,
}

/// A turn that could not even be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailStart {
    pub node: NodeId,
    /// The turn's id.
    pub turn: TurnId,
    /// Why it would have begun.
    pub trigger: Trigger,
    /// Why it cannot.
    pub reason: TurnReason,
    /// In words.
    pub detail: Option<String>,
}

/// What a provider says about another try of a turn that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RetryHint {
    /// Whether another try could help; without it the reason of the failure decides.
    pub useless: bool,
    /// When it wants to be asked again.
    pub after_ms: Option<u32>,
}

/// A turn that is over, with what it left.
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
    /// What the provider says about being asked again.
    pub retry: RetryHint,
    /// Whether its process is gone.
    pub process_gone: bool,
}

/// What a start finds, or an end leaves: turns that were in flight and cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recover {
    /// Whether the server ends; else it starts.
    pub shutdown: bool,
    /// Every turn in flight, with the text that the log has of it and a diff from its saved tree.
    pub turns: Vec<CloseTurn>,
}
