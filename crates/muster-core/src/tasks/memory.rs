//! Evidence and reasoning memory of a plan or task.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    event::{StepNoted, StepRef},
    id::{CardId, EntityId, EvidenceId, StepId},
    path::StepPath,
    step::Checkpoints,
    wire,
};
use crate::Timestamp;

/// A record attached to a step or to the root of a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    pub id: EvidenceId,
    /// The plan or task.
    pub entity: EntityId,
    /// The step; `None` at the root.
    pub step: Option<(StepId, StepPath)>,
    /// Checkpoints it is linked to.
    pub checkpoints: Checkpoints,
    /// Artifacts, as given.
    pub items: Vec<Map<String, Value>>,
    /// Check lines, receipts among them.
    pub checks: Vec<String>,
    /// Links and file names.
    pub attachments: Vec<String>,
    /// Position of the capture; zero until it is recorded.
    #[serde(default)]
    pub seq: u64,
    /// When it was captured.
    #[serde(default)]
    pub at: Timestamp,
}

impl Evidence {
    /// Counts in words.
    pub fn summary(&self) -> String {
        let count = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            n => format!("{n} {one}s"),
        };
        let items = self.items.len();
        let checks = self.checks.len();
        let attachments = self.attachments.len();
        format!(
            "{}, {}, {}",
            count(items, "item"),
            count(checks, "check"),
            count(attachments, "attachment")
        )
    }
}

/// What a card is.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CardType {
    Frame,
    Hypothesis,
    Question,
    Test,
    Evidence,
    Decision,
    Note,
    Update,
}

impl CardType {
    /// The word in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Hypothesis => "hypothesis",
            Self::Question => "question",
            Self::Test => "test",
            Self::Evidence => "evidence",
            Self::Decision => "decision",
            Self::Note => "note",
            Self::Update => "update",
        }
    }
}

/// A piece of reasoning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Card {
    pub id: CardId,
    /// Whose memory it is in.
    pub entity: EntityId,
    #[serde(rename = "type")]
    pub kind: CardType,
    pub title: Option<String>,
    pub text: Option<String>,
    /// Free word, `open` at first.
    pub status: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// Free facts.
    pub meta: Map<String, Value>,
    /// Cards it supports, with the position of each edge.
    pub supports: BTreeMap<CardId, u64>,
    /// Position of the first commit.
    pub first_seq: u64,
    /// Position of the newest commit.
    pub last_seq: u64,
    /// When it was committed last.
    pub last_at: Timestamp,
}

impl Card {
    /// Title, else text.
    pub fn label(&self) -> &str {
        self.title.as_deref().or(self.text.as_deref()).unwrap_or_default()
    }

    /// Whether it blocks: open and tagged as a blocker.
    pub fn blocks(&self) -> bool {
        self.status == "open" && self.tags.iter().any(|tag| tag == "blocker")
    }
}

/// The source of notes that a capture of evidence leaves.
pub const EVIDENCE_SOURCE: &str = "tasks_evidence";
pub const STEP_NOTE_SOURCE: &str = "tasks_note";

/// An entry of the notes document. Those of steps are read from their events, all others are
/// documents.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NoteEntry {
    /// Whose memory it is in.
    pub entity: EntityId,
    pub title: Option<String>,
    /// What form the content has.
    pub format: Option<String>,
    /// Free-form facts, including its source.
    pub meta: Map<String, Value>,
    /// The note itself.
    pub content: String,
    /// Position; zero until it is recorded.
    #[serde(default)]
    pub seq: u64,
    /// When it was written.
    #[serde(default)]
    pub at: Timestamp,
}

impl NoteEntry {
    /// The entry that a note on a step makes (TASKS-NOTE-1: the whole note).
    pub(super) fn on_step(noted: &StepNoted, seq: u64, at: Timestamp) -> Self {
        let StepRef { task, step_id, path } = &noted.step;
        let meta = json!({
            "source": STEP_NOTE_SOURCE, "task_id": task.task, "step_id": step_id, "path": path,
            "note_seq": noted.note_seq, "event_id": wire::event_id(seq),
        });
        Self::mirrored(task.task.into(), &noted.note, meta, (seq, at))
    }

    /// An entry for something that was written elsewhere.
    pub(super) fn mirrored(
        entity: EntityId,
        content: &str,
        meta: Value,
        (seq, at): (u64, Timestamp),
    ) -> Self {
        let Value::Object(meta) = meta else { unreachable!("facts of a note are an object") };
        let format = Some("text".to_owned());
        Self { entity, title: None, format, meta, content: content.to_owned(), seq, at }
    }

    /// Whether it was written on a step.
    pub fn is_on_step(&self) -> bool {
        self.meta.get("source").is_some_and(|source| source == STEP_NOTE_SOURCE)
    }
}

/// A card's commit in the trace document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceEntry {
    /// Whose memory it is in.
    pub entity: EntityId,
    /// The card as it was committed.
    pub card: Card,
    /// Position.
    pub seq: u64,
    /// When it was committed.
    pub at: Timestamp,
}

/// Totals of a plan's or task's memory, so that no view has to count.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryCounts {
    pub notes: u64,
    pub cards: BTreeMap<CardType, u64>,
    /// Edges between cards.
    pub edges: u64,
    /// Captured evidence.
    pub captures: u64,
}

impl MemoryCounts {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
