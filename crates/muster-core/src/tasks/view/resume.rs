//! Everything about one plan or task, strings complete (view 4.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ReasoningRef, Requested, Rollup, StepsSummary, TargetView,
    context::{Pagination, TaskRow},
    focus::FocusRestored,
    page::{self, PageQuery},
    radar::{Radar, RadarView},
    step_object::StepObject,
    timeline::Timeline,
};
use crate::{
    Documents, WorkRefusal,
    tasks::{
        TaskAggregate,
        id::{EntityId, PlanId, TaskId, WorkspaceId},
        lookup,
    },
};

/// What to show.
#[derive(Clone, PartialEq, Debug)]
pub struct ResumeQuery {
    /// The plan or task.
    pub id: EntityId,
    /// Which target the caller named.
    pub requested: Requested,
    /// Events at most.
    pub events_limit: u32,
    /// Page of steps; for a plan, page of tasks.
    pub page: PageQuery,
    /// Present when showing it moved the focus.
    pub restored: Option<FocusRestored>,
}

/// The view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResumeView {
    /// The workspace.
    pub workspace: String,
    /// Which target the caller named.
    pub requested: Requested,
    /// The workspace's focus after the call.
    pub focus: Option<EntityId>,
    /// Present when the call moved the focus.
    #[serde(flatten)]
    pub restored: Option<FocusRestored>,
    /// The plan or task, texts complete.
    pub target: TargetView,
    /// Where its reasoning memory is.
    pub reasoning_ref: ReasoningRef,
    /// One screen of state.
    pub radar: Radar,
    /// Its newest events.
    pub timeline: Timeline,
    /// What only a task has.
    #[serde(flatten)]
    pub of_task: Option<TaskWhole>,
    /// What only a plan has.
    #[serde(flatten)]
    pub of_plan: Option<PlanWhole>,
}

/// The steps of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskWhole {
    /// Steps in path order, sub-plans included.
    pub steps: Vec<StepObject>,
    /// All steps in numbers.
    pub steps_summary: StepsSummary,
    /// Which of the steps are shown.
    pub steps_pagination: Pagination,
}

/// The tasks of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanWhole {
    /// All tasks in numbers.
    pub rollup: Rollup,
    /// Tasks by id number.
    pub tasks: Vec<TaskRow>,
    /// Which of the tasks are shown.
    pub tasks_pagination: Pagination,
}

impl ResumeView {
    /// The view of a plan or task.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        workspace: &WorkspaceId,
        query: &ResumeQuery,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let radar = RadarView::of(docs, workspace, query.id, query.requested)?;
        let (target, of_task, of_plan) = match query.id {
            EntityId::Task(id) => {
                let target = TargetView::whole_task(workspace, lookup::task(docs, id)?);
                (target, Some(TaskWhole::of(docs, id, query)?), None)
            }
            EntityId::Plan(id) => {
                let target = TargetView::whole_plan(workspace, lookup::plan(docs, id)?);
                let whole = PlanWhole::of(docs, (workspace, id), query, radar.rollup)?;
                (target, None, Some(whole))
            }
        };
        Ok(Self {
            workspace: radar.workspace,
            requested: radar.requested,
            focus: radar.focus,
            restored: query.restored,
            target,
            reasoning_ref: radar.reasoning_ref,
            radar: radar.radar,
            timeline: Timeline::of(docs, query.id, query.events_limit)?,
            of_task,
            of_plan,
        })
    }
}

impl TaskWhole {
    fn of(
        docs: &Documents<TaskAggregate>,
        id: TaskId,
        query: &ResumeQuery,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let task = lookup::task(docs, id)?;
        let (steps, steps_pagination) =
            page::steps(task.steps.iter(), &id.to_string(), &query.page)?;
        Ok(Self {
            steps: steps.into_iter().map(StepObject::of).collect(),
            steps_summary: StepsSummary::of(task),
            steps_pagination,
        })
    }
}

impl PlanWhole {
    fn of(
        docs: &Documents<TaskAggregate>,
        (workspace, id): (&WorkspaceId, PlanId),
        query: &ResumeQuery,
        rollup: Option<Rollup>,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let plan = lookup::plan(docs, id)?;
        let (tasks, tasks_pagination) = page::tasks(docs, plan, &query.page)?;
        let rollup = match rollup {
            Some(rollup) => rollup,
            None => Rollup::of(docs, plan)?,
        };
        let tasks = tasks.into_iter().map(|task| TaskRow::of(workspace, &task)).collect();
        Ok(Self { rollup, tasks, tasks_pagination })
    }
}
