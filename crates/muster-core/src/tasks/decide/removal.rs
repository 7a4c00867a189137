//! Deleting plans, tasks and steps.

use super::{Decision, derive, step_ref};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent,
        command::StepTarget,
        event::{Deleted, StepDeleted},
        id::EntityId,
        lookup,
    },
};

pub(super) fn entity(docs: &TaskDocs, id: EntityId) -> Decision {
    match id {
        EntityId::Task(id) => {
            let task = lookup::task(docs, id)?;
            let title = task.meta.title.clone();
            Ok(vec![TaskEvent::Deleted(Deleted { id: id.into(), plan: task.parent, title })])
        }
        EntityId::Plan(id) => {
            let plan = lookup::plan(docs, id)?;
            let query = ListQuery { parent: Some(id.to_string()), ..ListQuery::of("task") };
            let tasks = docs.list(&query)?.into_iter().filter_map(TaskDocument::as_task);
            let gone = tasks.map(|task| (EntityId::Task(task.id), task.meta.title.clone()));
            let itself = (EntityId::Plan(id), plan.meta.title.clone());
            let deleted = |(gone, title)| TaskEvent::Deleted(Deleted { id: gone, plan: id, title });
            Ok(gone.chain([itself]).map(deleted).collect())
        }
    }
}

pub(super) fn step(docs: &TaskDocs, target: &StepTarget) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    let deleted_steps = task.steps.subtree(&step.path).count() as u64;
    let empties = deleted_steps == task.steps.len() as u64;
    let derived = if empties { derive::task_is_open(docs, task)? } else { derive::nothing() };
    let step = step_ref(docs, task, step)?;
    Ok(vec![TaskEvent::StepDeleted(StepDeleted { step, deleted_steps, derived })])
}
