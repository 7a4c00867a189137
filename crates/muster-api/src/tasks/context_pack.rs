//! `tasks_context_pack`.

use muster_core::tasks::{
    id::WorkspaceId,
    view::{overview::ContextPack, shed},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::groups::{Budgeted, TaskOrPlan};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Events of an answer when no limit is given.
const EVENTS_DEFAULT: u32 = 50;

/// Shows the radar of a plan or task together with its newest events. Use it to catch up on work
/// that others did; tasks_radar is the same without events.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksContextPack {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Newest events at most, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    delta_limit: Option<u32>,
    #[serde(flatten)]
    budgeted: Budgeted,
    /// Accepted for symmetry: this view never writes.
    #[serde(default, rename = "read_only")]
    _read_only: bool,
}

impl Operation for TasksContextPack {
    const NAME: &'static str = "tasks_context_pack";
    const TITLE: &'static str = "Show where work stands and what happened";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = ContextPack;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let limit = self.delta_limit.unwrap_or(EVENTS_DEFAULT);
        let size = call.size(self.budgeted.max_chars);
        call.read_with_proof(&self.workspace, named, |docs, target, notes| {
            let pack = ContextPack::of(docs, &self.workspace, target.id, limit, notes)?;
            Ok(CallReply::view(&pack, size, shed::context_pack).about(target))
        })
    }
}
