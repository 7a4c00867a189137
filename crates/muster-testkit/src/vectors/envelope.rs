//! What holds for every answer, whatever was called (TASKS-ENV, TASKS-ERR).

use serde_json::{Map, Value, json};

use super::times;

const KEYS: [&str; 8] =
    ["success", "intent", "result", "warnings", "suggestions", "context", "error", "timestamp"];

/// Error codes: a closed list.
const ERROR_CODES: [&str; 25] = [
    "INVALID_INPUT",
    "UNKNOWN_ID",
    "UNKNOWN_TOOL",
    "REVISION_MISMATCH",
    "IDEMPOTENCY_CONFLICT",
    "CHECKPOINTS_NOT_CONFIRMED",
    "PROOF_REQUIRED",
    "CHECK_REQUIRED",
    "CHECK_RUNNING",
    "CHECK_UNTRUSTED",
    "PERSON_REQUIRED",
    "FORBIDDEN_ROLE",
    "CLAIMED",
    "FOCUS_MOVED",
    "CALL_CANCELLED",
    "CHILDREN_OPEN",
    "STEP_BLOCKED",
    "STEPS_OPEN",
    "TASKS_OPEN",
    "DEPENDENCIES_OPEN",
    "UNDO_CONFLICT",
    "BATCH_FAILED",
    "STORE_BUSY",
    "STORE_UNAVAILABLE",
    "STORE_ERROR",
];

/// Warning codes in the order in which warnings stand: a closed list.
const WARNING_CODES: [&str; 16] = [
    "BUDGET_TRUNCATED",
    "BUDGET_MINIMAL",
    "BUDGET_MIN_CLAMPED",
    "SECRET_REDACTED",
    "PROOF_WEAK",
    "FORCED_CLOSE",
    "ALREADY_DONE",
    "STATUS_UNCHANGED",
    "NOTE_IGNORED",
    "THINK_PIPELINE_FAILED",
    "BATCH_PARTIAL",
    "GRAPH_DIFF_UNAVAILABLE",
    "ITEMS_DEFAULTED",
    "ITEMS_DROPPED",
    "CLAIM_LAPSED",
    "UNDO_SKIPPED",
];

const CONTEXT_KEYS: [&str; 6] =
    ["workspace", "target", "target_source", "focus_restored", "focus_previous", "replayed"];

/// Reasons of `INVALID_INPUT`: a closed list (TASKS-ERR-2).
const REASONS: [&str; 15] = [
    "unknown_argument",
    "missing",
    "wrong_type",
    "out_of_range",
    "bad_format",
    "conflict",
    "no_change",
    "no_target",
    "wrong_kind",
    "already_completed",
    "not_completed",
    "nothing_to_undo",
    "nothing_to_redo",
    "empty_evidence",
    "not_allowed",
];

/// The first thing about an answer that no answer may have.
pub fn check(tool: &str, envelope: &Value) -> Result<(), String> {
    let map = object(envelope, "the answer")?;
    keys_are(map, &KEYS, "the answer")?;
    let intent = tool.strip_prefix("tasks_").unwrap_or(tool);
    require(envelope["intent"] == intent, "intent is the tool's name without tasks_")?;
    let timestamp = envelope["timestamp"].as_str().unwrap_or_default();
    require(times::is_rfc3339_millis(timestamp), "timestamp is RFC 3339 with milliseconds")?;
    object(&envelope["result"], "result")?;
    let context = object(&envelope["context"], "context")?;
    let foreign = context.keys().find(|key| !CONTEXT_KEYS.contains(&key.as_str()));
    require(foreign.is_none(), "context holds only what TASKS-ENV-5 names")?;
    warnings(&envelope["warnings"])?;
    suggestions(&envelope["suggestions"])?;
    match envelope["success"].as_bool() {
        Some(true) => require(envelope["error"].is_null(), "error is null on success"),
        Some(false) => {
            require(envelope["result"] == json!({}), "result is {} on failure")?;
            error(&envelope["error"])
        }
        None => Err("success is true or false".to_owned()),
    }
}

