//! `tasks_progress`.

use muster_core::tasks::{
    TaskCommand, TaskDocs, TaskResult,
    command::{Force, StepTarget},
    id::WorkspaceId,
    lookup,
    step::Checkpoints,
    wording::LongText,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{OneStep, OneTask},
    respond::StepChanged,
    step_guard::{StepGuarded, guarded_step},
    undoable::{step_place, undoable},
    work::{step_changed, weak_proof},
};
use crate::{
    OperationEffect, WarningCode,
    arguments::{Reason, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Closes a step whose gate is met, or reopens a closed one. force closes it with a waiver that
/// stays visible and does not count as confirmation. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksProgress {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// true closes, false reopens; default true.
    completed: Option<bool>,
    /// Skip checkpoints, proof and blocking; only with completed=true.
    force: Option<bool>,
    /// Why it is forced; only with force.
    reason: Option<LongText>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A step that was closed or reopened.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Progressed {
    #[serde(flatten)]
    changed: StepChanged,
    /// Whether it is closed now.
    completed: bool,
    /// Whether gates were skipped.
    forced: bool,
}

impl Operation for TasksProgress {
    const NAME: &'static str = "tasks_progress";
    const TITLE: &'static str = "Close or reopen a step";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = Progressed;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let completed = self.completed.unwrap_or(true);
        let forces = self.force.unwrap_or(false);
        if forces && !completed {
            return Err(only_with("force", "completed=true"));
        }
        if self.reason.is_some() && !forces {
            return Err(only_with("reason", "force=true"));
        }
        let reason = self.reason.and_then(LongText::stored);
        let force = forces.then_some(Force { reason });
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let command = if completed {
                let named = Checkpoints::new();
                TaskCommand::CloseStep { step: step.clone(), named, force: force.clone() }
            } else {
                TaskCommand::ReopenStep { step: step.clone() }
            };
            let place = step_place(draft.documents(), &step)?;
            let changed = step_changed(&undoable(draft, &place, "step_progress", &command)?);
            let skipped = skipped(draft.documents(), &step)?;
            let forced = !skipped.is_empty();
            let mut reply =
                CallReply::new(&Progressed { changed, completed, forced }).about(target);
            if completed {
                weak_proof(draft.documents(), &step, &mut reply)?;
            }
            if forced {
                let message = format!("closed by force, skipping {}", skipped.join(", "));
                let recovery = "Confirm and prove what was skipped before the task is finished.";
                reply.warn(WarningCode::ForcedClose, message, recovery);
            }
            Ok(reply)
        })
    }
}

fn only_with(argument: &str, other: &str) -> CallFailure {
    invalid_with(
        argument,
        Reason::Conflict,
        &format!("{argument} only with {other}"),
        format!("{argument} goes only with {other}"),
        format!("Leave {argument} out, or call with {other}."),
    )
}

/// What the waiver of the step says was skipped.
fn skipped(docs: &TaskDocs, target: &StepTarget) -> TaskResult<Vec<String>> {
    let (_, step) = lookup::task_and_step(docs, target)?;
    Ok(step.waiver.as_ref().map(|waiver| waiver.skipped.clone()).unwrap_or_default())
}
