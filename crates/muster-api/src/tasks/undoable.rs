//! Changes that can be undone: the fields before and after go into the history.

use muster_core::{
    Documents, Draft, Recorded, WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskEvent,
        command::{NodeTarget, StepTarget},
        history::Addressed,
        lookup,
    },
};

/// Applies one command to what is addressed and records the operation; answers the command's
/// events.
pub(crate) fn undoable(
    draft: &mut Draft<'_, TaskAggregate>,
    addressed: &Addressed,
    intent: &str,
    command: &TaskCommand,
) -> Result<Vec<Recorded<TaskEvent>>, WorkRefusal<TaskAggregate>> {
    let before = addressed.fields(draft.documents())?;
    let events = draft.apply(command)?.to_vec();
    let operation = addressed.operation(draft.documents(), intent, &before, &events)?;
    draft.apply(&TaskCommand::RecordOperation(operation))?;
    Ok(events)
}

/// A step as history addresses it.
pub(crate) fn step_place(
    docs: &Documents<TaskAggregate>,
    target: &StepTarget,
) -> Result<Addressed, WorkRefusal<TaskAggregate>> {
    let (task, step) = lookup::task_and_step(docs, target)?;
    Ok(Addressed { entity: task.id.into(), path: Some(step.path.clone()), node: None })
}

/// A node as history addresses it.
pub(crate) fn node_place(
    docs: &Documents<TaskAggregate>,
    target: &NodeTarget,
) -> Result<Addressed, WorkRefusal<TaskAggregate>> {
    let (task, step, node) = lookup::task_step_and_node(docs, target)?;
    let entity = task.id.into();
    let path = Some(step.path.clone());
    Ok(Addressed { entity, path, node: Some(node.ordinal) })
}
