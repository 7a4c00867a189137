//! `tasks_next`.

use muster_core::tasks::{
    id::{EntityId, WorkspaceId},
    view::next_tasks::NextTasks,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::groups::{is_short, plan_kind};
use crate::{
    OperationEffect, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Tasks of a response when no limit is given.
const TASKS_DEFAULT: u32 = 10;

/// Lists the tasks that can be worked on now, most urgent first: open, not blocked, every
/// dependency done. Each comes with its first open step. Use it to choose what to do next.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksNext {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Only tasks of this plan.
    plan: Option<EntityId>,
    /// Tasks at most, 1 to 100; default 10.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

impl Operation for TasksNext {
    const NAME: &'static str = "tasks_next";
    const TITLE: &'static str = "List what can be worked on now";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = NextTasks;

    fn is_brief(arguments: &Map<String, Value>) -> bool {
        is_short(arguments, "limit")
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let plan = plan_kind("plan", self.plan)?;
        let limit = self.limit.unwrap_or(TASKS_DEFAULT);
        call.read(&self.workspace, |docs| {
            Ok(CallReply::new(&NextTasks::of(docs, &self.workspace, plan, limit)?))
        })
    }
}
