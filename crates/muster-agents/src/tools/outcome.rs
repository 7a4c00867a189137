//! The outcome of a call, as its caller reads it and as the log keeps it.

use std::sync::Arc;

use muster_core::{
    Timestamp,
    run::{
        Ask,
        artifact::{ArtifactKind, artifact_reference},
        event::{ToolError, ToolResult},
        id::{ApprovalId, NodeId, RunId, TurnId},
    },
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::offer;
use crate::{finish, shared::RunsContext};

const OUTPUT_BYTES_MAX: usize = 16 * 1024;

/// The response to a call, the same for every tool of Muster (RUNS-TOOL-2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolAnswer {
    pub success: bool,
    /// The tool.
    pub intent: String,
    pub result: Option<Value>,
    /// Things worth knowing.
    pub warnings: Vec<Value>,
    /// Calls that would help.
    pub suggestions: Vec<Value>,
    /// Where the call was made.
    pub context: Map<String, Value>,
    pub error: Option<AnswerError>,
    /// When the call returned.
    pub timestamp: String,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerError {
    /// The rule that rejected it.
    pub code: String,
    pub message: String,
    pub recovery: String,
}

impl ToolAnswer {
    /// The answer with an outcome.
    pub(crate) fn of(
        name: &str,
        result: &ToolResult,
        error: Option<&ToolError>,
        at: Timestamp,
    ) -> Self {
        let error = error.map(|error| {
            let code = error.code.as_deref().unwrap_or("FAILED").to_owned();
            let recovery = offer::recovery(&code).to_owned();
            AnswerError { code, message: error.message.clone(), recovery }
        });
        Self {
            success: result.ok,
            intent: name.to_owned(),
            result: result.output.clone(),
            warnings: Vec::new(),
            suggestions: Vec::new(),
            context: Map::new(),
            error,
            timestamp: at.rfc3339(),
        }
    }

    /// The response to a call that a person still has to approve; its outcome comes as an input
    /// (RUNS-TOOL-5).
    pub(crate) fn pending(name: &str, approval: ApprovalId, at: Timestamp) -> Self {
        let output = json!({"status": "pending", "approvalId": approval});
        let result = ToolResult { ok: true, output: Some(output), ..ToolResult::default() };
        Self::of(name, &result, None, at)
    }

    /// The response to a call that failed.
    pub(crate) fn failed(name: &str, error: &ToolError, at: Timestamp) -> Self {
        Self::of(name, &ToolResult::default(), Some(error), at)
    }
}

/// An outcome as an event holds it: one that is too long goes to a file, and its head and tail stay
/// (RUNS-PROV-3).
pub(crate) async fn bounded(
    shared: &Arc<RunsContext>,
    run: RunId,
    (node, turn): (NodeId, TurnId),
    mut result: ToolResult,
) -> ToolResult {
    let Some(text) = result.output.as_ref().map(text_of) else { return result };
    if text.len() <= OUTPUT_BYTES_MAX {
        return result;
    }
    let head = &text[..text.floor_char_boundary(OUTPUT_BYTES_MAX / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - OUTPUT_BYTES_MAX / 2)..];
    let missing = text.len() - head.len() - tail.len();
    result.output = Some(format!("{head}\n[{missing} bytes left out]\n{tail}").into());
    result.truncated = Some(true);
    let whole = finish::redacted(text);
    if let Some(file) = finish::write(shared, run, ArtifactKind::Log, ("tool.log", &whole)) {
        result.output_ref = Some(artifact_reference(file.id));
        let turn = Some(turn);
        let file = Box::new(file);
        shared.report(run, Ask::RecordArtifact { node, turn, file }).await;
    }
    result
}

fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            output.to_string()
        }
    }
}
