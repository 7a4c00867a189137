//! Arbitrary JSON: nothing panics, and the result is sound.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::{Kept, TodoItem, TodoReader};
use crate::{
    text,
    todo::{ConnectionStart, Fallback, Incoming, read},
};

/// Words that the grammar knows, and a few that it must not trip over.
const WORDS: [&str; 52] = [
    "todo",
    "op",
    "operation",
    "type",
    "replace",
    "snapshot",
    "clear",
    "patch",
    "update",
    "upsert",
    "add",
    "delete",
    "remove",
    "revision",
    "rev",
    "seq",
    "version",
    "scopeKey",
    "scope_key",
    "scope",
    "scopeLabel",
    "label",
    "items",
    "todos",
    "item",
    "position",
    "patches",
    "ids",
    "id",
    "todo_id",
    "todoId",
    "title",
    "content",
    "text",
    "status",
    "state",
    "raw_status",
    "priority",
    "metadata",
    "tool",
    "tool_name",
    "name",
    "call",
    "arguments",
    "result",
    "output",
    "lane_id",
    "lane_label",
    "done",
    " ",
    "\u{1c}\u{1b}",
    "\"",
];

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned)
}

fn float() -> impl Strategy<Value = Value> {
    any::<f64>().prop_map(|float| Number::from_f64(float).map_or(Value::Null, Value::from))
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        3 => (-3..9_i64).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => float(),
        6 => word().prop_map(Value::from),
        1 => ".{0,80}".prop_map(Value::from),
        1 => Just(json!("[{\"title\":\"nested\"}]")),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            3 => prop::collection::vec((word(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// An event that is likely to carry an update.
fn event() -> impl Strategy<Value = Value> {
    let kinds = vec!["tool_call", "tool_result", "tool.result", "stream.gap", "task_event", "?"];
    let op = prop::sample::select(vec!["replace", "clear", "patch", "upsert", "delete"]);
    let keys = ["items", "item", "patches", "ids"];
    let parts = prop::collection::vec(any_json(), keys.len());
    let envelope =
        (op, prop::option::of(-2..9_i64), parts).prop_map(move |(op, revision, parts)| {
            let mut todo = json!({"op": op, "revision": revision});
            for (key, part) in keys.iter().zip(parts) {
                todo[*key] = part;
            }
            json!({"todo": todo})
        });
    let body = prop_oneof![1 => any_json(), 2 => envelope];
    (prop::sample::select(kinds), body, prop::option::of(0..20_u64))
        .prop_map(|(kind, body, seq)| json!({"type": kind, "data": body, "seq": seq}))
}

/// Invariants of every list: ids unique and not blank, titles trimmed and not blank.
fn assert_sound(items: &[TodoItem]) {
    let ids: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids.len(), items.len(), "{items:?}");
    for item in items {
        assert!(!text::is_blank(item.id.as_str()), "{item:?}");
        assert!(!item.title.is_empty() && text::trim(&item.title) == item.title, "{item:?}");
        assert_ne!(item.raw_status.as_deref(), Some(item.status.as_str()), "{item:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn reading_any_json_never_panics(kind in word(), envelope in any_json()) {
        if let Some(event) = Incoming::of(&envelope) {
            TodoReader::new(Fallback::ToolPayload).handle(&event);
        }
        if let Some(body) = envelope.as_object() {
            for fallback in [Fallback::Never, Fallback::ToolPayload] {
                drop(read(&kind, body, fallback));
            }
        }
    }

    #[test]
    fn lists_stay_sound_whatever_comes(events in prop::collection::vec(event(), 1..12)) {
        let mut reader = TodoReader::new(Fallback::ToolPayload);
        let mut kept = Kept::main();
        for event in &events {
            let incoming = Incoming::of(event).unwrap();
            reader.handle(&incoming);
            reader.scopes().iter().for_each(|scope| assert_sound(&scope.items));
            reader.reconnected(ConnectionStart::WithGap);
            let Some(body) = incoming.body else { continue };
            let Ok(Some(update)) = read(incoming.kind, body, Fallback::Never) else { continue };
            let revision = kept.scope.revision;
            if let Ok(sent) = kept.scope.accept(&update) {
                kept.follow(sent);
                prop_assert!(kept.scope.revision > revision);
                assert_sound(&kept.scope.items);
            }
        }
    }
}
