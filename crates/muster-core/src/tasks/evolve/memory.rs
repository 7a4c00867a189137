//! Evidence, reasoning memory and the history of operations.

use serde_json::json;

use super::{Applied, Moment, change_meta, change_plan, change_task, change_workspace, touch_task};
use crate::{
    Author, ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskKey,
        entity::Meta,
        event::{CardKept, EvidenceCaptured, NoteKept},
        history::{HistoryOperation, OperationState},
        id::EntityId,
        memory::{Card, EVIDENCE_SOURCE, Evidence, MemoryCounts, NoteEntry, TraceEntry},
        wire,
    },
    text,
};

/// Characters of a blocker card's line.
const BLOCKER_CHARS_MAX: usize = 200;

pub(super) fn change_counts(
    docs: &mut TaskDocs,
    id: EntityId,
    change: impl FnOnce(&mut MemoryCounts),
) -> Applied {
    match id {
        EntityId::Plan(id) => change_plan(docs, id, |plan| change(&mut plan.meta.memory)),
        EntityId::Task(id) => touch_task(docs, id, |task| change(&mut task.meta.memory)),
    }
}

pub(super) fn evidence_captured(
    docs: &mut TaskDocs,
    captured: &EvidenceCaptured,
    moment: Moment,
) -> Applied {
    let evidence = Evidence { seq: moment.seq, at: moment.at, ..captured.evidence.clone() };
    let subject = captured.subject;
    let linked = evidence.checkpoints.clone();
    let touch = |meta: &mut Meta| {
        meta.revision = subject.revision;
        meta.updated_at = moment.at;
    };
    match (subject.id, &evidence.step) {
        (EntityId::Task(id), Some((_, path))) => change_task(docs, id, |task| {
            if let Some(step) = task.steps.at_mut(path) {
                step.proven.extend(linked);
                step.evidence += 1;
                step.updated_at = moment.at;
            }
            touch(&mut task.meta);
        })?,
        (id, _) => change_meta(docs, id, touch)?,
    }
    change_workspace(docs, |workspace| workspace.last_evidence = evidence.id.0)?;
    change_counts(docs, subject.id, |counts| counts.captures += 1)?;
    mirror_evidence(docs, &evidence, moment)?;
    docs.put(TaskKey::Evidence(evidence.id), TaskDocument::Evidence(evidence));
    Ok(())
}

/// TASKS-CAP-3: counts and checkpoints, no bodies.
fn mirror_evidence(docs: &mut TaskDocs, evidence: &Evidence, moment: Moment) -> Applied {
    let names: Vec<&str> = evidence.checkpoints.iter().map(|cp| cp.name()).collect();
    let linked =
        if names.is_empty() { String::new() } else { format!(" for {}", names.join(", ")) };
    let content = format!("Evidence {}: {}{linked}", evidence.id, evidence.summary());
    let step = evidence.step.as_ref();
    let meta = json!({
        "source": EVIDENCE_SOURCE, "evidence_id": evidence.id,
        "step_id": step.map(|(id, _)| id), "path": step.map(|(_, path)| path),
        "event_id": wire::event_id(moment.seq),
    });
    let place = (moment.seq, moment.at);
    let note = NoteEntry::mirrored(evidence.entity, &content, meta, place);
    docs.put(TaskKey::Note(moment.seq), TaskDocument::Note(note));
    change_counts(docs, evidence.entity, |counts| counts.notes += 1)
}

