//! `tasks_radar`.

use muster_core::tasks::{
    id::WorkspaceId,
    view::{overview::RadarView, shed},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::groups::TaskOrPlan;
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    economy::SizeLimit,
    registry::Operation,
};

/// Shows one screen about a plan or task: now, why, verify, next, blockers. Use it to see where
/// work stands and what to do next.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksRadar {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Characters of the result; -1: all; default over MCP 1500, else all.
    max_chars: Option<SizeLimit>,
    /// Accepted for symmetry: this view never writes.
    #[serde(default, rename = "read_only")]
    _read_only: bool,
}

impl Operation for TasksRadar {
    const NAME: &'static str = "tasks_radar";
    const TITLE: &'static str = "Show where work stands";
    const EFFECT: OperationEffect = OperationEffect::Read;
    const BRIEF_CHARS: Option<u64> = Some(1_500);
    type Response = RadarView;

    fn is_brief(_arguments: &Map<String, Value>) -> bool {
        true
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let requested = self.selection.requested();
        let size = call.size(self.max_chars);
        call.read_with_proof(&self.workspace, named, |docs, target, notes| {
            let view = RadarView::of(docs, &self.workspace, target.id, requested, notes)?;
            Ok(CallReply::view(&view, size, shed::radar).about(target))
        })
    }
}
