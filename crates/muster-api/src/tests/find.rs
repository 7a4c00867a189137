//! Finding work by words: the same before and after events are indexed.

use muster_core::{MatchGrade, SearchWords};
use muster_engine::log_index;
use serde_json::json;

use super::{
    call,
    lifecycle::{on, with, with_task},
    ok,
};
use crate::{
    App,
    find::{FindAnswer, FindRequest, FoundKind},
};

fn find(app: &App, text: &str) -> FindAnswer {
    let words = SearchWords::of(text).unwrap();
    let request = FindRequest { words, workspace: None, run: None, kinds: Vec::new(), limit: 6 };
    let by_tail = app.find(&request).unwrap();
    log_index::rebuild(app.engine().store()).unwrap();
    assert_eq!(by_tail, app.find(&request).unwrap(), "{text}: the index finds the same");
    let mut transaction = app.engine().store().begin().unwrap();
    transaction.clear_event_index().unwrap();
    transaction.commit().unwrap();
    by_tail
}

/// Kind, id and grade of each result.
fn found(app: &App, text: &str) -> Vec<(FoundKind, String, MatchGrade)> {
    let hits = find(app, text).hits.into_iter();
    hits.map(|hit| (hit.kind, hit.id, hit.matched)).collect()
}

fn is(kind: FoundKind, id: &str, grade: MatchGrade) -> (FoundKind, String, MatchGrade) {
    (kind, id.to_owned(), grade)
}

#[test]
fn work_is_found_by_its_words_and_its_id_the_best_first() {
    let app = with_task();
    let more = json!({"parent": "PLAN-001", "title": "Rotate keys", "description": "one by one"});
    ok(&app, "tasks_create", more);
    let other = json!({"workspace": "other", "title": "Keys of the cellar"});
    ok(&app, "tasks_create", other);
    ok(&app, "tasks_note", with(on("s:0"), json!({"note": "the Rotate button is hidden"})));
    let wanted = [
        is(FoundKind::Task, "TASK-002", MatchGrade::TitleStart),
        is(FoundKind::Note, "5", MatchGrade::TitleWord),
    ];
    assert_eq!(found(&app, "rotate")[..], wanted);
    let answer = find(&app, "rotate hidden");
    let place = &answer.hits[0].place;
    assert_eq!(answer.hits[0].title, "the Rotate button is hidden");
    assert_eq!((place.task_title.as_deref(), place.step.as_deref()), (Some("Task"), Some("s:0")));
    assert_eq!(place.plan_title.as_deref(), Some("Plan"));
    let keys = find(&app, "keys").hits;
    let kinds: Vec<FoundKind> = keys.iter().map(|hit| hit.kind).collect();
    assert_eq!(kinds, [FoundKind::Plan, FoundKind::Task], "in every workspace");
    assert_eq!(keys[0].place.workspace.as_ref().unwrap().as_str(), "other");
    assert_eq!(found(&app, "task-002")[0], is(FoundKind::Task, "TASK-002", MatchGrade::Exact));
    assert_eq!(found(&app, "plan-001").len(), 2, "one in each workspace");
    assert_eq!(find(&app, "by one").hits[0].excerpt.as_deref(), Some("one by one"));
    assert!(find(&app, "nothing has this").hits.is_empty());
}

#[test]
fn a_step_is_found_by_what_it_says_now() {
    let app = with_task();
    ok(&app, "tasks_define", with(on("s:0"), json!({"title": "Sweep", "tests": ["broom test"]})));
    assert_eq!(found(&app, "sweep"), [is(FoundKind::Step, "s:0", MatchGrade::Exact)]);
    assert_eq!(found(&app, "broom"), [is(FoundKind::Step, "s:0", MatchGrade::Text)]);
    assert_eq!(found(&app, "one"), [], "that was its title");
    ok(&app, "tasks_undo", json!({"task": "TASK-001"}));
    assert_eq!(found(&app, "one"), [is(FoundKind::Step, "s:0", MatchGrade::Exact)]);
    assert_eq!(found(&app, "sweep"), []);
    ok(&app, "tasks_delete", on("s:1"));
    assert_eq!(found(&app, "two"), []);
    ok(&app, "tasks_note", with(on("s:0"), json!({"note": "a loose board"})));
    assert_eq!(found(&app, "board").len(), 1);
    ok(&app, "tasks_delete", json!({"task": "TASK-001"}));
    assert_eq!(found(&app, "board"), [], "its task is gone");
    assert_eq!(found(&app, "one"), []);
}

#[test]
fn many_results_are_cut_and_that_is_said() {
    let app = with_task();
    for number in 0..9 {
        let steps = json!([{"title": format!("cask {number}"), "success_criteria": ["c"]}]);
        let task =
            json!({"parent": "PLAN-001", "title": format!("barrel {number}"), "steps": steps});
        ok(&app, "tasks_create", task);
    }
    let barrels = find(&app, "barrel");
    assert_eq!(barrels.hits.len(), 6);
    assert_eq!(barrels.cut, [FoundKind::Task].into());
    assert_eq!(barrels.hits[0].title, "barrel 8", "the newest first");
    assert_eq!(find(&app, "cask").cut, [FoundKind::Step].into());
    assert_eq!(find(&app, "cask 3").cut, [].into());
    assert!(call(&app, "tasks_context", json!({"query": "barrel"}))["success"] == json!(true));
}
