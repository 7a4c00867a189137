//! Inputs and turns.

use serde_json::json;

use super::{Create, Room, SessionDriver, SessionOrder, SessionRejection, input, order, outside};
use crate::session::{SessionCommand, command::SessionInput, entity::SessionStatus};

/// A session that something drives.
fn driven() -> Room {
    let mut room = Room::empty();
    let driver = SessionDriver { phase: "work".to_owned(), status: "ready".to_owned() };
    let create = Create { driver: Some(driver), ..Create::default() };
    room.accept(SessionCommand::Create(Box::new(create)));
    room
}

#[test]
fn an_input_without_an_agent_is_a_whole_turn() {
    let mut room = Room::open();
    let receipt = room.accept(input("  hello ")).receipt;
    let types = [
        "turn_start",
        "ctree_node",
        "ctree_snapshot",
        "user_message",
        "ctree_node",
        "turn_end",
        "completion",
        "ctree_snapshot",
    ];
    assert_eq!(room.types(3), types);
    assert_eq!((receipt.seq, receipt.queued), (7, false));
    assert_eq!(receipt.turn_id.as_deref(), Some("t-1"));
    assert_eq!(room.of_type("user_message")[0].data["text"], "  hello ");
    let end = &room.of_type("turn_end")[0].data;
    assert_eq!(
        *end,
        super::object(json!({"turn": 1, "status": "completed", "reason": "no_agent"}))
    );
    assert_eq!(room.session().status, SessionStatus::Idle);
    let summary = &room.log.last().unwrap().event.data;
    for section in ["snapshot", "compiler", "collapse", "runner", "last_node"] {
        assert!(summary[section].is_object(), "{section} in {summary:?}");
    }
    assert_eq!(summary["compiler"]["z1"], summary["snapshot"]["node_hash"]);
    assert_eq!(summary["runner"], json!({"phase": "chat", "status": "idle"}));
    assert_eq!(room.log[5].event.data["runner"], json!({"phase": "chat", "status": "running"}));
    assert_eq!(room.refuse(input(" \u{1c}\t")), SessionRejection::Blank { field: "content" });
}

#[test]
fn an_input_waits_for_the_running_turn_and_gets_one_of_its_own() {
    let mut room = driven();
    assert!(!room.accept(input("first")).receipt.queued);
    let second = room.accept(input("second")).receipt;
    let third = room.accept(input("third")).receipt;
    assert_eq!((second.queued, second.turn_id.as_deref()), (true, Some("t-2")));
    assert_eq!((third.queued, third.turn_id.as_deref()), (true, Some("t-3")));
    assert_eq!(room.session().queue.len(), 2);
    let before = room.last_seq();
    let done = json!({"status": "completed"});
    room.accept(outside("turn_end", done.clone()));
    let ended = ["turn_end", "completion", "ctree_snapshot"];
    let begun = ["turn_start", "ctree_node", "ctree_node"];
    let types = [ended, begun].concat();
    assert_eq!(room.types(before), types, "the runner's words did not change");
    let message = &room.log.last().unwrap().event;
    assert_eq!(message.data["node"]["label"], "second");
    assert_eq!(message.place.turn_id.as_deref(), Some("t-2"));
    assert_eq!(room.session().turns.running.as_ref().unwrap().number, 2);
    room.accept(outside("turn_end", done.clone()));
    assert_eq!(room.session().queue, []);
    room.accept(outside("turn_end", done));
    assert_eq!(room.session().turns.running, None);
    assert_eq!(room.of_type("turn_start").len(), 3);
    assert_eq!(room.of_type("user_message").len(), 3, "each is said once");
}

#[test]
fn the_turn_of_a_dropped_input_is_nobody_elses() {
    let mut room = driven();
    room.accept(input("first"));
    let dropped = room.accept(input("dropped")).receipt.turn_id.unwrap();
    room.accept(order(SessionOrder::Stop));
    assert_eq!((room.session().queue.len(), room.session().status), (0, SessionStatus::Stopped));
    let next = room.accept(input("next")).receipt;
    assert_ne!(next.turn_id.unwrap(), dropped);
    assert_eq!(room.session().turns.running.as_ref().unwrap().number, 2);
    assert_eq!(room.session().status, SessionStatus::Running);
}

