//! Events that others report.

use serde_json::{Value, json};

use super::{
    Record, RecordOrigin, Room, SessionCommand, SessionRejection, input, key, object, outside,
};
use crate::session::{
    body::TaskEventBody,
    limits::{EVENT_BYTES_MAX, EVENT_DEPTH_MAX, TYPE_CHARS_MAX},
};

#[test]
fn any_type_is_taken_but_those_of_the_server() {
    let mut room = Room::open();
    for kind in ["stream.hello", "ctree_node", "ctree_x", "session.meta", "session.ended"] {
        let reserved = SessionRejection::ReservedType { kind: kind.to_owned() };
        assert_eq!(room.refuse(outside(kind, json!({}))), reserved);
    }
    let reserved = SessionRejection::ReservedType { kind: "run_finished".to_owned() };
    assert_eq!(room.refuse(outside("run_finished", json!({}))), reserved);
    assert_eq!(room.refuse(outside(" ", json!({}))), SessionRejection::Blank { field: "type" });
    let long = "x".repeat(TYPE_CHARS_MAX + 1);
    assert!(matches!(room.refuse(outside(&long, json!({}))), SessionRejection::TooLong { .. }));
    let done = room.accept(outside("what.ever", json!({"a": [1, {"b": null}]}))).receipt;
    assert_eq!((done.seq, done.todo), (4, None));
    assert_eq!(room.types(3), ["what.ever"]);
    let finished =
        Record::of(RecordOrigin::Server, "run_finished", object(json!({"completed": false})));
    room.accept(SessionCommand::Record(Box::new(finished)));
    assert_eq!(room.session().status, crate::session::entity::SessionStatus::Failed);
    let end = Record::of(RecordOrigin::Server, "session.ended", object(json!({})));
    assert!(matches!(
        room.refuse(SessionCommand::Record(Box::new(end))),
        SessionRejection::ReservedType { .. }
    ));
}

#[test]
fn an_event_id_is_recorded_once() {
    let mut room = Room::open();
    let event = |digest: &str| {
        let mut record =
            Record::of(RecordOrigin::Outside, "warning", object(json!({"message": "m"})));
        record.given = key("their-1", digest);
        SessionCommand::Record(Box::new(record))
    };
    let first = room.accept(event("d"));
    let again = room.accept(event("d"));
    assert_eq!((again.receipt, again.replayed), (first.receipt, true));
    assert_eq!(room.of_type("warning").len(), 1);
    let taken = SessionRejection::EventIdTaken { id: "their-1".to_owned() };
    assert_eq!(room.refuse(event("other")), taken);
}

#[test]
fn a_place_is_taken_from_the_author_or_the_running_turn() {
    let mut room = Room::open();
    room.accept(outside("turn_start", json!({})));
    room.accept(outside("warning", json!({})));
    let mut record = Record::of(RecordOrigin::Outside, "warning", object(json!({})));
    record.run_id = Some("r-1".to_owned());
    record.turn_id = Some("their-turn".to_owned());
    record.thread_id = Some("th-1".to_owned());
    room.accept(SessionCommand::Record(Box::new(record)));
    let warnings = room.of_type("warning");
    assert_eq!(warnings[0].place.turn_id.as_deref(), Some("t-1"));
    assert_eq!(warnings[1].place.turn_id.as_deref(), Some("their-turn"));
    assert_eq!(warnings[1].place.run_id.as_deref(), Some("r-1"));
    assert_eq!((warnings[0].place.turn, warnings[1].place.turn), (Some(1), Some(1)));
}

#[test]
fn results_agree_with_themselves() {
    let mut room = Room::open();
    let cases = [
        (json!({}), false),
        (json!({"status": "ok", "error": "none"}), false),
        (json!({"status": "error"}), true),
        (json!({"error": true}), true),
        (json!({"success": false, "status": "ok"}), true),
        (json!({"status": 5}), false),
    ];
    for (data, failed) in cases {
        room.accept(outside("tool_result", data));
        let data = &room.of_type("tool_result").pop().unwrap().data;
        assert_eq!(data["status"], if failed { "error" } else { "ok" });
        assert_eq!((&data["error"], &data["success"]), (&json!(failed), &json!(!failed)));
    }
}

