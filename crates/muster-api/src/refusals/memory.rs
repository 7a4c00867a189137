//! Refusals of reasoning memory and of undo and redo.

use muster_core::tasks::{Rejection, id::WorkspaceId};
use serde_json::{Map, Value, json};

use super::gate;
use crate::{
    ApiError, ErrorCode, Priority, Suggestion,
    arguments::{self, Reason},
    call::Failure,
};

/// Words for these refusals; other rejections do not come here.
pub(super) fn explain(workspace: &WorkspaceId, rejection: Rejection) -> Failure {
    if let Rejection::UnknownCard { entity, card } = rejection {
        let error = ApiError {
            code: ErrorCode::UnknownId,
            message: format!("there is no {card} in the memory of {entity}"),
            recovery: "Look at the cards of this plan or task.".to_owned(),
            details: Map::from_iter([("card".to_owned(), json!(card))]),
        };
        let params = json!({"workspace": workspace, "target": entity, "read_only": true});
        let look = Suggestion::call("tasks_resume_super", "see its cards", Priority::High, params);
        return Failure { error: Box::new(error), suggestions: vec![look] };
    }
    if let Rejection::UnknownEvidence { entity, id } = rejection {
        let error = ApiError {
            code: ErrorCode::UnknownId,
            message: format!("there is no {id} on {entity}"),
            recovery: "List the evidence of this plan or task.".to_owned(),
            details: Map::from_iter([("evidence_id".to_owned(), json!(id))]),
        };
        let params = json!({"workspace": workspace, "target": entity});
        let look =
            Suggestion::call("tasks_evidence_get", "see its evidence", Priority::High, params);
        return Failure { error: Box::new(error), suggestions: vec![look] };
    }
    if let Rejection::NothingToRestore { undo } = rejection {
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
    if let Rejection::RestoreConflict { op_seq, fields, unmet } = rejection {
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
        let history =
            Suggestion::call("tasks_history", "see the operations", Priority::High, params);
        return Failure { error: Box::new(error), suggestions: vec![history] };
    }
    arguments::invalid("card", Reason::BadFormat, "a title or a text")
}
