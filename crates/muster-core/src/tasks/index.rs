//! The columns by which lists find documents.

use super::{
    TaskDocument,
    entity::{Task, TaskStatus},
    history::{HistoryOperation, OperationState},
    id::EntityId,
};
use crate::{Index, Mark};

fn child_index(entity: EntityId, ord: u64, status: &'static str) -> Index {
    Index { ord, parent: entity.to_string(), status: status.into(), ..Index::default() }
}

/// Columns of an operation: of those that can be redone, the one undone last ranks first.
fn operation_index(operation: &HistoryOperation) -> Index {
    let age = u32::try_from(operation.undone_at).unwrap_or(u32::MAX);
    let rank = (operation.state == OperationState::Redoable).then_some(u32::MAX - age);
    let marks = Mark::Listed as u8;
    Index { rank, marks, ..child_index(operation.entity, operation.seq, operation.state.name()) }
}

/// Open tasks that wait for a dependency have this rank or a higher one.
pub(crate) const WAITING_RANK: u32 = 100;

/// Columns of a task: open ones are ranked as TASKS-VIEW-4 picks the next task.
fn task_index(task: &Task) -> Index {
    let tally = task.tally();
    let open = task.meta.status != TaskStatus::Done;
    let rank = u32::from(tally.waiting) * WAITING_RANK
        + u32::from(task.meta.status == TaskStatus::Todo) * 10
        + task.meta.priority as u32;
    let blocked = open && tally.blocker_lines > 0;
    let unconfirmed = open && tally.unconfirmed;
    Index {
        ord: task.id.0,
        parent: task.parent.to_string(),
        status: task.meta.status.name().into(),
        rank: open.then_some(rank),
        marks: Mark::Listed as u8
            + u8::from(open && task.needs_person) * Mark::Catalogued as u8
            + u8::from(blocked) * Mark::Blocked as u8
            + u8::from(unconfirmed) * Mark::Unconfirmed as u8,
    }
}

/// What lists filter and sort a document by.
pub(super) fn document_index(document: &TaskDocument) -> Index {
    match document {
        TaskDocument::Workspace(_)
        | TaskDocument::Answer(_)
        | TaskDocument::CheckTests(_)
        | TaskDocument::CheckLedger(_)
        | TaskDocument::Projects(_)
        | TaskDocument::Protected(_)
        | TaskDocument::StepTodos(_) => Index::default(),
        TaskDocument::CheckRun(record) => Index {
            ord: record.id.0,
            parent: record.check.clone(),
            status: record.status().into(),
            marks: Mark::Listed as u8,
            ..Index::default()
        },
        TaskDocument::Evidence(evidence) => child_index(evidence.entity, evidence.id.0, ""),
        TaskDocument::Card(card) => child_index(card.entity, card.last_seq, card.kind.name()),
        TaskDocument::Note(note) => child_index(note.entity, note.seq, ""),
        TaskDocument::Trace(entry) => child_index(entry.entity, entry.seq, ""),
        TaskDocument::Operation(operation) => operation_index(operation),
        TaskDocument::Plan(plan) => Index {
            ord: plan.id.0,
            status: plan.meta.status.name().into(),
            marks: Mark::Listed as u8,
            ..Index::default()
        },
        TaskDocument::Task(task) => task_index(task),
    }
}
