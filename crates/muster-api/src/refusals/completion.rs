//! Completing what is not complete (TASKS-GATE-5).

use muster_core::tasks::{TaskRejection, id::WorkspaceId};
use serde_json::{Value, json};

use crate::{ApiError, ErrorCode, Suggestion, SuggestionPriority, call::CallFailure};

/// Words for the three refusals; other rejections do not come here.
pub(super) fn explain(workspace: &WorkspaceId, rejection: &TaskRejection) -> CallFailure {
    let (code, message, recovery, facts, look_at) =
        if let TaskRejection::StepsOpen { task, total, open } = rejection {
            let listed: Vec<Value> =
                open.iter().map(|(id, path)| json!({"step_id": id, "path": path})).collect();
            let message = match total {
                0 => format!("{task} has no steps"),
                _ => format!("{task} has open steps"),
            };
            let facts = json!({"task": task, "total": total, "open": listed});
            let recovery = "Close the open steps, or add steps to a task without any.";
            (ErrorCode::StepsOpen, message, recovery, facts, task.to_string())
        } else if let TaskRejection::TasksOpen { plan, open } = rejection {
            let facts = json!({"plan": plan, "open": open});
            let message = format!("{plan} has tasks that are not DONE");
            let recovery = "Finish those tasks first.";
            (ErrorCode::TasksOpen, message, recovery, facts, plan.to_string())
        } else if let TaskRejection::DependenciesOpen { id, waiting_on } = rejection {
            let facts = json!({"id": id, "waiting_on": waiting_on});
            let first = waiting_on.first().map_or_else(|| id.to_string(), ToString::to_string);
            let message = format!("{id} waits for {first}");
            let recovery = "Finish the dependencies first.";
            (ErrorCode::DependenciesOpen, message, recovery, facts, first)
        } else {
            unreachable!("{rejection:?} is not about completion")
        };
    let Value::Object(details) = facts else { unreachable!("details are an object") };
    let error = ApiError { code, message, recovery: recovery.to_owned(), details };
    let params = json!({"workspace": workspace, "target": look_at});
    let radar =
        Suggestion::call("tasks_radar", "see what is left", SuggestionPriority::High, params);
    CallFailure { error: Box::new(error), suggestions: vec![radar] }
}
