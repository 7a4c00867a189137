//! What real clients and outside probes found wrong, one test each.

use serde_json::{Value, json};

use super::{
    app, call,
    lifecycle::{clean, code, on, with, with_task},
    ok,
};
use crate::App;

fn with_done_task() -> App {
    let app = with_task();
    for path in ["s:0", "s:1"] {
        ok(&app, "tasks_close_step", with(on(path), json!({"checkpoints": "gate"})));
    }
    ok(&app, "tasks_complete", json!({"task": "TASK-001"}));
    app
}

/// TASKS-EVD-2: evidence that asks for a confirmation asks for it of a DONE task, too.
#[test]
fn a_done_task_with_unconfirmed_evidence_is_not_called_done() {
    let app = with_done_task();
    let evidence = json!({"checks": ["CMD: audit"], "checkpoint": "security"});
    ok(&app, "tasks_evidence_capture", with(on("s:0"), evidence));
    let task = json!({"task": "TASK-001"});
    for tool in ["tasks_complete", "tasks_macro_finish", "tasks_macro_close_step"] {
        let refused = call(&app, tool, task.clone());
        assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED", "{tool}: {refused:#}");
        assert_eq!(refused["error"]["details"]["missing_checkpoints"], json!(["security"]));
    }
    let shown = ok(&app, "tasks_close_task", task.clone());
    assert_eq!([&shown["ok"], &shown["diff"]], [&json!(false), &json!([])]);
    assert_eq!(shown["unmet"][0]["code"], json!("CHECKPOINTS_NOT_CONFIRMED"));
    let refused = call(&app, "tasks_close_task", with(task.clone(), json!({"apply": true})));
    assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED");
    let shown = ok(&app, "tasks_snapshot", task.clone());
    assert_eq!(shown["radar"]["next"], json!(["Confirm security for s:0"]));
    assert_eq!(shown["capsule"]["action"]["tool"], json!("tasks_verify"));
    let lint = ok(&app, "tasks_lint", task.clone());
    assert_eq!(lint["issues"][0]["code"], json!("CLOSED_UNCONFIRMED"));
    ok(&app, "tasks_verify", with(on("s:0"), json!({"checkpoints": {"security": true}})));
    let done = call(&app, "tasks_complete", task);
    assert_eq!(done["warnings"][0]["code"], json!("ALREADY_DONE"), "{done:#}");
    clean(&app);
}

/// TASKS-TGT-3: a caller in an empty plan is not sent to another one.
#[test]
fn an_empty_plan_in_focus_asks_for_its_first_task() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Unrelated"}));
    ok(&app, "tasks_create", json!({"title": "Mine"}));
    ok(&app, "tasks_focus_set", json!({"plan": "PLAN-002"}));
    let refused = call(&app, "tasks_note", json!({"path": "s:0", "note": "n"}));
    assert_eq!(refused["error"]["details"]["reason"], json!("wrong_kind"));
    let suggestion = &refused["suggestions"][0];
    assert_eq!(suggestion["target"], json!("tasks_macro_start"));
    assert_eq!(suggestion["params"]["plan"], json!("PLAN-002"));
    let started = ok(&app, "tasks_macro_start", suggestion["params"].clone());
    assert_eq!(started["plan_id"], json!("PLAN-002"));
}

/// TASKS-CT-1: what the call is for is part of what it would change.
#[test]
fn a_dry_run_lists_the_status_also_while_gates_refuse() {
    let app = with_task();
    let shown = ok(&app, "tasks_close_task", json!({"task": "TASK-001"}));
    assert_eq!(shown["ok"], json!(false));
    let status = json!({
        "entity": "task", "id": "TASK-001", "path": null, "field": "status",
        "before": "TODO", "after": "DONE",
    });
    assert_eq!(shown["diff"], json!([status]));
}

