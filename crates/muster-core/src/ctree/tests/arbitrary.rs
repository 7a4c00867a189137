//! Arbitrary JSON: nothing panics, and the tree stays a tree with the right hash.

use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use super::{Wood, moment, plain_hash};
use crate::{
    ctree::{ContextTree, NodeId, Occurrence, merge::CtreeReader, plant},
    todo::Incoming,
};

const TYPES: [&str; 14] = [
    "session.meta",
    "turn_start",
    "turn_end",
    "user_message",
    "assistant_message",
    "tool_call",
    "tool_result",
    "task_event",
    "handoff",
    "evidence",
    "ctree_node",
    "ctree_snapshot",
    "warning",
    "",
];

/// Names and words that the reader recognizes.
const WORDS: [&str; 44] = [
    "id",
    "seq",
    "type",
    "data",
    "payload",
    "title",
    "turn",
    "status",
    "state",
    "failed",
    "interrupted",
    "completed",
    "text",
    "queued",
    "call_id",
    "tool",
    "call",
    "name",
    "action",
    "arguments",
    "result",
    "message",
    "error",
    "success",
    "artifact_ref",
    "task_id",
    "parent_task_id",
    "description",
    "kind",
    "supports",
    "summary",
    "checks",
    "artifacts",
    "node-1",
    "node",
    "snapshot",
    "compiler",
    "collapse",
    "runner",
    "last_node",
    "ctree_snapshot",
    "ctree_node_id",
    "node_count",
    "score",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
        1 => Just("\u{1c}\u{0}\"".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = Value> {
    let float = |float: f64| Number::from_f64(float).map_or(Value::Null, Value::Number);
    prop_oneof![
        6 => (0..4_u64).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(float),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        4 => number(),
        4 => word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((word(), inner), 0..6).prop_map(|fields| fields.into_iter().collect())
}

fn event_type() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TYPES.to_vec())
}

fn turn() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0..4_u64)
}

proptest! {
    #[test]
    fn planting_any_json_leaves_a_tree(
        events in prop::collection::vec((event_type(), object(json()), turn()), 0..12),
    ) {
        let mut wood = Wood::planted();
        for (seq, (event_type, body, turn)) in (2..).zip(events) {
            let occurrence = Occurrence::read(event_type, &body);
            let before = wood.root().size;
            let planted = plant(&mut wood, occurrence, None, &moment(seq, turn)).unwrap();
            prop_assert_eq!(wood.root().size, before + planted.made.len() as u64);
        }
        let tree = ContextTree::of(wood.nodes.values().cloned()).unwrap();
        prop_assert_eq!(tree.root().hash.to_string(), plain_hash(&wood, &NodeId::root()));
        prop_assert!(wood.nodes.values().all(|node| node.label.chars().count() <= 120));
        let lines = wood.nodes.values().all(|node| !node.label.contains(['\n', '\u{1c}', '\t']));
        prop_assert!(lines, "a label is one line");
    }

    #[test]
    fn merging_any_json_keeps_a_reader_sound(
        steps in prop::collection::vec((json(), event_type(), any::<bool>()), 0..12),
    ) {
        let mut reader = CtreeReader::default();
        for (mut step, event_type, is_event) in steps {
            if let Some(envelope) = step.as_object_mut().filter(|_| is_event) {
                envelope.insert("type".to_owned(), Value::from(event_type));
            }
            match Incoming::of(&step) {
                Some(event) if is_event => reader.handle(&event),
                _ => reader.hydrate(&step),
            }
        }
        let summary = reader.summary().to_json();
        prop_assert_eq!(summary.as_object().map(Map::len), Some(5));
        let line = reader.summary().line().map(|line| line.to_string());
        prop_assert!(line.is_none_or(|line| line.len() > 8 && !line.contains(char::is_control)));
        for row in reader.tasks() {
            prop_assert!(!row.id.is_empty() && !row.status.is_empty());
        }
    }
}
