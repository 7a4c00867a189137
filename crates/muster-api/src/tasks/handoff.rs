//! `tasks_handoff`.

use muster_core::tasks::{
    id::WorkspaceId,
    view::{overview::HandoffView, shed},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::groups::{BudgetedView, TaskOrPlan, VIEW_CHARS, is_short};
use crate::{
    OperationEffect, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Lines of a list when no limit is given.
const LINES_DEFAULT: u32 = 10;

/// Writes a shift report: done, remaining, risks and the radar core. Use it before handing work
/// over.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksHandoff {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Lines per list, 0 to 1000; default 10.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    #[serde(flatten)]
    budgeted: BudgetedView,
    /// Accepted for symmetry: this view never writes.
    #[serde(default, rename = "read_only")]
    _read_only: bool,
}

impl Operation for TasksHandoff {
    const NAME: &'static str = "tasks_handoff";
    const TITLE: &'static str = "Write a shift report";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Read;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = HandoffView;

    fn is_brief(arguments: &Map<String, Value>) -> bool {
        is_short(arguments, "limit")
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let limit = self.limit.unwrap_or(LINES_DEFAULT);
        let size = call.size(self.budgeted.max_chars);
        call.read_with_proof(&self.workspace, named, |docs, target, notes| {
            let view = HandoffView::of(docs, &self.workspace, target.id, limit, notes)?;
            Ok(CallReply::view(&view, size, shed::handoff).about(target))
        })
    }
}