/// TASKS-UNDO-2: nothing else changed, so the block comes back.
#[test]
fn undo_restores_the_block_of_a_step_that_was_closed_in_spite_of_it() {
    let app = with_task();
    ok(&app, "tasks_block", with(on("s:0"), json!({"reason": "r"})));
    ok(&app, "tasks_progress", with(on("s:0"), json!({"force": true})));
    ok(&app, "tasks_block", with(on("s:0"), json!({"blocked": false})));
    let undone = ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(undone["operation"]["before"]["block_reason"], json!("r"));
    for _ in 0..2 {
        ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    }
    for _ in 0..3 {
        ok(&app, "tasks_redo", json!({"task": "TASK-001"}));
    }
    clean(&app);
}

/// A waiver in the history has the form that it has in a step, and a forced closing says so.
#[test]
fn history_shows_a_waiver_as_views_do() {
    let app = with_task();
    ok(&app, "tasks_progress", with(on("s:0"), json!({"force": true, "reason": "hotfix"})));
    let newest = || {
        let history = ok(&app, "tasks_history", json!({"task": "TASK-001"}));
        history["operations"][0].clone()
    };
    let waiver = |settled: bool| {
        json!({
            "reason": "hotfix", "at_ms": 1_900_000_000_000_i64,
            "skipped": ["criteria", "tests"], "settled": settled,
        })
    };
    let forced = newest();
    assert_eq!([&forced["before"]["forced"], &forced["after"]["forced"]], [false, true]);
    assert_eq!(
        [&forced["before"]["waiver"], &forced["after"]["waiver"]],
        [&Value::Null, &waiver(false)]
    );
    ok(&app, "tasks_verify", with(on("s:0"), json!({"checkpoints": "gate"})));
    ok(&app, "tasks_progress", with(on("s:0"), json!({"completed": false})));
    assert_eq!(newest()["before"]["waiver"], waiver(true));
    // Settling it did not change what the operations left.
    ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    let undone = ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(undone["operation"]["intent"], json!("step_progress"));
    clean(&app);
}

/// TASKS-ARG-3: JSON has one kind of number.
#[test]
fn an_integral_float_is_an_integer() {
    let app = with_task();
    let at = |revision: Value| {
        let edit = json!({"task": "TASK-001", "title": "T", "expected_revision": revision});
        call(&app, "tasks_edit", edit)
    };
    assert_eq!(at(json!(0.5))["error"]["details"]["reason"], json!("wrong_type"));
    assert_eq!(at(json!(1e300))["error"]["details"]["reason"], json!("wrong_type"));
    assert_eq!(at(json!(-1.0))["error"]["details"]["reason"], json!("out_of_range"));
    assert_eq!(at(json!(0.0))["result"]["revision"], json!(1));
    let delta = ok(&app, "tasks_delta", json!({"since": 1.0, "limit": 2.0}));
    assert_eq!(delta["events"].as_array().unwrap().len(), 2);
    let batch = json!({"operations": [
        {"tool": "tasks_edit", "args": {"task": "TASK-001", "title": "U", "expected_revision": 1.0}}
    ]});
    assert_eq!(ok(&app, "tasks_batch", batch)["failed"], json!(0));
}