#[test]
fn a_turn_that_begins_takes_the_place_of_the_one_before() {
    let mut room = Room::open();
    room.accept(outside("turn_start", json!({"turn": 7, "mode": "plan"})));
    assert_eq!(room.session().turns.running.as_ref().unwrap().number, 7);
    assert!(room.accept(input("waits")).receipt.queued);
    let before = room.last_seq();
    room.accept(outside("turn_start", json!({"turn": 3})));
    assert_eq!(room.types(before)[..3], ["turn_end", "completion", "ctree_snapshot"]);
    let starts = room.of_type("turn_start");
    let numbers: Vec<&serde_json::Value> = starts.iter().map(|event| &event.data["turn"]).collect();
    assert_eq!(numbers, [&json!(7), &json!(8)], "numbers only go up");
    room.accept(outside("turn_end", json!({"turn": 3, "status": "failed"})));
    assert_eq!(room.of_type("turn_end")[1].data["turn"], 8);
    assert_eq!(room.session().queue, [], "the input that waited had its turn");
    assert_eq!(room.session().status, SessionStatus::Idle);
}

#[test]
fn every_turn_ends_with_a_completion_that_sums_it_up() {
    let mut room = driven();
    room.accept(input("first"));
    room.accept(outside("turn_end", json!({"status": "failed", "reason": "provider_error"})));
    room.accept(input("second"));
    room.accept(order(SessionOrder::Interrupt));
    room.accept(input("third"));
    room.accept(outside("turn_end", json!({})));
    let completions = room.of_type("completion");
    let said: Vec<_> = completions.iter().map(|event| event.data.clone()).collect();
    let sum = |turn: u64, completed: bool, reason: &str, status: &str| {
        let summary = json!({"completed": completed, "reason": reason, "status": status});
        super::object(json!({"turn": turn, "summary": summary}))
    };
    let expected = [
        sum(1, false, "provider_error", "failed"),
        sum(2, false, "interrupt", "interrupted"),
        sum(3, true, "completed", "completed"),
    ];
    assert_eq!(said, expected);
    assert_eq!(completions[0].place.turn_id.as_deref(), Some("t-1"));
    assert_eq!(room.session().status, SessionStatus::Idle, "the session takes more input");
    assert_eq!(room.session().completion_summary, Some(expected[2]["summary"].clone()));
}

#[test]
fn a_completion_that_the_agent_reports_is_the_only_one_of_its_turn() {
    let mut room = driven();
    room.accept(input("go"));
    let own = json!({"summary": {"completed": true, "reason": "done", "steps": 3}});
    room.accept(outside("completion", own.clone()));
    room.accept(outside("turn_end", json!({})));
    let completions = room.of_type("completion");
    assert_eq!(completions.len(), 1);
    assert_eq!(completions[0].data, super::object(own));
    room.accept(input("again"));
    room.accept(outside("turn_end", json!({})));
    assert_eq!(room.of_type("completion").len(), 2);
}

#[test]
fn a_turn_end_out_of_the_blue_is_only_an_event() {
    let mut room = Room::open();
    room.accept(outside("turn_end", json!({"turn": 1, "status": "failed"})));
    assert_eq!(room.types(3), ["turn_end", "ctree_snapshot"]);
    assert_eq!(room.session().status, SessionStatus::Idle);
}

#[test]
fn the_outcome_of_a_session_is_told_when_its_turn_has_ended() {
    let mut room = driven();
    room.accept(input("go"));
    room.accept(outside("completion", json!({"summary": {"completed": true, "reason": "done"}})));
    assert_eq!(room.session().status, SessionStatus::Running);
    room.accept(outside("turn_end", json!({})));
    assert_eq!(room.session().status, SessionStatus::Completed);
    assert_eq!(room.session().completion_summary.as_ref().unwrap()["reason"], "done");
    room.accept(outside("completion", json!({"summary": {"completed": false}})));
    assert_eq!(room.session().status, SessionStatus::Failed);
    room.accept(input("again"));
    room.accept(outside("turn_end", json!({"status": "failed"})));
    assert_eq!(room.session().status, SessionStatus::Failed);
}

#[test]
fn no_more_inputs_wait_than_there_is_room_for() {
    let mut room = driven();
    room.accept(input("runs"));
    for _ in 0..crate::session::limits::QUEUE_INPUTS_MAX {
        room.accept(input("waits"));
    }
    let limit = crate::session::limits::QUEUE_INPUTS_MAX;
    assert_eq!(room.refuse(input("too many")), SessionRejection::QueueFull { limit });
    let text = "x".repeat(crate::session::limits::EVENT_BYTES_MAX + 1);
    let long = SessionCommand::Input(SessionInput { text, source: None, key: None });
    assert!(matches!(room.refuse(long), SessionRejection::TooLong { field: "content", .. }));
}
