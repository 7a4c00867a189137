//! What can be worked on now, most urgent first (view of `tasks_next`).

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{brief::TaskBrief, definition::DefinitionOfDone};
use crate::{
    Documents, ListOrder, ListQuery, RankBound, Unloaded, WholeText, WorkRefusal,
    tasks::{
        TaskAggregate, WAITING_RANK,
        entity::{TaskStatus, Urgency},
        id::{EntityId, PlanId, TaskId, WorkspaceId},
        lookup,
        step::Step,
    },
};

/// Open tasks looked at in one call: a workspace full of blocked ones is not read to its end.
const LOOKED_AT_MAX: u32 = 4_000;

/// Tasks that are ready.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextTasks {
    /// The workspace.
    pub workspace: String,
    /// The plan that was asked for.
    pub plan: Option<PlanId>,
    /// Ready tasks: those under way first, then by priority, then by age.
    pub tasks: Vec<NextTask>,
    /// Whether there can be more.
    pub has_more: bool,
}

/// A ready task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextTask {
    pub id: TaskId,
    /// The plan it belongs to.
    pub parent: PlanId,
    pub title: WholeText,
    pub status: TaskStatus,
    pub priority: Urgency,
    pub revision: u64,
    /// Its first open step; none when all are closed or it has none yet.
    pub step: Option<NextStep>,
}

/// The step to begin with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    pub step_id: String,
    pub path: String,
    pub title: String,
    #[serde(flatten)]
    pub definition: DefinitionOfDone,
}

impl NextTasks {
    /// The ready tasks of a workspace or of one plan.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        workspace: &WorkspaceId,
        plan: Option<PlanId>,
        limit: u32,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        if let Some(plan) = plan {
            lookup::plan(docs, plan)?;
        }
        let (mut ready, has_more) = ready_tasks(docs, plan, limit)?;
        ready.truncate(limit as usize);
        docs.have_all(ready.iter().map(|brief| EntityId::Task(brief.id).into()))?;
        let tasks = ready.iter().map(|brief| NextTask::of(docs, brief));
        let tasks = tasks.collect::<Result<_, _>>()?;
        Ok(Self { workspace: workspace.to_string(), plan, tasks, has_more })
    }
}

impl NextTask {
    fn of(
        docs: &Documents<TaskAggregate>,
        brief: &TaskBrief,
    ) -> Result<Self, Unloaded<TaskAggregate>> {
        let task = lookup::find_task(docs, brief.id)?;
        Ok(Self {
            id: brief.id,
            parent: brief.parent,
            title: brief.title.clone(),
            status: brief.status,
            priority: brief.priority,
            revision: brief.revision,
            step: task.and_then(|task| task.steps.first_open()).map(NextStep::of),
        })
    }
}

impl NextStep {
    fn of(step: &Step) -> Self {
        Self {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            definition: DefinitionOfDone::of(step),
        }
    }
}

/// At least `limit` ready tasks if there are as many, and whether there can be more than that.
///
/// Open tasks are indexed by the order wanted here. Blocked ones are in the same index, so the
/// range read grows until enough of it is ready.
fn ready_tasks(
    docs: &Documents<TaskAggregate>,
    plan: Option<PlanId>,
    limit: u32,
) -> Result<(Vec<Arc<TaskBrief>>, bool), Unloaded<TaskAggregate>> {
    let mut count = limit + 1;
    loop {
        let open = docs.briefs(&not_waiting(plan, count))?;
        let read_all = open.len() < count as usize;
        let ready = without_held_up(docs, open)?;
        let enough = ready.len() > limit as usize;
        if enough || read_all || count == LOOKED_AT_MAX {
            return Ok((ready, enough || !read_all));
        }
        count = count.saturating_mul(4).min(LOOKED_AT_MAX);
    }
}

/// Open tasks whose dependencies are done, in the order of TASKS-VIEW-4.
fn not_waiting(plan: Option<PlanId>, limit: u32) -> ListQuery {
    ListQuery {
        parent: plan.map(|plan| plan.to_string()),
        rank: Some(RankBound::UpTo(WAITING_RANK - 1)),
        order: ListOrder::Rank,
        limit: Some(limit),
        ..ListQuery::of("task")
    }
}

/// Leaves out tasks with a blocked step and those of a plan that waits for another.
fn without_held_up(
    docs: &Documents<TaskAggregate>,
    open: Vec<Arc<TaskBrief>>,
) -> Result<Vec<Arc<TaskBrief>>, Unloaded<TaskAggregate>> {
    let plans: BTreeSet<PlanId> = open.iter().map(|task| task.parent).collect();
    docs.have_all(plans.into_iter().map(|plan| EntityId::Plan(plan).into()))?;
    let mut ready = Vec::with_capacity(open.len());
    for task in open {
        let plan = lookup::find_plan(docs, task.parent)?;
        if task.blocked == 0 && plan.is_some_and(|plan| !plan.meta.is_waiting()) {
            ready.push(task);
        }
    }
    Ok(ready)
}
