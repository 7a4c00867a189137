//! Lines of reasoning: up to five cards that support each other, and the note of a decision.

use std::borrow::Cow;

use muster_core::{
    Timestamp, field,
    tasks::{
        TaskCommand, TaskDraft, TaskEvent, TaskResult,
        command::CommitCard,
        id::{CardId, EntityId, WorkspaceId},
        lookup,
        memory::{CardType, NoteEntry},
        view::{ReasoningRef, memory::MemoryEntry},
        wire::EventView,
        wording::Title,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    card::CardInput,
    respond::{first, shown},
};
use crate::{
    arguments::{Reason, invalid},
    call::CallFailure,
};

/// The stages of a pipeline, in order.
const STAGES: [(&str, CardType); 5] = [
    ("frame", CardType::Frame),
    ("hypothesis", CardType::Hypothesis),
    ("test", CardType::Test),
    ("evidence", CardType::Evidence),
    ("decision", CardType::Decision),
];

/// Reasoning to seed: up to five stages. The schema closes it, so that it can also be nested in
/// other arguments.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
pub(crate) struct ThinkInput {
    /// The problem; a string or a card.
    pub(crate) frame: Option<CardInput>,
    /// What is supposed.
    pub(crate) hypothesis: Option<CardInput>,
    /// How it is tried.
    pub(crate) test: Option<CardInput>,
    /// What came out.
    pub(crate) evidence: Option<CardInput>,
    /// What follows.
    pub(crate) decision: Option<CardInput>,
    /// Status per stage; default open.
    pub(crate) status: Option<StageStatus>,
    /// Whether a decision is noted too; default true.
    pub(crate) note_decision: Option<bool>,
    /// Title of that note; default Decision.
    pub(crate) note_title: Option<Title>,
    /// Format of that note; default text.
    pub(crate) note_format: Option<String>,
}

/// A status for each stage given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct StageStatus {
    frame: Option<String>,
    hypothesis: Option<String>,
    test: Option<String>,
    evidence: Option<String>,
    decision: Option<String>,
}

type Stage = (&'static str, CardType, CardInput);

/// Whether a card is that of an earlier stage.
fn is_same((_, _, earlier): &Stage, card: &CardInput) -> bool {
    card.id.is_some() && card.id == earlier.id
}

/// A pipeline whose stages are all valid.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
    note: Option<(String, String)>,
}

impl ThinkInput {
    /// Whether a stage names an existing card.
    pub(crate) fn names_cards(&self) -> bool {
        let cards = [&self.frame, &self.hypothesis, &self.test, &self.evidence, &self.decision];
        cards.into_iter().flatten().any(|card| card.id.is_some())
    }

    /// Checks the content: blank stages and statuses of absent stages are invalid.
    pub(crate) fn check(self) -> Result<Pipeline, CallFailure> {
        let status = self.status.unwrap_or_default();
        let statuses =
            [status.frame, status.hypothesis, status.test, status.evidence, status.decision];
        let cards = [self.frame, self.hypothesis, self.test, self.evidence, self.decision];
        let mut stages: Vec<Stage> = Vec::new();
        for (((name, kind), card), status) in STAGES.into_iter().zip(cards).zip(statuses) {
            match (card, status) {
                (Some(card), _) if stages.iter().any(|stage| is_same(stage, &card)) => {
                    return Err(invalid(name, Reason::Conflict, "a card of no other stage"));
                }
                (Some(card), status) if card.is_usable() => {
                    let status = status.or_else(|| card.status.clone());
                    stages.push((name, kind, CardInput { status, ..card }.checked(name)?));
                }
                (Some(_), _) => return Err(invalid(name, Reason::BadFormat, "a title or text")),
                (None, Some(_)) => {
                    let expected = format!("{name} to be given, as it has a status");
                    return Err(invalid("status", Reason::Conflict, &expected));
                }
                (None, None) => {}
            }
        }
        if stages.is_empty() {
            return Err(invalid("frame", Reason::Missing, "at least one stage"));
        }
        let wanted = self.note_decision.unwrap_or(true);
        let note = wanted.then(|| {
            let title = self.note_title.map_or_else(|| "Decision".to_owned(), |title| title.0);
            (title, self.note_format.unwrap_or_else(|| "text".to_owned()))
        });
        Ok(Pipeline { stages, note })
    }
}

impl Pipeline {
    /// A pipeline of one frame card.
    pub(crate) fn frame(card: CardInput) -> Self {
        Self { stages: vec![("frame", CardType::Frame, card)], note: None }
    }
}

/// What a pipeline committed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PipelineView {
    workspace: String,
    branch: String,
    trace_doc: Cow<'static, str>,
    graph_doc: Cow<'static, str>,
    notes_doc: Cow<'static, str>,
    cards: Vec<StageView>,
    graph_applied: GraphApplied,
    last_seq: u64,
    decision_note: Option<DecisionNote>,
    event: EventView,
}

/// One stage that was committed.
#[derive(Debug, Serialize, JsonSchema)]
struct StageView {
    stage: &'static str,
    card_id: String,
    inserted: bool,
    edges_upserted: usize,
    last_seq: u64,
}

/// How the graph grew.
#[derive(Debug, Serialize, JsonSchema)]
struct GraphApplied {
    nodes_upserted: usize,
    edges_upserted: usize,
}

/// The note about a decision.
#[derive(Debug, Serialize, JsonSchema)]
struct DecisionNote {
    card_id: String,
    doc: &'static str,
    seq: u64,
    ts: String,
    ts_ms: i64,
}

