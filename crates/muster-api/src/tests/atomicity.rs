//! Calls of several parts that fail at every one of their positions and store nothing: no
//! document, no event, no number used up, no focus moved, no key taken.

use muster_store::{DocumentRow, EventRow};
use serde_json::{Value, json};

use super::{app, call, lifecycle::with, ok};
use crate::App;

/// What a workspace holds.
fn contents(app: &App) -> (Vec<DocumentRow>, Vec<EventRow>) {
    let mut snapshot = app.engine().store().snapshot().unwrap();
    let documents = snapshot.documents("workspace/acme").unwrap();
    (documents, snapshot.tail("workspace/acme", 0, 10_000).unwrap())
}

/// A workspace with two tasks: TASK-001 has steps `s:0` with a node, `s:1` with a child and `s:2`
/// that is ready to close; TASK-002 is done.
fn furnished() -> App {
    let app = app();
    let step = json!({"title": "S", "success_criteria": ["c"], "tests": ["t"]});
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let steps = json!([step, step, step]);
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "One", "steps": steps}));
    let on = |more: Value| with(json!({"task": "TASK-001"}), more);
    ok(&app, "tasks_decompose", on(json!({"parent": "s:1", "steps": [step]})));
    ok(&app, "tasks_task_add", on(json!({"parent_step": "s:0", "title": "N"})));
    ok(&app, "tasks_verify", on(json!({"path": "s:2", "checkpoints": "gate"})));
    let done = json!({"plan": "PLAN-001", "task_title": "Two", "steps": [step]});
    ok(&app, "tasks_macro_create_done", done);
    ok(&app, "think_card", on(json!({"card": "first"})));
    ok(&app, "tasks_focus_set", json!({"task": "TASK-001"}));
    app
}

/// Refuses every broken form of a call without a trace, then takes the good one as if the others
/// had never been made.
fn fails_without_a_trace(tool: &str, good: &Value, broken: &[(Value, &str)]) {
    let tried = furnished();
    let key = json!({"idempotency_key": "once"});
    for (arguments, code) in broken {
        let before = contents(&tried);
        let refused = call(&tried, tool, with(arguments.clone(), key.clone()));
        assert_eq!(refused["error"]["code"], json!(code), "{tool} {arguments}: {refused:#}");
        assert_eq!(contents(&tried), before, "{tool} {arguments} stored something");
        for offer in refused["suggestions"].as_array().unwrap() {
            let target = offer["target"].as_str().unwrap();
            let params = offer["params"].clone();
            let answer = call(&furnished(), target, params);
            assert_eq!(answer["success"], json!(true), "{offer} was suggested: {answer:#}");
        }
    }
    let untried = furnished();
    let good = with(good.clone(), key);
    assert_eq!(call(&tried, tool, good.clone()), call(&untried, tool, good), "{tool}");
    assert_eq!(contents(&tried), contents(&untried), "{tool}");
}

