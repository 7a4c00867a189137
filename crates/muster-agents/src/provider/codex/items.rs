//! Codex's items as tool calls.

use muster_core::run::{event::ToolResult, node::PermissionsMode, provider::ProviderTool};
use serde_json::{Map, Value, json};

use super::{
    MUSTER,
    wire::{CodexItem, CodexQuestion},
};
use crate::provider::agent::{prose, tracker::CallEnd};

pub(super) enum CodexCall {
    Tool(ProviderTool),
    /// One of Muster's own tools, which is recorded elsewhere (RUNS-TOOL-3).
    Own(String),
}

/// Whether a started item needs no decision any more: a command that has a process does not ask.
pub(super) fn runs(item: &CodexItem, gate: PermissionsMode) -> bool {
    match item {
        CodexItem::CommandExecution { process_id, .. } => process_id.is_some(),
        CodexItem::McpToolCall { .. } | CodexItem::WebSearch { .. } => true,
        CodexItem::FileChange { .. } => gate == PermissionsMode::Skip,
        CodexItem::AgentMessage { .. }
        | CodexItem::UserMessage {}
        | CodexItem::Reasoning {}
        | CodexItem::Plan {}
        | CodexItem::Unknown => false,
    }
}

/// The call of an item, if it is one.
pub(super) fn call(item: CodexItem) -> Option<CodexCall> {
    let (id, name, args) = match item {
        CodexItem::CommandExecution { id, command, cwd, .. } => {
            (id, "shell".to_owned(), object(json!({"command": command, "cwd": cwd})))
        }
        CodexItem::FileChange { id, changes, .. } => {
            (id, "apply_patch".to_owned(), object(json!({ "changes": changes })))
        }
        CodexItem::McpToolCall { id, server, .. } if server == MUSTER => {
            return Some(CodexCall::Own(id));
        }
        CodexItem::McpToolCall { id, server, tool, arguments, .. } => {
            (id, format!("{server}.{tool}"), object(arguments))
        }
        CodexItem::WebSearch { id, query } => {
            (id, "web_search".to_owned(), object(json!({ "query": query })))
        }
        CodexItem::AgentMessage { .. }
        | CodexItem::UserMessage {}
        | CodexItem::Reasoning {}
        | CodexItem::Plan {}
        | CodexItem::Unknown => return None,
    };
    Some(CodexCall::Tool(ProviderTool { id, name, args }))
}

/// How the call of an item has ended.
pub(super) fn ended(item: CodexItem) -> Option<(String, CallEnd)> {
    Some(match item {
        CodexItem::CommandExecution {
            id,
            status,
            aggregated_output,
            exit_code,
            duration_ms,
            ..
        } => {
            let ok = status == "completed" && exit_code.unwrap_or(0) == 0;
            let result = prose::outcome(ok, &aggregated_output.unwrap_or_default());
            let duration_ms = duration_ms.value();
            (id, outcome(ToolResult { exit_code, duration_ms, ..result }, &status, None))
        }
        CodexItem::FileChange { id, status, .. } => {
            (id, outcome(prose::outcome(status == "completed", ""), &status, None))
        }
        CodexItem::McpToolCall { id, status, result, error, duration_ms, .. } => {
            let output = result.map(|result| result.text()).unwrap_or_default();
            let result = prose::outcome(status == "completed", &output);
            let error = error.map(|error| error.message);
            let duration_ms = duration_ms.value();
            (id, outcome(ToolResult { duration_ms, ..result }, &status, error))
        }
        CodexItem::WebSearch { id, .. } => {
            (id, outcome(prose::outcome(true, ""), "completed", None))
        }
        CodexItem::AgentMessage { .. }
        | CodexItem::UserMessage {}
        | CodexItem::Reasoning {}
        | CodexItem::Plan {}
        | CodexItem::Unknown => return None,
    })
}

/// A call that is asked about before it was announced.
pub(super) fn unproposed(question: &CodexQuestion) -> ProviderTool {
    let command = &question.command;
    let cwd = &question.cwd;
    let name = if command.is_some() { "shell" } else { "apply_patch" }.to_owned();
    let args = object(json!({"command": command, "cwd": cwd}));
    ProviderTool { id: question.item_id.clone(), name, args }
}

/// How a call ended, from the server's word for it.
fn outcome(result: ToolResult, status: &str, error: Option<String>) -> CallEnd {
    let error = match (result.ok, error) {
        (true, _) => None,
        (false, Some(error)) => Some(prose::fault(&error)),
        (false, None) => Some(prose::fault(match (status, result.exit_code) {
            ("completed" | "failed", Some(_)) => "it ended with an error",
            (status, _) => status,
        })),
    };
    CallEnd { result, error, ran: status != "declined" }
}

/// The non-null fields of an object.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Notifications that need no action.
pub(super) fn is_known(method: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "account/",
        "configWarning",
        "deprecationNotice",
        "hook/",
        "item/",
        "mcpServer/",
        "remoteControl/",
        "thread/",
        "turn/",
    ];
    method == "warning" || PREFIXES.iter().any(|prefix| method.starts_with(prefix))
}
