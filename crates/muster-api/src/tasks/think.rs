//! `think_pipeline`, `think_card`, `notes_commit`: writing to the reasoning memory.

use std::collections::BTreeMap;

use muster_core::{
    Draft, Refusal, Timestamp,
    tasks::{
        Command, Event, Tasks,
        command::CommitCard,
        id::{CardId, EntityId, WorkspaceId},
        lookup::{self, Accepts},
        memory::{CardType, NoteEntry},
        view::{ReasoningRef, memory::note_entry, signals::CardView},
        wire::EventView,
        wording::{FreeObject, Remark},
    },
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value, json};

use super::{
    groups::{Repeatable, TaskOrPlan},
    respond::{first, shown},
};
use crate::{
    Effect,
    arguments::{Reason, invalid},
    call::{Action, Call, Failure, Reply},
    registry::Operation,
};

/// A card as given: a text, or an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CardInput {
    id: Option<CardId>,
    kind: Option<CardType>,
    title: Option<String>,
    text: Option<String>,
    status: Option<String>,
    tags: Option<Vec<String>>,
    meta: Option<Map<String, Value>>,
}

impl CardInput {
    /// A card with a title and maybe a text.
    pub(crate) fn titled(title: &str, text: Option<&str>) -> Self {
        Self { title: Some(title.to_owned()), text: text.map(str::to_owned), ..Self::default() }
    }

    /// Whether it says something.
    fn is_usable(&self) -> bool {
        let speaks = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.trim().is_empty());
        self.id.is_some() || speaks(&self.title) || speaks(&self.text)
    }
}

impl<'de> Deserialize<'de> for CardInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            id: Option<CardId>,
            #[serde(rename = "type")]
            kind: Option<CardType>,
            title: Option<String>,
            text: Option<String>,
            status: Option<String>,
            tags: Option<Vec<String>>,
            meta: Option<FreeObject>,
        }
        let value = Value::deserialize(deserializer)?;
        if let Value::String(text) = value {
            return Ok(Self { text: Some(text), ..Self::default() });
        }
        let object = Object::deserialize(value).map_err(D::Error::custom)?;
        Ok(Self {
            id: object.id,
            kind: object.kind,
            title: object.title,
            text: object.text,
            status: object.status,
            tags: object.tags,
            meta: object.meta.map(|meta| meta.0),
        })
    }
}

impl JsonSchema for CardInput {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CardInput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds =
            ["frame", "hypothesis", "question", "test", "evidence", "decision", "note", "update"];
        json_schema!({"anyOf": [
            {"type": "string", "maxLength": 65536},
            {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "type": {"type": "string", "enum": kinds},
                    "title": {"type": "string", "maxLength": 500},
                    "text": {"type": "string", "maxLength": 65536},
                    "status": {"type": "string", "maxLength": 500},
                    "tags": {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 100}},
                    "meta": {"type": "object", "additionalProperties": true},
                },
                "additionalProperties": false,
            },
        ]})
    }
}

/// The stages of a pipeline, in order.
const STAGES: [(&str, CardType); 5] = [
    ("frame", CardType::Frame),
    ("hypothesis", CardType::Hypothesis),
    ("test", CardType::Test),
    ("evidence", CardType::Evidence),
    ("decision", CardType::Decision),
];

/// Reasoning to seed: up to five stages.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ThinkInput {
    /// What the problem is.
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
    pub(crate) note_title: Option<String>,
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

/// A pipeline whose stages are all usable.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    stages: Vec<(&'static str, CardType, CardInput)>,
    note: Option<(String, String)>,
}

