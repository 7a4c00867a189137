//! How a tool call ended, as in `tool.completed`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    run::{id::ToolId, limits},
    text,
};

/// The outcome of a tool call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCompleted {
    /// The call.
    pub tool_id: ToolId,
    /// The outcome.
    pub result: ToolResult,
    /// What went wrong; present whenever the result is not ok.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
}

/// The result of a tool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolResult {
    /// Whether it worked.
    pub ok: bool,
    /// Its output: a string, or an object of one of Muster's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The artifact that holds all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<String>,
    /// Exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether something was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

impl ToolCompleted {
    /// An outcome. A failure without a message gets one.
    pub fn new(tool_id: ToolId, result: ToolResult, error: Option<ToolError>) -> Self {
        let error = error.or_else(|| (!result.ok).then(|| result.failure()));
        Self { tool_id, result, error }
    }
}

impl ToolResult {
    /// The error, as far as the result contains it.
    fn failure(&self) -> ToolError {
        let output = self.output.as_ref().and_then(Value::as_str).unwrap_or_default();
        let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let what = match self.exit_code {
            Some(code) => format!("exited with code {code}"),
            None => "the tool failed".to_owned(),
        };
        let message = last.map_or_else(|| what.clone(), |line| format!("{what}: {line}"));
        ToolError { message: text::cut(&message, limits::DETAIL_CHARS_MAX), code: None }
    }
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// In words.
    pub message: String,
    /// The rule that refused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}
