//! What happened to a plan or task after a revision, for callers that have seen an older one.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    TaskDocs, TaskEvent, TaskLookup,
    entity::Task,
    id::{EntityId, StepId},
    path::StepPath,
    wire,
};
use crate::{Author, EventOrder, EventQuery, Recorded};

/// Changes that are listed.
const CHANGES_MAX: usize = 10;
/// The same in the refusal of an undo.
const CONFLICTS_MAX: usize = 3;
/// Newest events among which they are looked for: some events change no revision.
const EVENTS_MAX: u32 = 60;
/// Newest events that are looked through for changes of one step.
const STEP_EVENTS_MAX: u32 = 200;

/// A change of a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EntityChange {
    /// Position of its event.
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The step it was about.
    pub step: Option<StepId>,
    pub by: Option<Author>,
}

/// The newest changes after a revision, newest first. A call that makes several events is one
/// change: its last event is listed.
pub(super) fn since(docs: &TaskDocs, id: EntityId, revision: u64) -> TaskLookup<Vec<EntityChange>> {
    let (entity, scope) = match id {
        EntityId::Task(id) => (Some(id.to_string()), None),
        EntityId::Plan(id) => (None, Some(id.to_string())),
    };
    let order = EventOrder::NewestFirst;
    let query = EventQuery { entity, scope, ..EventQuery::of(order, EVENTS_MAX) };
    let events = docs.events(&query)?;
    let mut listed = BTreeSet::new();
    let is_news = |recorded: &&Recorded<TaskEvent>| {
        let after = revision_after(&recorded.event, id).filter(|after| *after > revision);
        after.is_some_and(|after| listed.insert(after))
    };
    Ok(events.iter().filter(is_news).take(CHANGES_MAX).map(EntityChange::of).collect())
}

/// The newest changes of a step after a revision of its task, newest first; `None` if there are
/// none. A list that is empty means that not everything since then is known.
pub(super) fn of_step_since(
    docs: &TaskDocs,
    task: &Task,
    path: &StepPath,
    revision: u64,
) -> TaskLookup<Option<Vec<EntityChange>>> {
    let id = EntityId::Task(task.id);
    let events = docs.events(&EventQuery::newest_of(id.to_string(), STEP_EVENTS_MAX))?;
    let mut seen = BTreeSet::new();
    let mut changes = Vec::new();
    for recorded in events.iter() {
        let after = revision_after(&recorded.event, id).filter(|after| *after > revision);
        let Some(after) = after else { continue };
        seen.insert(after);
        if changes.len() < CHANGES_MAX && makes_or_touches(&recorded.event, path) {
            changes.push(EntityChange::of(recorded));
        }
    }
    let is_complete = seen.len() as u64 == task.meta.revision.saturating_sub(revision);
    Ok((!changes.is_empty() || !is_complete).then_some(changes))
}

/// Whether an event added the step at a path, brought it back or changed it.
fn makes_or_touches(event: &TaskEvent, path: &StepPath) -> bool {
    let makes = if let TaskEvent::StepsAdded(added) = event {
        added.steps.iter().any(|step| step.path == *path)
    } else if let TaskEvent::Restored(restored) = event {
        restored.steps.contains(path) || !restored.entities.is_empty()
    } else {
        false
    };
    makes || touches(event, path)
}

/// The newest changes of a plan or task, or of one step of it, after a position, newest first.
pub(super) fn after(
    docs: &TaskDocs,
    id: EntityId,
    path: Option<&StepPath>,
    position: u64,
) -> TaskLookup<Vec<EntityChange>> {
    let events = docs.events(&EventQuery::newest_of(id.to_string(), EVENTS_MAX))?;
    let newer = events.iter().filter(|recorded| recorded.global > position);
    let newer = newer.filter(|recorded| match path {
        Some(path) => touches(&recorded.event, path),
        None => !matches!(recorded.event, TaskEvent::ClaimSet(_)),
    });
    Ok(newer.take(CONFLICTS_MAX).map(EntityChange::of).collect())
}

