//! By what criteria and tests were confirmed, in documents, after undo, and in views.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Room, close, gate, step, undo::place, verify};
use crate::{
    Author, AuthorKind, AuthorSurface,
    checks::{definition::GatePolicy, verdict::Verdict},
    tasks::{
        TaskCommand, TaskEvent,
        command::DefineStep,
        id::TaskId,
        step::{Checkpoint, ItemConfirmation},
        view::{Requested, StepsSummary, overview::RadarView, proof::ProofNotes},
    },
};

fn define(path: &str) -> TaskCommand {
    TaskCommand::DefineStep(DefineStep {
        step: step(1, path),
        title: None,
        success_criteria: Some(vec!["It works".to_owned(), "It is fast".to_owned()]),
        tests: Some(vec!["make test".to_owned()]),
        blockers: None,
        proof_modes: None,
        checks: None,
    })
}

fn confirm(index: u32, evidence: Option<&str>) -> TaskCommand {
    let evidence = evidence.map(str::to_owned);
    let item = ItemConfirmation { checkpoint: Checkpoint::Criteria, index, evidence, by: None };
    TaskCommand::ConfirmItems { step: step(1, "s:0"), items: vec![item] }
}

fn author(name: &str) -> Author {
    Author::new(AuthorKind::Agent, name, AuthorSurface::Mcp)
}

impl Room {
    /// The agent that makes the next calls.
    fn caller(&mut self, name: &str) {
        self.caller.by = Some(Arc::new(author(name)));
    }

    fn first_open(&self) -> Value {
        json!(StepsSummary::of(self.task(1)).first_open.unwrap())
    }

    fn lines(&self) -> Vec<String> {
        let workspace = "acme".parse().unwrap();
        let notes = ProofNotes::default();
        let id = TaskId(1).into();
        let view = RadarView::of(&self.docs, &workspace, id, Requested::default(), &notes);
        view.unwrap().standing.radar.verify
    }
}

/// EASE-DONE-1.
#[test]
fn each_criterion_says_by_what_it_was_confirmed() {
    let mut room = Room::with_task();
    room.accept(define("s:0"));
    assert_eq!(room.first_open().get("confirmations"), None);
    room.caller("ada");
    room.accept(confirm(1, Some("bench: 3 ms")));
    room.caller("bob");
    room.accept(verify("s:0", &[(Checkpoint::Tests, true)]));
    let named = json!({
        "checkpoint": "criteria", "index": 1, "evidence": "bench: 3 ms", "by": author("ada"),
    });
    let bulk = json!({"checkpoint": "tests", "bulk": true, "by": author("bob")});
    assert_eq!(room.first_open()["confirmations"], json!([named, bulk]));
    let expected = [
        "s:0 criterion: It works",
        "s:0 criterion: It is fast (confirmed: bench: 3 ms)",
        "s:0 test: make test (confirmed in bulk)",
    ];
    assert_eq!(room.lines()[..3], expected);
    room.accept(verify("s:0", &[(Checkpoint::Tests, false)]));
    assert_eq!(room.first_open()["confirmations"], json!([named]));
}

#[test]
fn a_confirmation_by_a_check_names_its_run() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(define("s:0"));
    let run = room.ran("tests", "one", Verdict::Passed);
    room.accept(verify("s:0", &gate()));
    room.accept(close("s:0"));
    room.accept(TaskCommand::ReopenStep { step: step(1, "s:0") });
    let shown = room.first_open()["confirmations"].clone();
    assert_eq!(shown[1], json!({"checkpoint": "tests", "run": run}));
    assert_eq!(shown[0]["bulk"], json!(true));
    assert_eq!(room.lines()[2], format!("s:0 test: make test (confirmed by {run})"));
}

#[test]
fn undo_and_redo_bring_back_who_confirmed() {
    let mut room = Room::with_task();
    room.accept(define("s:0"));
    room.caller("ada");
    room.operate(&place(Some("s:0")), &[verify("s:0", &gate())]).unwrap();
    let confirmed = room.first_open()["confirmations"].clone();
    room.restore(true).unwrap();
    assert_eq!(room.first_open().get("confirmations"), None);
    room.caller("bob");
    room.restore(false).unwrap();
    assert_eq!(room.first_open()["confirmations"], confirmed);
}

/// What stores of earlier versions hold: their events do not say who confirmed, and neither do
/// their documents.
#[test]
fn events_without_an_author_give_documents_without_one() {
    let mut room = Room::with_task();
    room.accept(define("s:0"));
    room.accept(verify("s:0", &[(Checkpoint::Tests, true)]));
    room.accept(confirm(0, None));
    for recorded in &room.log {
        let TaskEvent::StepVerified(verified) = &recorded.event else { continue };
        let stored = json!(verified);
        assert!(stored.get("sources").is_none(), "{stored}");
        assert!(stored["items"][0].get("by").is_none(), "{stored}");
    }
    let document = json!(room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap());
    assert!(document.get("confirmed_by").is_none(), "{document}");
    let shown = room.first_open()["confirmations"].clone();
    let bulk = json!({"checkpoint": "tests", "bulk": true});
    assert_eq!(shown, json!([{"checkpoint": "criteria", "index": 0}, bulk]));
}
