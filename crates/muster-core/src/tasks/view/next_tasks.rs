//! What can be worked on now, most urgent first (view of `tasks_next`).

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{brief::TaskBrief, definition::DefinitionOfDone};
use crate::{
    Env, ListOrder, ListQuery, RankBound, WholeText,
    tasks::{
        TaskDocs, TaskLookup, TaskResult, WAITING_RANK,
        claim::ClaimView,
        entity::{Task, TaskStatus, Urgency},
        id::{EntityId, PlanId, TaskId, WorkspaceId},
        lookup,
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
    /// The task that the call took: the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<TaskId>,
    /// The task that the call released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<TaskId>,
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
    /// The caller's own claim, or one that has lapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView>,
}

/// Which tasks are asked for.
#[derive(Clone, Debug)]
pub struct NextQuery {
    pub workspace: WorkspaceId,
    /// Only tasks of this plan.
    pub plan: Option<PlanId>,
    /// Tasks at most.
    pub limit: u32,
}

/// The step to begin with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    pub step_id: String,
    pub path: String,
    pub title: String,
    /// Revision of the task at which it was read.
    pub revision: u64,
    #[serde(flatten)]
    pub definition: DefinitionOfDone,
}

impl NextTasks {
    /// The tasks of a workspace or of one plan that are ready for a caller.
    pub fn of(docs: &TaskDocs, env: &Env, query: &NextQuery) -> TaskResult<Self> {
        if let Some(plan) = query.plan {
            lookup::plan(docs, plan)?;
        }
        let (mut ready, has_more) = ready_tasks(docs, env, query)?;
        ready.truncate(query.limit as usize);
        docs.have_all(ready.iter().map(|brief| EntityId::Task(brief.id).into()))?;
        let tasks = ready.iter().map(|brief| NextTask::of(docs, env, brief));
        let tasks = tasks.collect::<Result<_, _>>()?;
        let workspace = query.workspace.to_string();
        Ok(Self { workspace, plan: query.plan, tasks, has_more, claimed: None, released: None })
    }
}

impl NextTask {
    fn of(docs: &TaskDocs, env: &Env, brief: &TaskBrief) -> TaskLookup<Self> {
        let task = lookup::find_task(docs, brief.id)?;
        let claim = task.and_then(|task| task.claim.as_ref());
        Ok(Self {
            id: brief.id,
            parent: brief.parent,
            title: brief.title.clone(),
            status: brief.status,
            priority: brief.priority,
            revision: brief.revision,
            step: task.and_then(NextStep::of),
            claim: claim.map(|claim| ClaimView::at(claim, env.now)),
        })
    }
}

impl NextStep {
    fn of(task: &Task) -> Option<Self> {
        let step = task.steps.first_open()?;
        Some(Self {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            revision: task.meta.revision,
            definition: DefinitionOfDone::of(step),
        })
    }
}

/// At least `limit` ready tasks if there are as many, and whether there can be more than that.
///
/// Open tasks are indexed by the order wanted here. Blocked and claimed ones are in the same index,
/// so the range read grows until enough of it is ready.
fn ready_tasks(
    docs: &TaskDocs,
    env: &Env,
    query: &NextQuery,
) -> TaskLookup<(Vec<Arc<TaskBrief>>, bool)> {
    let NextQuery { plan, limit, .. } = *query;
    let taken = of_others(docs, env)?;
    let mut count = limit + 1;
    loop {
        let open = docs.briefs(&not_waiting(plan, count))?;
        let read_all = open.len() < count as usize;
        let mut ready = without_held_up(docs, open)?;
        ready.retain(|task| !taken.contains(&task.id));
        let enough = ready.len() > limit as usize;
        if enough || read_all || count == LOOKED_AT_MAX {
            return Ok((ready, enough || !read_all));
        }
        count = count.saturating_mul(4).min(LOOKED_AT_MAX);
    }
}

/// Tasks that other agents hold now.
fn of_others(docs: &TaskDocs, env: &Env) -> TaskLookup<BTreeSet<TaskId>> {
    let claimed = lookup::workspace(docs)?.claimed;
    docs.have_all(claimed.iter().map(|id| EntityId::Task(*id).into()))?;
    let mut taken = BTreeSet::new();
    for id in claimed {
        let claim = lookup::find_task(docs, id)?.and_then(|task| task.claim.as_ref());
        if claim.is_some_and(|claim| claim.is_of_another(env)) {
            taken.insert(id);
        }
    }
    Ok(taken)
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
fn without_held_up(docs: &TaskDocs, open: Vec<Arc<TaskBrief>>) -> TaskLookup<Vec<Arc<TaskBrief>>> {
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
