//! Refusals of reasoning memory and of undo and redo.

use muster_core::tasks::{TaskRejection, id::WorkspaceId};
use serde_json::{Map, Value, json};

use super::gate;
use crate::{
    ApiError, ErrorCode, Suggestion, SuggestionPriority,
    arguments::{self, Reason},
    call::CallFailure,
};

/// Words for these refusals; other rejections do not come here.
pub(super) fn explain(workspace: &WorkspaceId, rejection: TaskRejection) -> CallFailure {
    if let TaskRejection::UnknownCard { entity, card } = rejection {
        let error = ApiError {
            code: ErrorCode::UnknownId,
            message: format!("there is no {card} in the memory of {entity}"),
            recovery: "Look at the cards of this plan or task.".to_owned(),
            details: Map::from_iter([("card".to_owned(), json!(card))]),
        };
        let params = json!({"workspace": workspace, "target": entity, "read_only": true});
        return with_call(error, "tasks_resume_super", "see its cards", params);
    }
    if let TaskRejection::UnknownEvidence { entity, id } = rejection {
        let error = ApiError {
            code: ErrorCode::UnknownId,
            message: format!("there is no {id} on {entity}"),
            recovery: "List the evidence of this plan or task.".to_owned(),
            details: Map::from_iter([("evidence_id".to_owned(), json!(id))]),
        };
        let params = json!({"workspace": workspace, "target": entity});
        return with_call(error, "tasks_evidence_get", "see its evidence", params);
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
    if let TaskRejection::RestoreConflict { op_seq, fields, unmet } = rejection {
        let listed: Vec<Value> = fields
            .iter()
            .map(|(name, expected, actual)| {
                json!({"field": name, "expected": expected, "actual": actual})
            })
            .collect();
        let (message, recovery) = match &unmet {
            Some((gate, report)) => {
                let (_, open, _) = gate::words(*gate, report);
                (open, "Do what the gate asks for, or close the step by hand.")
            }
            None => ("its fields changed since".to_owned(), "Edit the fields by hand."),
        };
        let unmet = unmet.map(|(_, report)| Value::Object(gate::details(&report)));
        let error = ApiError {
            code: ErrorCode::UndoConflict,
            message: format!("operation {op_seq} no longer fits: {message}"),
            recovery: recovery.to_owned(),
            details: Map::from_iter([
                ("op_seq".to_owned(), json!(op_seq)),
                ("fields".to_owned(), Value::Array(listed)),
                ("unmet".to_owned(), json!(unmet)),
            ]),
        };
        let params = json!({"workspace": workspace});
        return with_call(error, "tasks_history", "see the operations", params);
    }
    arguments::invalid("card", Reason::BadFormat, "a title or a text")
}

/// The failure with the one call that shows what there is.
fn with_call(error: ApiError, tool: &'static str, reason: &str, params: Value) -> CallFailure {
    let call = Suggestion::call(tool, reason, SuggestionPriority::High, params);
    CallFailure { error: Box::new(error), suggestions: vec![call] }
}
