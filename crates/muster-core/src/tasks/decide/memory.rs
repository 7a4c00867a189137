//! Evidence and reasoning memory.

use super::{Decision, entity_ref, reject};
use crate::{
    Timestamp, WorkRefusal,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection, TaskResult,
        command::{CaptureEvidence, CommitCard},
        event::{CardKept, CardsCommitted, EvidenceCaptured, NoteCommitted, NoteKept},
        id::{CardId, EntityId, EvidenceId},
        lookup,
        memory::{Card, CardType, Evidence, NoteEntry},
        wording::is_blank,
    },
};

pub(super) fn capture(docs: &TaskDocs, capture: &CaptureEvidence) -> Decision {
    let step = match (&capture.step, capture.id) {
        (Some(selector), EntityId::Task(id)) => {
            let step = lookup::step(lookup::task(docs, id)?, selector);
            let step = step.map_err(WorkRefusal::Rejected)?;
            Some((step.id, step.path.clone()))
        }
        (Some(_), EntityId::Plan(_)) | (None, _) => None,
    };
    let evidence = Evidence {
        id: EvidenceId(lookup::workspace(docs)?.last_evidence + 1),
        entity: capture.id,
        step,
        checkpoints: capture.checkpoints.clone(),
        items: capture.items.clone(),
        checks: capture.checks.clone(),
        attachments: capture.attachments.clone(),
        seq: 0,
        at: Timestamp::default(),
    };
    let subject = entity_ref(docs, capture.id)?;
    Ok(vec![TaskEvent::EvidenceCaptured(EvidenceCaptured { subject, evidence })])
}

/// TASKS-CARD-1.
pub(super) fn card(docs: &TaskDocs, commit: &CommitCard) -> Decision {
    for supported in &commit.supports {
        lookup::card(docs, commit.entity, *supported)?;
    }
    let mut card = match commit.id {
        Some(id) => lookup::card(docs, commit.entity, id)?.clone(),
        None => blank(docs, commit.entity)?,
    };
    card.kind = commit.kind.unwrap_or(card.kind);
    card.title = content(commit.title.as_ref(), card.title);
    card.text = content(commit.text.as_ref(), card.text);
    if card.title.is_none() && card.text.is_none() {
        return reject(TaskRejection::EmptyCard);
    }
    card.status = commit.status.clone().unwrap_or(card.status);
    card.tags = commit.tags.clone().unwrap_or(card.tags);
    card.meta = commit.meta.clone().unwrap_or(card.meta);
    if commit.supports.contains(&card.id) {
        return reject(TaskRejection::SupportsItself { card: card.id });
    }
    for supported in &commit.supports {
        card.supports.entry(*supported).or_insert(0);
    }
    Ok(vec![TaskEvent::CardKept(CardKept { id: commit.entity, card })])
}

/// The new content of a card: the given string, and nothing when that is blank.
fn content(given: Option<&String>, before: Option<String>) -> Option<String> {
    match given {
        Some(text) => (!is_blank(text)).then(|| text.clone()),
        None => before,
    }
}

fn blank(docs: &TaskDocs, entity: EntityId) -> TaskResult<Card> {
    Ok(Card {
        id: CardId(lookup::workspace(docs)?.last_card + 1),
        entity,
        kind: CardType::Note,
        title: None,
        text: None,
        status: "open".to_owned(),
        tags: Vec::new(),
        meta: serde_json::Map::new(),
        supports: std::collections::BTreeMap::new(),
        first_seq: 0,
        last_seq: 0,
        last_at: Timestamp::default(),
    })
}

pub(super) fn note(docs: &TaskDocs, note: &NoteEntry) -> Decision {
    lookup::revision(docs, note.entity)?;
    Ok(vec![TaskEvent::NoteKept(NoteKept { id: note.entity, note: note.clone() })])
}

pub(super) fn announce_cards(
    docs: &TaskDocs,
    id: EntityId,
    cards: &[(CardId, CardType)],
    decision_note_seq: Option<u64>,
) -> Decision {
    let plan = lookup::plan_of(docs, id)?;
    let cards = cards.to_vec();
    Ok(vec![TaskEvent::CardsCommitted(CardsCommitted { id, plan, cards, decision_note_seq })])
}

pub(super) fn announce_note(
    docs: &TaskDocs,
    id: EntityId,
    seq: u64,
    title: Option<&str>,
) -> Decision {
    let plan = lookup::plan_of(docs, id)?;
    let title = title.map(str::to_owned);
    Ok(vec![TaskEvent::NoteCommitted(NoteCommitted { id, plan, seq, title })])
}
