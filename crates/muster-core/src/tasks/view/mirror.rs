//! A compact slice of a plan or task for other programs (view 4.8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ViewLine,
    brief::TaskBrief,
    context::Pagination,
    gate::Confirmed,
    page::{self, PageQuery},
    percent,
};
use crate::{
    WholeText, WorkRefusal,
    session::SessionId,
    tasks::{
        TaskDocs, TaskKey, TaskResult,
        command::StepSelector,
        entity::{Checklist, Plan, Task, TaskStatus},
        id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
        lookup,
        path::StepPath,
        step::{Step, StepLook, StepNode},
    },
    todo::{ItemId, ToolStatus},
};

#[derive(Clone, PartialEq, Debug)]
pub struct MirrorQuery {
    /// The plan or task.
    pub id: EntityId,
    /// For a task: only this step and its descendants.
    pub path: Option<StepPath>,
    /// Page of steps; for a plan, page of tasks.
    pub page: PageQuery,
}

/// The slice.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MirrorView {
    /// Of a task.
    Task(TaskMirror),
    /// Of a plan.
    Plan(PlanMirror),
}

/// A task and a page of its steps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskMirror {
    /// The workspace.
    pub workspace: String,
    /// What is mirrored.
    pub scope: MirrorScope,
    /// The task.
    pub task: MirrorTask,
    /// Steps in path order.
    pub steps: Vec<MirrorStep>,
    /// Todo items that are linked to the step at `scope.path`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<LinkedTodo>,
    /// Which of the steps are shown.
    pub pagination: Pagination,
}

/// A plan and a page of its tasks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanMirror {
    /// The workspace.
    pub workspace: String,
    /// What is mirrored.
    pub scope: MirrorScope,
    /// The plan.
    pub plan: MirrorPlan,
    /// Its points.
    pub checklist: Checklist,
    /// What it promises.
    pub contract: Option<String>,
    /// Tasks by id number.
    pub tasks: Vec<MirrorRow>,
    /// Which of the tasks are shown.
    pub pagination: Pagination,
}

/// What is mirrored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorScope {
    /// Plan or task.
    pub kind: EntityKind,
    /// Its id.
    pub id: String,
    /// The step whose subtree it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A task in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorTask {
    pub id: String,
    pub title: String,
    pub status: TaskStatus,
    pub revision: u64,
    pub parent: String,
    pub progress: u64,
    pub waiting_on: Vec<EntityId>,
}

/// A plan in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorPlan {
    pub id: String,
    pub title: String,
    pub revision: u64,
    pub status: TaskStatus,
    pub progress: u64,
    pub plan_progress: String,
}

/// A step in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorStep {
    pub step_id: String,
    pub path: String,
    pub title: String,
    pub completed: bool,
    pub forced: bool,
    /// What backs it, if it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<StepLook>,
    #[serde(flatten)]
    pub confirmed: Confirmed,
    pub blocked: bool,
    pub block_reason: Option<String>,
    pub nodes: Vec<MirrorNode>,
}

/// A todo item of a session that is linked to a step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkedTodo {
    pub session_id: SessionId,
    pub id: ItemId,
    pub content: String,
    pub status: ToolStatus,
}

/// A node in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorNode {
    pub node_id: String,
    pub path: String,
    pub title: String,
    pub status: TaskStatus,
    pub blocked: bool,
}

/// A task of a plan in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MirrorRow {
    pub id: TaskId,
    pub title: WholeText,
    pub status: TaskStatus,
    pub revision: u64,
    pub progress: u64,
    pub steps_count: u64,
    pub steps_open: u64,
    pub waiting_on: Vec<EntityId>,
    pub blockers: Vec<ViewLine>,
    pub next: Option<WholeText>,
}

impl MirrorView {
    /// The same with the todo items of its step.
    pub fn with_todos(self, todos: &[LinkedTodo]) -> Self {
        match self {
            Self::Task(mirror) => Self::Task(TaskMirror { todos: todos.to_vec(), ..mirror }),
            Self::Plan(mirror) => Self::Plan(mirror),
        }
    }

