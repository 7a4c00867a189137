//! Changes that can be undone: the fields before and after go into the history.

use muster_core::{
    Recorded,
    tasks::{
        TaskCommand, TaskDocs, TaskDraft, TaskEvent, TaskResult,
        command::{NodeTarget, StepTarget},
        history::Addressed,
        id::{EntityId, PlanId, TaskId},
        lookup,
    },
};

/// Applies one command to its target and records the operation; returns the command's
/// events.
pub(crate) fn undoable(
    draft: &mut TaskDraft<'_>,
    addressed: &Addressed,
    intent: &str,
    command: &TaskCommand,
) -> TaskResult<Vec<Recorded<TaskEvent>>> {
    undoable_work(draft, addressed, intent, |draft| Ok(draft.apply(command)?.to_vec()))
}

/// The same for several commands, which are undone and redone as one.
pub(crate) fn undoable_work<T>(
    draft: &mut TaskDraft<'_>,
    addressed: &Addressed,
    intent: &str,
    work: impl FnOnce(&mut TaskDraft<'_>) -> TaskResult<T>,
) -> TaskResult<T> {
    let before = addressed.fields(draft.documents())?;
    let first = draft.events().len();
    let outcome = work(draft)?;
    let events = &draft.events()[first..];
    let operation = addressed.operation(draft.documents(), intent, &before, events)?;
    draft.apply(&TaskCommand::RecordOperation(operation))?;
    Ok(outcome)
}

/// Records that the call has created a task, with its plan if that is new.
pub(crate) fn record_creation(
    draft: &mut TaskDraft<'_>,
    intent: &str,
    (task, new_plan): (TaskId, Option<PlanId>),
    focus_before: Option<EntityId>,
) -> TaskResult<()> {
    if let Some(plan) = new_plan {
        let plain = whole(plan.into()).plain(intent);
        draft.apply(&TaskCommand::RecordOperation(plain))?;
    }
    let docs = draft.documents();
    let created = whole(task.into());
    let operation = created.creation(docs, intent, focus_before, draft.call_events())?;
    draft.apply(&TaskCommand::RecordOperation(operation))?;
    Ok(())
}

/// A plan or task as history addresses it.
pub(crate) fn whole(entity: EntityId) -> Addressed {
    Addressed { entity, path: None, node: None }
}

/// A step as history addresses it.
pub(crate) fn step_place(docs: &TaskDocs, target: &StepTarget) -> TaskResult<Addressed> {
    let (task, step) = lookup::task_and_step(docs, target)?;
    Ok(Addressed { entity: task.id.into(), path: Some(step.path.clone()), node: None })
}

/// A node as history addresses it.
pub(crate) fn node_place(docs: &TaskDocs, target: &NodeTarget) -> TaskResult<Addressed> {
    let (task, step, node) = lookup::task_step_and_node(docs, target)?;
    let entity = task.id.into();
    let path = Some(step.path.clone());
    Ok(Addressed { entity, path, node: Some(node.ordinal) })
}