/// Whether an event changed the step at a path.
fn touches(event: &TaskEvent, path: &StepPath) -> bool {
    let at = if let TaskEvent::Restored(restored) = event {
        restored.path.as_ref()
    } else if let TaskEvent::EvidenceCaptured(captured) = event {
        captured.evidence.step.as_ref().map(|(_, path)| path)
    } else if let TaskEvent::CheckWaiverSet(set) = event {
        set.step.as_ref().map(|(_, path)| path)
    } else if let TaskEvent::StepsAdded(added) = event {
        added.parent_path.as_ref()
    } else {
        event.step().map(|step| &step.path)
    };
    at == Some(path)
        || event.derived().is_some_and(|derived| derived.reopened.iter().any(|at| at == path))
}

impl EntityChange {
    fn of(recorded: &Recorded<TaskEvent>) -> Self {
        Self {
            seq: recorded.global,
            kind: wire::event_type(&recorded.event),
            step: recorded.event.step().map(|step| step.step_id),
            by: recorded.by.as_deref().cloned(),
        }
    }
}

/// The revision of the plan or task after an event that changed it.
fn revision_after(event: &TaskEvent, id: EntityId) -> Option<u64> {
    let moved = event.derived().and_then(|derived| derived.plan);
    let of_plan = moved.filter(|plan| EntityId::Plan(plan.id) == id).map(|plan| plan.revision);
    let is_about = wire::subject(event).is_some_and(|(subject, _)| subject == id);
    of_plan.or_else(|| if is_about { own_revision(event) } else { None })
}

/// The revision of its subject that an event carries.
fn own_revision(event: &TaskEvent) -> Option<u64> {
    match event {
        TaskEvent::Edited(edited) => Some(edited.subject.revision),
        TaskEvent::TaskMoved(moved) => Some(moved.task.revision),
        TaskEvent::StatusSet(set) => Some(set.subject.revision),
        TaskEvent::ChecklistSet(set) => Some(set.revision),
        TaskEvent::ContractSet(set) => Some(set.revision),
        TaskEvent::StepsAdded(added) => Some(added.task.revision),
        TaskEvent::EvidenceCaptured(captured) => Some(captured.subject.revision),
        TaskEvent::Restored(restored) => Some(restored.subject.revision),
        TaskEvent::CheckWaiverSet(set) => Some(set.task.revision),
        TaskEvent::OriginNoted(noted) => Some(noted.subject.revision),
        TaskEvent::StepDefined(_)
        | TaskEvent::StepNoted(_)
        | TaskEvent::StepVerified(_)
        | TaskEvent::StepDone(_)
        | TaskEvent::StepReopened(_)
        | TaskEvent::StepBlockSet(_)
        | TaskEvent::StepDeleted(_)
        | TaskEvent::NodeAdded(_)
        | TaskEvent::NodeDefined(_)
        | TaskEvent::NodeDeleted(_)
        | TaskEvent::StopAnswered(_) => event.step().map(|step| step.task.revision),
        TaskEvent::PlanCreated(_)
        | TaskEvent::TaskCreated(_)
        | TaskEvent::Deleted(_)
        | TaskEvent::CardsCommitted(_)
        | TaskEvent::NoteCommitted(_)
        | TaskEvent::CardKept(_)
        | TaskEvent::NoteKept(_)
        | TaskEvent::OperationRecorded(_)
        | TaskEvent::FocusMoved { .. }
        | TaskEvent::CheckRequested(_)
        | TaskEvent::CheckStarted(_)
        | TaskEvent::CheckFinished(_)
        | TaskEvent::ProjectAccepted(_)
        | TaskEvent::ProtectedReviewed(_)
        | TaskEvent::ClaimSet(_)
        | TaskEvent::TodosWritten(_)
        | TaskEvent::AnswerKept { .. } => None,
    }
}
