//! Operations called in-process over the in-memory store.

use std::sync::Arc;

use muster_core::Timestamp;
use muster_engine::FixedClock;
use muster_store::MemoryStore;
use serde_json::{Map, Value, json};

use crate::{App, AppOptions, CallWatch, Caller, Toolset};

mod any_json;
mod atomicity;
mod bad_input;
mod checks;
mod cost;
mod file_findings;
mod find;
mod found;
mod imports;
mod in_session;
mod lifecycle;
mod macros;
mod model;
mod probes;
mod protected;
mod several_agents;
mod step_door;
mod todo_lists;
mod views;

fn app() -> App {
    let clock = FixedClock::at(Timestamp(1_900_000_000_000));
    let options = AppOptions { toolset: Toolset::Full, ..AppOptions::default() };
    App::over(Arc::new(MemoryStore::new()), Arc::new(clock), options)
}

fn call(app: &App, name: &str, mut arguments: Value) -> Value {
    let Value::Object(map) = &mut arguments else { panic!("arguments are an object") };
    map.entry("workspace").or_insert_with(|| json!("acme"));
    app.call(name, std::mem::take::<Map<String, Value>>(map)).to_json()
}

fn ok(app: &App, name: &str, arguments: Value) -> Value {
    let answer = call(app, name, arguments);
    assert_eq!(answer["success"], json!(true), "{name}: {answer:#}");
    answer["result"].clone()
}

fn watched(watch: &CallWatch) -> Caller {
    Caller { watch: watch.clone(), ..Caller::default() }
}

#[test]
fn a_cancelled_call_writes_nothing() {
    let app = app();
    let watch = CallWatch::new(drop);
    watch.cancel();
    let arguments = json!({"workspace": "acme", "title": "Plan"});
    let arguments = arguments.as_object().unwrap();
    let refused = app.call_as(&watched(&watch), "tasks_create", arguments.clone()).to_json();
    assert_eq!(refused["error"]["code"], json!("CALL_CANCELLED"), "{refused:#}");
    let created = app.call_as(&watched(&CallWatch::new(drop)), "tasks_create", arguments.clone());
    assert_eq!(created.to_json()["result"]["id"], json!("PLAN-001"), "the first that was written");
}

/// PROOF-GATE-4.
#[test]
fn the_calls_that_run_checks_may_take_long() {
    let app = app();
    let long = app.registry().rows().iter().filter(|row| row.may_take_long);
    let mut names: Vec<_> = long.map(|row| row.name).collect();
    names.sort_unstable();
    let closing = [
        "tasks_check",
        "tasks_close_step",
        "tasks_close_task",
        "tasks_complete",
        "tasks_macro_close_step",
        "tasks_macro_finish",
    ];
    assert_eq!(names, closing);
}

#[test]
fn a_task_goes_from_creation_to_a_closed_step() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan", "contract": "Promise"}));
    let task = ok(
        &app,
        "tasks_create",
        json!({"parent": "PLAN-001", "title": "Task", "steps": [
            {"title": "One", "success_criteria": ["c"], "tests": ["t"]},
            {"title": "Two", "success_criteria": []},
        ]}),
    );
    assert_eq!(task["steps"][0], json!({"step_id": "STEP-00000001", "path": "s:0"}));
    let types: Vec<&str> =
        task["events"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["task_created", "steps_added", "step_defined"]);
    let refused = call(&app, "tasks_done", json!({"task": "TASK-001", "path": "s:0"}));
    assert_eq!(refused["error"]["code"], json!("CHECKPOINTS_NOT_CONFIRMED"));
    assert_eq!(refused["error"]["details"]["unconfirmed"], json!(["c", "t"]));
    let suggestion = &refused["suggestions"][0];
    ok(&app, suggestion["target"].as_str().unwrap(), suggestion["params"].clone());
    let confirm = json!({"task": "TASK-001", "path": "s:0", "checkpoints": "gate"});
    ok(&app, "tasks_verify", confirm);
    let done = ok(&app, "tasks_done", json!({"task": "TASK-001", "path": "s:0"}));
    assert_eq!(done["revision"], json!(2));
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    assert_eq!(
        radar["radar"]["next"],
        json!(["Confirm criteria, tests for s:1", "Close s:1: Two"])
    );
    assert_eq!(radar["radar"]["why"], json!("Promise"));
    let plan = ok(&app, "tasks_radar", json!({"plan": "PLAN-001"}));
    assert_eq!(plan["rollup"]["next_task"], json!("TASK-001"));
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// TASKS-ERR-2: also an argument that many operations share is named when it is refused.
#[test]
fn a_refused_argument_is_named_whatever_group_it_is_of() {
    let app = app();
    let cases = [
        ("tasks_radar", json!({"task": "nonsense"}), "task"),
        ("tasks_radar", json!({"target": {"id": "TASK-001", "kind": "plan"}}), "target"),
        ("tasks_note", json!({"task": "TASK-001", "path": "s:00", "note": "n"}), "path"),
        ("tasks_note", json!({"task": "TASK-001", "step_id": "S", "note": "n"}), "step_id"),
        ("tasks_create", json!({"parent": "PLAN", "title": "T"}), "parent"),
        ("tasks_task_add", json!({"parent_step": "s:0", "title": "T", "status": "OPEN"}), "status"),
    ];
    for (name, arguments, argument) in cases {
        let refused = call(&app, name, arguments);
        assert_eq!(refused["error"]["details"]["argument"], json!(argument), "{refused:#}");
    }
}

