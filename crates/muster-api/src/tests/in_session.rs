//! Task tools used inside a session appear in its stream.

use std::sync::Arc;

use muster_core::{
    Timestamp,
    session::{
        SessionId,
        command::{Create, WriteTodos},
    },
    todo::WrittenList,
};
use muster_engine::FixedClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use super::{call, ok};
use crate::{App, AppOptions, SessionBinding, Toolset};

fn bound() -> (App, SessionId) {
    let id = SessionId::of("s-1").unwrap();
    let clock = FixedClock::at(Timestamp(1_900_000_000_000));
    let toolset = Toolset::Full;
    let session = SessionBinding::Named(id.clone());
    let options = AppOptions { toolset, session, ..AppOptions::default() };
    (App::over(Arc::new(MemoryStore::new()), Arc::new(clock), options), id)
}

/// Makes the session, as its first todo list does.
fn begin(app: &App, id: &SessionId) {
    let list = WrittenList::default();
    let expected_revision = None;
    let key = None;
    let write = WriteTodos { list, expected_revision, key };
    app.sessions().write_todos(id, write, Some(Create::default()), None).unwrap();
}

/// Type and body of every event of a session.
fn events(app: &App, id: &SessionId) -> Vec<(String, Value)> {
    let rows = app.engine().store().snapshot().unwrap().tail(&id.stream(), 0, 1_000).unwrap();
    let body = |body: &str| serde_json::from_str::<Value>(body).unwrap()["data"].clone();
    rows.into_iter().map(|row| (row.kind, body(&row.body))).collect()
}

fn task_events(app: &App, id: &SessionId) -> Vec<Value> {
    let all = events(app, id).into_iter();
    all.filter(|(kind, _)| kind == "task_event").map(|(_, body)| body).collect()
}

#[test]
fn a_changed_task_is_told_to_the_session_with_its_place_in_the_tree() {
    let (app, id) = bound();
    begin(&app, &id);
    ok(&app, "tasks_create", json!({"title": "Plan"}));
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "Task"}));
    let reported = task_events(&app, &id);
    let seen: Vec<_> = reported
        .iter()
        .map(|event| (event["task_id"].as_str().unwrap(), event["status"].as_str().unwrap()))
        .collect();
    assert_eq!(seen, [("PLAN-001", "pending"), ("TASK-001", "pending")]);
    assert_eq!(reported[1]["parent_task_id"], "PLAN-001");
    assert!(reported[1]["ctree_node_id"].as_str().unwrap().starts_with("node-"));
    assert_eq!(reported[1]["ctree_snapshot"]["snapshot"]["node_count"], 1);
}

#[test]
fn what_is_refused_and_what_nobody_follows_is_not_told() {
    let (app, id) = bound();
    ok(&app, "tasks_create", json!({"title": "Before there is a session"}));
    assert!(events(&app, &id).is_empty());
    begin(&app, &id);
    let refused = call(&app, "tasks_edit", json!({"plan": "PLAN-009", "title": "No"}));
    assert_eq!(refused["success"], false);
    assert!(task_events(&app, &id).is_empty());
}

/// Its caller merges with the list and writes it back (TT-7).
#[test]
fn a_refused_list_is_shown_with_whole_lines() {
    let (app, _) = bound();
    let items = json!(["long ".repeat(100).trim_end()]);
    let write = |items: &Value, revision: u64| {
        let expected = ("expected_revision".to_owned(), json!(revision));
        let arguments = [("items".to_owned(), items.clone()), expected];
        app.call("todo_write", arguments.into_iter().collect()).to_json()
    };
    assert_eq!(write(&items, 0)["success"], true);
    let refused = write(&json!(["x"]), 0);
    assert_eq!(refused["error"]["code"], "REVISION_MISMATCH");
    assert_eq!(refused["error"]["details"]["items"], items);
}
