//! `tasks_task_add`, `tasks_task_define`, `tasks_task_delete`: the sub-plan of a step.

use muster_core::{
    Recorded,
    tasks::{
        TaskCommand, TaskEvent,
        command::NodeTarget,
        entity::{TaskStatus, Urgency},
        id::{NodeId, WorkspaceId},
        path::NodePath,
        step::NodeFields,
        wire::EventView,
        wording::{CleanLines, LongText, Title},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    decompose::StepWord,
    groups::{Guarded, OneTask},
    respond::{first, shown},
    step_guard::{StepGuarded, guarded_step},
    undoable::{node_place, undoable},
    work::guarded_task,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Fields of a node besides its title.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StepNodeInput {
    /// TODO, ACTIVE or DONE.
    status: Option<TaskStatus>,
    /// Stored; has no effect.
    status_manual: Option<bool>,
    /// LOW, MEDIUM, HIGH or CRITICAL.
    priority: Option<Urgency>,
    /// Whether something stands in the way.
    blocked: Option<bool>,
    /// What it is about.
    description: Option<LongText>,
    /// Its background.
    context: Option<LongText>,
    /// What stands in the way.
    blockers: Option<CleanLines>,
    /// What it needs.
    dependencies: Option<CleanLines>,
    /// What comes next.
    next_steps: Option<CleanLines>,
    /// What went wrong.
    problems: Option<CleanLines>,
    /// What could go wrong.
    risks: Option<CleanLines>,
    /// When it counts as done.
    success_criteria: Option<CleanLines>,
}

impl StepNodeInput {
    fn fields(self) -> NodeFields {
        let lines = |lines: Option<CleanLines>| lines.map(|lines| lines.0);
        NodeFields {
            title: None,
            status: self.status,
            status_manual: self.status_manual,
            priority: self.priority,
            blocked: self.blocked,
            description: self.description.map(LongText::stored),
            context: self.context.map(LongText::stored),
            blockers: lines(self.blockers),
            dependencies: lines(self.dependencies),
            next_steps: lines(self.next_steps),
            problems: lines(self.problems),
            risks: lines(self.risks),
            success_criteria: lines(self.success_criteria),
        }
    }
}

/// Names of the fields that are given, in the order of the node object.
pub(crate) fn given(fields: &NodeFields) -> Vec<String> {
    let all = [
        ("title", fields.title.is_some()),
        ("status", fields.status.is_some()),
        ("status_manual", fields.status_manual.is_some()),
        ("priority", fields.priority.is_some()),
        ("blocked", fields.blocked.is_some()),
        ("description", fields.description.is_some()),
        ("context", fields.context.is_some()),
        ("blockers", fields.blockers.is_some()),
        ("dependencies", fields.dependencies.is_some()),
        ("next_steps", fields.next_steps.is_some()),
        ("problems", fields.problems.is_some()),
        ("risks", fields.risks.is_some()),
        ("success_criteria", fields.success_criteria.is_some()),
    ];
    all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect()
}

/// Result of a change of one node.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NodeChanged {
    /// The task.
    task: String,
    /// Its revision now.
    revision: u64,
    /// The node.
    node: NodeName,
    /// What happened.
    event: EventView,
}

/// A node in a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NodeName {
    /// Stable id.
    node_id: String,
    /// Path.
    path: String,
}

/// The result of a command on one node.
pub(crate) fn node_changed(events: &[Recorded<TaskEvent>]) -> NodeChanged {
    let recorded = first(events);
    let (Some(step), Some(id)) = (recorded.event.step(), recorded.event.node_id()) else {
        unreachable!("{:?} is not about a node", recorded.event)
    };
    let event = shown(recorded);
    NodeChanged {
        task: step.task.task.to_string(),
        revision: step.task.revision,
        node: NodeName {
            node_id: id.to_string(),
            path: event.fact.path.clone().unwrap_or_default(),
        },
        event,
    }
}

/// Adds a task node to the sub-plan of a step; the step cannot close until its nodes are DONE.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksTaskAdd {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    /// The step, as path or step id.
    parent_step: StepWord,
    /// One line, at most 500 characters.
    title: Title,
    #[serde(flatten)]
    input: StepNodeInput,
    #[serde(flatten)]
    guarded: StepGuarded,
}

impl Operation for TasksTaskAdd {
    const NAME: &'static str = "tasks_task_add";
    const TITLE: &'static str = "Add a node to a step's sub-plan";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = NodeChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let title = self.title.0;
        let fields = self.input.fields();
        let selector = self.parent_step.0;
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let title = title.clone();
            let fields = fields.clone();
            let changed =
                node_changed(draft.apply(&TaskCommand::AddNode { step, title, fields })?);
            Ok(CallReply::new(&changed).about(target))
        })
    }
}

/// Selects one node.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OneNode {
    /// Node path such as s:0.t:1.
    path: Option<NodePath>,
    /// Node id, the safe selector.
    task_node_id: Option<NodeId>,
}

impl OneNode {
    fn check(&self) -> Result<(), CallFailure> {
        if self.path.is_none() && self.task_node_id.is_none() {
            let expected = "a node path such as s:0.t:1, or task_node_id as a node id";
            return Err(invalid("path", Reason::Missing, expected));
        }
        Ok(())
    }
}

/// Updates a task node of a sub-plan; given lists replace the old ones. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksTaskDefine {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    node: OneNode,
    /// New title.
    title: Option<Title>,
    #[serde(flatten)]
    input: StepNodeInput,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksTaskDefine {
    const NAME: &'static str = "tasks_task_define";
    const TITLE: &'static str = "Update a node";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = NodeChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        self.node.check()?;
        let title = self.title.map(|title| title.0);
        let fields = NodeFields { title, ..self.input.fields() };
        let given = given(&fields);
        if given.is_empty() {
            return Err(invalid("title", Reason::Missing, "at least one field to change"));
        }
        let path = self.node.path;
        let id = self.node.task_node_id;
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let node = NodeTarget { task, path: path.clone(), id };
            let place = node_place(draft.documents(), &node)?;
            let fields = fields.clone();
            let given = given.clone();
            let command = TaskCommand::DefineNode { node, fields, given };
            let changed = node_changed(&undoable(draft, &place, "task_node_patch", &command)?);
            Ok(CallReply::new(&changed).about(target))
        })
    }
}

/// Deletes a task node of a sub-plan. Cannot be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksTaskDelete {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    node: OneNode,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksTaskDelete {
    const NAME: &'static str = "tasks_task_delete";
    const TITLE: &'static str = "Delete a node";
    const EFFECT: OperationEffect = OperationEffect::Destroy;
    type Response = NodeChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        self.node.check()?;
        let path = self.node.path;
        let id = self.node.task_node_id;
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let node = NodeTarget { task, path: path.clone(), id };
            let changed = node_changed(draft.apply(&TaskCommand::DeleteNode { node })?);
            Ok(CallReply::new(&changed).about(target))
        })
    }
}
