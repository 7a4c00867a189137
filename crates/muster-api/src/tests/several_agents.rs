//! Several agents in one workspace: claims, focus and undo.

use std::{collections::BTreeSet, sync::Arc, thread};

use muster_core::{AuthorKind, AuthorSurface, ConnectionId, Timestamp};
use muster_engine::FixedClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use super::{app, ok};
use crate::{App, AppOptions, Caller, Toolset};

/// Agents at once.
const AGENTS: u64 = 8;

/// A process of one program: the same author, another connection.
fn agent(number: u64) -> Caller {
    let connection = Some(ConnectionId::from_bits(u128::from(number) << 100));
    Caller { connection, ..Caller::of(AuthorKind::Agent, "coder", AuthorSurface::Mcp) }
}

fn call_as(app: &App, caller: &Caller, name: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!("acme");
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    app.call_as(caller, name, arguments).to_json()
}

/// A plan with tasks of one step each.
fn plan_of(app: &App, tasks: u64) {
    ok(app, "tasks_create", json!({"title": "Plan"}));
    for number in 1..=tasks {
        let steps = json!([{"title": "Step", "success_criteria": ["c"], "tests": ["t"]}]);
        let title = format!("Task {number}");
        ok(app, "tasks_create", json!({"parent": "PLAN-001", "title": title, "steps": steps}));
    }
}