/// The call with the value at a place exchanged.
fn set(good: &Value, pointer: &str, value: Value) -> Value {
    let mut broken = good.clone();
    match broken.pointer_mut(pointer) {
        Some(slot) => *slot = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            broken.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    broken
}

/// Lists that a gated step needs.
const GATE: [&str; 2] = ["success_criteria", "tests"];

/// Every step of a list broken in every way.
fn broken_steps(good: &Value, need: &[&str]) -> Vec<(Value, &'static str)> {
    let mut broken = Vec::new();
    for at in 0..good["steps"].as_array().unwrap().len() {
        let mut add = |field: &str, value: Value| {
            broken.push((set(good, &format!("/steps/{at}/{field}"), value), "INVALID_INPUT"));
        };
        add("title", json!(" "));
        add("title", json!("two\nlines"));
        add("titel", json!("x"));
        add("success_criteria", json!("c"));
        add("tests", json!([1]));
        add("proof_modes", json!({"tests": "maybe"}));
        add("proof_modes", json!({"criteria": "require"}));
        need.iter().for_each(|list| add(list, json!(["none"])));
    }
    broken
}

fn three_steps() -> Value {
    let step = |title: &str| json!({"title": title, "success_criteria": ["c"], "tests": ["t"]});
    json!([step("A"), step("B"), step("C")])
}

#[test]
fn creation_fails_at_every_step() {
    let good = json!({"parent": "PLAN-001", "title": "T", "steps": three_steps()});
    let mut broken = broken_steps(&good, &[]);
    broken.push((set(&good, "/parent", json!("PLAN-009")), "UNKNOWN_ID"));
    broken.push((set(&good, "/contract", json!("c")), "INVALID_INPUT"));
    fails_without_a_trace("tasks_create", &good, &broken);
}

#[test]
fn decomposition_fails_at_every_step() {
    let good = json!({"task": "TASK-001", "parent": "s:0", "steps": three_steps()});
    let mut broken = broken_steps(&good, &[]);
    broken.push((set(&good, "/parent", json!("s:9")), "UNKNOWN_ID"));
    broken.push((set(&good, "/parent", json!("STEP-000000FF")), "UNKNOWN_ID"));
    broken.push((set(&good, "/task", json!("TASK-009")), "UNKNOWN_ID"));
    broken.push((set(&good, "/expected_revision", json!(99)), "REVISION_MISMATCH"));
    fails_without_a_trace("tasks_decompose", &good, &broken);
}

fn broken_setups(good: &Value, need: &[&str]) -> Vec<(Value, &'static str)> {
    let mut broken = broken_steps(good, need);
    broken.extend([
        (set(good, "/plan_template", json!("no-such")), "UNKNOWN_ID"),
        (set(good, "/plan_template", json!("basic-task")), "INVALID_INPUT"),
        (set(good, "/plan", json!("PLAN-001")), "INVALID_INPUT"),
        (set(good, "/template", json!("basic-task")), "INVALID_INPUT"),
        (set(good, "/think/fame", json!("f")), "INVALID_INPUT"),
        (set(good, "/think/decision", json!(7)), "INVALID_INPUT"),
        (set(good, "/think/decision", json!({"titel": "t"})), "INVALID_INPUT"),
        (set(good, "/think/decision", json!({"type": "guess", "title": "t"})), "INVALID_INPUT"),
        (set(good, "/think/decision", json!({"id": "CARD", "title": "t"})), "INVALID_INPUT"),
    ]);
    broken
}

fn good_setup() -> Value {
    json!({
        "plan_title": "P", "plan_template": "basic-plan", "task_title": "T",
        "steps": three_steps(), "think": {"frame": "f", "decision": {"title": "d"}},
    })
}

#[test]
fn a_bootstrap_fails_at_every_part() {
    let broken = broken_setups(&good_setup(), &GATE);
    fails_without_a_trace("tasks_bootstrap", &good_setup(), &broken);
}

#[test]
fn a_start_fails_at_every_part() {
    let mut broken = broken_setups(&good_setup(), &["success_criteria"]);
    broken.push((set(&good_setup(), "/resume_max_chars", json!(-2)), "INVALID_INPUT"));
    fails_without_a_trace("tasks_macro_start", &good_setup(), &broken);
}

#[test]
fn a_scaffold_fails_at_every_part() {
    let good = json!({"template": "principal-task", "title": "T", "parent": "PLAN-001"});
    let broken = [
        (set(&good, "/template", json!("no-such")), "UNKNOWN_ID"),
        (set(&good, "/parent", json!("PLAN-009")), "UNKNOWN_ID"),
        (set(&good, "/parent", json!("TASK-001")), "INVALID_INPUT"),
        (set(&good, "/plan_title", json!("P")), "INVALID_INPUT"),
        (set(&good, "/kind", json!("plan")), "INVALID_INPUT"),
        (set(&good, "/title", json!(" ")), "INVALID_INPUT"),
    ];
    fails_without_a_trace("tasks_scaffold", &good, &broken);
}

/// TASKS-MCD-1: the gate refuses what the call itself has made, and nothing of it is suggested.
#[test]
fn recording_finished_work_fails_at_every_part() {
    let step = json!({"title": "S", "success_criteria": ["c"], "tests": ["t"]});
    let good = json!({"plan_title": "P", "task_title": "T", "steps": [step]});
    let mut broken = broken_steps(&good, &GATE);
    let require =
        |checkpoint: &str| set(&good, "/steps/0/proof_modes", json!({checkpoint: "require"}));
    broken.push((require("tests"), "PROOF_REQUIRED"));
    broken.push((require("security"), "CHECKPOINTS_NOT_CONFIRMED"));
    broken.push((set(&good, "/steps", json!([step, step])), "INVALID_INPUT"));
    broken.push((set(&good, "/plan", json!("PLAN-001")), "INVALID_INPUT"));
    fails_without_a_trace("tasks_macro_create_done", &good, &broken);
}

#[test]
fn closing_a_step_with_everything_fails_at_every_part() {
    let good = json!({
        "task": "TASK-001", "path": "s:2", "note": "n", "checkpoints": "gate",
        "proof": {
            "checks": ["CMD: make", "LINK: https://ci.example/7"], "items": [{"stdout": "o"}],
        },
    });
    let long = "x".repeat(8_193);
    let broken = [
        (set(&good, "/note", json!(" ")), "INVALID_INPUT"),
        (set(&good, "/proof/checks/1", json!(long)), "INVALID_INPUT"),
        (set(&good, "/proof/items", json!(vec![json!({"stdout": "o"}); 21])), "INVALID_INPUT"),
        (set(&good, "/proof/checkpoint", json!(["tests", "speed"])), "INVALID_INPUT"),
        (set(&good, "/proof/checkpoint", json!("security")), "CHECKPOINTS_NOT_CONFIRMED"),
        (set(&good, "/checkpoints", json!({"tests": false})), "CHECKPOINTS_NOT_CONFIRMED"),
        (set(&good, "/checkpoints", json!({"docs": false})), "CHECKPOINTS_NOT_CONFIRMED"),
        (set(&good, "/path", json!("s:1")), "CHILDREN_OPEN"),
        (set(&good, "/path", json!("s:0")), "CHILDREN_OPEN"),
        (set(&good, "/path", json!("s:9")), "UNKNOWN_ID"),
        (set(&good, "/step_id", json!("STEP-00000001")), "INVALID_INPUT"),
        (set(&good, "/task", json!("TASK-002")), "UNKNOWN_ID"),
        (set(&good, "/expected_revision", json!(0)), "REVISION_MISMATCH"),
    ];
    fails_without_a_trace("tasks_macro_close_step", &good, &broken);
}

#[test]
fn finishing_fails_without_a_trace() {
    let good = json!({"task": "TASK-002", "status": "ACTIVE"});
    let broken = [
        (json!({"task": "TASK-001", "status": "DONE"}), "CHECKPOINTS_NOT_CONFIRMED"),
        (json!({"plan": "PLAN-001"}), "TASKS_OPEN"),
        (set(&good, "/expected_revision", json!(0)), "REVISION_MISMATCH"),
        (set(&good, "/task", json!("TASK-009")), "UNKNOWN_ID"),
        (set(&good, "/status", json!("OPEN")), "INVALID_INPUT"),
    ];
    fails_without_a_trace("tasks_macro_finish", &good, &broken);
}

/// Every operation of a list of operations broken in every way.
fn broken_ops(good: &Value, pointer: &str) -> Vec<(Value, &'static str)> {
    let count = good.pointer(pointer).and_then(Value::as_array).unwrap().len();
    let broken = [
        json!({"op": "set", "field": "titel", "value": "x"}),
        json!({"op": "set", "field": "completed", "value": true}),
        json!({"op": "set", "field": "title", "value": 7}),
        json!({"op": "set", "field": "title"}),
        json!({"op": "unset", "field": "title"}),
        json!({"op": "append", "field": "title", "value": "x"}),
        json!({"op": "put", "field": "title", "value": "x"}),
        json!({"op": "set", "field": "title", "value": "x", "force": true}),
    ];
    let at = |at: usize, op: &Value| set(good, &format!("{pointer}/{at}"), op.clone());
    let all = (0..count).flat_map(|position| broken.iter().map(move |op| (position, op)));
    all.map(|(position, op)| (at(position, op), "INVALID_INPUT")).collect()
}

#[test]
fn a_patch_fails_at_every_operation() {
    let good = json!({"task": "TASK-001", "kind": "step", "path": "s:0", "ops": [
        {"op": "set", "field": "title", "value": "New"},
        {"op": "append", "field": "tests", "value": ["u"]},
        {"op": "set", "field": "proof_docs_mode", "value": "warn"},
    ]});
    let mut broken = broken_ops(&good, "/ops");
    broken.push((set(&good, "/path", json!("s:9")), "UNKNOWN_ID"));
    broken.push((set(&good, "/kind", json!("task_detail")), "INVALID_INPUT"));
    broken.push((set(&good, "/expected_revision", json!(0)), "REVISION_MISMATCH"));
    fails_without_a_trace("tasks_patch", &good, &broken);
}

/// TASKS-CT-2: patches that would let the task pass are gone again when one of them fails.
#[test]
fn closing_a_task_fails_at_every_patch() {
    let title = |title: &str| json!({"ops": [{"op": "set", "field": "title", "value": title}]});
    let good = json!({
        "task": "TASK-002", "apply": true, "patches": [title("A"), title("B"), title("C")],
    });
    let mut broken = Vec::new();
    for at in 0..3 {
        broken.extend(broken_ops(&good, &format!("/patches/{at}/ops")));
        let pointer = format!("/patches/{at}");
        let tests = json!([{"op": "set", "field": "tests", "value": ["other"]}]);
        let reopening = json!({"kind": "step", "path": "s:0", "ops": tests});
        broken.push((set(&good, &pointer, reopening.clone()), "CHECKPOINTS_NOT_CONFIRMED"));
        let missing = with(reopening.clone(), json!({"path": "s:9"}));
        broken.push((set(&good, &pointer, missing), "UNKNOWN_ID"));
        let stray = with(reopening, json!({"task_node_id": "NODE-00000001"}));
        broken.push((set(&good, &pointer, stray), "INVALID_INPUT"));
        let depends = json!({"ops": [{"op": "set", "field": "depends_on", "value": ["TASK-001"]}]});
        broken.push((set(&good, &pointer, depends), "DEPENDENCIES_OPEN"));
    }
    fails_without_a_trace("tasks_close_task", &good, &broken);
}

fn four_operations() -> Value {
    json!([
        {"tool": "tasks_patch", "args": {"ops": [{"op": "set", "field": "title", "value": "B"}]}},
        {"tool": "tasks_block", "args": {"path": "s:0", "reason": "r"}},
        {"tool": "tasks_progress", "args": {"path": "s:2"}},
        {"name": "tasks_task_define", "arguments": {"path": "s:0.t:0", "status": "DONE"}},
    ])
}

/// Operations that fail when their turn comes, with their codes.
fn failing_operations() -> Vec<(Value, &'static str)> {
    let progress = |args: Value| json!({"tool": "tasks_progress", "args": args});
    vec![
        (progress(json!({"path": "s:9"})), "UNKNOWN_ID"),
        (progress(json!({"task": "TASK-009", "path": "s:0"})), "UNKNOWN_ID"),
        (progress(json!({"path": "s:1.s:0"})), "CHECKPOINTS_NOT_CONFIRMED"),
        (progress(json!({"path": "s:1", "force": true})), "CHILDREN_OPEN"),
        (progress(json!({"path": "s:0", "completed": false})), "INVALID_INPUT"),
        (progress(json!({"path": "s:2", "expected_revision": 99})), "REVISION_MISMATCH"),
    ]
}

/// TASKS-BATCH-2, TASKS-PIT-23.
#[test]
fn an_atomic_batch_fails_at_every_operation() {
    let good = json!({"atomic": true, "operations": four_operations()});
    let mut broken = Vec::new();
    for at in 0..4 {
        let pointer = format!("/operations/{at}");
        let mut add = |operation: Value, code| broken.push((set(&good, &pointer, operation), code));
        for (operation, _) in failing_operations() {
            add(operation, "BATCH_FAILED");
        }
        let block = |args: Value| json!({"tool": "tasks_block", "args": args});
        add(block(json!({"path": "s:00"})), "INVALID_INPUT");
        add(block(json!({"pat": "s:0"})), "INVALID_INPUT");
        add(block(json!({"path": "s:0", "workspace": "other"})), "INVALID_INPUT");
        add(json!({"tool": "tasks_note", "args": {"path": "s:0", "note": "n"}}), "INVALID_INPUT");
        add(json!({"tool": "tasks_blok", "args": {"path": "s:0"}}), "INVALID_INPUT");
        add(json!({"tool": "tasks_block", "name": "tasks_patch"}), "INVALID_INPUT");
        add(json!({"args": {}}), "INVALID_INPUT");
    }
    fails_without_a_trace("tasks_batch", &good, &broken);
}

/// TASKS-BATCH-3: what fails has no effect, what does not fail has its own.
#[test]
fn a_batch_goes_on_after_every_operation() {
    for at in 0..4 {
        for (operation, code) in failing_operations() {
            let mut operations = four_operations().as_array().unwrap().clone();
            operations[at] = operation.clone();
            let tried = furnished();
            let untried = furnished();
            let answer = ok(&tried, "tasks_batch", json!({"operations": operations}));
            let failed = &answer["operations"][at];
            assert_eq!(failed["response"]["error"]["code"], json!(code), "{failed:#}");
            for offer in failed["response"]["suggestions"].as_array().unwrap() {
                let answer =
                    call(&tried, offer["target"].as_str().unwrap(), offer["params"].clone());
                assert_eq!(answer["success"], json!(true), "{offer} was suggested: {answer:#}");
            }
            operations.remove(at);
            let others = ok(&untried, "tasks_batch", json!({"operations": operations}));
            let answers = |batch: &Value| -> Vec<Value> {
                let all = batch["operations"].as_array().unwrap().iter();
                all.filter(|one| one["success"] == true)
                    .map(|one| one["response"].clone())
                    .collect()
            };
            assert_eq!(answers(&answer), answers(&others));
        }
    }
}

#[test]
fn reasoning_fails_at_every_stage() {
    let stages = ["frame", "hypothesis", "test", "evidence", "decision"];
    let mut good = json!({"task": "TASK-001"});
    for stage in stages {
        good[stage] = json!({"title": stage});
    }
    let mut broken = Vec::new();
    for stage in stages {
        let mut add = |value: Value, code| {
            broken.push((set(&good, &format!("/{stage}"), value), code));
        };
        add(json!(" "), "INVALID_INPUT");
        add(json!({"status": "open"}), "INVALID_INPUT");
        add(json!({"titel": "t"}), "INVALID_INPUT");
        add(json!({"id": "CARD-9", "title": "t"}), "UNKNOWN_ID");
    }
    broken.push((set(&good, "/task", json!("TASK-009")), "UNKNOWN_ID"));
    fails_without_a_trace("think_pipeline", &good, &broken);
}

#[test]
fn a_card_and_a_dependency_fail_at_every_name() {
    let good = json!({"card": "next", "supports": ["CARD-1", "CARD-1"]});
    let broken =
        [0, 1].map(|at| (set(&good, &format!("/supports/{at}"), json!("CARD-9")), "UNKNOWN_ID"));
    fails_without_a_trace("think_card", &good, &broken);
    let good = json!({"task": "TASK-002", "depends_on": ["TASK-001", "TASK-001"], "title": "T"});
    let mut broken = Vec::new();
    for at in 0..2 {
        let pointer = format!("/depends_on/{at}");
        broken.push((set(&good, &pointer, json!("TASK-009")), "UNKNOWN_ID"));
        broken.push((set(&good, &pointer, json!("TASK-002")), "INVALID_INPUT"));
        broken.push((set(&good, &pointer, json!("none")), "INVALID_INPUT"));
    }
    fails_without_a_trace("tasks_edit", &good, &broken);
}

#[test]
fn evidence_fails_at_every_entry() {
    let good = json!({
        "task": "TASK-001", "path": "s:0", "items": [{"stdout": "a"}, {"stdout": "b"}],
        "checks": ["CMD: make", "LINK: https://ci.example/7"], "attachments": ["a", "b"],
        "checkpoint": ["tests", "docs"],
    });
    let mut broken = Vec::new();
    for at in 0..2 {
        let mut add = |name: &str, value: Value| {
            broken.push((set(&good, &format!("/{name}/{at}"), value), "INVALID_INPUT"));
        };
        add("items", json!("a"));
        add("items", json!({"stdout": "x".repeat(256_001)}));
        add("checks", json!("x".repeat(8_193)));
        add("attachments", json!(1));
        add("checkpoint", json!("speed"));
    }
    broken.push((set(&good, "/path", json!("s:9")), "UNKNOWN_ID"));
    broken.push((set(&good, "/max_items", json!(1)), "INVALID_INPUT"));
    fails_without_a_trace("tasks_evidence_capture", &good, &broken);
}
