//! Todo lists with status, their links to steps, and how a new connection reaches the old one.

use std::sync::Arc;

use muster_core::Timestamp;
use muster_engine::FixedClock;
use muster_store::{MemoryStore, Store};
use serde_json::{Value, json};

use super::{call, ok};
use crate::{App, AppOptions, SessionBinding, Toolset};

/// A connection of its own over a shared store.
fn connect(store: &Arc<MemoryStore>) -> App {
    let session = SessionBinding::Own;
    let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
    let options = AppOptions { toolset: Toolset::Full, session, ..AppOptions::default() };
    let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(store);
    App::over(store, clock, options)
}

fn step(app: &App) -> Value {
    ok(app, "tasks_create", json!({"title": "Plan"}));
    let steps = json!([{"title": "One", "success_criteria": ["c"]}]);
    let task = json!({"parent": "PLAN-001", "title": "Task", "steps": steps});
    ok(app, "tasks_create", task)["steps"][0]["step_id"].clone()
}

#[test]
fn items_with_status_are_read_back_in_both_forms() {
    let app = connect(&Arc::new(MemoryStore::new()));
    let todos = json!([
        {"content": " read ", "status": "completed", "activeForm": "Reading"},
        {"title": "write", "id": "w"},
    ]);
    let written = ok(&app, "todo_write", json!({"todos": todos}));
    assert_eq!(written["items"], json!(["read", "write"]));
    let read = ok(&app, "todo_read", json!({}));
    assert_eq!(read, written);
    let first = &read["todos"][0];
    assert_eq!((&first["status"], &first["activeForm"]), (&json!("completed"), &json!("Reading")));
    assert_eq!(read["todos"][1], json!({"id": "w", "content": "write", "status": "pending"}));
    ok(
        &app,
        "todo_write",
        json!({"todos": [{"id": "w", "content": "write it"}, {"title": "READ"}]}),
    );
    let read = ok(&app, "todo_read", json!({}));
    assert_eq!(read["todos"][1]["id"], first["id"], "recognized by its title");
    assert_eq!(read["todos"][1]["status"], "completed", "what is left out stays");
    ok(&app, "todo_write", json!({"items": ["read"]}));
    assert_eq!(ok(&app, "todo_read", json!({}))["todos"][0]["activeForm"], "Reading");
}

#[test]
fn a_list_is_given_in_one_form_and_each_item_is_checked() {
    let app = connect(&Arc::new(MemoryStore::new()));
    for (arguments, place) in [
        (json!({"items": ["a"], "todos": [{"content": "a"}]}), "todos"),
        (json!({"todos": [{"content": "a"}, {}]}), "todos[1].content"),
        (json!({"todos": [{"content": "\u{1c}"}]}), "todos[0].content"),
        (json!({"todos": [{"content": "a", "title": "b"}]}), "todos[0].title"),
        (json!({"todos": [{"content": "a", "status": "done"}]}), "todos[0].status"),
        (
            json!({"todos": [{"content": "a", "id": "x"}, {"content": "b", "id": "x"}]}),
            "todos[1].id",
        ),
        (json!({"todos": [{"content": "a", "step_id": "s:0"}]}), "todos[0].step_id"),
        (json!({"todos": [{"content": "a", "priority": 1}]}), "todos[0].priority"),
    ] {
        let refused = call(&app, "todo_write", arguments);
        assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{refused}");
        assert_eq!(refused["error"]["details"]["argument"], place, "{refused}");
    }
    assert_eq!(ok(&app, "todo_read", json!({}))["revision"], 0);
}

