//! A reader's summary: single rules, and any order of events against a model that reads in order.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{ctree::merge::CtreeReader, todo::Incoming};

fn event(event_type: &str, seq: u64, body: impl Into<Value>) -> Value {
    let body = body.into();
    json!({"id": format!("ev-{seq}"), "seq": seq, "type": event_type, "data": body})
}

fn snapshot(seq: u64, body: impl Into<Value>) -> Value {
    event("ctree_snapshot", seq, body)
}

fn task(seq: u64, body: impl Into<Value>) -> Value {
    event("task_event", seq, body)
}

fn reader(events: &[Value]) -> CtreeReader {
    let mut reader = CtreeReader::default();
    for event in events {
        reader.handle(&Incoming::of(event).unwrap());
    }
    reader
}

fn summary(events: &[Value]) -> Value {
    reader(events).summary().to_json()
}

fn line(events: &[Value]) -> Option<String> {
    reader(events).summary().line().map(|line| line.to_string())
}

#[test]
fn pf_15_an_older_event_that_comes_later_does_not_overwrite() {
    let newer = snapshot(9, json!({"snapshot": {"node_count": 9}}));
    let older = snapshot(4, json!({"snapshot": {"node_count": 4}}));
    assert_eq!(summary(&[newer, older])["snapshot"], json!({"node_count": 9}));
}

#[test]
fn pf_16_a_missing_key_stays_as_it_was() {
    let both = snapshot(1, json!({"snapshot": {"node_count": 1, "node_hash": "h"}}));
    let count = snapshot(2, json!({"snapshot": {"node_count": 2}}));
    assert_eq!(summary(&[both, count])["snapshot"], json!({"node_count": 2, "node_hash": "h"}));
}

#[test]
fn pf_17_null_clears_a_section_and_leaving_it_out_does_not() {
    let full = snapshot(1, json!({"collapse": {"dropped": 3}}));
    let without = snapshot(2, json!({"runner": {"phase": "chat"}}));
    let null = snapshot(3, json!({"collapse": null}));
    assert_eq!(summary(&[full.clone(), without])["collapse"], json!({"dropped": 3}));
    assert_eq!(summary(&[full, null])["collapse"], Value::Null);
}

#[test]
fn pf_18_data_wins_over_payload() {
    let body = |count: u64| json!({"snapshot": {"node_count": count}});
    let mut event = snapshot(1, body(1));
    event["payload"] = body(2);
    assert_eq!(summary(&[event.clone()]), summary(&[snapshot(1, body(1))]));
    event["data"] = json!("nothing");
    assert_eq!(summary(&[event])["snapshot"], json!({"node_count": 2}));
}

#[test]
fn pf_23_a_flat_task_snapshot_gives_a_line_and_a_task_without_one_shows_the_sessions() {
    let flat = json!({"task_id": "a", "ctree_snapshot": {"node_count": 3, "node_hash": "abc"}});
    let events = [
        snapshot(1, json!({"runner": {"phase": "chat"}})),
        task(2, json!({"task_id": "b", "ctree_snapshot": "none"})),
        task(3, flat),
    ];
    let reader = reader(&events);
    let rows = reader.tasks();
    let footer = |at: usize| reader.footer(&rows[at]).unwrap().to_string();
    assert_eq!((rows[0].id, footer(0).as_str()), ("a", "C-Tree: 3 nodes · hash abc"));
    assert_eq!((rows[1].id, footer(1).as_str()), ("b", "C-Tree: run chat"));
}

#[test]
fn pf_48_the_score_of_an_older_node_is_never_shown_with_a_newer_id() {
    let old = snapshot(1, json!({"last_node": {"id": "a", "score": 0.9}}));
    let new = event("ctree_node", 4, json!({"node": {"id": "b"}}));
    let between = snapshot(3, json!({"last_node": {"score": 0.8}}));
    let after = snapshot(6, json!({"last_node": {"score": 0.7}}));
    for events in [[&old, &new, &between], [&between, &new, &old], [&new, &old, &between]] {
        let events = events.map(Clone::clone);
        assert_eq!(summary(&events)["last_node"], json!({"id": "b"}));
    }
    let late = [after.clone(), old.clone(), new.clone()];
    assert_eq!(line(&late).unwrap(), "C-Tree: last b 0.70");
    // The same node again: updates while it was away are not about it.
    let back = snapshot(8, json!({"last_node": {"id": "a"}}));
    assert_eq!(summary(&[back, after, old, new])["last_node"], json!({"id": "a"}));
}

