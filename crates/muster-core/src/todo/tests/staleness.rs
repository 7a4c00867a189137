//! What a reader handles once, what marks a list as stale, and what clears the mark.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Screen;
use crate::todo::{ConnectionStart, Handled, HandledSeqs, IgnoredUpdate};

/// A reader whose list has revision 4 and is stale.
fn stale() -> Screen {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "replace", "revision": 4, "items": [{"id": "a", "title": "A"}]}));
    screen.reader.reconnected(ConnectionStart::WithGap);
    assert!(screen.main().stale);
    screen
}

#[test]
fn whole_lists_take_the_mark_away_and_nothing_else_does() {
    let items = json!([{"id": "a", "title": "A"}]);
    let cases = [
        (json!({"op": "replace", "revision": 5, "items": items}), false),
        (json!({"op": "clear", "revision": 5}), false),
        (json!({"op": "replace", "revision": 4, "items": []}), false),
        (json!({"op": "clear", "revision": 4}), true),
        (json!({"op": "replace", "revision": 3, "items": items}), true),
        (json!({"op": "replace", "items": items}), true),
        (json!({"op": "upsert", "revision": 5, "item": {"id": "b", "title": "B"}}), true),
        (json!({"op": "patch", "revision": 5, "patches": [{"id": "a", "title": "B"}]}), true),
        (json!({"op": "delete", "revision": 5, "ids": ["a"]}), true),
        (json!({"op": "replace", "revision": 5}), true),
    ];
    for (todo, is_stale) in cases {
        let mut screen = stale();
        screen.todo(&todo);
        assert_eq!(screen.main().stale, is_stale, "{todo}");
    }
}

#[test]
fn an_equal_snapshot_leaves_the_list_as_it_is() {
    let mut screen = stale();
    screen.todo(&json!({"op": "replace", "revision": 4, "items": []}));
    assert_eq!(screen.line(), "a:A:todo");
}

#[test]
fn the_snapshot_of_an_empty_list_takes_its_mark_away() {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "clear", "revision": 4}));
    screen.reader.reconnected(ConnectionStart::WithGap);
    screen.todo(&json!({"op": "clear", "revision": 3}));
    assert!(screen.main().stale, "an older one says nothing");
    screen.todo(&json!({"op": "clear", "revision": 4}));
    assert!(!screen.main().stale);
}

#[test]
fn a_gap_in_the_stream_marks_every_known_list() {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "clear", "scopeKey": "l"}));
    let gap = json!({"from_seq": 2, "to_seq": 9, "reason": "slow_consumer"});
    assert_eq!(screen.unnumbered("stream.gap", &gap), Handled::NoUpdate);
    assert!(screen.scope("l").stale);
    assert!(!screen.main().stale);
    screen.todo(&json!({"op": "replace", "scopeKey": "l", "items": []}));
    assert!(!screen.scope("l").stale, "a list without revisions becomes whole too");
}

#[test]
fn only_what_can_be_seen_counts_as_a_change() {
    let mut screen = Screen::new();
    let list = json!([{"id": "a", "title": "A"}]);
    let changed = |screen: &mut Screen, todo: Value| {
        let before = screen.reader.changes();
        screen.todo(&todo);
        screen.reader.changes() > before
    };
    assert!(changed(&mut screen, list.clone()));
    assert!(!changed(&mut screen, list.clone()), "the same list again");
    assert!(!changed(&mut screen, json!({"op": "delete", "ids": ["unknown"]})));
    assert!(!changed(&mut screen, json!({"op": "frob"})));
    assert!(changed(&mut screen, json!({"op": "patch", "id": "a", "patch": {"state": "done"}})));
    assert!(changed(&mut screen, json!({"op": "replace", "revision": 1, "items": list})));
    assert!(!changed(&mut screen, list), "locked out by now");
    assert!(changed(&mut screen, json!({"op": "clear", "scope": "l"})), "a scope that is new");
}

#[test]
fn an_older_event_without_a_revision_is_ignored() {
    let mut screen = Screen::new();
    screen.seq = 4;
    screen.todo(&json!([{"id": "a", "title": "A"}]));
    screen.seq = 2;
    let handled = screen.todo(&json!([]));
    assert!(matches!(handled, Handled::Ignored(_, IgnoredUpdate::OlderEvent)));
    screen.seq = 4;
    assert_eq!(screen.todo(&json!([])), Handled::Redelivered);
    let live = screen.unnumbered("tool_result", &json!({"todo": []}));
    assert!(matches!(live, Handled::Accepted(_)), "without a seq there is no older");
}

#[test]
fn written_ids_are_reserved_before_titles_are_recognised() {
    let mut screen = Screen::new();
    screen.todo(&json!([{"id": "b", "title": "Beta"}]));
    screen.todo(&json!([{"title": "Beta"}, {"id": "b", "title": "Other"}]));
    let items = &screen.main().items;
    assert_eq!(items.len(), 2);
    assert_ne!(items[0].id.as_str(), "b");
    assert_eq!(items[1].id.as_str(), "b");
}

proptest! {
    #[test]
    fn handled_seqs_are_a_set(seqs in prop::collection::vec(0..24_u64, 0..60)) {
        let mut handled = HandledSeqs::default();
        let mut model = BTreeSet::new();
        for seq in seqs.into_iter().chain([u64::MAX, u64::MAX]) {
            prop_assert_eq!(handled.insert(seq), model.insert(seq), "{}", seq);
            prop_assert_eq!(handled.last(), model.last().copied());
        }
    }
}

#[test]
fn td_28_a_stale_list_stays_visible_with_its_mark() {
    let mut screen = stale();
    for _ in 0..3 {
        screen.reader.reconnected(ConnectionStart::WithGap);
        assert_eq!((screen.line().as_str(), screen.main().stale), ("a:A:todo", true));
        assert_eq!(screen.main().revision, Some(4));
    }
}