#[test]
fn a_linked_item_is_shown_on_both_sides_and_closes_nothing() {
    let app = connect(&Arc::new(MemoryStore::new()));
    let step = step(&app);
    let todo = |status: &str| json!([{"content": "a", "status": status, "step_id": step}]);
    ok(&app, "todo_write", json!({"todos": todo("pending")}));
    let mirror = || ok(&app, "tasks_mirror", json!({"task": "TASK-001", "path": "s:0"}));
    assert_eq!(mirror()["todos"][0]["status"], "pending");
    let list = ok(&app, "todo_write", json!({"todos": todo("completed")}));
    assert_eq!(list["todos"][0]["step_id"], step);
    let shown = mirror();
    assert_eq!(
        (&shown["todos"][0]["content"], &shown["todos"][0]["status"]),
        (&json!("a"), &json!("completed"))
    );
    assert_eq!(shown["steps"][0]["completed"], false);
    ok(&app, "todo_write", json!({"items": ["a"]}));
    assert_eq!(mirror()["todos"][0]["content"], "a", "the other form keeps the link");
    ok(&app, "todo_write", json!({"todos": [{"content": "a", "step_id": null}]}));
    assert_eq!(mirror().get("todos"), None);
    let unknown = json!([{"content": "a", "step_id": "STEP-000000FF"}]);
    let refused = call(&app, "todo_write", json!({"todos": unknown}));
    assert_eq!(refused["error"]["code"], "UNKNOWN_ID", "{refused}");
    assert_eq!(ok(&app, "todo_read", json!({}))["revision"], 4, "nothing of it was stored");
}

#[test]
fn a_new_connection_reads_the_newest_list_and_continues_it() {
    let store = Arc::new(MemoryStore::new());
    let written = call(&connect(&store), "todo_write", json!({"items": ["a", "b"]}));
    let session = written["context"]["session_id"].clone();
    let app = connect(&store);
    let read = call(&app, "todo_read", json!({}));
    assert_eq!(read["result"]["carried_over"], true, "{read}");
    assert_eq!(
        (&read["result"]["session_id"], &read["context"]["session_id"]),
        (&session, &session)
    );
    assert_eq!(read["result"]["items"], json!(["a", "b"]));
    let elsewhere = ok(&app, "todo_read", json!({"workspace": "other"}));
    assert_eq!((&elsewhere["items"], elsewhere.get("carried_over")), (&json!([]), None));
    let attach = json!({"items": ["b"], "session_id": session, "expected_revision": 1});
    assert_eq!(ok(&app, "todo_write", attach)["revision"], 2);
    let own = ok(&app, "todo_read", json!({}));
    assert_eq!((&own["items"], own.get("carried_over")), (&json!(["b"]), None));
    let other = call(&connect(&store), "todo_write", json!({"items": ["own"]}));
    let refused = call(
        &app,
        "todo_write",
        json!({"items": [], "session_id": other["context"]["session_id"]}),
    );
    assert_eq!(refused["error"]["code"], "SESSION_MISMATCH", "it has a list of its own: {refused}");
    assert_eq!(ok(&connect(&store), "todo_read", json!({}))["items"], json!(["own"]), "the newest");
}

#[test]
fn a_refused_write_attaches_to_nothing() {
    let store = Arc::new(MemoryStore::new());
    let written = call(&connect(&store), "todo_write", json!({"items": ["a"]}));
    let session = &written["context"]["session_id"];
    let app = connect(&store);
    for arguments in [
        json!({"items": [], "session_id": "nobody"}),
        json!({"items": [], "session_id": session, "expected_revision": 7}),
    ] {
        assert_eq!(call(&app, "todo_write", arguments)["success"], false);
    }
    assert_eq!(ok(&app, "todo_read", json!({}))["carried_over"], true);
}

#[test]
fn a_revision_may_be_written_with_a_point() {
    let app = connect(&Arc::new(MemoryStore::new()));
    let first = json!({"items": ["a"], "expected_revision": 0.0});
    assert_eq!(ok(&app, "todo_write", first)["revision"], 1);
    let part = call(&app, "todo_write", json!({"items": [], "expected_revision": 0.5}));
    assert_eq!(part["error"]["details"]["argument"], "expected_revision");
}

#[test]
fn emptying_a_long_open_list_says_what_was_dropped() {
    let app = connect(&Arc::new(MemoryStore::new()));
    let codes = |answer: &Value| -> Vec<Value> {
        let warnings = answer["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["code"].clone()).collect()
    };
    ok(&app, "todo_write", json!({"items": ["a", "b", "c", "d"]}));
    assert_eq!(codes(&call(&app, "todo_write", json!({"items": []}))), Vec::<Value>::new());
    ok(&app, "todo_write", json!({"items": ["a", "b", "c", "d", "e"]}));
    let dropped = call(&app, "todo_write", json!({}));
    assert_eq!(codes(&dropped), ["ITEMS_DEFAULTED", "ITEMS_DROPPED"]);
    let message = dropped["warnings"][1]["message"].as_str().unwrap();
    assert_eq!(message, "dropped 5 open items: a; b; c; d; e");
}
