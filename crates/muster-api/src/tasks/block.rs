//! `tasks_block`.

use muster_core::tasks::{TaskCommand, id::WorkspaceId, wording::LongText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{OneStep, OneTask},
    respond::StepChanged,
    step_guard::{StepGuarded, guarded_step},
    undoable::{step_place, undoable},
    work::step_changed,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Blocks a step with a reason, or unblocks it. A blocked step does not close. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksBlock {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// true blocks, false unblocks; default true.
    blocked: Option<bool>,
    /// What it waits for.
    reason: Option<LongText>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A step that was blocked or unblocked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Blocked {
    #[serde(flatten)]
    changed: StepChanged,
    /// Whether it is blocked now.
    blocked: bool,
    /// Why.
    reason: Option<String>,
}

impl Operation for TasksBlock {
    const NAME: &'static str = "tasks_block";
    const TITLE: &'static str = "Block or unblock a step";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = Blocked;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let blocked = self.blocked.unwrap_or(true);
        let reason = self.reason.and_then(LongText::stored);
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let place = step_place(draft.documents(), &step)?;
            let command = TaskCommand::BlockStep { step, blocked, reason: reason.clone() };
            let changed = step_changed(&undoable(draft, &place, "step_block_set", &command)?);
            let reason = reason.clone().filter(|_| blocked);
            Ok(CallReply::new(&Blocked { changed, blocked, reason }).about(target))
        })
    }
}
