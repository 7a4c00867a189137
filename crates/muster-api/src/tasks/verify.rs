//! `tasks_verify`.

use muster_core::tasks::{command::StepTarget, id::WorkspaceId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Guarded, OneStep, OneTask},
    respond::StepChanged,
    steps::Confirmations,
    work::{guarded_task, step_changed},
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Confirms checkpoints of a step after they were really checked, or withdraws confirmations. A
/// step closes only when criteria, tests and every other required checkpoint are confirmed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksVerify {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// "gate" (criteria and tests), "all", or {criteria, tests, security, perf, docs:
    /// true|false}; criteria and tests also one by one: [{index, evidence}], from 0.
    checkpoints: Confirmations,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksVerify {
    const NAME: &'static str = "tasks_verify";
    const TITLE: &'static str = "Confirm checkpoints";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = StepChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let checkpoints = self.checkpoints;
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let step = StepTarget { task, selector: selector.clone() };
            for command in checkpoints.commands(&step) {
                draft.apply(&command)?;
            }
            let changed = step_changed(draft.call_events());
            Ok(CallReply::new(&changed).about(target))
        })
    }
}
