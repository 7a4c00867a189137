//! What events plant, and where (CT-3, CT-5).

use serde_json::json;

use super::{Wood, id, moment, plain_hash, todo};
use crate::ctree::{
    Anchor, Kind, NodeId, Occurrence, Role, Status, TakenInput, plant, task_snapshot,
};
use crate::todo::TodoStatus::{Canceled, Done, Todo};

/// A session with a finished turn and one under way.
fn session() -> Wood {
    let mut wood = Wood::planted();
    wood.event(2, None, ("turn_start", json!({"turn": 1})));
    wood.event(4, Some(1), ("user_message", json!({"text": "Please fix\n the  parser"})));
    let call = json!({"name": "search", "arguments": {"q": "parser", "a": [1]}});
    wood.event(6, Some(1), ("tool_call", json!({"call_id": "c1", "tool": "search", "call": call})));
    let result = json!({"call_id": "c1", "tool": "search", "status": "ok", "result": "2 hits"});
    wood.event(8, Some(1), ("tool_result", result));
    wood.event(10, Some(1), ("turn_end", json!({"turn": 1, "status": "completed"})));
    wood.event(11, None, ("turn_start", json!({"turn": 2})));
    wood
}

#[test]
fn pf_20_results_hang_under_calls_calls_under_turns_turns_under_the_root() {
    let wood = session();
    assert_eq!(wood.line_of(&id(4)), ["root", "turn", "tool_call", "tool_result"]);
    assert_eq!(wood.line_of(&id(5)), ["root", "turn"]);
    let statuses = [1, 2, 3, 4, 5].map(|number| wood.get(&id(number)).status);
    let done = Some(Status::Done);
    assert_eq!(statuses, [done, None, done, done, Some(Status::Open)]);
    assert_eq!(wood.root().size, 6);
    assert_eq!(wood.root().hash.to_string(), plain_hash(&wood, &NodeId::root()));
}

#[test]
fn labels_and_bodies_follow_the_table() {
    let mut wood = session();
    let texts = |wood: &Wood, number| {
        let node = wood.get(&id(number));
        (node.label.clone(), wood.body(&id(number)).to_owned())
    };
    let pair = |label: &str, body: &str| (label.to_owned(), body.to_owned());
    assert_eq!(texts(&wood, 1), pair("Turn 1", ""));
    assert_eq!(texts(&wood, 2), pair("Please fix the parser", "Please fix\n the  parser"));
    assert_eq!(texts(&wood, 3), pair("search", "{\"a\":[1],\"q\":\"parser\"}"));
    assert_eq!(texts(&wood, 4), pair("2 hits", "2 hits"));

    let call = json!({"call_id": "c2", "tool": "edit", "action": "insert\nline"});
    wood.event(12, Some(2), ("tool_call", call));
    assert_eq!(texts(&wood, 6), pair("edit insert line", ""));
    let result = json!({"call_id": "c2", "error": true, "result": {"b": 1, "a": "x"}});
    wood.event(13, Some(2), ("tool_result", result));
    assert_eq!(texts(&wood, 7), pair("{\"a\":\"x\",\"b\":1}", "{\"a\":\"x\",\"b\":1}"));
    assert_eq!(wood.get(&id(6)).status, Some(Status::Failed));
    let result = json!({"call_id": "other", "result": null, "message": "timed out"});
    wood.event(14, Some(2), ("tool_result", result));
    assert_eq!(texts(&wood, 8), pair("timed out", "timed out"));
    assert_eq!(wood.line_of(&id(8)), ["root", "turn", "tool_result"]);

    wood.event(15, Some(2), ("handoff", json!({"from": "a", "to": "b", "message": "your turn"})));
    assert_eq!(texts(&wood, 9), pair("your turn", "your turn"));
    let proof = json!({"summary": "tests pass", "checks": ["unit", {"b": 1, "a": 2}],
        "supports": "node-3", "artifacts": ["artifact://log"]});
    wood.event(16, Some(2), ("evidence", proof));
    assert_eq!(texts(&wood, 10), pair("tests pass", "tests pass\nunit\n{\"a\":2,\"b\":1}"));
    assert_eq!(wood.line_of(&id(10)), ["root", "turn", "tool_call", "evidence"]);
    assert_eq!(wood.get(&id(10)).refs, ["node-3", "artifact://log"]);
    assert_eq!(wood.get(&id(3)).cited, 1);
}

