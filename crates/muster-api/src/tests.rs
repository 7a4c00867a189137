//! Operations called in-process over the in-memory store.

use std::sync::Arc;

use muster_core::Timestamp;
use muster_runtime::FixedClock;
use muster_store::MemoryStore;
use serde_json::{Map, Value, json};

use crate::{App, AppOptions, Toolset};

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
    let suggestion = &refused["suggestions"][0];
    ok(&app, suggestion["target"].as_str().unwrap(), suggestion["params"].clone());
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
