//! Errors of each dialect, as components of the document.

use muster_api::runs::RunCode;
use serde_json::{Map, Value, json};

use crate::refusal::RefusalKind;

pub(super) fn errors() -> Map<String, Value> {
    let all =
        [("HttpError", http_error()), ("BridgeError", bridge_error()), ("RunError", run_error())];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn http_error() -> Value {
    let codes: Vec<&str> = RefusalKind::ALL.iter().map(|kind| kind.code()).collect();
    json!({
        "type": "object",
        "description": "An answer of the HTTP surface itself, with the keys of every answer.",
        "properties": {
            "success": {"const": false},
            "intent": {"type": "string"},
            "result": {"type": "object"},
            "warnings": {"type": "array"},
            "suggestions": {"type": "array"},
            "context": {"type": "object"},
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "string", "enum": codes},
                    "message": {"type": "string"},
                    "recovery": {"type": "string"},
                    "details": {"type": "object"},
                },
                "required": ["code", "message", "recovery", "details"],
            },
            "timestamp": {"type": "string"},
        },
        "required": ["success", "intent", "result", "warnings", "suggestions", "context", "error",
            "timestamp"],
    })
}

fn bridge_error() -> Value {
    let codes = [
        "invalid_request",
        "unknown_command",
        "unauthorized",
        "forbidden",
        "not_found",
        "method_not_allowed",
        "conflict",
        "revision_mismatch",
        "resume_window_exceeded",
        "payload_too_large",
        "unsupported_media_type",
        "busy",
        "internal",
    ];
    let mut error = error(&codes, &json!({"type": ["string", "object", "null"]}));
    error["description"] =
        json!("Why the bridge refused; `path` names the field or parameter to blame, if one is.");
    error
}

fn run_error() -> Value {
    let codes: Vec<&str> = RunCode::ALL.iter().map(|code| code.name()).collect();
    error(&codes, &json!({"type": "string"}))
}

fn error(codes: &[&str], detail: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string", "enum": codes},
            "detail": detail,
            "path": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["error", "detail", "path"],
    })
}
