//! Moving a task to another plan. Steps, evidence, notes, claims and dependencies stay with the
//! task; what happened before stays in the timeline of the plan in which it happened.

use super::{Decision, derive, reject, task_ref};
use crate::tasks::{
    TaskDocs, TaskEvent, TaskRejection, TaskResult,
    event::{TaskMoved, TaskRef},
    id::{PlanId, TaskId},
    lookup,
};

/// Moving a task to the plan that it is in changes nothing.
pub(super) fn decide(docs: &TaskDocs, task: TaskId, to: PlanId) -> Decision {
    let task = lookup::task(docs, task)?;
    let plan = lookup::plan(docs, to)?;
    if task.parent == plan.id {
        return Ok(Vec::new());
    }
    if waits_for(docs, task.id, plan.id)? {
        return reject(TaskRejection::WaitsForPlan { task: task.id, plan: plan.id });
    }
    Ok(vec![TaskEvent::TaskMoved(TaskMoved {
        task: TaskRef { parent: plan.id, ..task_ref(docs, task)? },
        from: task.parent,
        derived: derive::task_appears(docs, task, plan)?,
    })])
}

/// Whether a task cannot be done before a plan, so that it cannot be a part of it (TASKS-EDIT-3).
pub(super) fn waits_for(docs: &TaskDocs, task: TaskId, plan: PlanId) -> TaskResult<bool> {
    Ok(lookup::waiters(docs, plan.into())?.contains(&task.into()))
}
