//! `tasks_move`.

use muster_core::tasks::{
    TaskCommand, TaskDraft, TaskEvent, TaskResult,
    id::{EntityId, PlanId, TaskId, WorkspaceId},
    lookup,
    wire::EventView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Guarded, OneTask, plan_kind},
    respond::shown,
    undoable::{undoable, whole},
    work::guarded_task,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Moves a task to another plan of the workspace, with everything that belongs to it. An open task
/// reopens a plan that is DONE. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMove {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    /// Plan that the task goes to.
    plan: EntityId,
    #[serde(flatten)]
    guarded: Guarded,
}

/// Where the task was and is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovedTask {
    /// The task.
    task: String,
    /// Its revision now.
    revision: u64,
    /// The plan before.
    from: String,
    /// The plan now.
    plan: String,
    /// What happened; null if the task was in that plan already.
    event: Option<EventView>,
}

impl Operation for TasksMove {
    const NAME: &'static str = "tasks_move";
    const TITLE: &'static str = "Move a task to another plan";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = MovedTask;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let Some(to) = plan_kind("plan", Some(self.plan))? else {
            return Err(invalid("plan", Reason::Missing, "a plan id"));
        };
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        let intent = call.scene.intent();
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let moved = move_task(draft, intent, (task, to))?;
            Ok(CallReply::new(&moved).about(target))
        })
    }
}

fn move_task(
    draft: &mut TaskDraft<'_>,
    intent: &str,
    (task, to): (TaskId, PlanId),
) -> TaskResult<MovedTask> {
    let from = lookup::task(draft.documents(), task)?.parent;
    let event = if from == to {
        None
    } else {
        let command = TaskCommand::MoveTask { task, to };
        let events = undoable(draft, &whole(task.into()), intent, &command)?;
        events.iter().find(|recorded| matches!(recorded.event, TaskEvent::TaskMoved(_))).map(shown)
    };
    let revision = lookup::task(draft.documents(), task)?.meta.revision;
    Ok(MovedTask {
        task: task.to_string(),
        revision,
        from: from.to_string(),
        plan: to.to_string(),
        event,
    })
}
