//! What other agents do at the same time: their tasks, and a focus that they moved.

use muster_core::tasks::{
    claim::{ClaimView, TaskClaim},
    id::{EntityId, TaskId, WorkspaceId},
};

use crate::{ApiError, ErrorCode, Suggestion, call::CallFailure};

pub(super) fn claimed(workspace: &WorkspaceId, task: TaskId, claim: &TaskClaim) -> CallFailure {
    let until = claim.until().rfc3339();
    let message = format!("{task} is claimed by {} until {until}", claim.holder());
    let recovery = "Take another task, or leave a note on this one; its holder or a person can \
                    release it.";
    ApiError::new(ErrorCode::Claimed, message, recovery)
        .with("task", &task)
        .with("claim", &ClaimView::of(claim))
        .suggesting(Suggestion::call("tasks_next", "see what is free").with("workspace", workspace))
}

pub(super) fn focus_moved(workspace: &WorkspaceId, seen: EntityId, focus: EntityId) -> CallFailure {
    let message = format!("the focus was moved from {seen} to {focus} by another caller");
    let recovery = format!("Name the target: {seen}, or {focus} if that is meant.");
    let suggestion = Suggestion::call("tasks_focus_get", "see the focus");
    ApiError::new(ErrorCode::FocusMoved, message, recovery)
        .with("seen", &seen)
        .with("focus", &focus)
        .suggesting(suggestion.with("workspace", workspace))
}
