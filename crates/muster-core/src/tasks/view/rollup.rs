//! A plan's tasks in numbers and its open ones in a short list (TASKS-VIEW-4).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{brief::TaskBrief, percent};
use crate::{
    ListOrder, ListQuery, WholeText,
    tasks::{
        TaskDocs, TaskLookup,
        entity::{Plan, TaskStatus},
        id::{EntityId, TaskId},
    },
};

/// Open tasks in a rollup.
const ROLLUP_TASKS_MAX: u32 = 20;

/// Sums over the tasks of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rollup {
    /// All tasks.
    pub tasks_total: u64,
    /// Tasks done.
    pub tasks_done: u64,
    /// Tasks under way.
    pub tasks_active: u64,
    /// Tasks not begun.
    pub tasks_todo: u64,
    /// Tasks that wait for a dependency.
    pub tasks_waiting: u64,
    /// Tasks with a blocked step.
    pub tasks_blocked: u64,
    /// Steps of all tasks.
    pub steps_total: u64,
    /// Closed steps of all tasks.
    pub steps_completed: u64,
    /// Percent of tasks done.
    pub progress: u64,
    /// The task to work on next.
    pub next_task: Option<String>,
    /// Tasks not done, by id.
    pub tasks: Vec<RollupTask>,
}

/// A task not done, in one row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RollupTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: WholeText,
    /// How far it is.
    pub status: TaskStatus,
    /// Percent of steps closed.
    pub progress: u64,
    /// Open dependencies.
    pub waiting_on: Vec<EntityId>,
    /// How many blocker lines it has.
    pub blockers: u64,
}

impl Rollup {
    /// The rollup of a plan.
    pub fn of(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Self> {
        let sums = &plan.sums;
        let open = docs.briefs(&open_tasks(plan, ROLLUP_TASKS_MAX))?;
        Ok(Self {
            tasks_total: sums.tasks.total(),
            tasks_done: sums.tasks.done,
            tasks_active: sums.tasks.active,
            tasks_todo: sums.tasks.todo,
            tasks_waiting: sums.tasks_waiting,
            tasks_blocked: sums.tasks_blocked,
            steps_total: sums.steps_total,
            steps_completed: sums.steps_completed,
            progress: percent(sums.tasks.done, sums.tasks.total()),
            next_task: next_task(docs, plan)?.map(|task| task.id.to_string()),
            tasks: open.iter().map(|brief| RollupTask::of(brief)).collect(),
        })
    }
}

impl RollupTask {
    fn of(task: &TaskBrief) -> Self {
        Self {
            id: task.id,
            title: task.title.clone(),
            status: task.status,
            progress: task.progress(),
            waiting_on: task.waits.clone(),
            blockers: task.blocker_count(),
        }
    }
}

/// Tasks of a plan that are not done, by id.
fn open_tasks(plan: &Plan, limit: u32) -> ListQuery {
    ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: vec![TaskStatus::Todo.name(), TaskStatus::Active.name()],
        limit: Some(limit),
        ..ListQuery::of("task")
    }
}

fn next_tasks(plan: &Plan) -> ListQuery {
    ListQuery {
        parent: Some(plan.id.to_string()),
        order: ListOrder::Rank,
        limit: Some(1),
        ..ListQuery::of("task")
    }
}

/// What [`Rollup::of`] asks for.
pub(super) fn lists(plan: &Plan) -> [ListQuery; 2] {
    [open_tasks(plan, ROLLUP_TASKS_MAX), next_tasks(plan)]
}

/// The task to work on next: the documents' rank follows TASKS-VIEW-4.
pub(super) fn next_task(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Option<Arc<TaskBrief>>> {
    Ok(docs.briefs(&next_tasks(plan))?.into_iter().next())
}