pub(super) fn card_kept(docs: &mut TaskDocs, kept: &CardKept, moment: Moment) -> Applied {
    let id = kept.card.id;
    let before = match docs.get(&TaskKey::Card(id))? {
        Some(TaskDocument::Card(card)) => Some(card.clone()),
        Some(_) | None => None,
    };
    let mut card = Card { last_seq: moment.seq, last_at: moment.at, ..kept.card.clone() };
    card.first_seq = before.as_ref().map_or(moment.seq, |before| before.first_seq);
    for (supported, edge) in &mut card.supports {
        let known = before.as_ref().and_then(|before| before.supports.get(supported));
        *edge = known.copied().unwrap_or(moment.seq);
    }
    change_counts(docs, kept.id, |counts| {
        if let Some(before) = &before {
            *counts.cards.entry(before.kind).or_default() -= 1;
            counts.edges -= before.supports.len() as u64;
        }
        *counts.cards.entry(card.kind).or_default() += 1;
        counts.edges += card.supports.len() as u64;
        counts.cards.retain(|_, count| *count > 0);
    })?;
    change_meta(docs, kept.id, |meta| {
        if card.blocks() {
            let line = format!("{}: {}", card.id, card.label());
            meta.blocker_cards.insert(card.id, text::cut(&line, BLOCKER_CHARS_MAX));
        } else {
            meta.blocker_cards.remove(&card.id);
        }
    })?;
    change_workspace(docs, |workspace| workspace.last_card = workspace.last_card.max(id.0))?;
    let entry = TraceEntry { entity: kept.id, card: card.clone(), seq: moment.seq, at: moment.at };
    docs.put(TaskKey::Trace(moment.seq), TaskDocument::Trace(entry));
    docs.put(TaskKey::Card(id), TaskDocument::Card(card));
    Ok(())
}

pub(super) fn note_kept(docs: &mut TaskDocs, kept: &NoteKept, moment: Moment) -> Applied {
    let note = NoteEntry { seq: moment.seq, at: moment.at, ..kept.note.clone() };
    docs.put(TaskKey::Note(moment.seq), TaskDocument::Note(note));
    change_counts(docs, kept.id, |counts| counts.notes += 1)
}

/// New work on a plan or task discards what could be redone (TASKS-REDO-1).
fn discard_redo(docs: &mut TaskDocs, id: EntityId) -> Applied {
    let meta = docs.get(&id.into())?.and_then(TaskDocument::meta);
    if meta.is_some_and(|meta| meta.redoable) { forget_redo(docs, id) } else { Ok(()) }
}

/// An operation without a document begins with an event.
pub(in crate::tasks) fn operation_begun(docs: &mut TaskDocs, event: &TaskEvent) -> Applied {
    match wire::subject(event) {
        Some((id, _)) => discard_redo(docs, id),
        None => Ok(()),
    }
}

/// Adds an operation to the history.
pub(super) fn recorded(
    docs: &mut TaskDocs,
    operation: &HistoryOperation,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    discard_redo(docs, operation.entity)?;
    let state = match operation.change {
        Some(_) => OperationState::Undoable,
        None => OperationState::Final,
    };
    let operation = HistoryOperation {
        state,
        seq: moment.seq,
        at: moment.at,
        by: by.cloned(),
        ..operation.clone()
    };
    docs.put(TaskKey::Operation(moment.seq), TaskDocument::Operation(operation));
    Ok(())
}

/// Operations on a deleted entity leave the stacks of undo and redo (TASKS-UNDO-4).
pub(super) fn leave_stacks(
    docs: &mut TaskDocs,
    id: EntityId,
    is_gone: impl Fn(&HistoryOperation) -> bool,
) -> Applied {
    let stacked = [OperationState::Undoable.name(), OperationState::Redoable.name()];
    let query = ListQuery {
        parent: Some(id.to_string()),
        statuses: stacked.to_vec(),
        ..ListQuery::of("operation")
    };
    let mut gone = Vec::new();
    for document in docs.list(&query)? {
        if let TaskDocument::Operation(operation) = document
            && is_gone(operation)
        {
            gone.push(operation.seq);
        }
    }
    for seq in gone {
        if let Some(TaskDocument::Operation(operation)) = docs.edit(&TaskKey::Operation(seq))? {
            operation.state = match operation.state {
                OperationState::Redoable | OperationState::Undone => OperationState::Undone,
                OperationState::Undoable | OperationState::Final => OperationState::Final,
            };
        }
    }
    Ok(())
}

fn forget_redo(docs: &mut TaskDocs, id: EntityId) -> Applied {
    let query = ListQuery {
        parent: Some(id.to_string()),
        statuses: vec![OperationState::Redoable.name()],
        ..ListQuery::of("operation")
    };
    let mut positions = Vec::new();
    for document in docs.list(&query)? {
        if let TaskDocument::Operation(operation) = document {
            positions.push(operation.seq);
        }
    }
    for seq in positions {
        if let Some(TaskDocument::Operation(operation)) = docs.edit(&TaskKey::Operation(seq))? {
            operation.state = OperationState::Undone;
        }
    }
    change_meta(docs, id, |meta| meta.redoable = false)
}
