//! `tasks_close_step`.

use muster_core::tasks::{TaskCommand, id::WorkspaceId, wire::EventView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{OneStep, OneTask, WaitingForChecks},
    respond::{StepName, public},
    step_guard::{StepGuarded, guarded_step},
    steps::Confirmations,
    work::{refuse_closed, step_changed, weak_proof},
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Confirms checkpoints and closes the step in one call; if the gate refuses, neither happens.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksCloseStep {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// "gate" (criteria and tests), "all", or {criteria, tests, security, perf, docs:
    /// true} with criteria or tests.
    checkpoints: Confirmations,
    #[serde(flatten)]
    waiting: WaitingForChecks,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A step that was closed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepClosedView {
    /// The task.
    pub(crate) task: String,
    /// Its revision now.
    pub(crate) revision: u64,
    /// The step.
    pub(crate) step: StepName,
    /// `step_verified`, then `step_done`.
    pub(crate) events: Vec<EventView>,
}

impl Operation for TasksCloseStep {
    const NAME: &'static str = "tasks_close_step";
    const TITLE: &'static str = "Verify and close a step";
    const EFFECT: OperationEffect = OperationEffect::Write;
    const MAY_TAKE_LONG: bool = true;
    type Response = StepClosedView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let checkpoints = self.checkpoints;
        if !checkpoints.names_the_gate() {
            let expected = "\"gate\", \"all\" or an object that names criteria or tests";
            return Err(invalid("checkpoints", Reason::BadFormat, expected));
        }
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        let checks = self.waiting.policy(&call.scene.caller);
        call.write_closing(&self.workspace, idempotency_key, checks, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            refuse_closed(draft.documents(), &step)?;
            for command in checkpoints.commands(&step) {
                draft.apply(&command)?;
            }
            let close = TaskCommand::CloseStep {
                step: step.clone(),
                named: checkpoints.named(),
                force: None,
            };
            let changed = step_changed(draft.apply(&close)?);
            let closed = StepClosedView {
                task: changed.task,
                revision: changed.revision,
                step: changed.step,
                events: public(draft.call_events()),
            };
            let mut reply = CallReply::new(&closed).about(target);
            weak_proof(draft.documents(), &step, &mut reply)?;
            Ok(reply)
        })
    }
}
