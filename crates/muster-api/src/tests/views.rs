//! Views of one plan or task, end to end in one process.

use serde_json::{Value, json};

use super::{app, call, lifecycle::with, ok};
use crate::App;

/// A plan with a task of four steps, the first with a child and a node.
fn with_steps() -> App {
    let app = app();
    let long = "x".repeat(1_500);
    ok(&app, "tasks_create", json!({"title": "Plan", "description": long, "contract": long}));
    let step = |title: &str| json!({"title": title, "success_criteria": ["c"], "tests": ["t"]});
    let steps = json!([step("One"), step("Two"), step("Three"), step("Four")]);
    let task = json!({"parent": "PLAN-001", "title": "Task", "description": long, "steps": steps});
    ok(&app, "tasks_create", task);
    let child = json!({"task": "TASK-001", "parent": "s:0", "steps": [step("Child")]});
    ok(&app, "tasks_decompose", child);
    let node = json!({"task": "TASK-001", "parent_step": "s:0", "title": "Ask", "risks": ["late"]});
    ok(&app, "tasks_task_add", node);
    app
}

fn paths(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect()
}

/// Follows the cursors of a paged list and answers the paths in the order they were shown.
fn follow(app: &App, tool: &str, arguments: &Value, keys: [&str; 3]) -> Vec<String> {
    let [cursor, limit, pagination] = keys;
    let mut arguments = arguments.clone();
    let mut shown = Vec::new();
    loop {
        arguments[limit] = json!(2);
        let page = ok(app, tool, arguments.clone());
        shown.extend(paths(&page["steps"]).into_iter().map(str::to_owned));
        let pagination = &page[pagination];
        assert_eq!(pagination["count"], json!(page["steps"].as_array().unwrap().len()));
        if pagination["has_more"] == json!(false) {
            assert_eq!(pagination["next_cursor"], Value::Null);
            return shown;
        }
        arguments[cursor] = pagination["next_cursor"].clone();
    }
}

/// TASKS-PIT-37.
#[test]
fn resume_never_cuts_steps_without_saying_so() {
    let app = with_steps();
    let every = ["s:0", "s:0.s:0", "s:1", "s:2", "s:3"];
    let whole = ok(&app, "tasks_resume", json!({"task": "TASK-001"}));
    assert_eq!(paths(&whole["steps"]), every);
    assert_eq!(whole["steps_pagination"]["has_more"], json!(false));
    assert_eq!(whole["steps_summary"]["total"], json!(5));
    let keys = ["steps_cursor", "steps_limit", "steps_pagination"];
    assert_eq!(follow(&app, "tasks_resume", &json!({"task": "TASK-001"}), keys), every);
    let none = ok(&app, "tasks_resume", json!({"task": "TASK-001", "steps_limit": 0}));
    assert_eq!(none["steps_pagination"]["has_more"], json!(true));
    let cursor = none["steps_pagination"]["next_cursor"].clone();
    let rest = ok(&app, "tasks_resume", json!({"task": "TASK-001", "steps_cursor": cursor}));
    assert_eq!(paths(&rest["steps"]), every);
}

/// TASKS-VIEW-1: the one view whose texts are complete.
#[test]
fn resume_shows_texts_waivers_and_nodes_whole() {
    let app = with_steps();
    let forced = json!({"task": "TASK-001", "path": "s:3", "force": true, "reason": "hotfix"});
    ok(&app, "tasks_progress", forced);
    let view = ok(&app, "tasks_resume", json!({"task": "TASK-001"}));
    assert_eq!(view["target"]["description"].as_str().unwrap().len(), 1_500);
    let node = &view["steps"][0]["nodes"][0];
    assert_eq!((&node["path"], &node["risks"]), (&json!("s:0.t:0"), &json!(["late"])));
    let waiver = &view["steps"][4]["waiver"];
    assert_eq!(waiver["reason"], json!("hotfix"));
    assert_eq!(waiver["skipped"], json!(["criteria", "tests"]));
    assert_eq!(waiver["settled"], json!(false));
    let verify = json!({"task": "TASK-001", "path": "s:3", "checkpoints": "gate"});
    ok(&app, "tasks_verify", verify);
    let view = ok(&app, "tasks_resume", json!({"task": "TASK-001"}));
    assert_eq!(view["steps"][4]["waiver"]["settled"], json!(true));
    let plan = ok(&app, "tasks_resume", json!({"plan": "PLAN-001"}));
    assert_eq!(plan["target"]["contract"].as_str().unwrap().len(), 1_500);
    assert_eq!(plan["tasks"][0]["id"], json!("TASK-001"));
    assert_eq!(plan["tasks_pagination"]["total"], json!(1));
}

