//! The session's own text: compiled from a part of the tree, equal to that of the whole tree.

use proptest::prelude::*;
use serde_json::json;

use super::{Room, SessionOrder, input, order, outside};
use crate::{
    Aggregate as _, ListQuery,
    ctree::{ContextTree, NodeId, TreeNode, tree::Compiled},
    session::{SessionAggregate, SessionKey, compile, lookup, view},
};

/// The text as the whole tree gives it.
fn whole(room: &Room, max_chars: u64) -> Compiled {
    let all = room.docs.list(&ListQuery::of("node")).unwrap();
    let nodes = all.iter().filter_map(|document| document.as_node());
    let tree = ContextTree::of(nodes.map(|stored| stored.node.clone())).unwrap();
    let text = |node: &TreeNode| {
        let stored = lookup::stored_node(&room.docs, &node.id)?.unwrap();
        lookup::text(&room.docs, stored)
    };
    tree.collapse(max_chars).compile(text).unwrap()
}

fn agree(room: &Room, max_chars: u64) {
    let session = room.session();
    let part = compile::compile(&room.docs, session, max_chars).unwrap();
    let whole = whole(room, max_chars);
    assert_eq!(part.text, whole.text, "{max_chars} characters");
    assert_eq!(part.compiler, whole.compiler);
    assert_eq!(part.collapse, whole.collapse);
    assert_eq!((part.used_chars, part.truncated), (whole.used_chars, whole.truncated));
    assert!(part.text.chars().count() as u64 <= max_chars);
}

#[derive(Clone, Debug)]
enum Step {
    Say(usize),
    Call(u8),
    Result(u8, usize),
    Task(u8, bool),
    Turn(u8),
    Prove(u8),
    Pin(u8, bool),
    Todo(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![0..30_usize, 400..700_usize].prop_map(Step::Say),
        2 => (0..6_u8).prop_map(Step::Call),
        2 => (0..6_u8, 0..40_usize).prop_map(|(call, chars)| Step::Result(call, chars)),
        1 => (0..3_u8, any::<bool>()).prop_map(|(task, done)| Step::Task(task, done)),
        2 => (1..12_u8).prop_map(Step::Turn),
        2 => (0..40_u8).prop_map(Step::Prove),
        1 => (0..40_u8, any::<bool>()).prop_map(|(node, pinned)| Step::Pin(node, pinned)),
        1 => (0..3_u8).prop_map(Step::Todo),
    ]
}

fn take(room: &mut Room, step: &Step) {
    let command = match step {
        Step::Say(chars) => outside("assistant_message", json!({"text": "ä".repeat(*chars)})),
        Step::Call(id) => outside("tool_call", json!({"call_id": id, "tool": "shell"})),
        Step::Result(id, chars) => {
            outside("tool_result", json!({"call_id": id, "result": "r".repeat(*chars)}))
        }
        Step::Task(id, done) => {
            let status = if *done { "completed" } else { "running" };
            outside("task_event", json!({"task_id": id, "status": status}))
        }
        Step::Turn(count) => {
            for _ in 0..*count {
                room.accept(input("next"));
            }
            outside("turn_start", json!({}))
        }
        Step::Prove(node) => {
            let supports = NodeId::numbered(u64::from(*node)).to_string();
            outside("evidence", json!({"summary": "proof", "supports": supports}))
        }
        Step::Pin(node, pinned) => {
            let node = NodeId::numbered(u64::from(*node));
            if lookup::node(&room.docs, &node).unwrap().is_none() {
                return;
            }
            order(SessionOrder::Pin { node, pinned: *pinned })
        }
        Step::Todo(scope) => {
            let todo = json!({"op": "upsert", "title": "t", "scope": scope});
            outside("tool_result", json!({"todo": todo}))
        }
    };
    room.accept(command);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_part_of_the_tree_gives_the_text_of_the_whole(
        steps in prop::collection::vec(step(), 1..60),
        budgets in prop::collection::vec(1..4_000_u64, 6),
    ) {
        let mut room = Room::open();
        for step in &steps {
            take(&mut room, step);
        }
        for max_chars in budgets.into_iter().chain([1, 9, 100_000]) {
            agree(&room, max_chars);
        }
    }
}

#[test]
fn more_nodes_than_are_looked_at_first() {
    let mut room = Room::open();
    for number in 0..40 {
        room.accept(input(&format!("question {number}")));
    }
    room.accept(outside("turn_start", json!({})));
    for number in 0..600 {
        let call = json!({"call_id": number, "tool": "t"});
        room.accept(outside("tool_call", call));
        if number % 2 == 0 {
            room.accept(outside("tool_result", json!({"call_id": number, "result": "ok"})));
        }
    }
    for max_chars in [50, 500, 3_000, 9_000, 14_000, 20_000, 30_000] {
        agree(&room, max_chars);
    }
}

#[test]
fn the_summary_is_complete_at_any_moment() {
    let mut room = Room::open();
    for step in 0..3 {
        let summary = json!(view::ctrees(&room.docs).unwrap());
        for section in ["snapshot", "compiler", "collapse", "runner", "last_node"] {
            assert!(summary[section].is_object(), "{section} in step {step}");
        }
        assert_eq!(summary["compiler"]["z1"], summary["snapshot"]["node_hash"]);
        let newest = &room.of_type("ctree_node").pop().unwrap().data;
        assert_eq!(summary["snapshot"]["node_count"], newest["snapshot"]["node_count"]);
        assert_eq!(summary["last_node"]["id"], newest["node"]["id"]);
        assert_eq!(summary["seq"], room.last_seq());
        if step == 0 {
            room.accept(outside("turn_start", json!({})));
        }
        room.accept(outside("assistant_message", json!({"text": "x".repeat(40_000)})));
    }
}

#[test]
fn cc_5_a_text_is_made_once_and_made_again_after_a_change() {
    let mut room = Room::open();
    room.accept(input("hello"));
    let kept = |room: &Room| room.session().tree.text.map(|text| (text.z2, text.z3, text.dropped));
    let made = compile::compile(&room.docs, room.session(), 32_000).unwrap();
    assert_eq!(kept(&room), Some((made.compiler.z2, made.compiler.z3, 0)));
    room.accept(outside("assistant_delta", json!({"text": "b"})));
    assert!(kept(&room).is_some(), "the tree is as it was");
    room.accept(outside("assistant_message", json!({"text": "bye"})));
    let again = kept(&room);
    assert_ne!(again, Some((made.compiler.z2, made.compiler.z3, 0)), "between turns at once");
    room.accept(outside("turn_start", json!({})));
    room.accept(outside("assistant_message", json!({"text": "in a turn"})));
    assert_eq!(kept(&room), None, "a turn makes it at its end");
    room.accept(order(SessionOrder::Pin { node: NodeId::numbered(1), pinned: true }));
    assert_eq!(kept(&room), None, "a pin changes what may be left out");
    room.accept(outside("turn_end", json!({})));
    assert!(kept(&room).is_some());
}

#[test]
fn a_session_that_was_stored_without_its_text_is_read() {
    let mut room = Room::open();
    room.accept(input("hello"));
    let stored =
        SessionAggregate::encode(room.docs.get(&SessionKey::Session).unwrap().unwrap()).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let tree = value["tree"].as_object_mut().unwrap();
    assert!(tree.remove("text").is_some(), "{stored}");
    let read = SessionAggregate::decode(&SessionKey::Session, &value.to_string()).unwrap();
    assert_eq!(read.as_session().unwrap().tree.text, None);
}
