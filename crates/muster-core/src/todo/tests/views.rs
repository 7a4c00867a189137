//! Rows and headers where the vectors are silent.

use serde_json::json;

use crate::todo::{
    TodoItem,
    view::{self, List, Strategy},
};

fn items(count: usize) -> Vec<TodoItem> {
    let item = |at: usize| json!({"id": at.to_string(), "title": "T", "status": "todo"});
    (0..count).map(|at| serde_json::from_value(item(at)).unwrap()).collect()
}

#[test]
fn rows_follow_the_height_of_the_terminal() {
    let rows: Vec<_> = [9, 10, 13, 14, 19, 20, 200].map(view::preview_rows_max).to_vec();
    assert_eq!(rows, [None, Some(3), Some(3), Some(5), Some(5), Some(7), Some(7)]);
}

#[test]
fn an_empty_list_has_no_preview() {
    let list = List { label: "main", stale: true, items: &[] };
    assert_eq!(view::preview(list, Strategy::ActiveFirst, 7), None);
}

#[test]
fn a_narrow_line_shortens_the_label_and_nothing_else() {
    let items = items(9);
    let list = List { label: "front end", stale: true, items: &items };
    let header = view::preview(list, Strategy::ActiveFirst, 7).unwrap().header;
    let within = |columns: usize| header.within(columns, |text| text.chars().count());
    assert_eq!(within(80), "TODOs (front end): 0/9 · +2 · stale");
    assert_eq!(within(35), "TODOs (front end): 0/9 · +2 · stale");
    assert_eq!(within(34), "TODOs (front e…): 0/9 · +2 · stale");
    assert_eq!(within(28), "TODOs (f…): 0/9 · +2 · stale");
    assert_eq!(within(27), "TODOs: 0/9 · +2 · stale");
    assert_eq!(within(3), "TODOs: 0/9 · +2 · stale");
}

#[test]
fn texts_are_cut_between_characters_and_never_inside_one() {
    // Two columns for a wide character, none for an accent.
    let width = |text: &str| {
        let columns = |letter: char| match letter {
            '\u{301}' => 0,
            '\u{3000}'..='\u{9fff}' => 2,
            _ => 1,
        };
        text.chars().map(columns).sum::<usize>()
    };
    let cut = |text: &str, columns: usize| view::cut(text, columns, width);
    assert_eq!(cut("買い物", 6), "買い物");
    assert_eq!(cut("買い物", 5), "買い…");
    assert_eq!(cut("買い物", 4), "買…", "half a character is none");
    assert_eq!(cut("caf\u{65}\u{301}s", 5), "caf\u{65}\u{301}s");
    assert_eq!(cut("cafe\u{301}ss", 5), "cafe\u{301}…", "the accent stays with its letter");
    assert_eq!(cut("cafe\u{301}ss", 4), "caf…");
    assert_eq!(cut("ab", 1), "…");
    assert_eq!(cut("ab", 0), "");
}
