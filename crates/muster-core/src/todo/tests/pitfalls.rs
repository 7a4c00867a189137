//! One test per known pitfall.

use serde_json::json;

use super::{Screen, line};
use crate::todo::{ConnectionStart, Handled, IgnoredUpdate, Malformed, TodoStatus, view};

#[test]
fn pf_1_an_empty_replace_empties_the_list_and_uses_the_revision() {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "replace", "revision": 1, "items": [{"id": "a", "title": "A"}]}));
    screen.todo(&json!({"op": "replace", "revision": 2, "items": []}));
    assert!(screen.main().items.is_empty());
    assert_eq!(screen.main().revision, Some(2));
}

#[test]
fn pf_2_a_patch_reads_every_word_for_done() {
    for fields in
        [json!({"status": "completed"}), json!({"status": "DONE"}), json!({"state": "done"})]
    {
        let mut screen = Screen::new();
        screen.todo(&json!([{"id": "a", "title": "A"}]));
        let mut patch = fields.clone();
        patch["id"] = json!("a");
        screen.todo(&json!({"op": "patch", "patches": [patch]}));
        assert_eq!(screen.main().items[0].status, TodoStatus::Done, "{fields}");
        assert_eq!(screen.main().counts().done, 1, "{fields}");
    }
}

#[test]
fn pf_3_two_upserts_without_ids_and_with_different_titles_are_two_items() {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "upsert", "revision": 1, "item": {"title": "One"}}));
    screen.todo(&json!({"op": "upsert", "revision": 2, "item": {"title": "Two"}}));
    let items = &screen.main().items;
    assert_eq!(items.len(), 2);
    assert_ne!(items[0].id, items[1].id);
}

#[test]
fn pf_4_ids_that_look_made_are_kept_and_can_be_patched() {
    let mut screen = Screen::new();
    let items = json!([{"id": "todo-1", "title": "A"}, {"id": "todo-2", "title": "B"}]);
    screen.todo(&json!({"op": "replace", "revision": 1, "items": items}));
    let patches = json!([{"id": "todo-1", "status": "done"}]);
    screen.todo(&json!({"op": "patch", "revision": 2, "patches": patches}));
    assert_eq!(screen.line(), "todo-1:A:done todo-2:B:todo");
}

#[test]
fn pf_5_an_id_that_occurs_twice_is_one_row() {
    let mut screen = Screen::new();
    screen.todo(&json!([
        {"id": "d", "title": "First", "status": "done"},
        {"id": "e", "title": "Other"},
        {"id": "d", "title": "Last"},
    ]));
    assert_eq!(screen.line(), "d:Last:todo e:Other:todo");
}

#[test]
fn pf_6_numbers_as_ids_work_like_their_digits() {
    let mut screen = Screen::new();
    let body = json!({"task_id": 9, "lane_id": 7.0, "todo": [{"id": 7.0, "title": "Seven"}]});
    screen.event("task_event", &body);
    let body = json!({"lane_id": "7", "todo": {"op": "delete", "ids": 7}});
    assert_eq!(line(&screen.scope("7").items), "7:Seven:todo");
    screen.event("task_event", &body);
    assert!(screen.scope("7").items.is_empty());
}

#[test]
fn pf_7_every_event_can_carry_an_update() {
    let mut screen = Screen::new();
    for (at, kind) in ["tool_call", "tool_call", "task_event", "never.heard.of"].iter().enumerate()
    {
        let items = json!([{"id": "a", "title": kind}]);
        let todo = json!({"op": "replace", "revision": at, "items": items});
        let handled = screen.event(kind, &json!({"call_id": "same", "todo": todo}));
        assert!(matches!(handled, Handled::Accepted(_)), "{kind}");
        assert_eq!(screen.main().items[0].title, *kind);
    }
}

#[test]
fn pf_8_the_result_of_another_tool_is_never_a_list() {
    let mut screen = Screen::new();
    let list = json!([{"id": "a", "title": "A", "status": "todo"}]);
    for key in ["todos", "result", "output", "arguments"] {
        let handled = screen.event("tool_result", &json!({"tool": "plan", key: list}));
        assert_eq!(handled, Handled::NoUpdate, "{key}");
    }
    let nested = json!({"tool": {"name": "plan", "todos": list}, "result": {"todos": list}});
    assert_eq!(screen.event("tool_result", &nested), Handled::NoUpdate);
    assert!(screen.main().items.is_empty());
}

