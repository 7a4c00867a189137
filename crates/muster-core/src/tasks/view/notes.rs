//! The notes of a plan or task. Notes on steps are events of the task; all other entries are
//! documents. What an undo has withdrawn is not listed.

use std::{borrow::Cow, cmp::Reverse};

use super::signals;
use crate::{
    EventChoice, EventQuery, ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskLookup, history::OperationState, id::EntityId,
        lookup, memory::NoteEntry, wire,
    },
};

/// The newest notes, newest first, older than a position.
pub(super) fn newest(
    docs: &TaskDocs,
    id: EntityId,
    before: Option<u64>,
    limit: u32,
) -> TaskLookup<Vec<Cow<'_, NoteEntry>>> {
    if lookup::memory_counts(docs, id)?.notes == 0 {
        return Ok(Vec::new());
    }
    let stored = docs.list(&signals::newest("note", id, before, limit))?;
    let stored: Vec<&NoteEntry> = stored.into_iter().filter_map(TaskDocument::as_note).collect();
    // Events before the last document of a full page would not be on it.
    let is_full = stored.len() == limit as usize;
    let above = stored.last().filter(|_| is_full).map_or(0, |last| last.seq);
    let mut notes: Vec<Cow<'_, NoteEntry>> = stored.into_iter().map(Cow::Borrowed).collect();
    notes.extend(on_steps(docs, id, (above, before), limit)?.into_iter().map(Cow::Owned));
    notes.sort_by_key(|note| Reverse(note.seq));
    notes.truncate(limit as usize);
    Ok(notes)
}

/// The newest notes on steps between two positions.
fn on_steps(
    docs: &TaskDocs,
    id: EntityId,
    (above, before): (u64, Option<u64>),
    limit: u32,
) -> TaskLookup<Vec<NoteEntry>> {
    let EntityId::Task(_) = id else { return Ok(Vec::new()) };
    let withdrawn = withdrawn(docs, id)?;
    let hidden = u32::try_from(withdrawn.len()).unwrap_or(u32::MAX);
    let events = docs.events(&EventQuery {
        choice: EventChoice::Kind(wire::STEP_NOTED),
        after: Some(before.unwrap_or(i64::MAX.unsigned_abs())),
        above,
        ..EventQuery::newest_of(id.to_string(), limit.saturating_add(hidden))
    })?;
    let mut notes = Vec::new();
    for recorded in events.iter().filter(|recorded| !withdrawn.contains(&recorded.global)) {
        if let TaskEvent::StepNoted(noted) = &recorded.event {
            notes.push(NoteEntry::on_step(noted, recorded.global, recorded.at));
        }
    }
    Ok(notes)
}

/// Positions of the notes on steps that undone operations have written.
fn withdrawn(docs: &TaskDocs, id: EntityId) -> TaskLookup<Vec<u64>> {
    let undone = docs.list(&ListQuery {
        parent: Some(id.to_string()),
        statuses: vec![OperationState::Redoable.name(), OperationState::Undone.name()],
        ..ListQuery::of("operation")
    })?;
    let mut positions = Vec::new();
    for document in undone {
        if let TaskDocument::Operation(operation) = document
            && let Some(parts) = &operation.withdrawn
        {
            positions.extend(&parts.step_notes);
        }
    }
    Ok(positions)
}
