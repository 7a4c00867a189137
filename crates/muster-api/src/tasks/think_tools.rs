//! `think_pipeline`, `think_card`, `notes_commit`: writing to the reasoning memory.

use muster_core::tasks::{
    TaskCommand,
    id::{CardId, WorkspaceId},
    lookup::{self, Accepts},
    view::{ReasoningRef, memory::MemoryEntry, signals::CardView},
    wire::EventView,
    wording::{FreeObject, Remark, Title},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    card::CardInput,
    groups::{Repeatable, TaskOrPlan},
    respond::{first, shown},
    think::{PipelineView, ThinkInput, commit, commit_card, commit_note},
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Commits up to five cards (frame, hypothesis, test, evidence, decision) that support each other,
/// and notes the decision. Use it to keep the reasoning behind a task, not only its result.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ThinkPipeline {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    think: ThinkInput,
    #[serde(flatten)]
    repeatable: Repeatable,
}

impl Operation for ThinkPipeline {
    const NAME: &'static str = "think_pipeline";
    const TITLE: &'static str = "Commit a line of reasoning";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = PipelineView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let pipeline = self.think.check()?;
        let workspace = self.workspace.clone();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let view = commit(draft, &workspace, target.id, &pipeline)?;
            Ok(CallReply::new(&view).about(target))
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
    /// A string, or card with id, type, title, text, status, tags, meta; tag blocker marks what
    /// stands in the way.
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
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = CardCommitted;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        if !self.card.is_usable() {
            return Err(invalid("card", Reason::BadFormat, "a title or text"));
        }
        let card = self.card.checked("card")?;
        let supports = self.supports.unwrap_or_default();
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let committed = commit_card(draft, target.id, &card, None, &supports)?;
            let announce = TaskCommand::AnnounceCards {
                id: target.id,
                cards: vec![(committed.id, committed.kind)],
                decision_note_seq: None,
            };
            let event = shown(first(draft.apply(&announce)?));
            let key = muster_core::tasks::TaskKey::Card(committed.id);
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
            Ok(CallReply::new(&view).about(target))
        })
    }
}

/// Appends a note to the notes of a plan or task, for the next person.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NotesCommit {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// The note, not blank, at most 65536 characters.
    content: Remark,
    /// Its title.
    title: Option<Title>,
    /// What form it has; default text.
    format: Option<String>,
    /// Free facts; source defaults to notes_commit.
    meta: Option<FreeObject>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A note that was committed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommittedNote {
    workspace: String,
    entry: LocatedEntry,
    event: EventView,
}

/// An entry and where it was added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LocatedEntry {
    branch: String,
    doc: &'static str,
    #[serde(flatten)]
    entry: MemoryEntry,
}

impl Operation for NotesCommit {
    const NAME: &'static str = "notes_commit";
    const TITLE: &'static str = "Commit a note";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = CommittedNote;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let title = self.title.map(|title| title.0);
        let content = self.content.0;
        let format = self.format.unwrap_or_else(|| "text".to_owned());
        let mut meta = self.meta.map(|meta| meta.0).unwrap_or_default();
        meta.entry("source").or_insert_with(|| "notes_commit".into());
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, Accepts::Any)?;
            let words = (title.clone(), format.as_str());
            let (entry, event) =
                commit_note(draft, target.id, words, meta.clone(), content.clone())?;
            let entry =
                LocatedEntry { branch: ReasoningRef::of(target.id).branch, doc: "notes", entry };
            let view = CommittedNote { workspace: name.clone(), entry, event };
            Ok(CallReply::new(&view).about(target))
        })
    }
}