impl ThinkInput {
    /// Checks the content: blank stages and statuses of absent stages are unusable.
    pub(crate) fn check(self) -> Result<Pipeline, Failure> {
        let status = self.status.unwrap_or_default();
        let statuses =
            [status.frame, status.hypothesis, status.test, status.evidence, status.decision];
        let cards = [self.frame, self.hypothesis, self.test, self.evidence, self.decision];
        let mut stages = Vec::new();
        for (((name, kind), card), status) in STAGES.into_iter().zip(cards).zip(statuses) {
            match (card, status) {
                (Some(card), status) if card.is_usable() => {
                    let status = status.or_else(|| card.status.clone());
                    stages.push((name, kind, CardInput { status, ..card }));
                }
                (Some(_), _) => return Err(invalid(name, Reason::BadFormat, "a title or a text")),
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
            let title = self.note_title.unwrap_or_else(|| "Decision".to_owned());
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
    trace_doc: &'static str,
    graph_doc: &'static str,
    notes_doc: &'static str,
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
struct Committed {
    id: CardId,
    kind: CardType,
    label: String,
    inserted: bool,
    edges: usize,
    seq: u64,
}

fn commit_card(
    draft: &mut Draft<'_, Tasks>,
    entity: EntityId,
    input: &CardInput,
    kind: Option<CardType>,
    supports: &[CardId],
) -> Result<Committed, Refusal<Tasks>> {
    let before = lookup::workspace(draft.documents())?.last_card;
    let command = Command::CommitCard(CommitCard {
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
    let Event::CardKept(kept) = &recorded.event else { unreachable!("a card causes {recorded:?}") };
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
    draft: &mut Draft<'_, Tasks>,
    workspace: &WorkspaceId,
    entity: EntityId,
    pipeline: &Pipeline,
) -> Result<PipelineView, Refusal<Tasks>> {
    let mut cards = Vec::new();
    let mut committed: Vec<Committed> = Vec::new();
    for (stage, kind, input) in &pipeline.stages {
        let mut input = input.clone();
        let meta = input.meta.get_or_insert_with(Map::new);
        meta.entry("source").or_insert_with(|| json!("think_pipeline"));
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
    let announce = Command::AnnounceCards {
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
    draft: &mut Draft<'_, Tasks>,
    entity: EntityId,
    card: &Committed,
    (title, format): &(String, String),
) -> Result<DecisionNote, Refusal<Tasks>> {
    let meta = json!({"source": "think_pipeline", "stage": "decision", "card_id": card.id});
    let content = format!("Decision ({}): {}", card.id, card.label);
    let note = note(entity, Some(title.clone()), format, meta, content);
    let recorded = first(draft.apply(&Command::CommitNote(note))?);
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
    meta: Value,
    content: String,
) -> NoteEntry {
    let Value::Object(meta) = meta else { unreachable!("facts of a note are an object") };
    let format = Some(format.to_owned());
    NoteEntry { entity, title, format, meta, content, seq: 0, at: Timestamp::default() }
}

/// Writes a note about a plan or task inside a draft; answers the entry and the event.
pub(crate) fn commit_note(
    draft: &mut Draft<'_, Tasks>,
    entity: EntityId,
    (title, format): (Option<String>, &str),
    meta: Map<String, Value>,
    content: String,
) -> Result<(Map<String, Value>, EventView), Refusal<Tasks>> {
    let entry = note(entity, title.clone(), format, Value::Object(meta), content);
    let recorded = first(draft.apply(&Command::CommitNote(entry.clone()))?);
    let entry = NoteEntry { seq: recorded.global, at: recorded.at, ..entry };
    let announce = Command::AnnounceNote { id: entity, seq: entry.seq, title };
    let event = shown(first(draft.apply(&announce)?));
    Ok((note_entry(&entry), event))
}

/// Commits up to five cards (frame, hypothesis, test, evidence, decision) that support each other, and notes the
/// decision. Use it to leave the reasoning behind a task, not only its result.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ThinkPipeline {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    think: OpenThinkInput,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// The stages beside other arguments.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct OpenThinkInput {
    /// What the problem is; a text or a card.
    frame: Option<CardInput>,
    /// What is supposed.
    hypothesis: Option<CardInput>,
    /// How it is tried.
    test: Option<CardInput>,
    /// What came out.
    evidence: Option<CardInput>,
    /// What follows.
    decision: Option<CardInput>,
    /// Status per stage; default open.
    status: Option<StageStatus>,
    /// Whether a decision is noted too; default true.
    note_decision: Option<bool>,
    /// Title of that note; default Decision.
    note_title: Option<String>,
    /// Format of that note; default text.
    note_format: Option<String>,
}

impl From<OpenThinkInput> for ThinkInput {
    fn from(open: OpenThinkInput) -> Self {
        Self {
            frame: open.frame,
            hypothesis: open.hypothesis,
            test: open.test,
            evidence: open.evidence,
            decision: open.decision,
            status: open.status,
            note_decision: open.note_decision,
            note_title: open.note_title,
            note_format: open.note_format,
        }
    }
}

impl Operation for ThinkPipeline {
    const NAME: &'static str = "think_pipeline";
    const TITLE: &'static str = "Commit a line of reasoning";
    const EFFECT: Effect = Effect::Write;
    type Response = PipelineView;

    fn run(self, call: &Call<'_>) -> Result<Action, Failure> {
        let named = self.selection.named()?;
        let pipeline = ThinkInput::from(self.think).check()?;
        let workspace = self.workspace.clone();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let view = commit(draft, &workspace, target.id, &pipeline)?;
            Ok(Reply::new(&view).about(target))
        })
    }
}

/// Commits one card to the reasoning memory of a plan or task, or updates one by its id.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ThinkCard {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// A text, or a card with id, type, title, text, status, tags, meta; tag blocker marks what stands in the way.
    card: CardInput,
    /// Cards that this one supports.
    #[schemars(length(max = 200))]
    supports: Option<Vec<CardId>>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A card that was committed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CardCommitted {
    workspace: String,
    branch: String,
    card: CardView,
    inserted: bool,
    edges_upserted: usize,
    last_seq: u64,
    event: EventView,
}

impl Operation for ThinkCard {
    const NAME: &'static str = "think_card";
    const TITLE: &'static str = "Commit a card";
    const EFFECT: Effect = Effect::Write;
    type Response = CardCommitted;

    fn run(self, call: &Call<'_>) -> Result<Action, Failure> {
        let named = self.selection.named()?;
        if !self.card.is_usable() {
            return Err(invalid("card", Reason::Missing, "a title or a text"));
        }
        let (card, supports) = (self.card, self.supports.unwrap_or_default());
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let committed = commit_card(draft, target.id, &card, None, &supports)?;
            let announce = Command::AnnounceCards {
                id: target.id,
                cards: vec![(committed.id, committed.kind)],
                decision_note_seq: None,
            };
            let event = shown(first(draft.apply(&announce)?));
            let key = muster_core::tasks::Key::Card(committed.id);
            let stored = draft.documents().get(&key)?.and_then(|document| document.as_card());
            let Some(stored) = stored else { unreachable!("{} was just committed", committed.id) };
            let view = CardCommitted {
                workspace: name.clone(),
                branch: ReasoningRef::of(target.id).branch,
                card: CardView::of(stored),
                inserted: committed.inserted,
                edges_upserted: committed.edges,
                last_seq: committed.seq,
                event,
            };
            Ok(Reply::new(&view).about(target))
        })
    }
}

/// Appends a note to the notes of a plan or task, for whoever continues.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NotesCommit {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// The note, not blank, at most 65536 characters.
    content: Remark,
    /// Its title.
    #[schemars(length(max = 500))]
    title: Option<String>,
    /// What form it has; default text.
    format: Option<String>,
    /// Free facts; source defaults to notes_commit.
    meta: Option<FreeObject>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A note that was committed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoteView {
    workspace: String,
    entry: Map<String, Value>,
    event: EventView,
}

impl Operation for NotesCommit {
    const NAME: &'static str = "notes_commit";
    const TITLE: &'static str = "Commit a note";
    const EFFECT: Effect = Effect::Write;
    type Response = NoteView;

    fn run(self, call: &Call<'_>) -> Result<Action, Failure> {
        let named = self.selection.named()?;
        let (title, content) = (self.title, self.content.0);
        let format = self.format.unwrap_or_else(|| "text".to_owned());
        let mut meta = self.meta.map(|meta| meta.0).unwrap_or_default();
        meta.entry("source").or_insert_with(|| json!("notes_commit"));
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let words = (title.clone(), format.as_str());
            let (entry, event) =
                commit_note(draft, target.id, words, meta.clone(), content.clone())?;
            let place = BTreeMap::from([
                ("branch", json!(ReasoningRef::of(target.id).branch)),
                ("doc", json!("notes")),
            ]);
            let mut located: Map<String, Value> =
                place.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            located.extend(entry);
            let view = NoteView { workspace: name.clone(), entry: located, event };
            Ok(Reply::new(&view).about(target))
        })
    }
}
