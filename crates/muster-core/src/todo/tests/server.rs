//! The server's side: revisions, the strict form, generated ids, lists written by the tool.

use serde_json::{Value, json};

use super::{Kept, line, update};
use crate::{
    Timestamp,
    todo::{Published, ScopeKey, TitleFault, TodoCounts, TodoRejection, TodoScope, WrittenList},
};

fn titles(entries: &[&str]) -> WrittenList {
    WrittenList::read(&json!(entries)).unwrap()
}

impl Kept {
    fn write(&mut self, entries: &[&str]) -> Published {
        let published = self.scope.write(&titles(entries)).unwrap();
        self.follow(published)
    }
}

#[test]
fn revisions_are_given_or_checked() {
    let mut kept = Kept::main();
    assert!(!kept.scope.is_known());
    assert_eq!(kept.accept(&json!([])).revision, 1);
    assert!(kept.scope.is_known());
    assert_eq!(kept.accept(&json!({"op": "clear", "revision": 10})).revision, 10);
    assert_eq!(kept.write(&["a"]).revision, 11);
    for given in [11, 0, -1] {
        let refused = kept.scope.accept(&update(&json!({"op": "clear", "revision": given})));
        let scope = ScopeKey::main();
        let expected = TodoRejection::RevisionNotNewer { scope, given, current: 11 };
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn the_first_revision_is_above_zero() {
    let scope = TodoScope::unwritten(ScopeKey::of("lane").unwrap(), 1);
    let refused = scope.accept(&update(&json!({"op": "clear", "revision": 0})));
    assert!(matches!(refused, Err(TodoRejection::RevisionNotNewer { given: 0, current: 0, .. })));
}

#[test]
fn after_the_greatest_revision_nothing_follows() {
    let mut kept = Kept::main();
    kept.accept(&json!({"op": "clear", "revision": i64::MAX}));
    let exhausted =
        TodoRejection::RevisionsExhausted { scope: ScopeKey::main(), current: i64::MAX };
    assert_eq!(kept.scope.write(&titles(&["a"])), Err(exhausted.clone()));
    assert_eq!(kept.scope.accept(&update(&json!([]))), Err(exhausted));
}

/// What is sent, key by key in this order.
fn assert_sent(sent: &Published, rest: &Value) {
    let op = sent.change.op();
    let revision = sent.revision;
    let mut expected =
        json!({"op": op, "revision": revision, "scopeKey": "main", "scopeLabel": "Plan"});
    let rest = rest.as_object().unwrap().clone();
    expected.as_object_mut().unwrap().extend(rest);
    assert_eq!(serde_json::to_string(sent).unwrap(), expected.to_string());
}

#[test]
fn what_is_sent_has_the_names_of_the_contract_and_no_others() {
    let mut kept = Kept::main();
    let list = json!([
        {"todo_id": 1, "content": " One ", "state": "completed", "priority": "P0", "x": 1},
        {"id": "1", "text": "Two", "metadata": {}, "priority": null},
    ]);
    let sent = kept.accept(&json!({"operation": "snapshot", "label": "Plan", "todos": list}));
    let two = json!({"id": "1", "title": "Two", "status": "todo", "metadata": {}});
    assert_sent(&sent, &json!({"items": [two]}));

    let sent = kept.accept(&json!({"op": "update", "patch": {"id": 1, "status": "DONE"}}));
    let patch = json!({"id": "1", "status": "done", "raw_status": "DONE"});
    assert_sent(&sent, &json!({"patches": [patch]}));

    let item = json!({"id": "n", "title": "N", "status": "todo"});
    let sent = kept.accept(&json!({"op": "add", "todo": item, "position": -4}));
    assert_sent(&sent, &json!({"item": item, "position": 0}));
    let sent = kept.accept(&json!({"op": "add", "id": "n", "title": "N", "position": 1}));
    assert_sent(&sent, &json!({"item": item}));

    let sent = kept.accept(&json!({"op": "remove", "ids": ["zz", 1, "1"]}));
    assert_sent(&sent, &json!({"ids": ["zz", "1"]}));

    let sent = kept.accept(&json!({"op": "reset", "items": [1]}));
    assert_sent(&sent, &json!({}));
    assert_eq!(sent.call_id(), "todo:main:6");
}

#[test]
fn a_snapshot_is_the_whole_list_as_the_result_of_a_tool() {
    let mut kept = Kept::main();
    kept.write(&["a"]);
    kept.accept(&json!({"op": "upsert", "item": {"id": "b", "title": "B"}}));
    let body = serde_json::to_value(kept.scope.snapshot_result(41)).unwrap();
    let id = kept.scope.items[0].id.clone();
    let items = json!([
        {"id": id, "title": "a", "status": "todo"},
        {"id": "b", "title": "B", "status": "todo"},
    ]);
    let todo = json!({"op": "replace", "revision": 2, "scopeKey": "main", "scopeLabel": "main",
                      "items": items});
    let expected = json!({"call_id": "todo:snapshot:main:2", "status": "ok",
                          "error": false, "success": true, "todo": todo, "as_of_seq": 41});
    assert_eq!(body, expected);
}

#[test]
fn an_emptied_list_is_sent_and_snapshotted_as_a_clear() {
    let mut kept = Kept::main();
    kept.write(&["a"]);
    let cleared = |revision: i64| {
        let key = "main";
        let label = "main";
        json!({"op": "clear", "revision": revision, "scopeKey": key, "scopeLabel": label})
    };
    assert_eq!(json!(kept.write(&[])), cleared(2));
    assert_eq!(json!(kept.scope.snapshot()), cleared(2));
    kept.write(&["b"]);
    assert_eq!(json!(kept.accept(&json!({"op": "replace", "items": []}))), cleared(4));
    assert_eq!(json!(kept.accept(&json!([]))), cleared(5));
    kept.accept(&json!({"op": "upsert", "item": {"id": "c", "title": "C"}}));
    let last = kept.accept(&json!({"op": "delete", "ids": ["c"]}));
    assert_eq!(json!(last)["op"], "delete", "what was done is sent as it is");
    assert_eq!(json!(kept.scope.snapshot()), cleared(7));
}

#[test]
fn a_written_list_keeps_what_was_ticked() {
    let mut kept = Kept::main();
    let list = json!([
        {"id": "x", "title": "Ship  it", "status": "finished", "priority": 1, "metadata": {"k": 1}},
        {"id": "y", "title": "Test", "status": "doing"},
    ]);
    kept.accept(&list);
    let before = kept.scope.items.clone();
    kept.write(&["new", "\u{1c}test ", "ship IT", "Test"]);
    let items = &kept.scope.items;
    assert_eq!(items[1].id.as_str(), "y");
    assert_eq!(items[1].title, "test", "the wording is the new one");
    assert_eq!(items[1].raw_status, before[1].raw_status);
    assert_eq!(items[2].metadata, before[0].metadata);
    assert_eq!(items[2].priority, before[0].priority);
    assert_eq!(items[3].status.as_str(), "todo", "taken once");
    let counts = kept.scope.counts();
    assert_eq!(
        counts,
        TodoCounts { todo: 2, in_progress: 1, done: 1, total: 4, ..TodoCounts::default() }
    );
}

#[test]
fn equal_lists_are_two_revisions_with_the_same_ids() {
    let mut kept = Kept::main();
    let first = kept.write(&["a", "a", "b"]);
    let second = kept.write(&["a", "a", "b"]);
    assert_eq!((first.revision, second.revision), (1, 2));
    assert_eq!(first.change, second.change);
    let turned = kept.write(&["b", "a", "a"]);
    let mut ids: Vec<_> = kept.scope.items.iter().map(|item| item.id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{turned:?}");
}

#[test]
fn made_ids_avoid_every_id_that_is_there_or_written() {
    let mut kept = Kept::main();
    kept.write(&["a"]);
    let made = kept.scope.items[0].id.clone();
    let second = format!("{made}-2");
    // The id of "a" is on another title now, and the next one is written in the update itself.
    kept.accept(&json!({"op": "patch", "patches": [{"id": made, "title": "z"}]}));
    kept.accept(&json!({"op": "replace", "items": [{"title": "a"}, {"id": second, "title": "w"}]}));
    let ids: Vec<_> = kept.scope.items.iter().map(|item| item.id.to_string()).collect();
    assert_eq!(ids, [format!("{made}-3"), second]);
}

#[test]
fn a_document_and_what_is_sent_survive_being_stored() {
    let mut kept = Kept::main();
    let item = json!({"id": "x", "title": "X", "status": "doing", "priority": 1.5,
                      "metadata": {"big": u64::MAX, "deep": [{"a": null}]}});
    for todo in [
        json!({"op": "replace", "items": [item]}),
        json!({"op": "patch", "patches": [item]}),
        json!({"op": "upsert", "item": item, "position": 0}),
        json!({"op": "upsert", "item": {"id": "y", "title": "Y"}, "position": 0}),
        json!({"op": "delete", "ids": ["x"]}),
        json!({"op": "clear", "revision": i64::MAX - 1}),
    ] {
        let sent = kept.accept(&todo);
        let text = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<Published>(&text).unwrap(), sent, "{text}");
        assert!(!text.contains(":null") || text.contains("\"a\":null"), "{text}");
        let text = serde_json::to_string(&kept.scope).unwrap();
        assert_eq!(serde_json::from_str::<TodoScope>(&text).unwrap(), kept.scope, "{text}");
    }
    assert_eq!((kept.scope.updated_seq, kept.scope.updated_at), (6, Timestamp(1_000)));
}

#[test]
fn lists_of_titles_are_checked_from_the_front_and_nothing_is_coerced() {
    let fault = |value: Value| WrittenList::read(&value).unwrap_err();
    for value in [json!(null), json!("abc"), json!(5), json!({})] {
        assert_eq!(fault(value), TitleFault::NotAnArray);
    }
    for value in [json!(1), json!(true), json!(null), json!({}), json!(["a"])] {
        assert_eq!(fault(json!(["a", value])), TitleFault::NotAString(1));
    }
    assert_eq!(fault(json!(["", 1])), TitleFault::Blank(0));
    assert_eq!(fault(json!([1, ""])), TitleFault::NotAString(0));
    assert_eq!(fault(json!(["a", "\u{1c}"])).path(), "items[1]");
    assert_eq!(TitleFault::NotAnArray.path(), "items");
    assert_eq!(
        WrittenList::of_titles(&["a".to_owned(), "\t".to_owned()]),
        Err(TitleFault::Blank(1))
    );
    let kept = titles(&[" a  b ", "\u{200b}", "a  b"]);
    let kept: Vec<&str> = kept.as_slice().iter().map(|entry| &*entry.title).collect();
    assert_eq!(kept, ["a  b", "\u{200b}", "a  b"]);
}

#[test]
fn a_secret_in_a_title_is_replaced_and_recognised_again() {
    let secret = format!("use ghp_{} here", "a1B2".repeat(9));
    let mut first = titles(&[&secret]);
    assert!(first.redact());
    let mut kept = Kept::main();
    let sent = kept.scope.write(&first).unwrap();
    kept.follow(sent);
    assert_eq!(kept.scope.items[0].title, "use <redacted> here");
    kept.accept(
        &json!({"op": "patch", "patches": [{"id": kept.scope.items[0].id, "state": "done"}]}),
    );
    let sent = kept.scope.write(&first).unwrap();
    kept.follow(sent);
    assert!(line(&kept.scope.items).ends_with(":done"));
}
