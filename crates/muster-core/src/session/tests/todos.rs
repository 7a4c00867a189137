//! The todo lists: two ways to write one state.

use serde_json::json;

use super::{
    Room, SessionCommand, SessionRejection, WriteTodos, key, outside, titles, write,
    write_expecting,
};
use crate::{
    session::{
        SessionId,
        receipt::TodoSource,
        view::{self, TodoHistoryPage},
    },
    todo::{self, Malformed, Op, ScopeKey},
};

fn history(room: &Room, scope: &str, limit: u32, before: Option<i64>) -> view::TodoHistory {
    let scope = ScopeKey::of(scope).unwrap();
    let page = TodoHistoryPage { scope, limit, before };
    view::history(&room.docs, &SessionId::from_bits(1), &page).unwrap()
}

#[test]
fn a_written_list_is_published_with_the_next_revision() {
    let mut room = Room::open();
    let first = room.accept(write(&[" a ", "b"])).receipt.todo.unwrap();
    assert_eq!((first.revision, first.titles.unwrap()), (1, vec!["a".to_owned(), "b".to_owned()]));
    room.accept(write(&["a"]));
    room.accept(write(&["a", "b"]));
    assert_eq!(view::todo_read(&room.docs).unwrap().items, ["a", "b"]);
    assert_eq!(view::todo_read(&room.docs).unwrap().revision, 3);
    let results = room.of_type("tool_result");
    assert_eq!(results.len(), 3, "equal lists are not merged");
    let data = &results[0].data;
    assert_eq!((&data["call_id"], &data["tool"]), (&json!("todo:main:1"), &json!("todo_write")));
    assert_eq!(
        (&data["status"], &data["error"], &data["success"]),
        (&json!("ok"), &json!(false), &json!(true))
    );
    assert_eq!(data["todo"]["op"], "replace");
    let entries = history(&room, "main", 50, None).entries;
    let revisions: Vec<i64> = entries.iter().map(|entry| entry.revision).collect();
    assert_eq!(revisions, [3, 2, 1]);
    assert!(
        entries
            .iter()
            .all(|entry| entry.source == TodoSource::TodoWrite && entry.op == Op::Replace)
    );
    assert_eq!(entries[1].items.len(), 1);
}

#[test]
fn a_list_that_was_never_written_reads_empty() {
    let room = Room::open();
    let list = view::todo_read(&room.docs).unwrap();
    assert_eq!((list.items.len(), list.revision), (0, 0));
    assert_eq!(history(&room, "main", 50, None).entries, []);
    assert_eq!(view::snapshots(&room.docs).unwrap().lists, []);
    let unknown = view::todos(&room.docs, &SessionId::from_bits(1), ScopeKey::of("x").as_ref());
    assert!(unknown.is_err());
}

#[test]
fn a_stale_write_is_refused_with_the_list_as_it_is() {
    let mut room = Room::open();
    room.accept(write_expecting(&["a"], Some(0)));
    let stale = |expected| SessionRejection::RevisionMismatch {
        expected,
        actual: 1,
        items: vec!["a".to_owned()],
    };
    for expected in [0, 2, u64::MAX] {
        assert_eq!(room.refuse(write_expecting(&["b"], Some(expected))), stale(expected));
    }
    room.accept(write_expecting(&["b"], Some(1)));
}

#[test]
fn the_key_is_looked_at_before_the_revision() {
    let mut room = Room::open();
    let keyed = |digest: &str| {
        SessionCommand::WriteTodos(WriteTodos {
            list: titles(&["a"]),
            expected_revision: Some(0),
            key: key("k", digest),
        })
    };
    let first = room.accept(keyed("d")).receipt;
    room.accept(write(&["b"]));
    let again = room.accept(keyed("d"));
    assert_eq!((again.receipt, again.replayed), (first, true));
    assert_eq!(room.refuse(keyed("e")), SessionRejection::KeyTaken { key: "k".to_owned() });
    assert_eq!(view::todo_read(&room.docs).unwrap().items, ["b"]);
}

#[test]
fn what_was_ticked_stays_ticked() {
    let mut room = Room::open();
    room.accept(write(&["Ship it", "Test it"]));
    let item = json!({"id": "x", "title": "Ship  IT", "status": "done"});
    let todo = json!({"op": "replace", "items": [item, {"title": "Test it"}]});
    room.accept(outside("tool_result", json!({"todo": todo})));
    assert_eq!(room.session().todos, crate::session::entity::Tally { done: 1, total: 2 });
    room.accept(write(&["new", "ship it"]));
    let id = SessionId::from_bits(1);
    let scope = view::todos(&room.docs, &id, None).unwrap().scopes.remove(0);
    assert_eq!(scope.items[1].status, todo::TodoStatus::Done);
    assert_eq!((scope.items[1].id.as_str(), scope.revision), ("x", 3));
    assert_eq!(scope.counts.todo, 1);
}

