//! `tasks_step` is a door: it does what the operation of its action does.

use serde_json::{Value, json};

use super::{call, lifecycle::with_task, ok};
use crate::{App, Registry, Toolset};

fn step(app: &App, action: &str, mut arguments: Value) -> Value {
    arguments["action"] = json!(action);
    arguments["task"] = json!("TASK-001");
    if action != "undo" {
        arguments["path"] = json!("s:0");
    }
    let answer = call(app, "tasks_step", arguments);
    assert_eq!(answer["intent"], "step", "{answer}");
    answer
}

/// Events and operations of the task, without positions.
fn record(app: &App) -> Vec<(Value, Value)> {
    let history = ok(app, "tasks_history", json!({"limit": 50}));
    let operations = history["operations"].as_array().unwrap();
    operations.iter().map(|entry| (entry["intent"].clone(), entry["after"].clone())).collect()
}

#[test]
fn every_action_leaves_what_its_operation_leaves() {
    let new = json!([{"title": "Part", "success_criteria": ["c"]}]);
    let pairs = [
        ("note", json!({"note": "n"}), "tasks_note", json!({"note": "n"})),
        (
            "evidence",
            json!({"checks": ["CMD: make"], "checkpoint": "tests"}),
            "tasks_evidence_capture",
            json!({"checks": ["CMD: make"], "checkpoint": "tests"}),
        ),
        ("confirm", json!({"checkpoints": "gate"}), "tasks_verify", json!({"checkpoints": "gate"})),
        ("block", json!({"reason": "r"}), "tasks_block", json!({"blocked": true, "reason": "r"})),
        ("unblock", json!({}), "tasks_block", json!({"blocked": false})),
        ("define", json!({"title": "T"}), "tasks_define", json!({"title": "T"})),
    ];
    let (door, direct) = (with_task(), with_task());
    for (action, arguments, tool, same) in pairs {
        let answer = step(&door, action, arguments);
        let mut same = same;
        same["task"] = json!("TASK-001");
        same["path"] = json!("s:0");
        let expected = call(&direct, tool, same);
        assert_eq!(answer["success"], true, "{action}: {answer}");
        assert_eq!(answer["result"], expected["result"], "{action}");
        assert_eq!(record(&door), record(&direct), "{action}");
    }
    assert_eq!(
        step(&door, "split", json!({"steps": new}))["result"]["steps"][0]["path"],
        "s:0.s:0"
    );
    let undone = step(&door, "undo", json!({}));
    assert_eq!(undone["success"], true, "{undone}");
}

#[test]
fn refusals_are_those_of_the_operation() {
    let app = with_task();
    let open = step(&app, "reopen", json!({}));
    assert_eq!(open["error"]["details"]["reason"], "not_completed", "{open}");
    let missing = step(&app, "note", json!({}));
    assert_eq!(missing["error"]["details"]["argument"], "note");
    let foreign = step(&app, "note", json!({"note": "n", "reason": "r"}));
    assert_eq!(foreign["error"]["details"]["argument"], "reason", "{foreign}");
    let both = json!({
        "action": "split", "task": "TASK-001", "path": "s:0", "step_id": "STEP-00000001",
        "steps": [],
    });
    assert_eq!(call(&app, "tasks_step", both)["error"]["details"]["argument"], "path");
    let stale = step(&app, "block", json!({"expected_revision": 99}));
    assert_eq!(stale["error"]["code"], "REVISION_MISMATCH");
}

#[test]
fn a_repeated_call_is_replayed_and_a_secret_is_reported() {
    let app = with_task();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let arguments = json!({"note": format!("use {secret}"), "idempotency_key": "k"});
    let first = step(&app, "note", arguments.clone());
    assert_eq!(first["warnings"][0]["code"], "SECRET_REDACTED", "{first}");
    let again = step(&app, "note", arguments);
    assert_eq!(again["context"]["replayed"], true, "{again}");
    assert_eq!(again["result"], first["result"]);
}

#[test]
fn the_daily_toolset_is_small_and_complete() {
    let registry = Registry::default();
    let names: Vec<&str> = registry.listed(Toolset::Daily).map(|row| row.name).collect();
    let expected = [
        "tasks_macro_start",
        "tasks_macro_close_step",
        "tasks_snapshot",
        "tasks_next",
        "tasks_step",
        "tasks_check",
        "tasks_context",
        "tasks_handoff",
        "todo_read",
        "todo_write",
    ];
    assert_eq!(names, expected);
}