#[test]
fn a_label_is_the_first_120_characters_of_one_line() {
    let mut wood = Wood::planted();
    let text = format!(" {}\u{1c}\n end", "é".repeat(119));
    wood.event(2, None, ("user_message", json!({"text": text})));
    assert_eq!(wood.get(&id(1)).label, format!("{} ", "é".repeat(119)));
    assert_eq!(wood.get(&id(1)).turn, None);
    wood.event(3, Some(7), ("assistant_message", json!({"text": "before any turn"})));
    assert_eq!(wood.line_of(&id(2)), ["root", "message"]);
    assert_eq!(wood.get(&id(2)).turn, None, "a turn that never began is none");
}

#[test]
fn the_title_is_the_root_and_its_absence_has_a_word() {
    let mut wood = Wood::planted();
    let before = wood.root().hash;
    let planted = wood.event(2, None, ("session.meta", json!({"model": "m"})));
    assert_eq!((planted.changed.len(), wood.root().hash), (0, before));
    let planted = wood.event(3, None, ("session.meta", json!({"title": " A  plan "})));
    assert_eq!(planted.changed, [NodeId::root()]);
    assert_eq!(wood.root().label, "A plan");
    wood.event(4, None, ("session.meta", json!({"title": null})));
    assert_eq!(wood.root().label, "Session");
}

#[test]
fn turns_end_as_their_status_says() {
    let mut wood = Wood::planted();
    for (turn, word, status) in [
        (1, "completed", Status::Done),
        (2, "failed", Status::Failed),
        (3, "interrupted", Status::Canceled),
    ] {
        wood.event(turn * 10, None, ("turn_start", json!({"turn": turn})));
        let ended = wood.event(
            turn * 10 + 1,
            Some(turn),
            ("turn_end", json!({"turn": turn, "status": word})),
        );
        assert_eq!(ended.changed, [id(turn)]);
        assert!(ended.made.is_empty());
        assert_eq!(wood.get(&id(turn)).status, Some(status));
    }
}

#[test]
fn a_queued_input_hangs_under_the_turn_that_takes_it() {
    let mut wood = session();
    let queued = json!({"text": "and then?", "queued": true});
    assert!(wood.event(20, Some(2), ("user_message", queued)).made.is_empty());
    let taken = vec![TakenInput { seq: 20, text: "and then?".to_owned() }];
    let planted = wood.plant(Occurrence::TurnStarted { turn: 3, taken }, 30, None);
    assert_eq!(planted.made.len(), 2);
    let message = wood.get(&id(7));
    assert_eq!((message.seq, message.turn, message.kind), (20, Some(3), Kind::Message));
    assert_eq!(message.parent_id, Some(id(6)));
}

#[test]
fn a_call_that_is_announced_again_keeps_its_node_until_it_has_a_result() {
    let mut wood = session();
    let call = |progress: u64| json!({"call_id": "c9", "tool": "build", "progress": progress});
    wood.event(20, Some(2), ("tool_call", call(1)));
    let again = wood.event(21, Some(2), ("tool_call", call(2)));
    assert_eq!((again.made.len(), again.node), (0, Some(id(6))));
    wood.event(22, Some(2), ("tool_result", json!({"call_id": "c9", "result": "built"})));
    let next = wood.event(23, Some(2), ("tool_call", call(1)));
    assert_eq!(next.node, Some(id(8)), "a call id that is used again names another call");
    wood.event(24, Some(2), ("tool_result", json!({"call_id": "c9", "result": "again"})));
    assert_eq!(wood.get(&id(9)).parent_id, Some(id(8)));
}

#[test]
fn a_todo_hangs_under_what_carried_it_and_supersedes_the_one_before() {
    let mut wood = session();
    let result = json!({"call_id": "todo:main:1", "tool": "todo_write", "status": "ok"});
    let read = || Occurrence::read("tool_result", result.as_object().unwrap());
    let first =
        plant(&mut wood, read(), Some(todo("main", 1, &[Todo, Done])), &moment(20, Some(2)));
    assert_eq!(first.unwrap().made.len(), 2);
    assert_eq!(wood.line_of(&id(7)), ["root", "turn", "tool_result", "todo"]);
    assert_eq!(wood.get(&id(7)).label, "main r1: 1/2 done");
    assert_eq!(wood.body(&id(7)), "[ ] Item 0\n[x] Item 1");
    assert_eq!(wood.get(&id(7)).status, Some(Status::Open));

    let second =
        plant(&mut wood, None, Some(todo("main", 2, &[Done, Canceled])), &moment(21, Some(2)));
    let second = second.unwrap();
    assert_eq!(second.changed, [id(7)]);
    assert_eq!(wood.line_of(&id(8)), ["root", "turn", "todo"]);
    assert_eq!(wood.get(&id(7)).status, Some(Status::Superseded));
    assert_eq!(wood.get(&id(8)).status, Some(Status::Done));
    plant(&mut wood, None, Some(todo("lane", 1, &[])), &moment(22, Some(2))).unwrap();
    assert_eq!(wood.get(&id(8)).status, Some(Status::Done), "another scope is another list");
    assert_eq!(wood.body(&id(8)), "[x] Item 0\n[-] Item 1");
    assert_eq!(wood.get(&id(9)).status, Some(Status::Done), "nothing is left to do");
    let notice = &second.made[0];
    assert_eq!(notice.snapshot.node_count, 9);
}