#[test]
fn once_an_outside_producer_numbers_its_updates_those_without_a_number_change_nothing() {
    let mut room = Room::open();
    let replace = |title: &str, revision: Option<i64>| {
        let items = json!([{"title": title}]);
        let todo = json!({"op": "replace", "items": items, "revision": revision});
        outside("tool_result", json!({"call_id": "c", "todo": todo}))
    };
    room.accept(replace("ours to number", None));
    room.accept(replace("numbered", Some(7)));
    let done = room.accept(replace("late", None));
    let todo = done.receipt.todo.unwrap();
    assert_eq!((todo.scope_key.as_str(), todo.revision, todo.applied), ("main", 7, false));
    assert_eq!(view::todo_read(&room.docs).unwrap().items, ["numbered"]);
    let recorded = &room.of_type("tool_result").pop().unwrap().data;
    assert_eq!(recorded.get("todo"), None, "readers see no update");
    assert_eq!(recorded["unapplied_todo"]["items"], json!([{"title": "late"}]));
    assert_eq!(history(&room, "main", 9, None).entries.len(), 2);
    let array = outside("tool_call", json!({"call_id": "c", "todo": [{"title": "bare"}]}));
    assert!(!room.accept(array).receipt.todo.unwrap().applied);
    let elsewhere = json!({"op": "replace", "items": [{"title": "x"}], "scope": "lane"});
    let elsewhere = room.accept(outside("custom.type", json!({"todo": elsewhere})));
    assert!(elsewhere.receipt.todo.unwrap().applied, "other lists are not concerned");
    room.accept(write(&["by the tool"]));
    assert_eq!(view::todo_read(&room.docs).unwrap().revision, 8);
    assert!(room.accept(replace("next", Some(9))).receipt.todo.unwrap().applied);
    assert_eq!(view::todo_read(&room.docs).unwrap().items, ["next"]);
}

#[test]
fn updates_from_outside_get_a_revision_or_bring_a_newer_one() {
    let mut room = Room::open();
    let update = |revision: serde_json::Value| {
        let todo = json!({"op": "upsert", "title": "t", "rev": revision, "scope": "Lane 1"});
        outside("custom.type", json!({"todo": todo}))
    };
    let receipt = |room: &mut Room, revision| {
        let todo = room.accept(update(revision)).receipt.todo.unwrap();
        (todo.scope_key, todo.revision)
    };
    assert_eq!(receipt(&mut room, json!(null)), ("Lane_1".to_owned(), 1));
    assert_eq!(receipt(&mut room, json!(null)), ("Lane_1".to_owned(), 2));
    assert_eq!(receipt(&mut room, json!("10")), ("Lane_1".to_owned(), 10));
    let scope = ScopeKey::of("Lane_1").unwrap();
    let stale = todo::TodoRejection::RevisionNotNewer { scope, given: 10, current: 10 };
    assert_eq!(room.refuse(update(json!(10))), SessionRejection::Todo(stale));
    assert_eq!(receipt(&mut room, json!(i64::MAX)), ("Lane_1".to_owned(), i64::MAX));
    let sent = &room.of_type("custom.type")[2].data["todo"];
    assert_eq!(sent["scopeKey"], "Lane_1");
    assert_eq!(sent.as_object().unwrap().get("rev"), None, "no aliases");
    let page = history(&room, "Lane_1", 2, Some(10));
    let revisions: Vec<i64> = page.entries.iter().map(|entry| entry.revision).collect();
    assert_eq!((revisions, page.has_more), (vec![2, 1], false));
    assert!(history(&room, "Lane_1", 1, Some(10)).has_more);
}

#[test]
fn a_malformed_update_is_refused_whole() {
    let mut room = Room::open();
    for (todo, expected) in [
        (json!("x"), Malformed::NeitherArrayNorObject),
        (json!({}), Malformed::NoOperation),
        (json!({"op": "explode"}), Malformed::UnknownOperation("explode".to_owned())),
        (json!({"op": "replace"}), Malformed::NoItems),
    ] {
        let refused = room.refuse(outside("tool_result", json!({"todo": todo})));
        assert_eq!(refused, SessionRejection::MalformedTodo(expected));
    }
    room.accept(outside("tool_result", json!({"todo": null})));
    assert_eq!(room.of_type("tool_result")[0].data.get("todo"), None, "no nulls");
    room.accept(outside("tool_call", json!({"todo": []})));
    assert_eq!(room.of_type("tool_call")[0].data["todo"]["op"], "clear");
}

#[test]
fn every_known_list_is_in_the_snapshots_in_order() {
    let mut room = Room::open();
    let item = json!([{"title": "t"}]);
    for lane in ["b", "a"] {
        room.accept(outside("x", json!({"lane_id": lane, "lane_label": "L", "todo": item})));
    }
    room.accept(write(&["m"]));
    room.accept(outside("x", json!({"task_id": 7, "todo": {"op": "clear"}})));
    let snapshots = view::snapshots(&room.docs).unwrap();
    let keys: Vec<String> =
        snapshots.lists.iter().map(|list| json!(list)["todo"]["scopeKey"].to_string()).collect();
    assert_eq!(keys, ["\"main\"", "\"b\"", "\"a\"", "\"7\""]);
    assert_eq!(snapshots.as_of_seq, room.last_seq());
    let sent = json!(snapshots.lists[3]);
    assert_eq!(sent["call_id"], "todo:snapshot:7:1");
    assert_eq!((&sent["todo"]["op"], sent.get("tool")), (&json!("clear"), None));
}

#[test]
fn a_list_has_a_node_and_the_one_before_is_superseded() {
    let mut room = Room::open();
    room.accept(write(&["a", "b"]));
    room.accept(write(&["a"]));
    let kinds: Vec<&serde_json::Value> =
        room.of_type("ctree_node").iter().map(|event| &event.data["node"]["kind"]).collect();
    assert_eq!(kinds, ["root", "tool_result", "todo", "tool_result", "todo"]);
    let nodes = room.of_type("ctree_node");
    assert_eq!(nodes[2].data["node"]["label"], "main r1: 0/2 done");
    assert_eq!(nodes[2].data["node"]["parent_id"], nodes[1].data["node"]["id"]);
    let old = crate::ctree::NodeId::numbered(2);
    let old = crate::session::lookup::node(&room.docs, &old).unwrap().unwrap();
    assert_eq!(old.status, Some(crate::ctree::Status::Superseded));
}
