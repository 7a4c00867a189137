//! Shapes of what the session bridge takes and gives, as components of the document.

use serde_json::{Map, Value, json};

use crate::sessions::COMMANDS;

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

/// A whole number that is not negative.
pub(super) fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// Yes or no.
pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

pub(super) fn object() -> Value {
    json!({"type": "object"})
}

/// A component of the document.
pub(super) fn shape(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A list of something.
pub(super) fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

/// Something, or null.
pub(super) fn or_null(what: &Value) -> Value {
    json!({"anyOf": [what, {"type": "null"}]})
}

/// An object with fields that are always there, and others that may be left out.
pub(super) fn record(always: &[(&str, Value)], sometimes: &[(&str, Value)]) -> Value {
    let fields = always.iter().chain(sometimes);
    let properties: Map<String, Value> =
        fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let required: Vec<&str> = always.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// All shapes by their names.
pub(super) fn schemas() -> Map<String, Value> {
    let shapes = [
        ("BridgeError", error()),
        ("Health", health()),
        ("Session", session()),
        ("SessionMade", session_made()),
        ("SessionCommand", command()),
        ("SessionEvent", event()),
        ("TodoItem", todo_item()),
        ("TodoLists", todo_lists()),
        ("TodoHistory", todo_history()),
        ("TreeSummary", tree_summary()),
        ("TreeNode", tree_node()),
        ("TreePage", tree_page()),
        ("TreeText", tree_text()),
        ("TreeDropped", tree_dropped()),
    ];
    shapes.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect()
}

fn error() -> Value {
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
    let detail = json!({"type": ["string", "object", "null"]});
    let fields = [("error", one_of(&codes)), ("detail", detail), ("path", or_null(&text()))];
    let mut shape = record(&fields, &[]);
    shape["description"] =
        json!("Why the bridge refused; `path` names the field or parameter to blame, if one is.");
    shape
}

fn health() -> Value {
    let store = record(&[("engine", text()), ("schema_version", whole())], &[]);
    let always = [
        ("status", one_of(&["ok", "failing"])),
        ("protocol_version", json!({"const": muster_core::session::PROTOCOL_VERSION})),
        ("version", text()),
        ("engine_version", text()),
        ("started_at", json!({"type": "string", "format": "date-time"})),
        ("started_at_unix", whole()),
        ("pid", whole()),
        ("uptime_seconds", whole()),
    ];
    record(&always, &[("store", store)])
}

fn status() -> Value {
    one_of(&["starting", "idle", "running", "completed", "failed", "stopped"])
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn session() -> Value {
    let fields = [
        ("session_id", text()),
        ("status", status()),
        ("created_at", time()),
        ("last_activity_at", time()),
        ("model", or_null(&text())),
        ("mode", or_null(&text())),
        ("title", or_null(&text())),
        ("completion_summary", json!({})),
        ("reward_summary", json!({})),
        ("logging_dir", or_null(&text())),
        ("metadata", or_null(&object())),
        ("last_seq", whole()),
        ("queued_inputs", whole()),
        ("todos", record(&[("done", whole()), ("total", whole())], &[])),
        ("workspace", or_null(&text())),
        ("driver", or_null(&driver())),
    ];
    record(&fields, &[])
}

/// Who drives a session.
fn driver() -> Value {
    let some = or_null(&text());
    let run = [
        ("kind", json!({"const": "run"})),
        ("run_id", some.clone()),
        ("node_id", some),
        ("phase", text()),
        ("status", text()),
    ];
    let host = [("kind", json!({"const": "host"})), ("host", text()), ("expires_at", time())];
    json!({"oneOf": [record(&run, &[]), record(&host, &[])]})
}

fn session_made() -> Value {
    let fields = [
        ("session_id", text()),
        ("status", status()),
        ("created_at", time()),
        ("logging_dir", or_null(&text())),
    ];
    record(&fields, &[])
}

fn command() -> Value {
    let payload = json!({
        "type": ["object", "null"],
        "additionalProperties": true,
        "description": "set_model {model}; set_mode {mode}; permission_decision {request_id, \
            decision, note?, rule?, scope?}; ctree_pin {node_id, pinned}; the others take none.",
    });
    let mut command = one_of(&COMMANDS);
    command["description"] =
        json!("respond_permission and permission_response mean permission_decision.");
    record(&[("command", command)], &[("payload", payload)])
}

fn event() -> Value {
    let always = [
        ("id", text()),
        ("timestamp_ms", whole()),
        ("timestamp", whole()),
        ("type", text()),
        ("session_id", text()),
        ("protocol_version", text()),
        ("data", object()),
        ("payload", object()),
    ];
    let sometimes = [
        ("seq", whole()),
        ("run_id", text()),
        ("turn_id", text()),
        ("thread_id", text()),
        ("turn", whole()),
    ];
    let mut shape = record(&always, &sometimes);
    shape["description"] = json!(
        "One event. `payload` repeats `data`. Without `seq` it belongs to this connection only: \
         the greeting `stream.hello`, a todo list as it is now, or `stream.gap`."
    );
    shape
}

fn todo_status() -> Value {
    one_of(&["todo", "in_progress", "done", "blocked", "canceled"])
}

fn todo_item() -> Value {
    let always = [("id", text()), ("title", text()), ("status", todo_status())];
    let priority = json!({"type": ["string", "number"]});
    record(&always, &[("raw_status", text()), ("priority", priority), ("metadata", object())])
}

fn todo_lists() -> Value {
    let counts = ["todo", "in_progress", "done", "blocked", "canceled", "total"];
    let counts = record(&counts.map(|name| (name, whole())), &[]);
    let scope = [
        ("scopeKey", text()),
        ("scopeLabel", text()),
        ("revision", json!({"type": "integer"})),
        ("items", list(&shape("TodoItem"))),
        ("counts", counts),
        ("updated_at_ms", whole()),
        ("updated_seq", whole()),
    ];
    let scopes = list(&record(&scope, &[]));
    record(&[("session_id", text()), ("seq", whole()), ("scopes", scopes)], &[])
}

fn todo_history() -> Value {
    let entry = [
        ("revision", json!({"type": "integer"})),
        ("seq", whole()),
        ("timestamp_ms", whole()),
        ("source", one_of(&["todo_write", "event"])),
        ("op", one_of(&["replace", "clear", "patch", "upsert", "delete"])),
        ("items", list(&shape("TodoItem"))),
    ];
    let fields = [
        ("session_id", text()),
        ("scopeKey", text()),
        ("entries", list(&record(&entry, &[]))),
        ("has_more", flag()),
    ];
    record(&fields, &[])
}

fn hashes() -> Value {
    record(&["z1", "z2", "z3"].map(|stage| (stage, text())), &[])
}

fn collapse() -> Value {
    record(&[("policy", json!({"const": "drop-low-score"})), ("dropped", whole())], &[])
}

fn score() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}

fn tree_summary() -> Value {
    let fields = [
        ("snapshot", record(&[("node_count", whole()), ("node_hash", text())], &[])),
        ("compiler", hashes()),
        ("collapse", collapse()),
        ("runner", record(&[("phase", text()), ("status", text())], &[])),
        ("last_node", record(&[("id", text()), ("score", score())], &[])),
        ("seq", whole()),
    ];
    record(&fields, &[])
}

fn tree_node() -> Value {
    let kinds = [
        "root",
        "turn",
        "message",
        "tool_call",
        "tool_result",
        "todo",
        "task",
        "handoff",
        "evidence",
    ];
    let statuses = ["open", "done", "failed", "canceled", "superseded"];
    let always = [
        ("id", text()),
        ("parent_id", or_null(&text())),
        ("kind", one_of(&kinds)),
        ("role", or_null(&one_of(&["user", "assistant", "system"]))),
        ("label", text()),
        ("body_sha256", text()),
        ("status", or_null(&one_of(&statuses))),
        ("turn", or_null(&whole())),
        ("seq", whole()),
        ("created_at_ms", whole()),
        ("updated_at_ms", whole()),
        ("pinned", flag()),
        ("refs", list(&text())),
        ("score", score()),
        ("hash", text()),
        ("meta", object()),
    ];
    record(&always, &[("preview", text()), ("body", text())])
}

fn tree_page() -> Value {
    let stages = ["node_hash", "z1", "z2", "z3"];
    let fields = [
        ("session_id", text()),
        ("seq", whole()),
        ("source", json!({"const": "live"})),
        ("stage", one_of(&["raw", "collapsed"])),
        ("root_id", text()),
        ("nodes", list(&shape("TreeNode"))),
        ("selection", record(&[("active_node_id", or_null(&text()))], &[])),
        ("hashes", record(&stages.map(|stage| (stage, text())), &[])),
        ("next_cursor", or_null(&text())),
    ];
    record(&fields, &[])
}

fn tree_text() -> Value {
    let fields = [
        ("session_id", text()),
        ("seq", whole()),
        ("max_chars", whole()),
        ("used_chars", whole()),
        ("truncated", flag()),
        ("text", text()),
        ("compiler", hashes()),
        ("collapse", collapse()),
        ("dropped_cursor", or_null(&text())),
    ];
    record(&fields, &[])
}

fn tree_dropped() -> Value {
    let fields = [
        ("session_id", text()),
        ("seq", whole()),
        ("max_chars", whole()),
        ("dropped", whole()),
        ("node_ids", list(&text())),
        ("next_cursor", or_null(&text())),
    ];
    record(&fields, &[])
}
