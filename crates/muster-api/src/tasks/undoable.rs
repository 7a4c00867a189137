//! Changes that can be undone: the fields before and after go into the history.

use muster_core::{
    Recorded,
    tasks::{
        TaskCommand, TaskDocs, TaskDraft, TaskEvent, TaskResult,
        command::{NodeTarget, StepTarget},
        history::Addressed,
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
    let before = addressed.fields(draft.documents())?;
    let events = draft.apply(command)?.to_vec();
    let operation = addressed.operation(draft.documents(), intent, &before, &events)?;
    draft.apply(&TaskCommand::RecordOperation(operation))?;
    Ok(events)
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