/// TASKS-EVD-1: of items as well as of lines.
#[test]
fn placeholder_items_beside_real_ones_are_dropped_with_a_warning() {
    let app = with_task();
    let capture = |items: Value| {
        let answer = call(&app, "tasks_evidence_capture", with(on("s:0"), json!({"items": items})));
        let codes = answer["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone());
        let id = answer["result"]["evidence_id"].clone();
        let got = ok(&app, "tasks_evidence_get", with(on("s:0"), json!({"evidence_id": id})));
        (codes.collect::<Vec<_>>(), got["evidence"][0]["items"].clone())
    };
    let real = json!({"kind": "log", "command": "make", "stdout": "ok", "stderr": ""});
    let (warned, kept) = capture(json!([{"command": "<fill: command>", "exit_code": 0}, real]));
    assert_eq!((warned, kept), (vec![json!("PROOF_WEAK")], json!([real])));
    let partly = json!({"command": "make", "stdout": "<fill: output>"});
    let (warned, kept) = capture(json!([partly]));
    assert_eq!((warned, kept), (vec![json!("PROOF_WEAK")], json!([partly])));
    let bare = json!({"kind": "log", "exit_code": 0});
    let (warned, kept) = capture(json!([real, bare]));
    assert_eq!((warned, kept), (vec![], json!([real, bare])));
}

/// TASKS-ERR-2: an unknown tool in an atomic batch is bad input, and bad input has a reason.
#[test]
fn an_unknown_tool_in_an_atomic_batch_has_a_reason() {
    let app = with_task();
    let batch = json!({"atomic": true, "operations": [{"tool": "tasks_pach", "args": {}}]});
    let refused = call(&app, "tasks_batch", batch);
    assert_eq!(code(&refused), "INVALID_INPUT");
    let details = &refused["error"]["details"];
    assert_eq!(details["reason"], json!("bad_format"));
    assert_eq!(details["argument"], json!("operations[0].tool"));
    assert_eq!(details.as_object().unwrap().len(), 3, "{details}");
    for (tool, meant) in [("tasks_pach", "tasks_patch"), ("tasks_don", "tasks_block")] {
        let batch = json!({"atomic": true, "operations": [{"tool": tool, "args": {}}]});
        let refused = call(&app, "tasks_batch", batch);
        let recovery = refused["error"]["recovery"].as_str().unwrap();
        assert!(recovery.contains(meant), "{tool}: {recovery}");
    }
}

/// A macro that confirms what is left closes the step; what is confirmed need not be named again.
#[test]
fn the_closing_macro_takes_an_optional_checkpoint_alone() {
    let app = with_task();
    let security = with(on("s:0"), json!({"checkpoints": {"security": true}}));
    let refused = call(&app, "tasks_macro_close_step", security.clone());
    assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED");
    ok(&app, "tasks_verify", with(on("s:0"), json!({"checkpoints": "gate"})));
    let closed = ok(&app, "tasks_macro_close_step", security);
    assert_eq!(closed["step"]["path"], json!("s:0"));
}

/// What is there but wrong is not called missing.
#[test]
fn a_wrong_value_is_not_called_missing() {
    let app = with_task();
    let close = with(on("s:0"), json!({"checkpoints": {"security": true}}));
    let card = json!({"task": "TASK-001", "card": {"title": ""}});
    let steps = json!([{"title": "A", "success_criteria": ["none"], "tests": ["t"]}]);
    let start = json!({"task_title": "T", "plan": "PLAN-001", "steps": steps});
    for (tool, arguments) in
        [("tasks_close_step", close), ("think_card", card), ("tasks_bootstrap", start)]
    {
        let refused = call(&app, tool, arguments);
        assert_eq!(code(&refused), "INVALID_INPUT", "{tool}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(!message.contains("is missing"), "{tool}: {message}");
        assert_ne!(refused["error"]["details"]["reason"], json!("missing"), "{tool}");
    }
}

/// A page of the graph's difference holds what was asked for, also inside one event.
#[test]
fn graph_changes_of_one_event_come_page_by_page() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let steps: Vec<Value> = (0..20)
        .map(|at| json!({"title": format!("Step {at}"), "success_criteria": ["c"]}))
        .collect();
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    let diff = |more: Value| {
        let arguments = with(json!({"task": "TASK-001", "read_only": true}), more);
        ok(&app, "tasks_snapshot", arguments)["graph_diff"].clone()
    };
    let whole = diff(json!({"graph_diff_limit": 1000}))["changes"].as_array().unwrap().clone();
    assert_eq!(whole.len(), 41, "the task, and a node and an edge for each step");
    for limit in [1, 7] {
        let mut followed = Vec::new();
        let mut page = diff(json!({"graph_diff_limit": limit}));
        loop {
            let changes = page["changes"].as_array().unwrap();
            assert!(changes.len() <= limit, "{} changes at limit {limit}", changes.len());
            followed.extend(changes.iter().cloned());
            let cursor = &page["pagination"]["next_cursor"];
            if cursor.is_null() {
                break;
            }
            // A change of another step in between moves no other change.
            if followed.len() == 7 {
                ok(&app, "tasks_define", with(on("s:0"), json!({"title": "Renamed"})));
            }
            page = diff(json!({"graph_diff_limit": limit, "graph_diff_cursor": cursor}));
        }
        let ids = |changes: &[Value]| -> Vec<String> {
            changes.iter().map(|change| format!("{}{}", change["id"], change["to"])).collect()
        };
        assert_eq!(ids(&followed), ids(&whole), "limit {limit}");
        ok(&app, "tasks_define", with(on("s:0"), json!({"title": "Step 0"})));
    }
    let refused =
        call(&app, "tasks_snapshot", json!({"graph_diff_cursor": "x", "task": "TASK-001"}));
    assert_eq!(refused["error"]["details"]["argument"], json!("graph_diff_cursor"));
}

/// Every view of a plan says how its steps stand.
#[test]
fn views_of_a_plan_show_the_steps_of_its_tasks() {
    let app = with_task();
    ok(&app, "tasks_close_step", with(on("s:0"), json!({"checkpoints": "gate"})));
    let views = [
        "tasks_radar",
        "tasks_handoff",
        "tasks_context_pack",
        "tasks_resume_pack",
        "tasks_resume_super",
        "tasks_snapshot",
    ];
    for view in views {
        let shown = ok(&app, view, json!({"plan": "PLAN-001"}))["steps"].take();
        let counts = [&shown["total"], &shown["open"], &shown["completed"]];
        assert_eq!(counts, [2, 1, 1], "{view}: {shown:#}");
        let first = &shown["first_open"];
        assert_eq!([&first["task"], &first["path"]], ["TASK-001", "s:1"], "{view}");
    }
    ok(&app, "tasks_create", json!({"title": "Empty"}));
    let empty = ok(&app, "tasks_radar", json!({"plan": "PLAN-002"}));
    let none = json!({"total": 0, "open": 0, "completed": 0, "first_open": null});
    assert_eq!(empty["steps"], none);
}

/// A refusal names what was wrong, but does not send it all back.
#[test]
fn a_refusal_repeats_little_of_an_overlong_value() {
    let app = with_task();
    let path = vec!["s:0"; 40_000].join(".");
    let words = "a word ".repeat(30_000);
    ok(&app, "tasks_block", with(on("s:1"), json!({"reason": "why ".repeat(10_000)})));
    ok(&app, "tasks_verify", with(on("s:1"), json!({"checkpoints": "gate"})));
    let operation =
        |tool: &str| json!({"operations": [{"tool": tool, "args": {}}], "atomic": true});
    let cases = [
        ("tasks_note", json!({"task": "TASK-001", "path": path, "note": "n"})),
        ("tasks_task_define", json!({"task": "TASK-001", "path": path, "title": "n"})),
        ("tasks_radar", json!({"task": words})),
        ("tasks_radar", json!({"task": path})),
        ("tasks_radar", json!({words.clone(): 1})),
        ("tasks_macro_start", json!({"task_title": "T", "template": words})),
        ("tasks_batch", operation(&words)),
        ("tasks_done", on("s:1")),
        ("todo_read", json!({"session_id": path})),
    ];
    for (tool, arguments) in cases {
        let mut arguments = arguments;
        if tool == "todo_read" {
            arguments["workspace"] = Value::Null;
        }
        let refused = call(&app, tool, arguments);
        assert_eq!(refused["success"], json!(false), "{tool}");
        let size = refused.to_string().len();
        assert!(size < 2_500, "{tool}: {size} characters: {:.300}", refused.to_string());
    }
    let named = call(&app, "no such tool", json!({}));
    assert!(named["error"]["message"].as_str().unwrap().contains("\"no such tool\""));
    let long = call(&app, &words, json!({}));
    let message = long["error"]["message"].as_str().unwrap();
    assert!(message.contains('…') && message.len() < 300, "{message:.400}");
}