/// EASE-TEAM-2.
#[test]
fn agents_that_claim_at_once_get_different_tasks() {
    let app = app();
    plan_of(&app, AGENTS);
    let claimed: BTreeSet<String> = thread::scope(|scope| {
        let claim = |number| {
            let app = &app;
            scope.spawn(move || {
                let answer = call_as(app, &agent(number), "tasks_next", json!({"claim": true}));
                answer["result"]["claimed"].as_str().map(str::to_owned)
            })
        };
        let threads: Vec<_> = (1..=AGENTS).map(claim).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(claimed.len() as u64, AGENTS, "{claimed:?}");
    let late = call_as(&app, &agent(AGENTS + 1), "tasks_next", json!({"claim": true}));
    assert_eq!(late["result"]["tasks"], json!([]));
    assert!(app.doctor().unwrap().damage.is_empty());
}

#[test]
fn a_claimed_task_is_closed_by_its_holder_only_and_offered_again_once_the_claim_lapses() {
    let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
    let options = AppOptions { toolset: Toolset::Full, ..AppOptions::default() };
    let app = App::over(Arc::new(MemoryStore::new()), Arc::clone(&clock) as _, options);
    plan_of(&app, 1);
    let claim = json!({"claim": true, "lease_seconds": 60});
    let taken = call_as(&app, &agent(1), "tasks_next", claim.clone());
    assert_eq!(taken["result"]["claimed"], json!("TASK-001"));
    assert_eq!(taken["result"]["tasks"][0]["claim"]["lapsed"], json!(false));
    let focus = ok(&app, "tasks_focus_get", json!({}));
    assert_eq!(focus["focus"], json!("TASK-001"));
    let close = json!({"task": "TASK-001", "path": "s:0", "checkpoints": "gate"});
    let refused = call_as(&app, &agent(2), "tasks_close_step", close.clone());
    assert_eq!(refused["error"]["code"], json!("CLAIMED"), "{refused:#}");
    assert_eq!(refused["error"]["details"]["claim"]["by"]["name"], json!("coder"));
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    assert_eq!(radar["target"]["claim"]["by"]["name"], json!("coder"));
    let note = json!({"task": "TASK-001", "path": "s:0", "note": "seen"});
    let noted = call_as(&app, &agent(2), "tasks_note", note);
    assert_eq!(noted["success"], json!(true));
    clock.advance(60_000);
    let offered = call_as(&app, &agent(2), "tasks_next", claim);
    assert_eq!(offered["result"]["claimed"], json!("TASK-001"));
    assert_eq!(offered["warnings"][0]["code"], json!("CLAIM_LAPSED"), "{offered:#}");
    let late = call_as(&app, &agent(1), "tasks_close_step", close.clone());
    assert_eq!(late["error"]["code"], json!("CLAIMED"));
    let closed = call_as(&app, &agent(2), "tasks_close_step", close);
    assert_eq!(closed["success"], json!(true), "{closed:#}");
    let released = call_as(&app, &agent(2), "tasks_next", json!({"release": "TASK-001"}));
    assert_eq!(released["result"]["released"], json!("TASK-001"));
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// EASE-TEAM-2.
#[test]
fn a_lapsed_claim_says_whether_its_holder_left_uncommitted_changes() {
    let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
    let options = AppOptions { toolset: Toolset::Full, ..AppOptions::default() };
    let app = App::over(Arc::new(MemoryStore::new()), Arc::clone(&clock) as _, options);
    plan_of(&app, 1);
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.args(arguments).current_dir(folder.path()).status().unwrap().success());
    };
    git(&["init", "-q"]);
    let holder = Caller { directory: Some(folder.path().to_owned()), ..agent(1) };
    let mut last = json!(null);
    let mut offered = |holder: &Caller| {
        let claim = json!({"claim": true, "lease_seconds": 60});
        let taken = call_as(&app, holder, "tasks_next", claim);
        assert_eq!(taken["result"]["claimed"], json!("TASK-001"));
        clock.advance(60_000);
        let next = call_as(&app, &agent(2), "tasks_next", json!({}));
        assert!(next["result"]["tasks"][0]["claim"].get("directory").is_none(), "{next:#}");
        last = taken["warnings"].clone();
        next["warnings"][0]["message"].as_str().unwrap().to_owned()
    };
    let place = folder.path().display();
    let clean = format!("the claim has lapsed; there are no uncommitted changes in {place}");
    let dirty = format!("the claim has lapsed; there are uncommitted changes in {place}");
    let message = offered(&holder);
    assert!(message.ends_with(&clean), "{message}");
    std::fs::write(folder.path().join("new"), "half").unwrap();
    let message = offered(&holder);
    assert!(message.ends_with(&dirty), "{message}");
    let unknown = offered(&agent(3));
    assert!(unknown.ends_with("the claim has lapsed"), "{unknown}");
    let gone = Caller { directory: Some(folder.path().join("gone")), ..agent(4) };
    let unknown = offered(&gone);
    assert!(unknown.ends_with("the claim has lapsed"), "{unknown}");
    offered(&holder);
    offered(&agent(3));
    let message = last[0]["message"].as_str().unwrap();
    assert!(message.ends_with(&dirty), "the call that takes the task says it, too: {message}");
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// EASE-TEAM-1.
#[test]
fn a_connection_keeps_the_focus_that_it_has_set() {
    let app = app();
    plan_of(&app, 2);
    call_as(&app, &agent(1), "tasks_focus_set", json!({"task": "TASK-001"}));
    call_as(&app, &agent(2), "tasks_focus_set", json!({"task": "TASK-002"}));
    let noted = call_as(&app, &agent(1), "tasks_note", json!({"path": "s:0", "note": "mine"}));
    assert_eq!(noted["context"]["target"], json!("TASK-001"), "{noted:#}");
    let focus = call_as(&app, &agent(1), "tasks_focus_get", json!({}));
    assert_eq!(focus["result"]["focus"], json!("TASK-001"));
    let focus = ok(&app, "tasks_focus_get", json!({}));
    assert_eq!(focus["focus"], json!("TASK-002"), "callers without a connection share one");
}

#[test]
fn a_change_without_a_target_is_refused_once_others_have_moved_the_focus() {
    let app = app();
    plan_of(&app, 2);
    ok(&app, "tasks_focus_set", json!({"task": "TASK-001"}));
    call_as(&app, &agent(1), "tasks_radar", json!({}));
    ok(&app, "tasks_focus_set", json!({"task": "TASK-002"}));
    let note = json!({"path": "s:0", "note": "where?"});
    let refused = call_as(&app, &agent(1), "tasks_note", note.clone());
    assert_eq!(refused["error"]["code"], json!("FOCUS_MOVED"), "{refused:#}");
    let details = &refused["error"]["details"];
    assert_eq!(details, &json!({"seen": "TASK-001", "focus": "TASK-002"}));
    let created = call_as(&app, &agent(1), "tasks_create", json!({"title": "New", "kind": "task"}));
    assert_eq!(created["error"]["code"], json!("FOCUS_MOVED"), "{created:#}");
    call_as(&app, &agent(1), "tasks_radar", json!({}));
    let noted = call_as(&app, &agent(1), "tasks_note", note);
    assert_eq!(noted["context"]["target"], json!("TASK-002"));
}

/// EASE-TEAM-4.
#[test]
fn undo_without_a_target_takes_the_caller_s_own_operation() {
    let app = app();
    plan_of(&app, 2);
    let rename = |caller: &Caller, task: &str| {
        let ops = json!([{"op": "set", "field": "title", "value": "Renamed"}]);
        call_as(&app, caller, "tasks_patch", json!({"task": task, "ops": ops}));
    };
    rename(&agent(1), "TASK-001");
    rename(&agent(2), "TASK-002");
    let undone = call_as(&app, &agent(1), "tasks_undo", json!({}));
    assert_eq!(undone["result"]["id"], json!("TASK-001"), "{undone:#}");
    assert_eq!(undone["result"]["skipped"][0]["op"], json!("task_detail_patch"));
    assert_eq!(undone["warnings"][0]["code"], json!("UNDO_SKIPPED"));
    let nothing = call_as(&app, &agent(3), "tasks_undo", json!({}));
    assert_eq!(nothing["error"]["details"]["reason"], json!("nothing_to_undo"));
    let nothing = call_as(&app, &agent(3), "tasks_redo", json!({}));
    assert_eq!(nothing["error"]["details"]["reason"], json!("nothing_to_redo"));
    let any = call_as(&app, &agent(3), "tasks_undo", json!({"anyone": true}));
    assert_eq!(any["result"]["id"], json!("TASK-002"));
    assert_eq!(any["result"].get("skipped"), None);
}

/// EASE-TEAM-4: what others have done since is never lost, and the refusal names it.
#[test]
fn undo_never_reverts_the_later_work_of_another_agent() {
    let app = app();
    plan_of(&app, 1);
    let step = |title: &str| json!({"task": "TASK-001", "path": "s:0", "title": title});
    call_as(&app, &agent(1), "tasks_define", step("A"));
    call_as(&app, &agent(2), "tasks_define", step("Later"));
    let refused = call_as(&app, &agent(1), "tasks_undo", json!({}));
    assert_eq!(refused["error"]["code"], json!("UNDO_CONFLICT"), "{refused:#}");
    let details = &refused["error"]["details"];
    assert_eq!(details["fields"][0]["actual"], json!("Later"));
    assert_eq!(details["changed"][0]["type"], json!("step_defined"));
    assert_eq!(details["changed"].as_array().map(Vec::len), Some(1));
    let more = json!([{"title": "More", "success_criteria": ["c"]}]);
    let add = json!({"task": "TASK-001", "steps": more});
    call_as(&app, &agent(1), "tasks_decompose", add);
    let note = json!({"task": "TASK-001", "path": "s:1", "note": "seen"});
    call_as(&app, &agent(2), "tasks_note", note);
    let refused = call_as(&app, &agent(1), "tasks_undo", json!({}));
    assert_eq!(refused["error"]["code"], json!("UNDO_CONFLICT"), "{refused:#}");
    assert_eq!(refused["error"]["details"]["changed"][0]["type"], json!("step_noted"));
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// EASE-TEAM-4: a task that was started by mistake is gone after an undo, unless another agent has
/// claimed it, and comes back with its number.
#[test]
fn a_started_task_can_be_taken_back() {
    let app = app();
    let start = json!({"task_title": "Wrong", "template": "principal-task"});
    call_as(&app, &agent(1), "tasks_macro_start", start);
    call_as(&app, &agent(2), "tasks_next", json!({"claim": true}));
    let refused = call_as(&app, &agent(1), "tasks_undo", json!({}));
    assert_eq!(refused["error"]["code"], json!("CLAIMED"), "{refused:#}");
    call_as(&app, &agent(2), "tasks_next", json!({"release": "TASK-001"}));
    let undone = call_as(&app, &agent(1), "tasks_undo", json!({}));
    assert_eq!(undone["success"], json!(true), "{undone:#}");
    let all = ok(&app, "tasks_context", json!({}));
    assert_eq!(all["counts"], json!({"plans": 0, "tasks": 0}));
    let gone = call_as(&app, &agent(1), "tasks_note", json!({"path": "s:0", "note": "n"}));
    assert_eq!(gone["error"]["details"]["reason"], json!("no_target"), "{gone:#}");
    let redone = call_as(&app, &agent(1), "tasks_redo", json!({}));
    assert_eq!(redone["result"]["id"], json!("TASK-001"), "{redone:#}");
    let radar = call_as(&app, &agent(1), "tasks_radar", json!({}));
    assert_eq!(radar["result"]["target"]["title"], json!("Wrong"));
    let next = json!({"task_title": "Next"});
    let next = call_as(&app, &agent(1), "tasks_macro_start", next);
    assert_eq!(next["result"]["task_id"], json!("TASK-002"));
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// EASE-TEAM-3.
#[test]
fn agents_on_different_steps_do_not_refuse_each_other() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    let step = |title: &str| json!({"title": title, "success_criteria": ["c"], "tests": ["t"]});
    let steps = json!([step("One"), step("Two")]);
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    let read = ok(&app, "tasks_resume", json!({"task": "TASK-001"}));
    let revision = |path: usize| read["steps"][path]["revision"].clone();
    let write = |agent_number, tool: &str, path: usize, mut more: Value| {
        more["task"] = json!("TASK-001");
        more["path"] = json!(format!("s:{path}"));
        more["expected_step_revision"] = revision(path);
        call_as(&app, &agent(agent_number), tool, more)
    };
    let noted = write(1, "tasks_note", 0, json!({"note": "n"}));
    assert_eq!(noted["success"], json!(true), "{noted:#}");
    let gate = json!({"checkpoints": "gate"});
    let closed = write(2, "tasks_macro_close_step", 1, gate.clone());
    assert_eq!(closed["success"], json!(true), "{closed:#}");
    let late = write(2, "tasks_close_step", 0, gate);
    let error = &late["error"];
    assert_eq!(error["code"], json!("REVISION_MISMATCH"), "{late:#}");
    assert_eq!(error["details"]["path"], json!("s:0"));
    assert_eq!(error["details"]["changed"][0]["type"], json!("step_noted"));
    let mut again = json!({"task": "TASK-001", "path": "s:0", "note": "n"});
    again["expected_step_revision"] = noted["result"]["revision"].clone();
    let again = call_as(&app, &agent(1), "tasks_note", again);
    assert_eq!(again["success"], json!(true), "{again:#}");
}