#[test]
fn pf_9_a_gapless_resume_marks_nothing() {
    let mut screen = Screen::new();
    screen.todo(&json!([{"id": "a", "title": "A"}]));
    let before = screen.reader.changes();
    screen.reader.reconnected(ConnectionStart::Gapless);
    assert!(!screen.main().stale);
    assert_eq!(screen.reader.changes(), before);
}

#[test]
fn pf_10_an_equal_snapshot_clears_the_mark_and_nothing_else() {
    let mut screen = Screen::new();
    let todo = json!({"op": "replace", "revision": 4, "scopeKey": "l", "scopeLabel": "L",
                      "items": [{"id": "a", "title": "A"}]});
    screen.todo(&todo);
    screen.reader.reconnected(ConnectionStart::WithGap);
    assert!(screen.scope("l").stale);
    assert!(!screen.main().stale, "nothing was ever known of main");
    let mut snapshot = todo.clone();
    snapshot["scopeLabel"] = json!("Another");
    let handled = screen.unnumbered("tool_result", &json!({"todo": snapshot}));
    assert!(matches!(handled, Handled::Ignored(_, IgnoredUpdate::RevisionNotNewer)));
    assert!(!screen.scope("l").stale);
    assert_eq!(screen.scope("l").label, "L");
}

#[test]
fn pf_11_a_refused_update_does_not_change_the_label() {
    let mut screen = Screen::new();
    screen.todo(&json!({"op": "clear", "revision": 5, "scopeKey": "l", "scopeLabel": "Good"}));
    screen.todo(&json!({"op": "clear", "revision": 5, "scopeKey": "l", "scopeLabel": "Bad"}));
    screen.todo(&json!({"op": "clear", "scopeKey": "l", "scopeLabel": "Worse"}));
    assert_eq!(screen.scope("l").label, "Good");
}

#[test]
fn pf_31_each_status_has_a_glyph_of_its_own() {
    for glyphs in [view::Glyphs::Unicode, view::Glyphs::Ascii] {
        let mut seen: Vec<_> = TodoStatus::ALL.map(|status| view::glyph(status, glyphs)).to_vec();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), TodoStatus::ALL.len());
    }
}

#[test]
fn pf_41_revisions_beyond_two_to_the_53_are_compared_exactly() {
    let mut screen = Screen::new();
    let replace = |revision: i64, title: &str| {
        let items = json!([{"id": "a", "title": title}]);
        json!({"op": "replace", "revision": revision, "items": items})
    };
    screen.todo(&replace(9_007_199_254_740_992, "even"));
    screen.todo(&replace(9_007_199_254_740_993, "odd"));
    assert_eq!(screen.line(), "a:odd:todo");
    screen.todo(&replace(9_007_199_254_740_992, "late"));
    assert_eq!(screen.line(), "a:odd:todo");
    screen.todo(&json!({"op": "clear", "revision": "9007199254740994"}));
    assert_eq!(screen.main().revision, Some(9_007_199_254_740_994));
}

#[test]
fn pf_46_a_title_cannot_move_the_cursor() {
    let title = "\u{1b}[31mred\u{7}\r\nand\u{9b}2J\u{7f}";
    assert_eq!(view::shown(title), " [31mred   and 2J ");
    let items =
        [serde_json::from_value(json!({"id": "a", "title": "A", "status": "todo"})).unwrap()];
    let list = view::List { label: "\u{1b}]0;x\u{7}", stale: true, items: &items };
    let preview = view::preview(list, view::Strategy::default(), 7).unwrap();
    assert_eq!(preview.header.to_string(), "TODOs ( ]0;x ): 0/1 · stale");
}

#[test]
fn pf_47_the_unusable_half_of_a_batch_does_not_matter() {
    let mut screen = Screen::new();
    screen.todo(&json!([{"id": "a", "title": "A"}]));
    let patches = json!([{"status": "done"}, 5, {"id": "a"}, {"id": "a", "status": "done"}]);
    screen.todo(&json!({"op": "patch", "patches": patches}));
    assert_eq!(screen.line(), "a:A:done");
    let none = screen.todo(&json!({"op": "patch", "patches": [{"status": "done"}, {"id": "a"}]}));
    assert_eq!(none, Handled::Malformed(Malformed::NoUsablePatch));
    assert_eq!(screen.reader.malformed(), 1);
}
