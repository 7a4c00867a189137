//! Errors of the reasoning memory and of undo and redo.

use muster_core::{
    field,
    tasks::{TaskRejection, id::WorkspaceId},
};
use serde_json::Map;

use super::gate;
use crate::{
    ApiError, ErrorCode, Suggestion,
    arguments::{self, Reason},
    call::CallFailure,
};

/// These errors; other rejections do not come here.
pub(super) fn explain(workspace: &WorkspaceId, rejection: TaskRejection) -> CallFailure {
    let call =
        |tool: &str, reason: &str| Suggestion::call(tool, reason).with("workspace", workspace);
    if let TaskRejection::UnknownCard { entity, card } = rejection {
        let message = format!("there is no {card} in the memory of {entity}");
        let see = call("tasks_resume_super", "see its cards").with("target", &entity);
        let recovery = "Look at the cards of this plan or task.";
        return ApiError::new(ErrorCode::UnknownId, message, recovery)
            .with("card", &card)
            .suggesting(see.with("read_only", &true));
    }
    if let TaskRejection::UnknownEvidence { entity, id } = rejection {
        let message = format!("there is no {id} on {entity}");
        let see = call("tasks_evidence_get", "see its evidence").with("target", &entity);
        let recovery = "List the evidence of this plan or task.";
        return ApiError::new(ErrorCode::UnknownId, message, recovery)
            .with("evidence_id", &id)
            .suggesting(see);
    }
    if let TaskRejection::NothingToRestore { undo } = rejection {
        let (reason, word) =
            if undo { (Reason::NothingToUndo, "undo") } else { (Reason::NothingToRedo, "redo") };
        return arguments::invalid_with(
            "target",
            reason,
            &format!("an operation to {word}"),
            format!("there is nothing to {word}"),
            "tasks_history lists the operations and which of them can be undone.".to_owned(),
        );
    }
    if let TaskRejection::RestoreConflict { op_seq, fields, unmet, changed } = rejection {
        let differing = |(name, expected, actual): &(String, _, _)| {
            Map::from_iter([
                field("field", name),
                field("expected", expected),
                field("actual", actual),
            ])
        };
        let listed: Vec<_> = fields.iter().map(differing).collect();
        let (message, recovery) = match &unmet {
            Some((gate, report)) => {
                let (_, open, _) = gate::words(*gate, report);
                (open, "Do what the gate requires, or close the step by hand.")
            }
            None if fields.is_empty() => {
                let message = "what it added was worked on since".to_owned();
                (message, "Undo the newer operations first, or delete it by hand.")
            }
            None => ("its fields changed since".to_owned(), "Edit the fields by hand."),
        };
        let message = format!("operation {op_seq} no longer fits: {message}");
        let error = ApiError::new(ErrorCode::UndoConflict, message, recovery)
            .with("op_seq", &op_seq)
            .with("fields", &listed)
            .with("unmet", &unmet.map(|(_, report)| report));
        let error = if changed.is_empty() { error } else { error.with("changed", &changed) };
        return error.suggesting(call("tasks_history", "see the operations"));
    }
    arguments::invalid("card", Reason::BadFormat, "a title or text")
}