#[test]
fn nodes_hang_where_they_belong() {
    let mut room = Room::open();
    room.accept(outside("turn_start", json!({})));
    room.accept(outside("tool_call", json!({"call_id": "c", "tool": "shell"})));
    room.accept(outside("tool_result", json!({"call_id": "c", "result": "ok"})));
    room.accept(outside("turn_end", json!({})));
    room.accept(input("and then"));
    let nodes = room.of_type("ctree_node");
    let parents: Vec<(&Value, &Value)> = nodes
        .iter()
        .map(|event| (&event.data["node"]["kind"], &event.data["node"]["parent_id"]))
        .collect();
    let expected = [
        ("root", json!(null)),
        ("turn", json!("node-0")),
        ("tool_call", json!("node-1")),
        ("tool_result", json!("node-2")),
        ("turn", json!("node-0")),
        ("message", json!("node-4")),
    ];
    let expected: Vec<(Value, Value)> =
        expected.into_iter().map(|(kind, parent)| (json!(kind), parent)).collect();
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(parents, expected);
}

#[test]
fn a_task_event_says_where_its_task_is_in_the_tree() {
    let mut room = Room::open();
    let task = |status: &str| {
        SessionCommand::ReportTask(TaskEventBody {
            kind: "task.updated".to_owned(),
            task_id: "TASK-001".to_owned(),
            status: status.to_owned(),
            description: Some("Ship".to_owned()),
            ..TaskEventBody::default()
        })
    };
    room.accept(task("running"));
    assert_eq!(room.types(3), ["task_event", "ctree_node", "ctree_snapshot"]);
    let data = room.of_type("task_event")[0].data.clone();
    assert_eq!(data["ctree_node_id"], "node-1");
    assert_eq!(data["ctree_snapshot"]["node_count"], 1);
    assert_eq!(data["ctree_snapshot"]["snapshot"]["node_count"], 1);
    assert_eq!(data["ctree_snapshot"]["last_node"]["id"], "node-1");
    let before = room.last_seq();
    room.accept(task("completed"));
    assert_eq!(room.types(before), ["task_event", "ctree_snapshot"], "no node is made");
    let child = json!({"task_id": 7, "parent_task_id": "TASK-001", "status": "running",
        "ctree_node_id": "forged"});
    room.accept(outside("task_event", child));
    let data = &room.of_type("task_event")[2].data;
    assert_eq!((&data["task_id"], &data["ctree_node_id"]), (&json!("7"), &json!("node-2")));
    room.accept(task("completed"));
    let data = &room.of_type("task_event")[3].data;
    assert_eq!(data["ctree_snapshot"]["node_count"], 2, "its part of the tree has grown");
    assert_eq!(data["ctree_snapshot"]["last_node"]["id"], "node-2");
}

#[test]
fn a_body_is_neither_too_large_nor_too_deep() {
    let mut room = Room::open();
    let large = json!({"text": "x".repeat(EVENT_BYTES_MAX)});
    assert!(matches!(
        room.refuse(outside("assistant_message", large)),
        SessionRejection::TooLong { field: "data", .. }
    ));
    let nested = |levels: usize| {
        let mut value = json!(1);
        for _ in 0..levels {
            value = json!([value]);
        }
        json!({"deep": value})
    };
    let too_deep = SessionRejection::TooDeep { limit: EVENT_DEPTH_MAX };
    assert_eq!(room.refuse(outside("x", nested(EVENT_DEPTH_MAX))), too_deep);
    room.accept(outside("x", nested(EVENT_DEPTH_MAX - 1)));
    let stored = serde_json::to_string(&room.log[2].event).unwrap();
    let read: crate::session::SessionEvent = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, room.log[2].event, "what was accepted can be read back");
    let envelope = serde_json::to_string(&room.envelopes()[2]).unwrap();
    assert!(serde_json::from_str::<Value>(&envelope).is_ok());
}

#[test]
fn an_outside_message_never_waits_in_our_queue() {
    let mut room = Room::open();
    room.accept(outside("user_message", json!({"text": "hi", "queued": true})));
    assert_eq!(room.session().queue, []);
    assert_eq!(room.types(3), ["user_message", "ctree_node", "ctree_snapshot"]);
}
