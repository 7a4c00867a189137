//! Everything about one plan or task, strings complete (view 4.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Requested, Rollup, StepsSummary, TargetView,
    context::{Pagination, TaskRow},
    focus::FocusRestored,
    overview::{TargetStanding, ViewPlace, overview},
    page::{self, PageQuery},
    step_object::StepObject,
    timeline::Timeline,
};
use crate::tasks::{
    TaskDocs, TaskResult,
    entity::Task,
    id::{EntityId, WorkspaceId},
    lookup,
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
    #[serde(flatten)]
    pub place: ViewPlace,
    /// Present when the call moved the focus.
    #[serde(flatten)]
    pub restored: Option<FocusRestored>,
    /// The texts of the target are complete.
    #[serde(flatten)]
    pub standing: TargetStanding,
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
    pub fn of(docs: &TaskDocs, workspace: &WorkspaceId, query: &ResumeQuery) -> TaskResult<Self> {
        let place = ViewPlace::of(docs, workspace, query.requested)?;
        let (mut standing, progress) = overview(docs, workspace, query.id)?;
        let mut of_task = None;
        let mut of_plan = None;
        match query.id {
            EntityId::Task(id) => {
                let task = lookup::task(docs, id)?;
                standing.target = TargetView::whole_task(workspace, task);
                of_task = Some(TaskWhole::of(task, query)?);
            }
            EntityId::Plan(id) => {
                let plan = lookup::plan(docs, id)?;
                standing.target = TargetView::whole_plan(workspace, plan);
                let (tasks, tasks_pagination) = page::tasks(docs, plan, &query.page)?;
                let tasks = tasks.iter().map(|task| TaskRow::of(workspace, task)).collect();
                let whole = |rollup| PlanWhole { rollup, tasks, tasks_pagination };
                of_plan = progress.rollup.map(whole);
            }
        }
        let timeline = Timeline::of(docs, query.id, query.events_limit)?;
        Ok(Self { place, restored: query.restored, standing, timeline, of_task, of_plan })
    }
}

impl TaskWhole {
    fn of(task: &Task, query: &ResumeQuery) -> TaskResult<Self> {
        let list = task.id.to_string();
        let (steps, steps_pagination) = page::steps(task.steps.iter(), &list, &query.page)?;
        let revision = task.meta.revision;
        Ok(Self {
            steps: steps.into_iter().map(|step| StepObject::of(step, revision)).collect(),
            steps_summary: StepsSummary::of(task),
            steps_pagination,
        })
    }
}
