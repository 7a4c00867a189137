//! `tasks_complete`.

use muster_core::tasks::{
    TaskCommand, TaskDocs, TaskDraft, TaskResult,
    entity::TaskStatus,
    id::{EntityId, EntityKind, WorkspaceId},
    lookup,
    wire::EventView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Guarded, TaskOrPlan, WaitingForChecks},
    respond::shown,
    work::guarded_target,
};
use crate::{
    OperationEffect, WarningCode,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Sets the status of a plan or task, DONE by default. DONE is refused while steps are open,
/// checkpoints are unconfirmed, proof is missing or dependencies are open.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksComplete {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// TODO, ACTIVE or DONE; default DONE.
    status: Option<TaskStatus>,
    #[serde(flatten)]
    waiting: WaitingForChecks,
    #[serde(flatten)]
    guarded: Guarded,
}

/// A plan or task with its status.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusChanged {
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<EntityLine>,
    /// The plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<EntityLine>,
    /// What happened; null if nothing changed.
    pub(crate) event: Option<EventView>,
}

/// A plan or task in one line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityLine {
    /// Its id.
    pub(crate) id: String,
    /// Plan or task.
    pub(crate) kind: EntityKind,
    /// Its title.
    pub(crate) title: String,
    /// Its revision now.
    pub(crate) revision: u64,
    /// Its status now.
    pub(crate) status: TaskStatus,
    /// Of a plan: its position in the checklist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan_progress: Option<String>,
}

impl EntityLine {
    /// The line of a plan or task.
    pub(crate) fn of(docs: &TaskDocs, id: EntityId) -> TaskResult<Self> {
        let (meta, plan_progress) = match id {
            EntityId::Plan(id) => {
                let plan = lookup::plan(docs, id)?;
                (&plan.meta, Some(plan.checklist.progress()))
            }
            EntityId::Task(id) => (&lookup::task(docs, id)?.meta, None),
        };
        Ok(Self {
            id: id.to_string(),
            kind: id.kind(),
            title: meta.title.clone(),
            revision: meta.revision,
            status: meta.status,
            plan_progress,
        })
    }
}

impl Operation for TasksComplete {
    const NAME: &'static str = "tasks_complete";
    const TITLE: &'static str = "Finish a plan or task";
    const EFFECT: OperationEffect = OperationEffect::Set;
    const MAY_TAKE_LONG: bool = true;
    type Response = StatusChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let to = self.status.unwrap_or(TaskStatus::Done);
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        let checks = self.waiting.policy(&call.scene.caller);
        call.write_closing(&self.workspace, idempotency_key, checks, move |draft| {
            let target = guarded_target(draft.documents(), named, expected_revision)?;
            let (changed, unchanged) = set_status(draft, target.id, to)?;
            let mut reply = CallReply::new(&changed).about(target);
            if unchanged {
                warn_unchanged(&mut reply, target.id, to);
            }
            Ok(reply)
        })
    }
}

/// Sets the status; returns the result and whether nothing changed.
pub(crate) fn set_status(
    draft: &mut TaskDraft<'_>,
    id: EntityId,
    to: TaskStatus,
) -> TaskResult<(StatusChanged, bool)> {
    let event = draft.apply(&TaskCommand::SetStatus { id, to })?.first().map(shown);
    let line = EntityLine::of(draft.documents(), id)?;
    let unchanged = event.is_none();
    let (task, plan) = match id.kind() {
        EntityKind::Task => (Some(line), None),
        EntityKind::Plan => (None, Some(line)),
    };
    Ok((StatusChanged { task, plan, event }, unchanged))
}

/// TASKS-COMP-1.
pub(crate) fn warn_unchanged(reply: &mut CallReply, id: EntityId, to: TaskStatus) {
    let code = match to {
        TaskStatus::Done => WarningCode::AlreadyDone,
        TaskStatus::Todo | TaskStatus::Active => WarningCode::StatusUnchanged,
    };
    let message = format!("{id} is already {}; nothing was written", to.name());
    reply.warn(code, message, "Nothing to do.");
}
