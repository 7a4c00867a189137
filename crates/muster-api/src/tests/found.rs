//! Rules that random sequences found broken, one test each.

use std::sync::Arc;

use muster_core::Timestamp;
use muster_engine::FixedClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use super::{
    app, call,
    lifecycle::{clean, code, on, with, with_task},
    ok,
};
use crate::{App, AppOptions, Toolset};

fn patch(path: &str, field: &str, value: &Value) -> Value {
    let ops = json!([{"op": "set", "field": field, "value": value}]);
    with(on(path), json!({"kind": "step", "ops": ops}))
}

fn step(app: &App, at: usize) -> Value {
    ok(app, "tasks_resume", json!({"task": "TASK-001", "read_only": true}))["steps"][at].clone()
}

/// TASKS-UNDO-2, TASKS-STATE-7: a confirmation was given for the tests of its time.
#[test]
fn undoing_other_tests_takes_their_confirmation_back_and_reopens() {
    let app = with_task();
    ok(&app, "tasks_patch", patch("s:0", "tests", &json!(["t"])));
    ok(&app, "tasks_close_step", with(on("s:0"), json!({"checkpoints": "gate"})));
    let undone = ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(undone["event"]["payload"]["derived"], json!({"reopened": ["s:0"]}));
    let step = step(&app, 0);
    assert_eq!(step["tests"], json!([]));
    let shown = [&step["completed"], &step["tests_confirmed"], &step["criteria_confirmed"]];
    assert_eq!(shown, [&json!(false), &json!(false), &json!(true)]);
    clean(&app);
}

