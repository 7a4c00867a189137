//! The grammar where the vectors are silent: exact faults, and odd numbers.

use serde_json::{Value, json};

use super::{Screen, update};
use crate::todo::{Fallback, Malformed, ScopeKey, TodoOperation, TodoStatus, read};

fn fault(todo: &Value) -> Malformed {
    let body = json!({"todo": todo, "tool": "todo_write", "todos": [{"title": "no"}]});
    read("tool_result", body.as_object().unwrap(), Fallback::ToolPayload).unwrap_err()
}

#[test]
fn every_malformed_update_says_what_is_wrong() {
    let cases = [
        (json!("clear"), Malformed::NeitherArrayNorObject),
        (json!(false), Malformed::NeitherArrayNorObject),
        (json!({}), Malformed::NoOperation),
        (json!({"op": " ", "items": []}), Malformed::NoOperation),
        (json!({"op": "Frob"}), Malformed::UnknownOperation("frob".to_owned())),
        (json!({"op": "frob", "type": "clear"}), Malformed::UnknownOperation("frob".to_owned())),
        (json!({"op": "replace"}), Malformed::NoItems),
        (json!({"op": "replace", "items": {}}), Malformed::NoItems),
        (json!({"op": "replace", "items": [1]}), Malformed::NoUsableItem),
        (json!([{"id": "a"}]), Malformed::NoUsableItem),
        (json!({"op": "patch"}), Malformed::NoUsablePatch),
        (
            json!({"op": "patch", "patches": [], "patch": {"id": "a", "title": "A"}}),
            Malformed::NoUsablePatch,
        ),
        (json!({"op": "upsert", "item": {"id": "a"}}), Malformed::NoTitle),
        (json!({"op": "delete", "ids": [null, 1.5, true, " "]}), Malformed::NoId),
    ];
    for (todo, expected) in cases {
        assert_eq!(fault(&todo), expected, "{todo}");
    }
}

#[test]
fn no_todo_is_no_update() {
    for body in [json!({}), json!({"todo": null}), json!({"todos": [{"title": "A"}]})] {
        let read = read("tool_result", body.as_object().unwrap(), Fallback::ToolPayload);
        assert_eq!(read, Ok(None), "{body}");
    }
    let body = json!({"tool": "todo_write", "todos": [{"title": "A"}]});
    let strict = read("tool_result", body.as_object().unwrap(), Fallback::Never);
    assert_eq!(strict, Ok(None), "the server takes nothing from a tool's payload");
}

#[test]
fn revisions_are_whole_numbers_of_64_bits_or_none() {
    let of = |revision: Value| update(&json!({"op": "clear", "revision": revision})).revision;
    assert_eq!(of(json!(3.99)), Some(3));
    assert_eq!(of(json!(-2.5)), Some(-3));
    assert_eq!(of(json!(i64::MIN)), Some(i64::MIN));
    assert_eq!(of(json!(-9_223_372_036_854_775_808.0)), Some(i64::MIN));
    assert_eq!(of(json!("+12")), Some(12));
    assert_eq!(of(json!(" \u{1c}-7\n")), Some(-7));
    assert_eq!(of(json!("9223372036854775807")), Some(i64::MAX));
    for unusable in [
        json!(u64::MAX),
        json!(9_223_372_036_854_775_808.0),
        json!(1e300),
        json!("9223372036854775808"),
        json!("12ms"),
        json!("1.0"),
        json!("- 1"),
        json!(""),
        json!(true),
        json!([1]),
        json!(null),
    ] {
        assert_eq!(of(unusable.clone()), None, "{unusable}");
    }
    let next =
        update(&json!({"op": "clear", "revision": "x", "rev": null, "seq": 4, "version": 9}));
    assert_eq!(next.revision, Some(4));
}