#[test]
fn a_task_is_one_node_that_later_events_change() {
    let mut wood = session();
    let spawned = json!({"kind": "subagent_spawned", "task_id": 7, "description": "Compile"});
    let planted = wood.event(20, Some(2), ("task_event", spawned));
    assert_eq!(planted.node, Some(id(6)));
    let child = json!({"kind": "note", "task_id": "8", "parent_task_id": "7"});
    wood.event(21, Some(2), ("task_event", child));
    assert_eq!(wood.line_of(&id(7)), ["root", "turn", "task", "task"]);
    assert_eq!(wood.get(&id(7)).label, "8");
    let (node, before) = task_snapshot(&wood, "7").unwrap().unwrap();
    assert_eq!((node, before.snapshot.node_count), (id(6), 2));
    assert_eq!(before.last_node.id, id(7));

    let failed = json!({"task_id": "7", "status": "Failed", "error": "no disk"});
    let planted = wood.event(22, None, ("task_event", failed));
    assert_eq!((planted.made.len(), planted.changed), (0, vec![id(6)]));
    let task = wood.get(&id(6));
    assert_eq!((task.label.as_str(), task.status), ("Compile", Some(Status::Failed)));
    assert_eq!(wood.body(&id(6)), "no disk");
    let (_, after) = task_snapshot(&wood, "7").unwrap().unwrap();
    assert_ne!(after.snapshot.node_hash, before.snapshot.node_hash);
    let flat = serde_json::to_value(&after).unwrap();
    assert_eq!(flat["node_hash"], flat["snapshot"]["node_hash"]);
    assert_eq!(flat["node_count"], json!(2));
}

#[test]
fn events_that_make_no_node_change_nothing() {
    let mut wood = session();
    let before = wood.nodes.clone();
    for event_type in [
        "assistant_delta",
        "assistant.reasoning.delta",
        "ctree_node",
        "ctree_snapshot",
        "permission_request",
        "usage.update",
        "warning",
        "error",
        "stream.hello",
        "something.else",
    ] {
        let body = json!({"text": "x", "task_id": "t", "node": {"id": "n"}});
        wood.event(20, Some(2), (event_type, body));
    }
    assert_eq!(wood.nodes, before);
}

#[test]
fn notices_count_by_one_and_know_the_score() {
    let mut wood = Wood::planted();
    let taken = vec![TakenInput { seq: 2, text: "hi".to_owned() }];
    let planted = wood.plant(Occurrence::TurnStarted { turn: 1, taken }, 3, None);
    let counts: Vec<u64> = planted.made.iter().map(|notice| notice.snapshot.node_count).collect();
    assert_eq!(counts, [2, 3]);
    let last = serde_json::to_value(&planted.made[1]).unwrap();
    let node = json!({"id": "node-2", "score": 0.5, "parent_id": "node-1", "kind": "message",
        "label": "hi", "turn": 1, "status": null});
    let hash = wood.root().hash.to_string();
    assert_eq!(last, json!({"snapshot": {"node_count": 3, "node_hash": hash}, "node": node}));
    assert_eq!(planted.made[0].node.score.to_string(), "0.75");
    assert_eq!(wood.anchors[&Anchor::NewestTurn], id(1));
}

#[test]
fn a_notice_stays_small_whatever_the_text() {
    for letter in ["x", "🌲", "\u{1}", "\"", "字"] {
        let mut wood = Wood::planted();
        let text = letter.repeat(100_000);
        let planted = wood.plant(Occurrence::Said { role: Role::User, text }, 2, None);
        let json = serde_json::to_string(&planted.made[0]).unwrap();
        assert!(json.len() < 380, "{} bytes for {letter:?}", json.len());
        assert_eq!(wood.get(&id(1)).label.chars().count(), 120);
        assert_eq!(
            planted.made[0].node.label.len() == 120,
            letter == "x" || letter == "🌲" || letter == "字"
        );
    }
}

/// A known hash: it was computed from the rules by a program in another language.
#[test]
fn the_hash_of_a_small_session_is_known() {
    let expected = "228dd835504b1b8ed7bf216f684e5695ebefb7d447931e8cd16ee574d73a5a3f";
    assert_eq!(session().root().hash.to_string(), expected);
}