/// TASKS-BLOCK-1, TASKS-PIT-5: a closed step is not blocked, by undo either.
#[test]
fn undo_does_not_block_a_closed_step() {
    let app = with_task();
    ok(&app, "tasks_block", with(on("s:0"), json!({"reason": "r"})));
    ok(&app, "tasks_block", with(on("s:0"), json!({"blocked": false})));
    ok(&app, "tasks_close_step", with(on("s:0"), json!({"checkpoints": "gate"})));
    let refused = call(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(code(&refused), "UNDO_CONFLICT");
    let fields = json!([{"field": "completed", "expected": false, "actual": true}]);
    assert_eq!(refused["error"]["details"]["fields"], fields);
}

/// TASKS-EDIT-3: dependencies form no circle, after undo either.
#[test]
fn undo_closes_no_circle_of_dependencies() {
    let app = with_task();
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Other"}));
    let depend = |task: &str, on: Value| {
        let ops = json!([{"op": "set", "field": "depends_on", "value": on}]);
        ok(&app, "tasks_patch", json!({"task": task, "ops": ops}))
    };
    depend("TASK-001", json!(["TASK-002", "TASK-002"]));
    let target = |id: &str| ok(&app, "tasks_radar", json!({"task": id}))["target"].clone();
    assert_eq!(target("TASK-001")["depends_on"], json!(["TASK-002"]), "each only once");
    depend("TASK-001", json!([]));
    depend("TASK-002", json!(["TASK-001"]));
    assert_eq!(code(&call(&app, "tasks_undo", json!({"task": "TASK-001"}))), "UNDO_CONFLICT");
    assert_eq!(target("TASK-001")["depends_on"], json!([]));
}

/// TASKS-UNDO-4: of steps and nodes as well as of plans and tasks.
#[test]
fn operations_of_deleted_steps_and_nodes_leave_the_stacks() {
    let app = with_task();
    ok(&app, "tasks_block", on("s:1"));
    let add = json!({"task": "TASK-001", "parent_step": "s:1", "title": "Part"});
    ok(&app, "tasks_task_add", add);
    let node = json!({"task": "TASK-001", "path": "s:1.t:0"});
    ok(&app, "tasks_task_define", with(node.clone(), json!({"status": "ACTIVE"})));
    ok(&app, "tasks_task_delete", node);
    let undone = ok(&app, "tasks_undo", json!({}));
    assert_eq!(undone["operation"]["intent"], json!("step_block_set"));
    ok(&app, "tasks_redo", json!({}));
    ok(&app, "tasks_delete", on("s:1"));
    let refused = call(&app, "tasks_undo", json!({}));
    assert_eq!(refused["error"]["details"]["reason"], json!("nothing_to_undo"));
    clean(&app);
}

/// TASKS-EVD-1: also where nothing is proven by it.
#[test]
fn a_dropped_placeholder_is_always_told() {
    let app = with_task();
    let evidence = with(on("s:0"), json!({"checks": ["CMD: make", "LINK: <fill: page>"]}));
    let answer = call(&app, "tasks_evidence_capture", evidence);
    assert_eq!(answer["warnings"][0]["code"], json!("PROOF_WEAK"));
    let plain = with(on("s:0"), json!({"checks": ["looked at it"]}));
    assert_eq!(call(&app, "tasks_evidence_capture", plain)["warnings"], json!([]));
}

/// TASKS-BOOT-2: a new task has no cards that could be updated.
#[test]
fn a_seed_that_names_a_card_is_unusable_but_no_error() {
    let app = app();
    let start = json!({"task_title": "T", "think": {"frame": {"id": "CARD-1", "title": "t"}}});
    let answer = call(&app, "tasks_macro_start", start);
    assert_eq!(answer["warnings"][0]["code"], json!("THINK_PIPELINE_FAILED"), "{answer:#}");
    assert_eq!(answer["result"]["think_pipeline"], Value::Null);
}

/// TASKS-CARD-1: a card that a stage names is neither one of this call nor one of another stage.
#[test]
fn a_line_of_reasoning_updates_only_cards_that_were_there() {
    let app = with_task();
    let own = json!({"task": "TASK-001", "frame": "f", "decision": {"id": "CARD-1"}});
    assert_eq!(code(&call(&app, "think_pipeline", own)), "UNKNOWN_ID");
    ok(&app, "think_card", json!({"task": "TASK-001", "card": "c"}));
    let card = json!({"id": "CARD-1", "text": "t"});
    let twice = json!({"task": "TASK-001", "frame": card, "decision": card});
    let refused = call(&app, "think_pipeline", twice);
    assert_eq!(refused["error"]["details"]["argument"], json!("decision"));
}

/// TASKS-CT-2: gates are looked at on the patched state, also of a task that is done.
#[test]
fn a_done_task_is_not_closed_with_patches_that_open_a_gate() {
    let app = with_task();
    for path in ["s:0", "s:1"] {
        ok(&app, "tasks_close_step", with(on(path), json!({"checkpoints": "gate"})));
    }
    ok(&app, "tasks_complete", json!({"task": "TASK-001"}));
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Other"}));
    let ops = json!([{"op": "set", "field": "depends_on", "value": ["TASK-002"]}]);
    let close = json!({"task": "TASK-001", "apply": true, "patches": [{"ops": ops}]});
    assert_eq!(code(&call(&app, "tasks_close_task", close)), "DEPENDENCIES_OPEN");
}

/// TASKS-BATCH-2: what a failed operation suggests is what still works after the rollback.
#[test]
fn a_failed_atomic_batch_suggests_what_works_without_it() {
    let clock = FixedClock::at(Timestamp(1_900_000_000_000));
    let app = App::over(Arc::new(MemoryStore::new()), Arc::new(clock), AppOptions::default());
    assert_eq!(app.toolset(), Toolset::Daily);
    ok(&app, "tasks_macro_start", json!({"task_title": "T"}));
    ok(&app, "tasks_block", json!({"path": "s:0"}));
    // With the block gone, closing would be one call; after the rollback it is blocked again.
    let operations = json!([
        {"tool": "tasks_block", "args": {"path": "s:0", "blocked": false}},
        {"tool": "tasks_progress", "args": {"path": "s:0"}},
    ]);
    let batch = json!({"atomic": true, "operations": operations});
    let refused = call(&app, "tasks_batch", batch);
    assert_eq!(code(&refused), "BATCH_FAILED");
    let suggestion = &refused["suggestions"][0];
    assert_eq!(suggestion["target"], json!("tasks_snapshot"), "{refused:#}");
    ok(&app, "tasks_snapshot", suggestion["params"].clone());
}

/// TASKS-ENV-4: later operations may take away what an earlier one would suggest.
#[test]
fn a_batch_suggests_nothing_about_what_it_deleted() {
    let app = with_task();
    let operations = json!([
        {"tool": "tasks_done", "args": on("s:0")},
        {"tool": "tasks_done", "args": on("s:1")},
        {"tool": "tasks_delete", "args": on("s:0")},
    ]);
    let batch = ok(&app, "tasks_batch", json!({"operations": operations}));
    let suggestions = |at: usize| batch["operations"][at]["response"]["suggestions"].clone();
    assert_eq!(suggestions(0), json!([]));
    assert_eq!(suggestions(1)[0]["target"], json!("tasks_snapshot"));
}

/// TASKS-IDEM-1: a key names one call for good, also inside the call itself.
#[test]
fn a_batch_and_its_operation_cannot_share_a_key() {
    let app = with_task();
    let note = with(on("s:0"), json!({"note": "n", "idempotency_key": "k"}));
    let operations = json!([{"tool": "tasks_note", "args": note}]);
    let batch = json!({"operations": operations, "idempotency_key": "k"});
    assert_eq!(code(&call(&app, "tasks_batch", batch)), "IDEMPOTENCY_CONFLICT");
    assert_eq!(step(&app, 0)["notes_count"], json!(0));
}

/// TASKS-RED-3: a workspace is named by its users; its name is not a secret.
#[test]
fn a_workspace_that_looks_like_a_secret_keeps_its_name() {
    let app = app();
    for name in ["ghp_abcdefghijklmnop0123", "team/sk-abcdefgh1234567890", "AKIA0123456789ABCDEF"] {
        let within = |more: Value| with(json!({"workspace": name}), more);
        let started = call(&app, "tasks_macro_start", within(json!({"task_title": "T"})));
        let refused = call(&app, "tasks_done", within(json!({"path": "s:0"})));
        let missing = call(&app, "tasks_radar", within(json!({"task": "TASK-009"})));
        let define = within(json!({"path": "s:1", "proof_modes": {"tests": "require"}}));
        ok(&app, "tasks_define", define);
        let all = json!({"criteria": true, "tests": true});
        let proof =
            call(&app, "tasks_close_step", within(json!({"path": "s:1", "checkpoints": all})));
        assert_eq!(code(&proof), "PROOF_REQUIRED");
        let note = |key: &str| {
            let note =
                json!({"path": "s:0", "note": "n", "workspace": name, "idempotency_key": key});
            json!({"tool": "tasks_note", "args": note})
        };
        let keys = ["ghp_aaaaaaaaaaaaaaaa0000", "ghp_bbbbbbbbbbbbbbbb1111"];
        let operations = json!([note(keys[0]), note(keys[1])]);
        let batch = call(&app, "tasks_batch", within(json!({"operations": operations})));
        assert_eq!(batch["result"]["succeeded"], json!(2), "{batch:#}");
        for answer in [&started, &refused, &missing, &proof, &batch] {
            assert!(!answer.to_string().contains("<redacted>"), "{answer:#}");
        }
        let suggestion = &refused["suggestions"][0];
        ok(&app, suggestion["target"].as_str().unwrap(), suggestion["params"].clone());
        let secret = within(json!({"path": "s:0", "note": name}));
        let operations = json!([{"tool": "tasks_note", "args": secret}]);
        let reply = call(&app, "tasks_batch", within(json!({"operations": operations})));
        assert_eq!(reply["warnings"][0]["code"], json!("SECRET_REDACTED"), "text is not a name");
    }
}

/// EASE-DONE-3: what a refusal suggests never confirms, and neither does the capsule.
#[test]
fn nothing_suggested_ever_confirms() {
    let app = app();
    let step = json!({"title": "S", "success_criteria": ["works"], "tests": ["make"]});
    let started = ok(&app, "tasks_macro_start", json!({"task_title": "T", "steps": [step]}));
    let action = &started["resume"]["capsule"]["action"];
    assert_eq!(action["tool"], json!("tasks_macro_close_step"));
    assert_eq!((action.get("args"), action["args_hint"].get("checkpoints")), (None, None));
    let proof = json!({"checks": ["CMD: make"], "checkpoint": ["tests", "security"]});
    let refused = call(&app, "tasks_macro_close_step", json!({"proof": proof}));
    assert_eq!(code(&refused), "CHECKPOINTS_NOT_CONFIRMED");
    assert_eq!(refused["error"]["details"]["unconfirmed"], json!(["security"]));
    let refused = call(&app, "tasks_complete", json!({}));
    let suggestion = &refused["suggestions"][0];
    assert_eq!(suggestion["target"], json!("tasks_snapshot"));
    assert_eq!(refused["error"]["details"]["unconfirmed"], json!(["works", "make"]));
    let shown = ok(&app, "tasks_snapshot", suggestion["params"].clone());
    assert_eq!(shown["steps"]["first_open"]["unconfirmed"], json!(["criteria", "tests"]));
    ok(&app, "tasks_verify", json!({"path": "s:0", "checkpoints": "gate"}));
    let ready = ok(&app, "tasks_snapshot", json!({}))["capsule"]["action"].clone();
    ok(&app, "tasks_macro_close_step", ready["args"].clone());
}

/// EASE-TOOLS-3: where the server has a default, no tool needs the workspace.
#[test]
fn every_tool_takes_the_default_workspace() {
    let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
    let default_workspace = Some("acme".parse().unwrap());
    let options = AppOptions { toolset: Toolset::Full, default_workspace, ..AppOptions::default() };
    let with_default = App::over(Arc::new(MemoryStore::new()), clock, options);
    let without = app();
    for row in with_default.registry().rows() {
        assert!(!row.input_schema_with_default().requires("workspace"), "{}", row.name);
        assert!(!row.listed_input_schema(true).requires("workspace"), "{}", row.name);
        let filled = with_default.call(row.name, serde_json::Map::new()).to_json();
        let argument = &filled["error"]["details"]["argument"];
        assert_ne!(argument, "workspace", "{filled}");
        if row.input_schema().requires("workspace") {
            let mut arguments = serde_json::Map::new();
            if row.input_schema().required().unwrap().len() == 1 {
                let refused = without.call(row.name, arguments).to_json();
                let message = refused["error"]["message"].as_str().unwrap();
                assert!(message.contains("no default workspace"), "{refused}");
            } else {
                arguments.insert("workspace".to_owned(), json!(null));
                assert_eq!(without.call(row.name, arguments).to_json()["success"], false);
            }
        }
    }
}
