//! The commands of HB-12, and sessions that something drives.

use serde_json::json;

use super::{Room, SessionDriver, SessionOrder, SessionRejection, input, order, outside};
use crate::{
    ctree::NodeId,
    session::{
        SessionCommand,
        command::{PermissionAnswer, SessionDecision},
        entity::SessionStatus,
        lookup,
    },
};

fn answer(request_id: &str, decision: SessionDecision) -> SessionCommand {
    order(SessionOrder::Decide(PermissionAnswer {
        request_id: request_id.to_owned(),
        decision,
        note: Some("fine".to_owned()),
        rule: None,
        scope: None,
    }))
}

#[test]
fn stop_ends_the_turn_and_says_so() {
    let mut room = Room::open();
    room.accept(outside("turn_start", json!({})));
    let before = room.last_seq();
    room.accept(order(SessionOrder::Stop));
    let types = ["turn_end", "completion", "ctree_snapshot", "session.meta", "ctree_snapshot"];
    assert_eq!(room.types(before), types);
    assert_eq!(room.of_type("turn_end")[0].data["status"], "interrupted");
    assert_eq!(room.session().status, SessionStatus::Stopped);
    let runner = &room.log.last().unwrap().event.data["runner"];
    assert_eq!(*runner, json!({"phase": "chat", "status": "stopped"}));
    let before = room.last_seq();
    room.accept(order(SessionOrder::Stop));
    assert_eq!(room.types(before), ["session.meta"], "it was stopped already");
}

#[test]
fn interrupt_ends_the_turn_and_lets_the_next_begin() {
    let mut room = Room::open();
    assert_eq!(room.refuse(order(SessionOrder::Interrupt)), SessionRejection::NothingRunning);
    room.accept(SessionCommand::Drive(Some(SessionDriver {
        phase: "p".to_owned(),
        status: "s".to_owned(),
    })));
    room.accept(input("one"));
    room.accept(input("two"));
    room.accept(order(SessionOrder::Interrupt));
    assert_eq!(room.of_type("interrupt")[0].data["turn"], 1);
    assert_eq!(room.of_type("turn_end")[0].data["status"], "interrupted");
    assert_eq!(room.session().turns.running.as_ref().unwrap().id, "t-2");
}

#[test]
fn model_and_mode_are_fields_of_the_session() {
    let mut room = Room::open();
    room.accept(order(SessionOrder::SetModel("m-1".to_owned())));
    room.accept(order(SessionOrder::SetMode("plan".to_owned())));
    assert_eq!(room.types(3), ["session.meta", "session.meta"]);
    assert_eq!(room.session().model.as_deref(), Some("m-1"));
    assert_eq!(room.session().mode.as_deref(), Some("plan"));
    let blank = SessionRejection::Blank { field: "mode" };
    assert_eq!(room.refuse(order(SessionOrder::SetMode(" ".to_owned()))), blank);
    room.accept(input("go"));
    assert_eq!(room.of_type("turn_start")[0].data["mode"], "plan");
}

#[test]
fn an_approval_is_answered_once() {
    let mut room = Room::open();
    let unknown = SessionRejection::UnknownRequest { request_id: "r1".to_owned() };
    assert_eq!(room.refuse(answer("r1", SessionDecision::AllowOnce)), unknown);
    room.accept(outside("permission_request", json!({"request_id": "r1", "tool": "shell"})));
    room.accept(answer("r1", SessionDecision::AllowOnce));
    let response = &room.of_type("permission_response")[0].data;
    assert_eq!(
        *response,
        super::object(json!({"request_id": "r1", "decision": "allow-once", "note": "fine"}))
    );
    let decision = "allow-once".to_owned();
    let answered = SessionRejection::AlreadyAnswered { request_id: "r1".to_owned(), decision };
    assert_eq!(room.refuse(answer("r1", SessionDecision::DenyOnce)), answered);
    let long = "r".repeat(5_000);
    room.accept(outside("permission_request", json!({"request_id": long})));
    room.accept(outside("turn_start", json!({})));
    room.accept(answer(&long, SessionDecision::DenyStop));
    assert_eq!(room.session().status, SessionStatus::Stopped);
    room.accept(outside("permission_request", json!({"request_id": "r3"})));
    room.accept(outside("permission_response", json!({"request_id": "r3", "decision": "x"})));
    assert!(matches!(
        room.refuse(answer("r3", SessionDecision::AllowOnce)),
        SessionRejection::AlreadyAnswered { .. }
    ));
}

#[test]
fn a_node_is_pinned_and_let_go() {
    let mut room = Room::open();
    room.accept(input("keep this"));
    let node = NodeId::numbered(2);
    let pinned = |room: &Room| lookup::node(&room.docs, &node).unwrap().unwrap().pinned;
    for wanted in [true, true, false] {
        let before = room.last_seq();
        room.accept(order(SessionOrder::Pin { node: node.clone(), pinned: wanted }));
        assert_eq!(room.types(before), ["ctree_snapshot", "ctree_snapshot"], "pin and summary");
        assert_eq!(pinned(&room), wanted);
    }
    let nowhere = SessionOrder::Pin { node: NodeId::numbered(99), pinned: true };
    let unknown = SessionRejection::UnknownNode { node_id: "node-99".to_owned() };
    assert_eq!(room.refuse(order(nowhere)), unknown);
}

#[test]
fn what_drives_a_session_speaks_in_its_own_words() {
    let mut room = Room::open();
    let driver = SessionDriver { phase: "rollout".to_owned(), status: "busy".to_owned() };
    room.accept(SessionCommand::Drive(Some(driver)));
    let data = &room.log.last().unwrap().event.data;
    assert_eq!(data["runner"], json!({"phase": "rollout", "status": "busy"}));
    room.accept(input("go"));
    assert!(room.session().turns.running.is_some(), "another call ends the turn");
    room.accept(SessionCommand::Drive(None));
    let data = &room.log.last().unwrap().event.data;
    assert_eq!(data["runner"], json!({"phase": "chat", "status": "running"}));
    assert_eq!(room.session().driver, None);
}