fn error(error: &Value) -> Result<(), String> {
    let map = object(error, "error")?;
    keys_are(map, &["code", "message", "recovery", "details"], "error")?;
    let code = error["code"].as_str().unwrap_or_default();
    require(ERROR_CODES.contains(&code), "error.code is in the closed list")?;
    for key in ["message", "recovery"] {
        let text = error[key].as_str().unwrap_or_default();
        require(!text.trim().is_empty(), "message and recovery say something")?;
    }
    let details = object(&error["details"], "error.details")?;
    if code != "INVALID_INPUT" {
        return Ok(());
    }
    let reason = error["details"]["reason"].as_str().unwrap_or_default();
    require(REASONS.contains(&reason), "details.reason is in the closed list")?;
    let allowed = ["argument", "expected", "reason", "unknown"];
    let foreign = details.keys().find(|key| !allowed.contains(&key.as_str()));
    require(foreign.is_none(), "details of INVALID_INPUT are those of TASKS-ERR-2")
}

fn warnings(warnings: &Value) -> Result<(), String> {
    let mut last = 0;
    for warning in warnings.as_array().ok_or("warnings is a list")? {
        keys_are(object(warning, "a warning")?, &["code", "message", "recovery"], "a warning")?;
        let place = WARNING_CODES.iter().position(|code| warning["code"] == *code);
        let place = place.ok_or("a warning's code is in the closed list")?;
        require(place >= last, "warnings stand in the order of their table")?;
        last = place;
        for key in ["message", "recovery"] {
            let text = warning[key].as_str().unwrap_or_default();
            require(!text.trim().is_empty(), "warnings say something")?;
        }
    }
    Ok(())
}

fn suggestions(suggestions: &Value) -> Result<(), String> {
    for suggestion in suggestions.as_array().ok_or("suggestions is a list")? {
        let keys = ["action", "target", "reason", "priority", "validated", "params"];
        keys_are(object(suggestion, "a suggestion")?, &keys, "a suggestion")?;
        require(suggestion["action"] == "call_tool", "a suggestion's action is call_tool")?;
        require(suggestion["validated"] == true, "suggestions are validated")?;
        let priority = suggestion["priority"].as_str().unwrap_or_default();
        require(["high", "medium", "low"].contains(&priority), "priority is high, medium or low")?;
        let params = object(&suggestion["params"], "params")?;
        require(!has_null(&suggestion["params"]), "params hold no null")?;
        let text = suggestion["params"].to_string();
        require(!text.contains("<fill"), "params hold no placeholder")?;
        require(!params.contains_key("path"), "a suggestion names a step by step_id")?;
    }
    Ok(())
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is an object"))
}

fn keys_are(map: &Map<String, Value>, keys: &[&str], what: &str) -> Result<(), String> {
    let complete = keys.iter().all(|key| map.contains_key(*key)) && map.len() == keys.len();
    require(complete, &format!("{what} has exactly the keys {}", keys.join(", ")))
}

fn require(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("must hold: {what}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn refusal() -> Value {
        json!({
            "success": false, "intent": "note", "result": {}, "warnings": [],
            "suggestions": [{
                "action": "call_tool", "target": "tasks_context", "reason": "look",
                "priority": "high", "validated": true, "params": {"workspace": "a"},
            }],
            "context": {}, "timestamp": "2031-04-02T09:15:07.250Z",
            "error": {
                "code": "INVALID_INPUT", "message": "m", "recovery": "r",
                "details": {"reason": "missing"},
            },
        })
    }

    #[test]
    fn a_proper_refusal_passes() {
        assert_eq!(check("tasks_note", &refusal()), Ok(()));
    }

    #[test]
    fn every_deviation_is_found() {
        let deviations: [(&str, Value); 13] = [
            ("/intent", json!("tasks_note")),
            ("/timestamp", json!("2031-04-02T09:15:07Z")),
            ("/result", json!({"a": 1})),
            ("/context", json!({"clock": 1})),
            ("/error", json!(null)),
            ("/error/code", json!("OOPS")),
            ("/error/message", json!(" ")),
            ("/error/details/reason", json!("because")),
            ("/error/details", json!({"reason": "missing", "more": 1})),
            ("/success", json!(true)),
            ("/suggestions/0/params", json!({"task": null})),
            ("/suggestions/0/params", json!({"path": "s:0"})),
            ("/warnings", json!([{"code": "OOPS", "message": "m", "recovery": "r"}])),
        ];
        for (place, value) in deviations {
            let mut answer = refusal();
            *answer.pointer_mut(place).expect("a place") = value.clone();
            assert!(check("tasks_note", &answer).is_err(), "{place} {value}");
        }
    }
}
