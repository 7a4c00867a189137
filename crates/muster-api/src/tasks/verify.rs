//! `tasks_verify`.

use muster_core::tasks::{Command, command::StepTarget, id::WorkspaceId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Guarded, OneStep, OneTask},
    respond::StepChanged,
    steps::Confirmations,
    work::change_step,
};
use crate::{
    Effect,
    call::{Action, Call, Failure},
    registry::Operation,
};

/// Confirms checkpoints of a step after they were really checked, or takes confirmations back. A
/// step closes only when criteria, tests and every other required checkpoint are confirmed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksVerify {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// "gate" (criteria and tests), "all", or an object of checkpoint: true|false.
    checkpoints: Confirmations,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksVerify {
    const NAME: &'static str = "tasks_verify";
    const TITLE: &'static str = "Confirm checkpoints";
    const EFFECT: Effect = Effect::Set;
    type Response = StepChanged;

    fn run(self, call: &Call<'_>) -> Result<Action, Failure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let confirmations = self.checkpoints.0;
        change_step(call, &self.workspace, named, self.guarded, move |task| Command::VerifyStep {
            step: StepTarget { task, selector: selector.clone() },
            confirmations: confirmations.clone(),
        })
    }
}
