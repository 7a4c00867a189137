//! Completing what is not complete (TASKS-GATE-5).

use muster_core::{
    field,
    tasks::{TaskRejection, id::WorkspaceId},
};
use serde_json::Map;

use crate::{ApiError, ErrorCode, Suggestion, call::CallFailure};

/// The three errors; other rejections do not come here.
pub(super) fn explain(workspace: &WorkspaceId, rejection: &TaskRejection) -> CallFailure {
    let (error, look_at) = if let TaskRejection::StepsOpen { task, total, open } = rejection {
        let step =
            |(id, path): &(_, _)| Map::from_iter([field("step_id", id), field("path", path)]);
        let listed: Vec<_> = open.iter().map(step).collect();
        let message = match total {
            0 => format!("{task} has no steps"),
            _ => format!("{task} has open steps"),
        };
        let recovery = "Close the open steps, or add steps to a task without any.";
        let error = ApiError::new(ErrorCode::StepsOpen, message, recovery)
            .with("task", task)
            .with("total", total)
            .with("open", &listed);
        (error, task.to_string())
    } else if let TaskRejection::TasksOpen { plan, open } = rejection {
        let message = format!("{plan} has tasks that are not DONE");
        let error = ApiError::new(ErrorCode::TasksOpen, message, "Finish those tasks first.")
            .with("plan", plan)
            .with("open", open);
        (error, plan.to_string())
    } else if let TaskRejection::DependenciesOpen { id, waiting_on } = rejection {
        let first = waiting_on.first().map_or_else(|| id.to_string(), ToString::to_string);
        let message = format!("{id} is waiting for {first}");
        let recovery = "Finish the dependencies first.";
        let error = ApiError::new(ErrorCode::DependenciesOpen, message, recovery)
            .with("id", id)
            .with("waiting_on", waiting_on);
        (error, first)
    } else {
        unreachable!("{rejection:?} is not about completion")
    };
    let radar = Suggestion::call("tasks_radar", "see what is left");
    error.suggesting(radar.with("workspace", workspace).with("target", &look_at))
}
