//! Derived changes without their own event (TASKS-STATE-2 to -6).

use super::next_revision;
use crate::tasks::{
    TaskDocs, TaskKey, TaskResult,
    entity::{Plan, Task, TaskStatus},
    event::{Derived, PlanMove, StatusMove},
    lookup,
    path::StepPath,
    step::Step,
};

type Consequence = TaskResult<Derived>;

/// Nothing follows.
pub(super) fn nothing() -> Derived {
    Derived::default()
}

/// Work on a task begins: TODO becomes ACTIVE, and so does its plan.
pub(super) fn work_begins(docs: &TaskDocs, task: &Task) -> Consequence {
    match task.meta.status {
        TaskStatus::Todo => task_moves(docs, task, TaskStatus::Active),
        TaskStatus::Active | TaskStatus::Done => Ok(nothing()),
    }
}

/// An open task appears under a plan: a DONE plan becomes ACTIVE.
pub(super) fn open_task_appears(docs: &TaskDocs, plan: &Plan) -> Consequence {
    let plan = match plan.meta.status {
        TaskStatus::Done => Some(plan_moves(docs, plan, TaskStatus::Active)?),
        TaskStatus::Todo | TaskStatus::Active => None,
    };
    Ok(Derived { plan, ..nothing() })
}

/// A task comes under another plan: one that was begun activates a TODO plan, an open one a DONE
/// plan.
pub(super) fn task_appears(docs: &TaskDocs, task: &Task, plan: &Plan) -> Consequence {
    let wakes = match plan.meta.status {
        TaskStatus::Todo => task.meta.status != TaskStatus::Todo,
        TaskStatus::Done => task.meta.status != TaskStatus::Done,
        TaskStatus::Active => false,
    };
    let plan = if wakes { Some(plan_moves(docs, plan, TaskStatus::Active)?) } else { None };
    Ok(Derived { plan, ..nothing() })
}

/// Steps appear below `parent`: closed ancestors open, a DONE task becomes ACTIVE.
pub(super) fn steps_appear(docs: &TaskDocs, task: &Task, parent: Option<&StepPath>) -> Consequence {
    let reopened = closed_upwards(task, parent.cloned());
    Ok(Derived { reopened, ..task_is_open(docs, task)? })
}

/// A closed step opens again, its closed ancestors with it; a DONE task becomes ACTIVE.
pub(super) fn step_opens(docs: &TaskDocs, task: &Task, path: &StepPath) -> Consequence {
    let reopened = closed_upwards(task, Some(path.clone()));
    Ok(Derived { reopened, ..task_is_open(docs, task)? })
}

/// The task is open again: DONE becomes ACTIVE.
pub(super) fn task_is_open(docs: &TaskDocs, task: &Task) -> Consequence {
    match task.meta.status {
        TaskStatus::Done => task_moves(docs, task, TaskStatus::Active),
        TaskStatus::Todo | TaskStatus::Active => Ok(nothing()),
    }
}

/// Closed steps from `path` up to the root, in path order.
fn closed_upwards(task: &Task, path: Option<StepPath>) -> Vec<StepPath> {
    let chain = std::iter::successors(path, StepPath::parent);
    let mut closed: Vec<StepPath> =
        chain.filter(|path| task.steps.at(path).is_some_and(Step::is_closed)).collect();
    closed.reverse();
    closed
}

fn task_moves(docs: &TaskDocs, task: &Task, to: TaskStatus) -> Consequence {
    let status = Some(StatusMove { from: task.meta.status, to });
    Ok(Derived { status, ..plan_follows(docs, task, to)? })
}

/// A task's status changes: leaving TODO activates a TODO plan, an open task activates a DONE one
/// (TASKS-STATE-5).
pub(super) fn plan_follows(docs: &TaskDocs, task: &Task, to: TaskStatus) -> Consequence {
    let plan = lookup::plan(docs, task.parent)?;
    let wakes = match plan.meta.status {
        TaskStatus::Todo => task.meta.status == TaskStatus::Todo,
        TaskStatus::Done => to != TaskStatus::Done,
        TaskStatus::Active => false,
    };
    let plan = if wakes { Some(plan_moves(docs, plan, TaskStatus::Active)?) } else { None };
    Ok(Derived { plan, ..nothing() })
}

fn plan_moves(docs: &TaskDocs, plan: &Plan, to: TaskStatus) -> TaskResult<PlanMove> {
    let revision = next_revision(docs, &TaskKey::Plan(plan.id))?;
    Ok(PlanMove { id: plan.id, from: plan.meta.status, to, revision })
}