#[test]
fn an_event_that_is_delivered_again_is_skipped_whatever_it_says() {
    let first = snapshot(3, json!({"runner": {"phase": "first"}}));
    let again = snapshot(3, json!({"runner": {"phase": "again", "status": "x"}}));
    assert_eq!(summary(&[first.clone(), again])["runner"], json!({"phase": "first"}));
    let mut reader = reader(&[first]);
    reader.hydrate(&json!({"runner": {"phase": "body"}, "seq": 3}));
    assert_eq!(reader.summary().to_json()["runner"], json!({"phase": "body"}));
}

#[test]
fn a_task_keeps_what_newer_events_do_not_change() {
    let events = [
        task(1, json!({"taskId": 7, "state": " Running ", "description": "Build", "lane_id": "l"})),
        task(3, json!({"id": "7", "kind": "sub_finished", "ctreeNodeId": "node-4"})),
        task(2, json!({"task_id": "7", "status": "failed", "ctree_node_id": null, "error": "no"})),
        task(4, json!({"status": "running"})),
        task(5, json!({"task_id": true, "status": "running"})),
    ];
    let reader = reader(&events);
    let [row] = reader.tasks()[..] else { panic!("one task") };
    assert_eq!((row.id, row.status, row.node_id), ("7", "completed", Some("node-4")));
    assert_eq!((row.description, row.lane, row.error), (Some("Build"), Some("l"), Some("no")));
    assert!(row.summary.is_empty());
    assert!(reader.footer(&row).is_none());
}

#[test]
fn values_of_another_type_are_left_out_of_the_line() {
    let odd = json!({
        "snapshot": {"node_count": "3", "node_hash": 7},
        "compiler": {"z3": null, "z2": 5, "z1": "abcdefghij"},
        "collapse": {"dropped": 2.5, "policy": ["p"]},
        "runner": {"phase": 1, "status": "idle"},
        "last_node": {"id": 4, "score": 0.5},
    });
    assert_eq!(line(&[snapshot(1, odd)]).unwrap(), "C-Tree: z1 abcdefgh · run idle");
    let odd = json!({"last_node": {"score": 0.5}, "collapse": {"dropped": 4}, "snapshot": {}});
    assert_eq!(line(&[snapshot(1, odd)]).unwrap(), "C-Tree: dropped 4");
    assert_eq!(line(&[snapshot(1, json!({"last_node": {"id": " "}}))]), None);
    let escape = json!({"runner": {"phase": "a\u{1b}[2J"}});
    assert_eq!(line(&[snapshot(1, escape)]).unwrap(), "C-Tree: run a [2J");
}

#[test]
fn a_line_is_cut_from_the_right_part_by_part() {
    let body = json!({"snapshot": {"node_count": 1, "node_hash": "abc"}, "runner": {"phase": "p"}});
    let line = reader(&[snapshot(1, body)]).summary().line().unwrap();
    let width = |text: &str| text.chars().count();
    assert_eq!(line.within(80, width).unwrap(), line.to_string());
    assert_eq!(line.within(25, width).unwrap(), "C-Tree: 1 node · hash abc");
    assert_eq!(line.within(24, width).unwrap(), "C-Tree: 1 node");
    assert_eq!(line.within(13, width), None);
}

/// A small vocabulary, so that updates collide.
fn section(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let value = prop_oneof![4 => (0..3_u64).prop_map(Value::from), 1 => Just(Value::Null)];
    let key = prop::sample::select(keys.to_vec());
    let object = prop::collection::btree_map(key, value, 0..3)
        .prop_map(|keys| keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    prop_oneof![8 => object, 1 => Just(Value::Null), 1 => Just(json!("odd"))]
}

fn last_node() -> impl Strategy<Value = Value> {
    let id = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(|id| Some(json!(id))),
        3 => Just(None),
        1 => Just(Some(Value::Null)),
    ];
    (section(&["score", "kind"]), id).prop_map(|(mut section, id)| {
        if let (Some(object), Some(id)) = (section.as_object_mut(), id) {
            object.insert("id".to_owned(), id);
        }
        section
    })
}