/// TASKS-FOC-1, TASKS-FOC-2, TASKS-ENV-5, TASKS-PIT-16.
#[test]
fn resume_moves_the_focus_once_and_says_so() {
    let app = with_steps();
    let focus = |app: &App| ok(app, "tasks_focus_get", json!({}))["focus"].clone();
    let still = call(&app, "tasks_resume", json!({"task": "TASK-001", "read_only": true}));
    assert_eq!(still["result"]["focus"], Value::Null);
    assert!(still["result"].get("focus_restored").is_none());
    assert!(still["context"].get("focus_restored").is_none());
    assert_eq!(focus(&app), Value::Null);
    let failed = call(&app, "tasks_resume", json!({"task": "TASK-009"}));
    assert_eq!(failed["error"]["code"], json!("UNKNOWN_ID"));
    assert_eq!(focus(&app), Value::Null, "a failed resume moves nothing");
    let moved = call(&app, "tasks_resume", json!({"task": "TASK-001"}));
    for part in ["result", "context"] {
        assert_eq!(moved[part]["focus_restored"], json!(true), "{part}");
        assert_eq!(moved[part].get("focus_previous"), Some(&Value::Null), "{part}");
    }
    assert_eq!(moved["result"]["focus"], json!("TASK-001"));
    assert_eq!(focus(&app), json!("TASK-001"));
    let again = call(&app, "tasks_resume", json!({"task": "TASK-001"}));
    assert!(again["result"].get("focus_restored").is_none());
    let plan = call(&app, "tasks_resume", json!({"plan": "PLAN-001"}));
    assert_eq!(plan["result"]["focus_previous"], json!("TASK-001"));
    let of_focus = call(&app, "tasks_resume", json!({}));
    assert_eq!(of_focus["context"]["target_source"], json!("focus"));
    assert!(app.doctor().unwrap().damage.is_empty());
}

#[test]
fn a_mirror_pages_through_steps_and_subtrees() {
    let app = with_steps();
    let keys = ["cursor", "limit", "pagination"];
    let every = ["s:0", "s:0.s:0", "s:1", "s:2", "s:3"];
    assert_eq!(follow(&app, "tasks_mirror", &json!({"task": "TASK-001"}), keys), every);
    let part = ok(&app, "tasks_mirror", json!({"task": "TASK-001", "path": "s:0", "limit": 1}));
    assert_eq!(paths(&part["steps"]), ["s:0"]);
    assert_eq!(part["scope"], json!({"kind": "task", "id": "TASK-001", "path": "s:0"}));
    assert_eq!(part["pagination"]["total"], json!(2));
    let foreign = part["pagination"]["next_cursor"].clone();
    let refused = call(&app, "tasks_mirror", json!({"task": "TASK-001", "cursor": foreign}));
    assert_eq!(refused["error"]["details"]["reason"], json!("bad_format"));
    assert_eq!(refused["error"]["details"]["argument"], json!("cursor"));
    let refused = call(&app, "tasks_mirror", json!({"plan": "PLAN-001", "path": "s:0"}));
    assert_eq!(refused["error"]["details"]["reason"], json!("wrong_kind"));
}