/// A card that was committed.
pub(crate) struct Committed {
    pub(crate) id: CardId,
    pub(crate) kind: CardType,
    label: String,
    pub(crate) inserted: bool,
    pub(crate) edges: usize,
    pub(crate) seq: u64,
}

/// Commits one card inside a draft.
pub(crate) fn commit_card(
    draft: &mut TaskDraft<'_>,
    entity: EntityId,
    input: &CardInput,
    kind: Option<CardType>,
    supports: &[CardId],
) -> TaskResult<Committed> {
    let before = lookup::workspace(draft.documents())?.last_card;
    let command = TaskCommand::CommitCard(CommitCard {
        entity,
        id: input.id,
        kind: kind.or(input.kind),
        title: input.title.clone(),
        text: input.text.clone(),
        status: input.status.clone(),
        tags: input.tags.clone(),
        meta: input.meta.clone(),
        supports: supports.to_vec(),
    });
    let recorded = first(draft.apply(&command)?);
    let TaskEvent::CardKept(kept) = &recorded.event else {
        unreachable!("a card causes {recorded:?}")
    };
    Ok(Committed {
        id: kept.card.id,
        kind: kept.card.kind,
        label: kept.card.label().to_owned(),
        inserted: kept.card.id.0 > before,
        edges: kept.card.supports.values().filter(|edge| **edge == 0).count(),
        seq: recorded.global,
    })
}

/// Commits a pipeline inside a draft.
pub(crate) fn commit(
    draft: &mut TaskDraft<'_>,
    workspace: &WorkspaceId,
    entity: EntityId,
    pipeline: &Pipeline,
) -> TaskResult<PipelineView> {
    // A card that a stage names was there before; it is none that this very call makes.
    for id in pipeline.stages.iter().filter_map(|(_, _, input)| input.id) {
        lookup::card(draft.documents(), entity, id)?;
    }
    let mut cards = Vec::new();
    let mut committed: Vec<Committed> = Vec::new();
    for (stage, kind, input) in &pipeline.stages {
        let mut input = input.clone();
        let meta = input.meta.get_or_insert_with(Map::new);
        meta.entry("source").or_insert_with(|| "think_pipeline".into());
        let supports: Vec<CardId> = committed.last().map(|card| card.id).into_iter().collect();
        let card = commit_card(draft, entity, &input, Some(*kind), &supports)?;
        cards.push(StageView {
            stage,
            card_id: card.id.to_string(),
            inserted: card.inserted,
            edges_upserted: card.edges,
            last_seq: card.seq,
        });
        committed.push(card);
    }
    let decision = committed.iter().find(|card| card.kind == CardType::Decision);
    let note = match (decision, &pipeline.note) {
        (Some(card), Some(words)) => Some(note_decision(draft, entity, card, words)?),
        (Some(_) | None, _) => None,
    };
    let announce = TaskCommand::AnnounceCards {
        id: entity,
        cards: committed.iter().map(|card| (card.id, card.kind)).collect(),
        decision_note_seq: note.as_ref().map(|note| note.seq),
    };
    let event = shown(first(draft.apply(&announce)?));
    let reference = ReasoningRef::of(entity);
    Ok(PipelineView {
        workspace: workspace.to_string(),
        branch: reference.branch,
        trace_doc: reference.trace_doc,
        graph_doc: reference.graph_doc,
        notes_doc: reference.notes_doc,
        graph_applied: GraphApplied {
            nodes_upserted: committed.len(),
            edges_upserted: committed.iter().map(|card| card.edges).sum(),
        },
        last_seq: committed.last().map_or(0, |card| card.seq),
        cards,
        decision_note: note,
        event,
    })
}

/// TASKS-THINK-2.
fn note_decision(
    draft: &mut TaskDraft<'_>,
    entity: EntityId,
    card: &Committed,
    (title, format): &(String, String),
) -> TaskResult<DecisionNote> {
    let meta = Map::from_iter([
        field("source", "think_pipeline"),
        field("stage", "decision"),
        field("card_id", &card.id),
    ]);
    let content = format!("Decision ({}): {}", card.id, card.label);
    let note = note(entity, Some(title.clone()), format, meta, content);
    let recorded = first(draft.apply(&TaskCommand::CommitNote(note))?);
    Ok(DecisionNote {
        card_id: card.id.to_string(),
        doc: "notes",
        seq: recorded.global,
        ts: recorded.at.rfc3339(),
        ts_ms: recorded.at.0,
    })
}

fn note(
    entity: EntityId,
    title: Option<String>,
    format: &str,
    meta: Map<String, Value>,
    content: String,
) -> NoteEntry {
    let format = Some(format.to_owned());
    NoteEntry { entity, title, format, meta, content, seq: 0, at: Timestamp::default() }
}

/// Writes a note about a plan or task inside a draft; returns the entry and the event.
pub(crate) fn commit_note(
    draft: &mut TaskDraft<'_>,
    entity: EntityId,
    (title, format): (Option<String>, &str),
    meta: Map<String, Value>,
    content: String,
) -> TaskResult<(MemoryEntry, EventView)> {
    let entry = note(entity, title.clone(), format, meta, content);
    let recorded = first(draft.apply(&TaskCommand::CommitNote(entry.clone()))?);
    let entry = NoteEntry { seq: recorded.global, at: recorded.at, ..entry };
    let announce = TaskCommand::AnnounceNote { id: entity, seq: entry.seq, title };
    let event = shown(first(draft.apply(&announce)?));
    Ok((MemoryEntry::note(&entry), event))
}
