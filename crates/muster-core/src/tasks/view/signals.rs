//! Highlights: blockers, decisions, evidence (part of views 4.6 and 4.7).

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ViewLine, radar};
use crate::{
    ListOrder, ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskLookup, TaskResult,
        id::EntityId,
        lookup,
        memory::{Card, CardType, Evidence},
        step::Checkpoints,
    },
};

/// Blockers, decisions and evidence, with counts of all.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Signals {
    /// What stands in the way.
    pub blockers: Vec<ViewLine>,
    /// Decisions, newest first.
    pub decisions: Vec<CardView>,
    /// Evidence, newest first.
    pub evidence: Vec<EvidenceSignal>,
    /// How many there are, before limits.
    pub stats: SignalCounts,
}

/// How many signals there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SignalCounts {
    /// Blocker lines.
    pub blockers: u64,
    /// Decision cards.
    pub decisions: u64,
    /// Evidence cards and captures.
    pub evidence: u64,
}

/// How many of each to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalLimits {
    /// Blocker lines.
    pub blockers: u32,
    pub decisions: u32,
    pub evidence: u32,
}

/// A card in a result.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct CardView {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: CardType,
    pub title: Option<String>,
    pub text: Option<String>,
    pub status: String,
    pub tags: Vec<String>,
    pub meta: Map<String, Value>,
    pub deleted: bool,
    pub last_seq: u64,
    pub last_ts_ms: i64,
}

impl CardView {
    /// The card as callers see it.
    pub fn of(card: &Card) -> Self {
        Self {
            id: card.id.to_string(),
            kind: card.kind,
            title: card.title.clone(),
            text: card.text.clone(),
            status: card.status.clone(),
            tags: card.tags.clone(),
            meta: card.meta.clone(),
            deleted: false,
            last_seq: card.last_seq,
            last_ts_ms: card.last_at.0,
        }
    }
}

/// A piece of evidence, from a card or captured.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EvidenceSignal {
    pub id: String,
    pub source: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub title: Option<String>,
    pub text: Option<String>,
    pub status: Option<String>,
    pub tags: Vec<String>,
    pub path: Option<String>,
    pub checkpoints: Checkpoints,
    pub last_seq: u64,
    pub last_ts_ms: i64,
}

impl EvidenceSignal {
    fn of_card(card: &Card) -> Self {
        Self {
            id: card.id.to_string(),
            source: "card",
            kind: "evidence",
            title: card.title.clone(),
            text: card.text.clone(),
            status: Some(card.status.clone()),
            tags: card.tags.clone(),
            path: None,
            checkpoints: Checkpoints::new(),
            last_seq: card.last_seq,
            last_ts_ms: card.last_at.0,
        }
    }

    fn of_capture(evidence: &Evidence) -> Self {
        Self {
            id: evidence.id.to_string(),
            source: "capture",
            kind: "evidence",
            title: None,
            text: Some(evidence.summary()),
            status: None,
            tags: Vec::new(),
            path: evidence.step.as_ref().map(|(_, path)| path.to_string()),
            checkpoints: evidence.checkpoints.clone(),
            last_seq: evidence.seq,
            last_ts_ms: evidence.at.0,
        }
    }
}

impl Signals {
    /// The signals of a plan or task.
    pub fn of(docs: &TaskDocs, id: EntityId, limits: SignalLimits) -> TaskResult<Self> {
        let (mut blockers, count) = radar::all_blockers(docs, id, limits.blockers as usize)?;
        blockers.truncate(limits.blockers as usize);
        let counts = lookup::memory_counts(docs, id)?;
        let [decisions, of_cards, captured] = lists(id, limits);
        let of_type = |kind| counts.cards.get(&kind).copied().unwrap_or(0);
        Ok(Self {
            blockers,
            decisions: cards(docs, &decisions)?.into_iter().map(CardView::of).collect(),
            evidence: evidence(docs, &of_cards, &captured, limits.evidence)?,
            stats: SignalCounts {
                blockers: count,
                decisions: of_type(CardType::Decision),
                evidence: of_type(CardType::Evidence) + counts.captures,
            },
        })
    }
}

/// The lists that signals are read from: decisions, evidence cards and captured evidence.
pub(super) fn lists(id: EntityId, limits: SignalLimits) -> [ListQuery; 3] {
    let cards = |kind: CardType, limit| ListQuery {
        statuses: vec![kind.name()],
        ..newest("card", id, None, limit)
    };
    [
        cards(CardType::Decision, limits.decisions),
        cards(CardType::Evidence, limits.evidence),
        newest("evidence", id, None, limits.evidence),
    ]
}

fn cards<'a>(docs: &'a TaskDocs, list: &ListQuery) -> TaskLookup<Vec<&'a Card>> {
    Ok(docs.list(list)?.into_iter().filter_map(TaskDocument::as_card).collect())
}

/// Newest documents of a kind of a plan or task, older than a position.
pub(super) fn newest(
    kind: &'static str,
    id: EntityId,
    before: Option<u64>,
    limit: u32,
) -> ListQuery {
    ListQuery {
        parent: Some(id.to_string()),
        after: before,
        order: ListOrder::Descending,
        limit: Some(limit),
        ..ListQuery::of(kind)
    }
}

fn evidence(
    docs: &TaskDocs,
    of_cards: &ListQuery,
    captured: &ListQuery,
    limit: u32,
) -> TaskLookup<Vec<EvidenceSignal>> {
    let mut signals: Vec<EvidenceSignal> = Vec::new();
    for document in docs.list(captured)? {
        if let TaskDocument::Evidence(evidence) = document {
            signals.push(EvidenceSignal::of_capture(evidence));
        }
    }
    signals.extend(cards(docs, of_cards)?.into_iter().map(EvidenceSignal::of_card));
    signals.sort_by_key(|signal| Reverse(signal.last_seq));
    signals.truncate(limit as usize);
    Ok(signals)
}

/// Whether nothing but its creation ever happened. Every later change adds to the revision; steps
/// or a checklist can also have come with the creating call, which leaves it at 0 (TASKS-REV-1).
pub(super) fn is_only_created(document: &TaskDocument) -> bool {
    let is_untouched = document.meta().is_some_and(|meta| meta.revision == 0);
    let is_bare = match (document.as_task(), document.as_plan()) {
        (Some(task), _) => task.steps.is_empty(),
        (None, Some(plan)) => plan.checklist.steps.is_empty() && plan.sums.steps_total == 0,
        (None, None) => true,
    };
    is_untouched && is_bare
}
