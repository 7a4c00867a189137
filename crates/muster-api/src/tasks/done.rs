//! `tasks_done`.

use muster_core::tasks::{TaskCommand, id::WorkspaceId, step::Checkpoints};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{OneStep, OneTask},
    respond::StepChanged,
    step_guard::{StepGuarded, guarded_step},
    work::{step_changed, weak_proof},
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Closes a step whose gate is met: checkpoints confirmed, proof present, children closed, not
/// blocked.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDone {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    #[serde(flatten)]
    guarded: StepGuarded,
}

impl Operation for TasksDone {
    const NAME: &'static str = "tasks_done";
    const TITLE: &'static str = "Close a step";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = StepChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let close = TaskCommand::CloseStep {
                step: step.clone(),
                named: Checkpoints::new(),
                force: None,
            };
            let changed = step_changed(draft.apply(&close)?);
            let mut reply = CallReply::new(&changed).about(target);
            weak_proof(draft.documents(), &step, &mut reply)?;
            Ok(reply)
        })
    }
}