#[test]
fn a_mirror_of_a_plan_lists_its_tasks() {
    let app = with_steps();
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Other"}));
    ok(&app, "tasks_block", json!({"task": "TASK-001", "path": "s:1", "reason": "no key"}));
    let first = ok(&app, "tasks_mirror", json!({"plan": "PLAN-001", "limit": 1}));
    assert_eq!(first["tasks"][0]["blockers"], json!(["s:1 blocked: no key"]));
    assert_eq!(first["tasks"][0]["next"], json!("Confirm criteria, tests for s:0.s:0"));
    assert_eq!(first["pagination"]["total"], json!(2));
    let cursor = first["pagination"]["next_cursor"].clone();
    let second = ok(&app, "tasks_mirror", json!({"plan": "PLAN-001", "cursor": cursor}));
    assert_eq!(second["tasks"][0]["id"], json!("TASK-002"));
    assert_eq!(second["pagination"]["has_more"], json!(false));
}

/// TASKS-VIEW-5, TASKS-BUD-3.
#[test]
fn a_context_pack_holds_the_newest_events_and_loses_the_oldest_first() {
    let app = with_steps();
    let types = |view: &Value| -> Vec<String> {
        let events = view["delta"]["events"].as_array().unwrap();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    };
    let pack = ok(&app, "tasks_context_pack", json!({"task": "TASK-001", "delta_limit": 3}));
    assert_eq!(types(&pack), ["step_defined", "steps_added", "task_node_added"]);
    assert!(pack.get("requested").is_none() && pack.get("focus").is_none());
    let of_plan = ok(&app, "tasks_context_pack", json!({"plan": "PLAN-001"}));
    assert_eq!(types(&of_plan)[..2], ["plan_created", "task_created"]);
    let full = pack.to_string().chars().count();
    let less = json!({"task": "TASK-001", "delta_limit": 3, "max_chars": full - 10});
    let less = ok(&app, "tasks_context_pack", less);
    let events = less["delta"]["events"].as_array().unwrap();
    assert!(events[0].get("payload").is_none() && events[2].get("payload").is_some());
    let mut last = 0;
    for max in 2..full + 1 {
        let arguments = json!({"task": "TASK-001", "delta_limit": 3, "max_chars": max});
        let used = ok(&app, "tasks_context_pack", arguments)["budget"]["used_chars"].as_u64();
        assert!(used.unwrap() >= last && used.unwrap() <= max as u64, "{max}");
        last = used.unwrap();
    }
    assert_eq!(last, full as u64);
}

