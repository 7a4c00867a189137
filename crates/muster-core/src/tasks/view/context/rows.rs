//! Plans and tasks as rows of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    WholeText,
    tasks::{
        entity::{Plan, TaskStatus, Urgency},
        id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
        step::StepLookCounts,
        view::brief::TaskBrief,
    },
};

/// A plan in a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanRow {
    pub id: String,
    pub qualified_id: String,
    pub kind: EntityKind,
    pub title: String,
    pub revision: u64,
    pub status: TaskStatus,
    pub priority: Urgency,
    pub tags: Vec<String>,
    pub depends_on: Vec<EntityId>,
    pub waiting: bool,
    pub waiting_on: Vec<EntityId>,
    pub plan_progress: String,
    pub tasks: PlanTasksDone,
    pub updated_at_ms: i64,
}

/// Tasks of a plan in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanTasksDone {
    /// All tasks.
    pub total: u64,
    /// Tasks done.
    pub done: u64,
}

/// A task in a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    pub id: TaskId,
    pub qualified_id: String,
    pub kind: EntityKind,
    pub title: WholeText,
    pub revision: u64,
    pub status: TaskStatus,
    pub parent: PlanId,
    pub progress: u64,
    pub steps_count: u64,
    pub steps_open: u64,
    /// Closed steps by what backs them.
    #[serde(default, skip_serializing_if = "StepLookCounts::is_empty")]
    pub looks: StepLookCounts,
    pub priority: Urgency,
    pub domain: Option<WholeText>,
    pub assignee: Option<WholeText>,
    pub tags: Vec<WholeText>,
    pub depends_on: Vec<EntityId>,
    pub waiting: bool,
    pub waiting_on: Vec<EntityId>,
    pub blocked: usize,
    pub forced: usize,
    pub updated_at_ms: i64,
}

impl PlanRow {
    /// The row of a plan.
    pub fn of(workspace: &WorkspaceId, plan: &Plan) -> Self {
        let meta = &plan.meta;
        Self {
            id: plan.id.to_string(),
            qualified_id: format!("{workspace}:{}", plan.id),
            kind: EntityKind::Plan,
            title: meta.title.clone(),
            revision: meta.revision,
            status: meta.status,
            priority: meta.priority,
            tags: meta.tags.clone(),
            depends_on: meta.depends_on.clone(),
            waiting: meta.is_waiting(),
            waiting_on: meta.waits(),
            plan_progress: plan.checklist.progress(),
            tasks: PlanTasksDone { total: plan.sums.tasks.total(), done: plan.sums.tasks.done },
            updated_at_ms: meta.updated_at.0,
        }
    }
}

impl TaskRow {
    /// The row of a task.
    pub fn of(workspace: &WorkspaceId, task: &TaskBrief) -> Self {
        Self {
            id: task.id,
            qualified_id: format!("{workspace}:{}", task.id),
            kind: EntityKind::Task,
            title: task.title.clone(),
            revision: task.revision,
            status: task.status,
            parent: task.parent,
            progress: task.progress(),
            steps_count: task.steps,
            steps_open: task.steps - task.closed,
            looks: task.looks.unwrap_or_default(),
            priority: task.priority,
            domain: task.domain.clone(),
            assignee: task.assignee.clone(),
            tags: task.tags.clone(),
            depends_on: task.depends_on.clone(),
            waiting: !task.waits.is_empty(),
            waiting_on: task.waits.clone(),
            blocked: task.blocked,
            forced: task.forced.len(),
            updated_at_ms: task.updated_at.0,
        }
    }
}
