//! `tasks_focus_get`, `tasks_focus_set`, `tasks_focus_clear`.

use muster_core::tasks::{
    TaskCommand,
    id::{EntityId, WorkspaceId},
    lookup::{self, Accepts},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::groups::{Repeatable, TaskOrPlan};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Shows which plan or task calls without a target mean: what this connection has focused on, else
/// the focus of the workspace.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksFocusGet {
    /// Workspace id.
    workspace: WorkspaceId,
}

/// The focus.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Focus {
    /// The workspace.
    pub workspace: String,
    /// Plan or task id, or null.
    pub focus: Option<EntityId>,
}

impl Operation for TasksFocusGet {
    const NAME: &'static str = "tasks_focus_get";
    const TITLE: &'static str = "Show the focus";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = Focus;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let own = call.app.focus_memory().known(&call.scene.caller, &self.workspace).own;
        call.read(&self.workspace, |docs| {
            let own = match own {
                Some(id) => lookup::status(docs, id)?.and(own),
                None => None,
            };
            let focus = own.or(lookup::workspace(docs)?.focus);
            Ok(CallReply::new(&Focus { workspace: self.workspace.to_string(), focus }))
        })
    }
}

/// Sets the plan or task that later calls without a target mean: for this connection, and for all
/// clients of the workspace that have not set one themselves.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksFocusSet {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A focus that was set.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FocusMove {
    /// The workspace.
    workspace: String,
    /// The previous focus.
    previous: Option<EntityId>,
    /// The new focus.
    focus: EntityId,
}

impl Operation for TasksFocusSet {
    const NAME: &'static str = "tasks_focus_set";
    const TITLE: &'static str = "Set the focus";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = FocusMove;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        // TASKS-FSET-1: the focus itself is not a selector here.
        let Some(id) = self.selection.named()? else {
            return Err(invalid("task", Reason::Missing, "a task or plan id"));
        };
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), Some(id), Accepts::Any)?;
            let previous = lookup::workspace(draft.documents())?.focus;
            draft.apply(&TaskCommand::MoveFocus { to: Some(id) })?;
            let moved = FocusMove { workspace: name.clone(), previous, focus: id };
            Ok(CallReply::new(&moved).about(target))
        })
    }
}

/// Clears the focus; calls then have to name their target.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksFocusClear {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A focus that was cleared.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FocusCleared {
    /// The workspace.
    workspace: String,
    /// The previous focus.
    previous: Option<EntityId>,
    /// Whether one was set.
    cleared: bool,
}

impl Operation for TasksFocusClear {
    const NAME: &'static str = "tasks_focus_clear";
    const TITLE: &'static str = "Clear the focus";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = FocusCleared;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let name = self.workspace.to_string();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let previous = lookup::workspace(draft.documents())?.focus;
            draft.apply(&TaskCommand::MoveFocus { to: None })?;
            let cleared = previous.is_some();
            Ok(CallReply::new(&FocusCleared { workspace: name.clone(), previous, cleared }))
        })
    }
}
