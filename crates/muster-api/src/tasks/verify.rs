//! `tasks_verify`.

use muster_core::tasks::{TaskCommand, command::StepTarget, id::WorkspaceId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Guarded, OneStep, OneTask},
    respond::StepChanged,
    steps::Confirmations,
    work::change_step,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CheckedCall},
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
    /// true|false}.
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
        let confirmations = self.checkpoints.0;
        change_step(call, &self.workspace, named, self.guarded, move |task| {
            TaskCommand::VerifyStep {
                step: StepTarget { task, selector: selector.clone() },
                confirmations: confirmations.clone(),
            }
        })
    }
}
