//! Finishing, forcing, patching, undoing, batches and evidence, end to end in one process.

use serde_json::{Value, json};

use super::{app, call, ok};
use crate::App;

/// A plan and a task with two steps.
pub(super) fn with_task() -> App {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let steps = json!([
        {"title": "One", "success_criteria": ["c"]},
        {"title": "Two", "success_criteria": ["c"]},
    ]);
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    app
}

pub(super) fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

pub(super) fn on(path: &str) -> Value {
    json!({"task": "TASK-001", "path": path})
}

pub(super) fn with(mut base: Value, more: Value) -> Value {
    let (Value::Object(base_map), Value::Object(more)) = (&mut base, more) else { panic!() };
    base_map.extend(more);
    base
}

pub(super) fn clean(app: &App) {
    let report = app.doctor().unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

#[test]
fn a_task_is_done_only_when_everything_is() {
    let app = with_task();
    let refused = call(&app, "tasks_complete", json!({"task": "TASK-001"}));
    assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED");
    assert_eq!(refused["error"]["details"]["steps"], json!(["s:0", "s:1"]));
    for path in ["s:0", "s:1"] {
        ok(&app, "tasks_close_step", with(on(path), json!({"checkpoints": "gate"})));
    }
    let done = ok(&app, "tasks_complete", json!({"task": "TASK-001"}));
    assert_eq!(done["task"]["status"], json!("DONE"));
    let again = call(&app, "tasks_complete", json!({"task": "TASK-001"}));
    assert_eq!(again["warnings"][0]["code"], json!("ALREADY_DONE"));
    assert_eq!(again["result"]["event"], Value::Null);
    let plan = ok(&app, "tasks_complete", json!({"plan": "PLAN-001"}));
    assert_eq!(plan["plan"]["status"], json!("DONE"));
    ok(&app, "tasks_progress", with(on("s:0"), json!({"completed": false})));
    let context = ok(&app, "tasks_context", json!({}));
    assert_eq!(context["tasks"][0]["status"], json!("ACTIVE"));
    assert_eq!(context["plans"][0]["status"], json!("ACTIVE"));
    clean(&app);
}

#[test]
fn force_closes_with_a_waiver_that_does_not_finish_the_task() {
    let app = with_task();
    let forced =
        call(&app, "tasks_progress", with(on("s:0"), json!({"force": true, "reason": "hotfix"})));
    assert_eq!(forced["result"]["forced"], json!(true));
    assert_eq!(forced["warnings"][0]["code"], json!("FORCED_CLOSE"));
    ok(&app, "tasks_close_step", with(on("s:1"), json!({"checkpoints": "gate"})));
    let refused = call(&app, "tasks_complete", json!({"task": "TASK-001"}));
    assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED");
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    let next = json!("Confirm criteria, tests for s:0 (closed by force)");
    assert_eq!(radar["radar"]["next"][0], next);
    clean(&app);
}

#[test]
fn undo_and_redo_walk_the_same_way_back_and_forth() {
    let app = with_task();
    let title = |title: &str| json!([{"op": "set", "field": "title", "value": title}]);
    let step = |text: &str| with(on("s:0"), json!({"kind": "step", "ops": title(text)}));
    ok(&app, "tasks_patch", step("A"));
    ok(&app, "tasks_patch", step("B"));
    ok(&app, "tasks_block", with(on("s:0"), json!({"reason": "waits \"quoted\"\nline"})));
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    assert_eq!(radar["radar"]["blockers"][0], json!("s:0 blocked: waits \"quoted\"\nline"));
    let undone: Vec<Value> = (0..3)
        .map(|_| ok(&app, "tasks_undo", json!({"task": "TASK-001"}))["operation"]["intent"].clone())
        .collect();
    assert_eq!(undone, [json!("step_block_set"), json!("step_patch"), json!("step_patch")]);
    let nothing = call(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(nothing["error"]["details"]["reason"], json!("nothing_to_undo"));
    let first = ok(&app, "tasks_redo", json!({}));
    assert_eq!(first["operation"]["after"]["title"], json!("A"));
    let second = ok(&app, "tasks_redo", json!({}));
    assert_eq!(second["operation"]["after"]["title"], json!("B"));
    ok(&app, "tasks_note", with(on("s:0"), json!({"note": "new work"})));
    let gone = call(&app, "tasks_redo", json!({"task": "TASK-001"}));
    assert_eq!(gone["error"]["details"]["reason"], json!("nothing_to_redo"));
    let history = ok(&app, "tasks_history", json!({"task": "TASK-001"}));
    assert_eq!(history["operations"][0]["intent"], json!("note"));
    assert_eq!(history["operations"][1]["undone"], json!(true));
    clean(&app);
}

#[test]
fn an_atomic_batch_keeps_all_or_nothing() {
    let app = with_task();
    let block = |path: &str| json!({"tool": "tasks_block", "args": on(path)});
    let close = json!({"tool": "tasks_progress", "args": on("s:1")});
    let before = ok(&app, "tasks_delta", json!({}));
    let batch = json!({"atomic": true, "operations": [block("s:0"), close]});
    let failed = call(&app, "tasks_batch", batch);
    assert_eq!(code(&failed), "BATCH_FAILED");
    assert_eq!(failed["error"]["details"]["index"], json!(1));
    assert_eq!(ok(&app, "tasks_delta", json!({})), before);
    let both = json!({"atomic": true, "operations": [block("s:0"), block("s:1")]});
    let answer = ok(&app, "tasks_batch", both);
    assert_eq!(answer["succeeded"], json!(2));
    assert_eq!(answer["operations"][1]["response"]["result"]["revision"], json!(2));
    let shape = json!({"atomic": true, "operations": [{"tool": "tasks_note", "args": {}}]});
    assert_eq!(code(&call(&app, "tasks_batch", shape)), "INVALID_INPUT");
    clean(&app);
}

#[test]
fn a_plain_batch_goes_on_after_a_failure() {
    let app = with_task();
    let entry = |tool: &str, args: Value| json!({"tool": tool, "args": args});
    let operations = json!([
        entry("tasks_done", on("s:0")),
        entry("tasks_note", with(on("s:0"), json!({"note": "n"}))),
        entry("tasks_snap", json!({})),
        entry("tasks_note", with(on("s:1"), json!({"note": "n", "workspace": "other"}))),
    ]);
    let answer = call(&app, "tasks_batch", json!({"operations": operations, "compact": true}));
    assert_eq!(answer["warnings"][0]["code"], json!("BATCH_PARTIAL"));
    let codes: Vec<Value> = answer["result"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["error"]["code"].clone())
        .collect();
    let expected = [
        json!("CHECKPOINTS_NOT_CONFIRMED"),
        Value::Null,
        json!("UNKNOWN_TOOL"),
        json!("INVALID_INPUT"),
    ];
    assert_eq!(codes, expected);
    clean(&app);
}

#[test]
fn evidence_makes_proof_and_proof_opens_the_gate() {
    let app = with_task();
    let require = json!({"proof_modes": {"tests": "require"}});
    ok(&app, "tasks_define", with(on("s:0"), require));
    let close = with(on("s:0"), json!({"checkpoints": "gate"}));
    let refused = call(&app, "tasks_close_step", close.clone());
    assert_eq!(code(&refused), "PROOF_REQUIRED");
    assert_eq!(refused["error"]["details"]["retry"]["tool"], json!("tasks_macro_close_step"));
    let empty = json!({"checks": ["CMD: <fill: x>"], "checkpoint": "tests"});
    let refused = call(&app, "tasks_evidence_capture", with(on("s:0"), empty));
    assert_eq!(refused["error"]["details"]["reason"], json!("empty_evidence"));
    let real =
        json!({"checks": ["CMD: make", "LINK: https://ci.example/1"], "checkpoint": "tests"});
    let captured = ok(&app, "tasks_evidence_capture", with(on("s:0"), real));
    assert_eq!(captured["evidence_id"], json!("EVID-00000001"));
    ok(&app, "tasks_close_step", close);
    let read = ok(&app, "tasks_evidence_get", json!({"task": "TASK-001", "checkpoint": "tests"}));
    assert_eq!(read["evidence"][0]["checks"][0], json!("CMD: make"));
    let none = ok(&app, "tasks_evidence_get", json!({"task": "TASK-001", "checkpoint": "docs"}));
    assert_eq!(none["evidence"], json!([]));
    clean(&app);
}

#[test]
fn optional_checkpoints_become_required_by_evidence() {
    let app = with_task();
    let docs = json!({"checks": ["CMD: a", "LINK: http://b"], "checkpoint": ["docs", "docs"]});
    ok(&app, "tasks_evidence_capture", with(on("s:0"), docs));
    let refused = call(&app, "tasks_close_step", with(on("s:0"), json!({"checkpoints": "gate"})));
    assert_eq!(refused["error"]["details"]["missing_checkpoints"], json!(["docs"]));
    ok(&app, "tasks_close_step", with(on("s:0"), json!({"checkpoints": "all"})));
    clean(&app);
}

#[test]
fn closing_a_task_shows_before_it_writes() {
    let app = with_task();
    for path in ["s:0", "s:1"] {
        ok(&app, "tasks_close_step", with(on(path), json!({"checkpoints": "gate"})));
    }
    let patches = json!([{"ops": [{"op": "set", "field": "domain", "value": "pay"}]}]);
    let dry = json!({"task": "TASK-001", "patches": patches});
    let shown = ok(&app, "tasks_close_task", dry.clone());
    assert_eq!((&shown["ok"], &shown["applied"]), (&json!(true), &json!(false)));
    let fields: Vec<&str> = shown["diff"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["domain", "status"]);
    assert_eq!(ok(&app, "tasks_context", json!({}))["tasks"][0]["status"], json!("ACTIVE"));
    let applied = ok(&app, "tasks_close_task", with(dry, json!({"apply": true})));
    let types: Vec<&str> = applied["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["task_patched", "task_completed"]);
    assert_eq!(applied["revision"].as_u64(), shown["revision"].as_u64().map(|r| r + 1));
    clean(&app);
}

#[test]
fn nodes_keep_their_step_open() {
    let app = with_task();
    let add = json!({"task": "TASK-001", "parent_step": "s:0", "title": "Part"});
    let node = ok(&app, "tasks_task_add", add);
    assert_eq!(node["node"], json!({"node_id": "NODE-00000001", "path": "s:0.t:0"}));
    let close = with(on("s:0"), json!({"checkpoints": "gate"}));
    assert_eq!(code(&call(&app, "tasks_close_step", close.clone())), "CHILDREN_OPEN");
    let done = json!({"task": "TASK-001", "path": "s:0.t:0", "status": "DONE"});
    ok(&app, "tasks_task_define", done);
    ok(&app, "tasks_close_step", close);
    ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    let context = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    assert_eq!(context["steps"]["open"], json!(2), "the node is open again, and so is its step");
    ok(&app, "tasks_task_delete", json!({"task": "TASK-001", "task_node_id": "NODE-00000001"}));
    clean(&app);
}

#[test]
fn deleting_clears_focus_sums_and_links() {
    let app = with_task();
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Second"}));
    ok(&app, "tasks_edit", json!({"task": "TASK-002", "depends_on": ["TASK-001"]}));
    ok(&app, "tasks_focus_set", json!({"task": "TASK-001"}));
    let gone = ok(&app, "tasks_delete", json!({"expected_revision": 0}));
    assert_eq!(gone["focus_cleared"], json!(true));
    assert_eq!(gone["deleted"], json!({"tasks": 1, "steps": 2, "nodes": 0}));
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-002"}));
    assert_eq!(radar["target"]["waiting"], json!(false));
    let plan = ok(&app, "tasks_delete", json!({"plan": "PLAN-001"}));
    assert_eq!(plan["events"].as_array().unwrap().len(), 2);
    assert_eq!(ok(&app, "tasks_context", json!({}))["counts"], json!({"plans": 0, "tasks": 0}));
    clean(&app);
}

#[test]
fn the_checklist_stays_inside_its_list() {
    let app = with_task();
    let set = json!({"plan": "PLAN-001", "steps": ["a", "b"]});
    assert_eq!(ok(&app, "tasks_plan", set)["checklist"]["current"], json!(0));
    let advance = json!({"plan": "PLAN-001", "advance": true});
    ok(&app, "tasks_plan", advance.clone());
    ok(&app, "tasks_plan", advance.clone());
    assert_eq!(code(&call(&app, "tasks_plan", advance)), "INVALID_INPUT");
    let shorter = ok(&app, "tasks_plan", json!({"plan": "PLAN-001", "steps": ["a"]}));
    assert_eq!(shorter["plan"]["plan_progress"], json!("1/1"));
    let idle = call(&app, "tasks_plan", json!({"plan": "PLAN-001", "advance": false}));
    assert_eq!(idle["error"]["details"]["reason"], json!("no_change"));
    ok(&app, "tasks_contract", json!({"plan": "PLAN-001", "current": "Promise"}));
    let data = json!({"plan": "PLAN-001", "contract_data": {"a": null}});
    assert_eq!(ok(&app, "tasks_contract", data)["contract"], json!("Promise"));
    clean(&app);
}