    /// The slice of a plan or task.
    pub fn of(docs: &TaskDocs, workspace: &WorkspaceId, query: &MirrorQuery) -> TaskResult<Self> {
        match query.id {
            EntityId::Task(id) => TaskMirror::of(docs, workspace, id, query).map(Self::Task),
            EntityId::Plan(id) => PlanMirror::of(docs, workspace, id, query).map(Self::Plan),
        }
    }
}

impl TaskMirror {
    fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: TaskId,
        query: &MirrorQuery,
    ) -> TaskResult<Self> {
        let task = lookup::task(docs, id)?;
        let (steps, pagination) = match &query.path {
            Some(path) => {
                let selector = StepSelector::Path(path.clone());
                lookup::step(task, &selector).map_err(WorkRefusal::Rejected)?;
                page::steps(task.steps.subtree(path), &format!("{id}/{path}"), &query.page)?
            }
            None => page::steps(task.steps.iter(), &id.to_string(), &query.page)?,
        };
        Ok(Self {
            workspace: workspace.to_string(),
            scope: MirrorScope {
                kind: EntityKind::Task,
                id: id.to_string(),
                path: query.path.as_ref().map(ToString::to_string),
            },
            task: MirrorTask::of(task),
            steps: steps.into_iter().map(MirrorStep::of).collect(),
            todos: Vec::new(),
            pagination,
        })
    }
}

impl PlanMirror {
    fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: PlanId,
        query: &MirrorQuery,
    ) -> TaskResult<Self> {
        let plan = lookup::plan(docs, id)?;
        let (tasks, pagination) = page::tasks(docs, plan, &query.page)?;
        docs.have_all(tasks.iter().flat_map(|task| &task.waits).map(|id| TaskKey::from(*id)))?;
        let mut rows = Vec::with_capacity(tasks.len());
        for task in tasks {
            rows.push(MirrorRow::of(&task, task.blockers(docs)?));
        }
        Ok(Self {
            workspace: workspace.to_string(),
            scope: MirrorScope { kind: EntityKind::Plan, id: id.to_string(), path: None },
            plan: MirrorPlan::of(plan),
            checklist: plan.checklist.clone(),
            contract: plan.contract.clone(),
            tasks: rows,
            pagination,
        })
    }
}

impl MirrorTask {
    fn of(task: &Task) -> Self {
        let (closed, total) = task.closed_of_total();
        Self {
            id: task.id.to_string(),
            title: task.meta.title.clone(),
            status: task.meta.status,
            revision: task.meta.revision,
            parent: task.parent.to_string(),
            progress: percent(closed as u64, total as u64),
            waiting_on: task.meta.waits(),
        }
    }
}

impl MirrorPlan {
    fn of(plan: &Plan) -> Self {
        Self {
            id: plan.id.to_string(),
            title: plan.meta.title.clone(),
            revision: plan.meta.revision,
            status: plan.meta.status,
            progress: percent(plan.sums.tasks.done, plan.sums.tasks.total()),
            plan_progress: plan.checklist.progress(),
        }
    }
}

impl MirrorStep {
    fn of(step: &Step) -> Self {
        Self {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            completed: step.is_closed(),
            forced: step.waiver.is_some(),
            look: StepLook::of(step),
            confirmed: Confirmed::of(step),
            blocked: step.block.is_some(),
            block_reason: step.block.as_ref().and_then(|block| block.reason.clone()),
            nodes: step.nodes.iter().map(|node| MirrorNode::of(step, node)).collect(),
        }
    }
}

impl MirrorNode {
    fn of(step: &Step, node: &StepNode) -> Self {
        Self {
            node_id: node.id.to_string(),
            path: step.node_path(node),
            title: node.title.clone(),
            status: node.status,
            blocked: node.blocked,
        }
    }
}

impl MirrorRow {
    fn of(task: &TaskBrief, blockers: Vec<ViewLine>) -> Self {
        Self {
            id: task.id,
            title: task.title.clone(),
            status: task.status,
            revision: task.revision,
            progress: task.progress(),
            steps_count: task.steps,
            steps_open: task.steps - task.closed,
            waiting_on: task.waits.clone(),
            blockers,
            next: task.next.clone(),
        }
    }
}