#[test]
fn ids_are_digits_of_whole_numbers_or_exact_strings() {
    let ids = |given: Value| {
        let operation = update(&json!({"op": "delete", "ids": given})).operation;
        let TodoOperation::Delete(ids) = operation else { panic!("{operation:?}") };
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let given = json!([7, 7.0, -0.0, -3, u64::MAX, 1e21, " x ", "todo-1", 1.5, "", "\u{1c}"]);
    let expected =
        ["7", "7", "0", "-3", "18446744073709551615", "1000000000000000000000", " x ", "todo-1"];
    assert_eq!(ids(given), expected);
}

#[test]
fn every_word_of_the_table_means_its_status() {
    let words: [(TodoStatus, &[&str]); 5] = [
        (
            TodoStatus::Todo,
            &["todo", "pending", "open", "queued", "not_started", "Not-Started", "?"],
        ),
        (
            TodoStatus::InProgress,
            &["in_progress", "inprogress", "progress", "active", "doing", "started", "running"],
        ),
        (TodoStatus::Done, &["done", "complete", "completed", "finished", "closed", " DONE\t"]),
        (TodoStatus::Blocked, &["blocked", "waiting", "failed"]),
        (TodoStatus::Canceled, &["canceled", "cancelled", "skipped", "abandoned", "deleted"]),
    ];
    for (status, words) in words {
        for word in words {
            assert_eq!(TodoStatus::of_word(word), status, "{word}");
        }
    }
    assert_eq!(TodoStatus::of_word("In \u{3000} Progress"), TodoStatus::InProgress);
}

#[test]
fn a_word_that_stands_beside_its_status_is_kept() {
    let raw = |item: Value| {
        let operation = update(&json!([item])).operation;
        let TodoOperation::Replace(entries) = operation else { panic!("{operation:?}") };
        entries[0].progress.raw.clone()
    };
    let kept = json!({"title": "A", "status": "done", "raw_status": "completed"});
    assert_eq!(raw(kept), Some("completed".to_owned()));
    let contradicts = json!({"title": "A", "status": "done", "raw_status": "running"});
    assert_eq!(raw(contradicts), None);
    let own = json!({"title": "A", "status": "finished", "raw_status": "completed"});
    assert_eq!(raw(own), Some("finished".to_owned()));
    assert_eq!(raw(json!({"title": "A", "raw_status": "completed"})), None);
}

#[test]
fn scope_keys_are_joined_cut_and_exact() {
    let key = |given: Value| update(&json!({"op": "clear", "scopeKey": given})).scope;
    assert_eq!(key(json!(" Lane \t Q ")).as_str(), "Lane_Q");
    assert_eq!(key(json!("é".repeat(70))).as_str(), "é".repeat(64));
    assert_eq!(key(json!(-0.0)).as_str(), "0");
    assert!(key(json!(true)).is_main());
    assert!(key(json!("main")).is_main());
    assert_eq!(ScopeKey::of(" \u{1f} "), None);
}

#[test]
fn labels_of_the_body_count_only_with_its_key() {
    let label = |body: Value| {
        let read = read("tool_result", body.as_object().unwrap(), Fallback::Never);
        read.unwrap().unwrap().label
    };
    let clear = json!({"op": "clear"});
    let lane = json!({"lane_id": "l", "lane_label": " Lane L ", "todo": clear});
    assert_eq!(label(lane), Some("Lane L".to_owned()));
    assert_eq!(label(json!({"lane_label": "Lane L", "todo": clear})), None);
    let own = json!({"op": "clear", "label": "Mine"});
    assert_eq!(label(json!({"lane_id": "l", "laneLabel": "L", "todo": own})), Some("Mine".into()));
    let keyed = json!({"op": "clear", "scope": "s"});
    assert_eq!(label(json!({"lane_id": "l", "lane_label": "L", "todo": keyed})), None);
}

#[test]
fn the_fallback_finds_a_list_in_every_named_place() {
    let list = json!([{"id": "a", "title": "A"}]);
    let text = json!({"todos": list}).to_string();
    let places = [
        json!({"tool_name": "TodoWrite", "todos": list}),
        json!({"tool": {"name": "my.TODO.tool", "todos": list}}),
        json!({"call": {"name": "todo_write", "todos": list}}),
        json!({"name": "todo", "arguments": text}),
        json!({"tool": "todo", "input": {"todos": list}}),
        json!({"tool": "todo", "result": {"todos": list}}),
        json!({"tool": "todo", "output": list}),
        json!({"tool": "todo", "result": list.to_string()}),
    ];
    for body in places {
        for kind in ["tool_call", "tool_result", "tool.result"] {
            let mut screen = Screen::new();
            screen.event(kind, &body);
            assert_eq!(screen.line(), "a:A:todo", "{body}");
        }
    }
}

#[test]
fn the_fallback_leaves_other_values_alone() {
    for body in [
        json!({"tool": "todo", "result": "Stored 2 items."}),
        json!({"tool": "todo", "result": ["a", "b"]}),
        json!({"tool": "todo", "result": [{"title": "A"}, 1]}),
        json!({"tool": "todo", "todos": {"title": "A"}}),
        json!({"tool": " ", "name": "list", "todos": [{"title": "A"}]}),
        json!({"todos": [{"title": "A"}]}),
    ] {
        let read = read("tool_result", body.as_object().unwrap(), Fallback::ToolPayload);
        assert_eq!(read, Ok(None), "{body}");
    }
}

#[test]
fn secrets_are_taken_out_of_every_text_of_an_update() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let item = json!({"id": "a", "title": secret, "status": secret, "priority": secret,
                      "metadata": {"note": [secret]}});
    for todo in [
        json!({"op": "replace", "scopeLabel": secret, "items": [item]}),
        json!({"op": "upsert", "item": item}),
        json!({"op": "patch", "patches": [item]}),
    ] {
        let mut update = update(&todo);
        assert!(update.redact());
        assert!(!format!("{update:?}").contains(&secret), "{update:?}");
        assert!(!update.redact(), "once is enough");
    }
}
