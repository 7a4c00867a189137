//! `tasks_verify`.

use muster_core::tasks::id::WorkspaceId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{OneStep, OneTask},
    respond::StepChanged,
    step_guard::{StepGuarded, guarded_step},
    steps::Confirmations,
    work::step_changed,
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
    guarded: StepGuarded,
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
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            for command in checkpoints.commands(&step) {
                draft.apply(&command)?;
            }
            let changed = step_changed(draft.call_events());
            Ok(CallReply::new(&changed).about(target))
        })
    }
}
