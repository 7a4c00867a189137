//! `tasks_lint`.

use muster_core::tasks::{
    id::WorkspaceId,
    lookup::{self, Accepts},
    view::lint::LintView,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::groups::TaskOrPlan;
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Checks a plan or task for broken rules and loose ends: open work under something closed, missing
/// confirmations and proof, forced or blocked steps, dead dependencies, an empty memory. Each issue
/// says what to do; one with fix can be fixed by that call, verbatim.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksLint {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
}

impl Operation for TasksLint {
    const NAME: &'static str = "tasks_lint";
    const TITLE: &'static str = "Check a plan or task";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = LintView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let facts = call.scene.caller.facts();
        call.read(&self.workspace, |docs| {
            let target = lookup::target(docs, named, Accepts::Any)?;
            let view = LintView::of(docs, &facts, &self.workspace, target.id)?;
            Ok(CallReply::new(&view).about(target))
        })
    }
}