fn sections() -> impl Strategy<Value = Value> {
    let runner = prop::option::of(section(&["phase", "status"]));
    (runner, prop::option::of(last_node())).prop_map(|(runner, last_node)| {
        let named = [("runner", runner), ("last_node", last_node)];
        named.into_iter().filter_map(|(name, section)| Some((name.to_owned(), section?))).collect()
    })
}

/// A body of one of the three types.
fn update() -> impl Strategy<Value = (&'static str, Value)> {
    let node = (last_node(), section(&["node_count", "node_hash"]))
        .prop_map(|(node, snapshot)| ("ctree_node", json!({"node": node, "snapshot": snapshot})));
    let words =
        prop::sample::select(vec![json!({}), json!({"status": "x"}), json!({"kind": "y_failed"})]);
    let node_id = prop::sample::select(vec![
        json!({}),
        json!({"ctree_node_id": null}),
        json!({"ctreeNodeId": "n"}),
    ]);
    let summary = prop::option::of(prop_oneof![sections(), section(&["node_count"])]);
    let task = (1..3_u64, words, node_id, summary).prop_map(|(id, words, node_id, summary)| {
        let mut body = words.as_object().unwrap().clone();
        body.extend(node_id.as_object().unwrap().clone());
        body.insert("task_id".to_owned(), json!(id));
        body.extend(summary.map(|summary| ("ctree_snapshot".to_owned(), summary)));
        ("task_event", Value::Object(body))
    });
    prop_oneof![3 => sections().prop_map(|body| ("ctree_snapshot", body)), 2 => node, 2 => task]
}

/// Everything a reader shows.
fn shown(reader: &CtreeReader) -> Value {
    let tasks = reader.tasks().into_iter().map(|row| {
        let footer = reader.footer(&row).map(|line| line.to_string());
        json!([row.id, row.status, row.node_id, row.summary.to_json(), footer])
    });
    json!([reader.summary().to_json(), tasks.collect::<Vec<_>>()])
}

/// A last node read in order, exactly as CM-5 defines it.
fn follow(section: &mut Map<String, Value>, update: &Value) {
    match update {
        Value::Null => section.clear(),
        Value::Object(update) => {
            match update.get("id") {
                Some(Value::Null) => return section.clear(),
                Some(id) if section.get("id") != Some(id) => section.clear(),
                _ => {}
            }
            for (key, value) in update {
                section.remove(key);
                if !value.is_null() {
                    section.insert(key.clone(), value.clone());
                }
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

proptest! {
    #[test]
    fn any_order_and_any_repetition_give_the_same(
        updates in prop::collection::vec((update(), prop::bool::weighted(0.8)), 1..14),
        order in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let mut numbered = Vec::new();
        let mut unnumbered = Vec::new();
        for (seq, ((event_type, body), has_seq)) in (1..).zip(updates) {
            let mut event = event(event_type, seq, body);
            if has_seq {
                numbered.push(event);
            } else {
                event["seq"] = Value::Null;
                unnumbered.push(event);
            }
        }
        let in_order: Vec<Value> = unnumbered.iter().chain(&numbered).cloned().collect();
        // Each numbered event at random places, some more than once; the others in their order.
        let mut mixed = unnumbered;
        for (event, at) in numbered.iter().chain(&numbered).zip(order) {
            mixed.insert(at.index(mixed.len() + 1), event.clone());
        }
        prop_assert_eq!(shown(&reader(&mixed)), shown(&reader(&in_order)));
    }

    #[test]
    fn a_last_node_read_in_order_follows_the_words(
        updates in prop::collection::vec(last_node(), 1..12),
    ) {
        let mut expected = Map::new();
        let mut reader = CtreeReader::default();
        for (seq, update) in (1..).zip(updates) {
            follow(&mut expected, &update);
            let event = snapshot(seq, json!({"last_node": update}));
            reader.handle(&Incoming::of(&event).unwrap());
            let shown = reader.summary().to_json()["last_node"].take();
            let expected = Some(expected.clone()).filter(|section| !section.is_empty());
            prop_assert_eq!(shown, expected.map_or(Value::Null, Value::Object));
        }
    }
}
