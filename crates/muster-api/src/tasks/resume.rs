//! `tasks_resume`.

use muster_core::tasks::{
    id::WorkspaceId,
    view::resume::{ResumeQuery, ResumeView},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{TaskOrPlan, page},
    refocus::Showing,
};
use crate::{
    AccessRole, OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Default number of events.
const EVENTS_DEFAULT: u32 = 20;
/// Default number of steps.
const STEPS_DEFAULT: u32 = 200;

/// Shows everything about a plan or task with complete texts: radar, newest events, every step with
/// its sub-plan and waiver, or a plan's tasks. Moves the focus to a named target, unless
/// read_only. For a shorter result use tasks_radar.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksResume {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Newest events at most, 0 to 1000; default 20.
    #[schemars(range(max = 1000))]
    events_limit: Option<u32>,
    /// Steps at most (of a plan: tasks), 0 to 1000; default 200.
    #[schemars(range(max = 1000))]
    steps_limit: Option<u32>,
    /// The previous next_cursor.
    steps_cursor: Option<String>,
    /// true leaves the focus where it is.
    #[serde(default)]
    read_only: bool,
}

impl Operation for TasksResume {
    const NAME: &'static str = "tasks_resume";
    const TITLE: &'static str = "Show everything about a plan or task";
    const EFFECT: OperationEffect = OperationEffect::Set;
    const ROLE: AccessRole = AccessRole::Viewer;
    type Response = ResumeView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let showing = Showing {
            named: call.wanted(&self.workspace, self.selection.named()?),
            read_only: self.read_only,
        };
        let requested = self.selection.requested();
        let limit = self.steps_limit.unwrap_or(STEPS_DEFAULT);
        let page = page("steps_cursor", self.steps_cursor.as_deref(), limit)?;
        let events_limit = self.events_limit.unwrap_or(EVENTS_DEFAULT);
        let workspace = self.workspace.clone();
        call.show(&self.workspace, showing, move |docs, target, restored| {
            let page = page.clone();
            let query = ResumeQuery { id: target.id, requested, events_limit, page, restored };
            Ok(CallReply::new(&ResumeView::of(docs, &workspace, &query)?))
        })
    }
}
