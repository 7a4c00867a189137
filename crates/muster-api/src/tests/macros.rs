//! Portals, reasoning memory and the views that resume work.

use serde_json::{Value, json};

use super::{
    app, call,
    lifecycle::{clean, code, on, with, with_task},
    ok,
};

fn types(events: &Value) -> Vec<&str> {
    let events = events.as_array().unwrap();
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn a_day_of_work_through_the_portals() {
    let app = app();
    let started = ok(&app, "tasks_macro_start", json!({"task_title": "Rotate keys"}));
    assert_eq!(started["plan_created"], json!(true));
    assert_eq!(started["steps"].as_array().unwrap().len(), 3);
    assert_eq!(started["focus"], json!("TASK-001"));
    assert_eq!(started["resume"]["capsule"]["action"]["tool"], json!("tasks_macro_close_step"));
    assert_eq!(
        types(&started["events"]),
        [
            "plan_created",
            "task_created",
            "steps_added",
            "step_defined",
            "step_defined",
            "step_defined"
        ]
    );
    let timeline = started["resume"]["timeline"]["events"].as_array().unwrap();
    assert_eq!(timeline.last().unwrap()["type"], json!("step_defined"));
    for round in 0..3 {
        let closed = ok(
            &app,
            "tasks_macro_close_step",
            json!({"note": "done so far", "proof": ["make check", "https://ci.example/7"]}),
        );
        assert_eq!(closed["revision"], json!(round + 1));
        assert_eq!(
            types(&closed["events"]),
            ["step_noted", "evidence_captured", "step_verified", "step_done"]
        );
        let action = &closed["resume"]["capsule"]["action"];
        let args = if round < 2 { &action["args_hint"] } else { &action["args"] };
        assert_eq!(args["task"], json!("TASK-001"));
    }
    let finished = ok(&app, "tasks_macro_close_step", json!({"note": "all of it"}));
    assert_eq!(finished["status"], json!("DONE"));
    assert_eq!(finished["step"], Value::Null);
    assert_eq!(types(&finished["events"]), ["note_committed", "task_completed"]);
    let again = call(&app, "tasks_macro_close_step", json!({"note": "late"}));
    let codes: Vec<&str> = again["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["ALREADY_DONE", "NOTE_IGNORED"]);
    assert_eq!(again["result"]["events"], json!([]));
    let finish = ok(&app, "tasks_macro_finish", json!({"plan": "PLAN-001"}));
    assert_eq!(finish["status"], json!("DONE"));
    assert_eq!(finish["handoff"]["handoff"]["done"][0], json!("Tasks done: 1/1"));
    clean(&app);
}

#[test]
fn a_refused_close_leaves_neither_note_nor_evidence() {
    let app = with_task();
    ok(&app, "tasks_define", with(on("s:0"), json!({"proof_modes": {"tests": "require"}})));
    let before = ok(&app, "tasks_delta", json!({}));
    let try_again = json!({"task": "TASK-001", "note": "n", "proof": "CMD: <fill: x>"});
    for _ in 0..3 {
        assert_eq!(
            code(&call(&app, "tasks_macro_close_step", try_again.clone())),
            "PROOF_REQUIRED"
        );
    }
    assert_eq!(ok(&app, "tasks_delta", json!({})), before);
    let real = json!({"task": "TASK-001", "proof": "make check"});
    let closed = call(&app, "tasks_macro_close_step", real);
    assert_eq!(closed["warnings"][0]["code"], json!("PROOF_WEAK"), "no link");
    clean(&app);
}

#[test]
fn principal_tasks_frame_themselves() {
    let app = app();
    let task = json!({"task_title": "Hard", "description": "Why", "template": "principal-task"});
    let started = ok(&app, "tasks_macro_start", task);
    assert_eq!(started["think_pipeline"]["cards"][0]["stage"], json!("frame"));
    let cards = &started["resume"]["memory"]["cards"];
    assert_eq!((&cards[0]["title"], &cards[0]["text"]), (&json!("Hard"), &json!("Why")));
    let bad = json!({"task_title": "T", "think": {"frame": " "}});
    let answer = call(&app, "tasks_macro_start", bad);
    assert_eq!(answer["warnings"][0]["code"], json!("THINK_PIPELINE_FAILED"));
    assert_eq!(answer["result"]["think_pipeline"], Value::Null);
    let wrong = json!({"task_title": "T", "think": {"farme": "x"}});
    assert_eq!(code(&call(&app, "tasks_macro_start", wrong)), "INVALID_INPUT");
    let unknown = json!({"task_title": "T", "template": "nope"});
    let refused = call(&app, "tasks_macro_start", unknown);
    assert_eq!(refused["suggestions"][0]["target"], json!("tasks_templates_list"));
    assert_eq!(ok(&app, "tasks_context", json!({}))["counts"]["tasks"], json!(2));
    clean(&app);
}

#[test]
fn reasoning_is_committed_updated_and_paged() {
    let app = with_task();
    let pipeline = json!({
        "task": "TASK-001", "frame": "problem", "decision": {"title": "Do it", "text": "because"},
    });
    let committed = ok(&app, "think_pipeline", pipeline);
    assert_eq!(committed["cards"][1]["edges_upserted"], json!(1));
    assert_eq!(committed["decision_note"]["card_id"], json!("CARD-2"));
    let blocker = json!({"task": "TASK-001", "card": {"title": "Stuck", "tags": ["blocker"]}});
    ok(&app, "think_card", blocker);
    let radar = ok(&app, "tasks_radar", json!({"task": "TASK-001"}));
    assert_eq!(radar["radar"]["blockers"], json!(["CARD-3: Stuck"]));
    let solved = json!({"task": "TASK-001", "card": {"id": "CARD-3", "status": "closed"}});
    let updated = ok(&app, "think_card", solved);
    assert_eq!((&updated["inserted"], &updated["card"]["title"]), (&json!(false), &json!("Stuck")));
    for number in 0..5 {
        ok(&app, "notes_commit", json!({"task": "TASK-001", "content": format!("note {number}")}));
    }
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = json!({"task": "TASK-001", "notes_limit": 2, "notes_cursor": cursor});
        let notes = ok(&app, "tasks_resume_super", page)["memory"]["notes"].clone();
        let entries = notes["entries"].as_array().unwrap().iter().rev();
        seen.extend(entries.map(|entry| entry["content"].as_str().unwrap().to_owned()));
        cursor = notes["pagination"]["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let expected = ["note 4", "note 3", "note 2", "note 1", "note 0", "Decision (CARD-2): Do it"];
    assert_eq!(seen, expected);
    let snapshot = ok(&app, "tasks_snapshot", json!({"task": "TASK-001"}));
    assert_eq!(snapshot["graph_diff"]["summary"]["nodes_changed"], json!(6));
    assert_eq!(snapshot["graph_diff"]["summary"]["edges_changed"], json!(3));
    assert_eq!(snapshot["signals"]["stats"]["decisions"], json!(1));
    clean(&app);
}

#[test]
fn views_move_focus_only_when_asked() {
    let app = with_task();
    let quiet = json!({"task": "TASK-001", "read_only": true});
    let shown = ok(&app, "tasks_snapshot", quiet);
    assert_eq!(shown["focus"], Value::Null);
    assert!(shown.get("focus_restored").is_none());
    let moved = call(&app, "tasks_snapshot", json!({"task": "TASK-001"}));
    assert_eq!(moved["result"]["focus_restored"], json!(true));
    assert_eq!(moved["result"]["focus_previous"], Value::Null);
    assert_eq!(moved["context"]["focus_restored"], json!(true));
    let again = ok(&app, "tasks_snapshot", json!({"task": "TASK-001"}));
    assert!(again.get("focus_restored").is_none());
    let missing = call(&app, "tasks_snapshot", json!({"task": "TASK-009"}));
    assert_eq!(code(&missing), "UNKNOWN_ID");
    assert_eq!(ok(&app, "tasks_focus_get", json!({}))["focus"], json!("TASK-001"));
    clean(&app);
}

#[test]
fn every_budget_of_the_super_view_is_kept() {
    let app = with_task();
    for number in 0..8 {
        let card = json!({"title": format!("Card {number}"), "text": "t".repeat(200)});
        ok(&app, "think_card", json!({"task": "TASK-001", "card": card}));
        let note = json!({"task": "TASK-001", "content": "n".repeat(180)});
        ok(&app, "notes_commit", note);
    }
    let size = |value: &Value| {
        let mut view = value.clone();
        view.as_object_mut().unwrap().shift_remove("budget");
        serde_json::to_string(&view).unwrap().chars().count() as u64
    };
    let ask = |max: u64| {
        let request = json!({"task": "TASK-001", "max_chars": max, "read_only": true});
        ok(&app, "tasks_snapshot", request)
    };
    let mut last = 0;
    for max in (2..20_000_u64).step_by(13) {
        let view = ask(max);
        let used = size(&view);
        assert_eq!(view["budget"]["used_chars"], json!(used), "at {max}");
        assert!(used <= max, "{used} > {max}");
        let shown = view["capsule"]["action"].is_object();
        if max >= 4_000 {
            assert!(shown && view["memory"].is_object() && view["steps"]["first_open"].is_object());
        }
        if max >= 64 {
            assert!(view["target"]["id"].is_string(), "target is lost at {max}");
        }
        last = last.max(used);
    }
    let all = ask(1_000_000);
    assert_eq!(all["budget"]["truncated"], json!(false));
    assert_eq!(ask(8_000)["degradation"]["signals"][0], json!("budget_truncated"));
}

#[test]
fn finished_work_is_recorded_in_one_call() {
    let app = with_task();
    let step = json!({"title": "Did it", "success_criteria": ["c"], "tests": ["t"]});
    let done = ok(
        &app,
        "tasks_macro_create_done",
        json!({"plan": "PLAN-001", "task_title": "Hotfix", "steps": [step]}),
    );
    assert_eq!(done["bootstrap"]["task"]["revision"], json!(0));
    assert_eq!(done["close"]["revision"], json!(1));
    assert_eq!(done["complete"]["task"]["revision"], json!(1));
    assert_eq!(types(&done["close"]["events"]), ["step_verified", "step_done"]);
    let scaffold = json!({"template": "basic-plan", "title": "From template"});
    let plan = ok(&app, "tasks_scaffold", scaffold);
    assert_eq!(plan["plan"]["revision"], json!(0));
    assert_eq!(plan["checklist"]["steps"].as_array().unwrap().len(), 3);
    clean(&app);
}
