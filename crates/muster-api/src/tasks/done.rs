//! `tasks_done`.

use muster_core::tasks::{TaskCommand, command::StepTarget, id::WorkspaceId, step::Checkpoints};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Guarded, OneStep, OneTask},
    respond::StepChanged,
    work::{guarded_task, step_changed, weak_proof},
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
    guarded: Guarded,
}

impl Operation for TasksDone {
    const NAME: &'static str = "tasks_done";
    const TITLE: &'static str = "Close a step";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = StepChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let step = StepTarget { task, selector: selector.clone() };
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