/// TASKS-ARG-7: the workspace is looked at after all other arguments.
#[test]
fn other_arguments_are_refused_before_the_workspace() {
    let app = app();
    let refused = call(&app, "tasks_create", json!({"workspace": "no good", "title": " "}));
    assert_eq!(refused["error"]["details"]["argument"], json!("title"));
    let refused = call(&app, "tasks_create", json!({"workspace": "no good", "title": "T"}));
    assert_eq!(refused["error"]["details"]["argument"], json!("workspace"));
}

/// TASKS-ARG-1, TASKS-GATE-8: nulls are absent, so what is left is an empty object.
#[test]
fn checkpoints_that_are_all_null_are_refused() {
    let checkpoints = json!({"criteria": null});
    let arguments = json!({"task": "TASK-001", "path": "s:0", "checkpoints": checkpoints});
    let refused = call(&app(), "tasks_verify", arguments);
    assert_eq!(refused["error"]["details"]["argument"], json!("checkpoints"), "{refused:#}");
}

/// TASKS-CTX-1: filters combine.
#[test]
fn a_task_and_another_plan_have_no_rows_in_common() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "One"}));
    ok(&app, "tasks_create", json!({"title": "Two"}));
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task"}));
    let rows = |plan: &str| {
        ok(&app, "tasks_context", json!({"task": "TASK-001", "plan": plan}))["counts"].clone()
    };
    assert_eq!(rows("PLAN-001"), json!({"plans": 1, "tasks": 1}));
    assert_eq!(rows("PLAN-002"), json!({"plans": 0, "tasks": 0}));
}

/// TASKS-RED-1: a refusal quotes what was given, but no secret and no flood.
#[test]
fn a_refusal_repeats_neither_secrets_nor_long_texts() {
    let app = app();
    let secret = "ghp_abcdefghijklmnop0123";
    let refused = call(&app, "tasks_radar", json!({"task": secret})).to_string();
    assert!(refused.contains("<redacted>") && !refused.contains(secret), "{refused}");
    let refused = call(&app, "tasks_radar", json!({"task": "x".repeat(100_000)})).to_string();
    assert!(refused.len() < 2_000, "{} characters", refused.len());
}

/// The event of a note shows its first 160 characters, no more and no less.
#[test]
fn the_event_of_a_note_shows_its_beginning() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let steps = json!([{"title": "One", "success_criteria": []}]);
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    let note = "ä".repeat(161);
    let noted = ok(&app, "tasks_note", json!({"task": "TASK-001", "path": "s:0", "note": note}));
    assert_eq!(noted["event"]["payload"]["summary"], json!("ä".repeat(160)));
}

/// TASKS-ARG-3: a closed set is listed, whether the type or the word is wrong.
#[test]
fn a_word_outside_a_closed_set_is_answered_with_the_set() {
    let app = app();
    for (status, reason) in [(json!("done"), "bad_format"), (json!(1), "wrong_type")] {
        let refused = call(&app, "tasks_context", json!({"status": status}));
        let expected = json!({
            "argument": "status", "expected": "one of TODO, ACTIVE, DONE", "reason": reason,
        });
        assert_eq!(refused["error"]["details"], expected);
    }
}

/// TASKS-STATE-6 and TASKS-CAP-2, as their events show them.
#[test]
fn events_list_other_steps_as_derived_and_links_by_name() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let steps = json!([{"title": "One", "success_criteria": []}]);
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    ok(&app, "tasks_decompose", json!({"task": "TASK-001", "parent": "s:0", "steps": steps}));
    for path in ["s:0.s:0", "s:0"] {
        let close = json!({"task": "TASK-001", "path": path, "checkpoints": "gate"});
        ok(&app, "tasks_close_step", close);
    }
    let reopen = json!({"task": "TASK-001", "path": "s:0.s:0", "completed": false});
    let reopened = ok(&app, "tasks_progress", reopen);
    assert_eq!(reopened["event"]["payload"]["derived"], json!({"reopened": ["s:0"]}));
    let evidence = json!({
        "task": "TASK-001", "path": "s:0", "checks": ["CMD: make"],
        "checkpoint": ["tests", "security", "docs"],
    });
    let captured = ok(&app, "tasks_evidence_capture", evidence);
    let links = json!(["docs", "security", "tests"]);
    assert_eq!(captured["checkpoints"], links);
    assert_eq!(captured["event"]["payload"]["checkpoints"], links);
    assert!(app.doctor().unwrap().damage.is_empty());
}
