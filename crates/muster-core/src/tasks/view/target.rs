//! The plan or task a view is about, in full (TASKS-VIEW-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::percent;
use crate::{
    budget,
    tasks::{
        claim::ClaimView,
        entity::{Checklist, Meta, Plan, Task, TaskStatus, Urgency},
        id::{EntityId, EntityKind, WorkspaceId},
        origin::{FreeMeta, shown_meta},
    },
    text,
};

/// Characters of a string in `target`.
const TEXT_CHARS_MAX: usize = 1_000;
/// Characters of `contract_data` in `target`; a larger one is left out and listed as such.
const CONTRACT_DATA_CHARS_MAX: usize = 2_000;
/// Characters of `meta` in `target`; a larger one is left out and listed as such.
const META_CHARS_MAX: usize = 1_000;

/// A plan or task with its computed fields.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TargetView {
    /// Its id.
    pub id: String,
    /// Id with the workspace in front.
    pub qualified_id: String,
    /// Plan or task.
    pub kind: EntityKind,
    /// What the next `expected_revision` must name.
    pub revision: u64,
    /// How far it is.
    pub status: TaskStatus,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: Option<String>,
    /// Its background.
    pub context: Option<String>,
    /// How urgent it is.
    pub priority: Urgency,
    /// Its labels.
    pub tags: Vec<String>,
    /// What has to be done first.
    pub depends_on: Vec<EntityId>,
    /// Open ones of `depends_on`.
    pub waiting_on: Vec<EntityId>,
    /// Whether any is open.
    pub waiting: bool,
    /// Percent done.
    pub progress: u64,
    /// Fields of a plan.
    #[serde(flatten)]
    pub plan: Option<PlanPart>,
    /// Fields of a task.
    #[serde(flatten)]
    pub task: Option<TaskPart>,
    /// What the source of an import said of it, and which source that is.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// When it was created.
    pub created_at_ms: i64,
    /// When it was changed last.
    pub updated_at_ms: i64,
    /// Fields left out because of their size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// What only a plan has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanPart {
    /// What it promises.
    pub contract: Option<String>,
    /// The promise, structured.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub contract_data: Option<Value>,
    /// Its points.
    pub checklist: Checklist,
    /// `<current>/<points>`.
    pub plan_progress: String,
}

/// What only a task has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskPart {
    /// Its plan.
    pub parent: String,
    /// Area of work.
    pub domain: Option<String>,
    /// Stage of work.
    pub phase: Option<String>,
    /// Part of the system.
    pub component: Option<String>,
    /// Who does it.
    pub assignee: Option<String>,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView>,
}

impl TargetView {
    /// A task, its strings cut.
    pub fn task(workspace: &WorkspaceId, task: &Task) -> Self {
        let (closed, total) = task.closed_of_total();
        let part = TaskPart {
            parent: task.parent.to_string(),
            domain: task.domain.clone(),
            phase: task.phase.clone(),
            component: task.component.clone(),
            assignee: task.assignee.clone(),
            claim: task.claim.as_ref().map(ClaimView::of),
        };
        let progress = percent(closed as u64, total as u64);
        Self { task: Some(part), ..Self::shared(workspace, task.id.into(), &task.meta, progress) }
    }

    /// A plan, its strings cut.
    pub fn plan(workspace: &WorkspaceId, plan: &Plan) -> Self {
        let (contract_data, omitted) = contract_data(plan.contract_data.as_ref());
        let part = PlanPart {
            contract: plan.contract.as_deref().map(cut),
            contract_data,
            checklist: plan.checklist.clone(),
            plan_progress: plan.checklist.progress(),
        };
        let progress = percent(plan.sums.tasks.done, plan.sums.tasks.total());
        let mut shared = Self::shared(workspace, plan.id.into(), &plan.meta, progress);
        shared.omitted.extend(omitted);
        Self { plan: Some(part), ..shared }
    }

    /// A task, its strings complete.
    pub fn whole_task(workspace: &WorkspaceId, task: &Task) -> Self {
        Self::task(workspace, task).with_texts(&task.meta)
    }

    /// A plan, its strings complete.
    pub fn whole_plan(workspace: &WorkspaceId, plan: &Plan) -> Self {
        let mut whole = Self::plan(workspace, plan).with_texts(&plan.meta);
        if let Some(part) = &mut whole.plan {
            part.contract.clone_from(&plan.contract);
            part.contract_data = Some(json!(plan.contract_data));
        }
        whole
    }

    fn with_texts(self, meta: &Meta) -> Self {
        let description = meta.description.clone();
        let context = meta.context.clone();
        Self { description, context, meta: free_of(meta), omitted: Vec::new(), ..self }
    }

    fn shared(workspace: &WorkspaceId, id: EntityId, meta: &Meta, progress: u64) -> Self {
        let (free, omitted) = short_meta(meta);
        Self {
            id: id.to_string(),
            qualified_id: format!("{workspace}:{id}"),
            kind: id.kind(),
            revision: meta.revision,
            status: meta.status,
            title: meta.title.clone(),
            description: meta.description.as_deref().map(cut),
            context: meta.context.as_deref().map(cut),
            priority: meta.priority,
            tags: meta.tags.clone(),
            depends_on: meta.depends_on.clone(),
            waiting_on: meta.waits(),
            waiting: meta.is_waiting(),
            progress,
            plan: None,
            task: None,
            created_at_ms: meta.created_at.0,
            updated_at_ms: meta.updated_at.0,
            meta: free,
            omitted,
        }
    }
}

fn free_of(meta: &Meta) -> FreeMeta {
    shown_meta(&meta.free, meta.origin.as_deref())
}

/// The free object, unless it is large.
fn short_meta(meta: &Meta) -> (FreeMeta, Vec<String>) {
    let free = free_of(meta);
    if free.is_empty() || budget::size(&json!(free)) <= META_CHARS_MAX {
        return (free, Vec::new());
    }
    (FreeMeta::new(), vec!["meta".to_owned()])
}

fn cut(value: &str) -> String {
    text::cut(value, TEXT_CHARS_MAX)
}

fn contract_data(stored: Option<&Map<String, Value>>) -> (Option<Value>, Vec<String>) {
    let value = stored.map_or(Value::Null, |map| Value::Object(map.clone()));
    if budget::size(&value) > CONTRACT_DATA_CHARS_MAX {
        return (None, vec!["contract_data".to_owned()]);
    }
    (Some(value), Vec::new())
}
