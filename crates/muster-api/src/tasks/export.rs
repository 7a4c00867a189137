//! `tasks_export`: plans in the forms of other programs.

use muster_core::{
    plan_files::{self, PlanExportForm, report::PlansExported},
    tasks::{
        id::{EntityId, WorkspaceId},
        view::exported,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::groups::plan_kind;
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Writes plans in the form of another program: Markdown checklists, task-master, beads or
/// Backlog.md. Importing the result gives back what the form can hold.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksExport {
    /// Workspace id.
    workspace: WorkspaceId,
    /// The form.
    format: PlanExportForm,
    /// Only this plan; default: all.
    plan: Option<EntityId>,
}

impl Operation for TasksExport {
    const NAME: &'static str = "tasks_export";
    const TITLE: &'static str = "Export plans for another program";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = PlansExported;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let plan = plan_kind("plan", self.plan)?;
        call.read(&self.workspace, |docs| {
            let plans = exported::plans(docs, self.format, plan)?;
            let files = plan_files::write(self.format, &plans);
            let report = PlansExported::of(&self.workspace, self.format, &plans, files);
            Ok(CallReply::new(&report))
        })
    }
}