/// The fix of an issue succeeds verbatim; none of them confirms anything.
#[test]
fn fixes_of_lint_work_when_called_verbatim() {
    let app = with_steps();
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Gone"}));
    ok(&app, "tasks_edit", json!({"task": "TASK-001", "depends_on": ["TASK-002"]}));
    ok(&app, "tasks_delete", json!({"task": "TASK-002"}));
    let forced = json!({"task": "TASK-001", "path": "s:3", "force": true});
    ok(&app, "tasks_progress", forced);
    let view = ok(&app, "tasks_lint", json!({"task": "TASK-001"}));
    let issues = view["issues"].as_array().unwrap();
    let fixed = issues.iter().filter(|issue| issue.get("fix").is_some());
    let codes: Vec<&Value> = fixed.clone().map(|issue| &issue["code"]).collect();
    assert_eq!(codes, [&json!("DANGLING_DEPENDENCY")]);
    for issue in fixed {
        ok(&app, issue["fix"]["tool"].as_str().unwrap(), issue["fix"]["args"].clone());
    }
    let view = ok(&app, "tasks_lint", json!({"task": "TASK-001"}));
    assert!(!view.to_string().contains("DANGLING_DEPENDENCY"), "{view:#}");
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// EASE-DONE-7.
#[test]
fn lint_tells_of_changed_criteria_and_of_closing_without_proof() {
    let app = with_steps();
    let codes = |app: &App| -> Vec<String> {
        let view = ok(app, "tasks_lint", json!({"task": "TASK-001"}));
        let issues = view["issues"].as_array().unwrap();
        issues.iter().map(|issue| issue["code"].as_str().unwrap().to_owned()).collect()
    };
    let has = |app: &App, code: &str| codes(app).contains(&code.to_owned());
    let step = json!([{"title": "New", "success_criteria": ["as asked"], "tests": ["make"]}]);
    let added = ok(&app, "tasks_decompose", json!({"task": "TASK-001", "steps": step}));
    let on = |more: Value| {
        with(json!({"task": "TASK-001", "step_id": added["steps"][0]["step_id"]}), more)
    };
    assert!(!has(&app, "CRITERIA_CHANGED") && !has(&app, "CLOSED_WITHOUT_PROOF"));
    ok(&app, "tasks_define", on(json!({"success_criteria": ["something easier"]})));
    assert!(has(&app, "CRITERIA_CHANGED"));
    ok(&app, "tasks_define", on(json!({"success_criteria": ["as asked"]})));
    assert!(!has(&app, "CRITERIA_CHANGED"), "it is as it was");
    ok(&app, "tasks_close_step", on(json!({"checkpoints": "gate"})));
    let view = ok(&app, "tasks_lint", json!({"task": "TASK-001"}));
    assert!(has(&app, "CLOSED_WITHOUT_PROOF") && view["summary"]["infos"] == json!(1), "{view:#}");
    let proof = json!({"checks": ["CMD: make"], "checkpoint": "tests"});
    ok(&app, "tasks_evidence_capture", on(proof));
    assert!(!has(&app, "CLOSED_WITHOUT_PROOF"));
}

/// EASE-TOOLS-4, EASE-TOOLS-7, EASE-DONE-1.
#[test]
fn a_beginning_a_block_and_a_handoff_say_what_comes_next() {
    let app = app();
    let begin = ok(&app, "tasks_snapshot", json!({}));
    assert_eq!(begin["capsule"]["action"]["tool"], json!("tasks_macro_start"));
    let step = |title: &str| json!({"title": title, "success_criteria": ["works"]});
    let steps = json!([step("A"), step("B"), step("C")]);
    ok(&app, "tasks_macro_start", json!({"task_title": "T", "steps": steps}));
    ok(&app, "tasks_block", json!({"path": "s:0", "reason": "no key"}));
    let radar = ok(&app, "tasks_radar", json!({}))["radar"].clone();
    let next = ["Unblock s:0: no key", "Or work on s:1: B", "Or work on s:2: C"];
    assert_eq!(radar["next"], json!(next));
    assert_eq!(radar["verify"][0], json!("s:0 criterion: works"));
    for number in 0..4 {
        let note = json!({"path": "s:1", "note": format!("note {number}")});
        ok(&app, "tasks_note", note);
    }
    ok(&app, "tasks_evidence_capture", json!({"path": "s:1", "checks": ["CMD: make"]}));
    let handoff = ok(&app, "tasks_handoff", json!({}))["handoff"].clone();
    let notes = handoff["notes"].as_array().unwrap();
    let texts: Vec<&Value> = notes.iter().map(|note| &note["text"]).collect();
    assert_eq!(texts, ["note 3", "note 2", "note 1"]);
    assert!(notes[0]["ts"].is_string() && notes[0]["path"] == json!("s:1"), "{handoff:#}");
    let ready = ok(&app, "tasks_next", json!({}));
    assert_eq!(ready["tasks"], json!([]), "blocked");
    ok(&app, "tasks_block", json!({"path": "s:0", "blocked": false}));
    let ready = ok(&app, "tasks_next", json!({}));
    assert_eq!(ready["tasks"][0]["step"]["success_criteria"], json!(["works"]));
}

/// EASE-COST-1: the reference names the size that models get by default.
#[test]
fn every_default_size_is_described() {
    let app = app();
    let mut described = 0;
    for row in app.registry().rows() {
        let Some(chars) = row.brief_chars else { continue };
        let names = ["max_chars", "resume_max_chars", "handoff_max_chars"];
        let found = names.iter().find_map(|name| row.input_schema().property(name));
        let words = found.and_then(|schema| schema.description()).unwrap_or_default();
        assert!(words.contains(&format!("default over MCP {chars}, else all")), "{}", row.name);
        described += 1;
    }
    assert_eq!(described, 9);
}
