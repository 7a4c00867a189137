//! Searches: documents of a list are found by the string that was stored for them.

use std::borrow::Cow;

use muster_core::{Index, ListQuery, Mark};

use super::{STREAM, address, document, event, write};
use crate::{Append, DocumentChange, Store, TextMatches};

/// Words, each with the distance of the texts that have it.
const WORDS: [(&str, u64); 4] = [("payment", 3), ("gateway", 2), ("retry", 1), ("needle", 1_007)];

fn text(number: u64) -> String {
    let words = WORDS.iter().filter(|(_, every)| number.is_multiple_of(*every));
    words.map(|(word, _)| *word).collect::<Vec<_>>().join(" ")
}

fn put(number: u64, status: &'static str, text: &str) -> [DocumentChange; 2] {
    let index = Index {
        ord: number,
        parent: format!("PLAN-{}", number % 2),
        status: Cow::Borrowed(status),
        rank: None,
        marks: Mark::Listed as u8,
    };
    let row = document(&format!("TASK-{number}"), 1, index);
    let search = DocumentChange::Search(row.address.clone(), text.to_owned());
    [DocumentChange::Put(row, None), search]
}

fn found(store: &dyn Store, query: &ListQuery, text: &str) -> TextMatches {
    store.snapshot().unwrap().search(STREAM, query, text).unwrap().unwrap()
}

fn names(store: &dyn Store, text: &str) -> Vec<String> {
    let matches = found(store, &ListQuery::of("task"), text);
    let total: u64 = matches.counts.values().sum();
    assert_eq!(total, matches.page.len() as u64, "{text}");
    matches.page.into_iter().map(|(address, _)| address.name).collect()
}

pub(super) fn a_string_is_found_wherever_it_is(store: &dyn Store) {
    assert!(store.snapshot().unwrap().is_searchable().unwrap());
    let texts = ["task-1\u{1f}rotate keys", "task-2\u{1f}grüße \"an\" alle", "task-3\u{1f}keys"];
    let changes: Vec<DocumentChange> =
        (1..).zip(texts).flat_map(|(number, text)| put(number, "TODO", text)).collect();
    write(store, STREAM, &[event(store, 1, 1, None)], &changes);
    write(store, "workspace/other", &[event(store, 2, 1, None)], &put(1, "TODO", "rotate keys"));
    for (text, expected) in [
        ("rotate", &["TASK-1"][..]),
        ("tate ke", &["TASK-1"]),
        ("keys", &["TASK-1", "TASK-3"]),
        ("eys", &["TASK-1", "TASK-3"]),
        ("ey", &["TASK-1", "TASK-3"]),
        ("task-", &["TASK-1", "TASK-2", "TASK-3"]),
        ("task-2", &["TASK-2"]),
        ("üße \"an\"", &["TASK-2"]),
        ("ß", &["TASK-2"]),
        ("ROTATE", &[]),
        ("keys rotate", &[]),
        ("1rotate", &[]),
        ("%", &[]),
        ("k*", &[]),
    ] {
        assert_eq!(names(store, text), expected, "{text}");
    }
    let address = address("task", "TASK-1");
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.searched(STREAM, &address).unwrap().as_deref(), Some(texts[0]));
    assert!(view.search("workspace/none", &ListQuery::of("task"), "keys").unwrap().is_some());
    drop(view);
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn a_changed_or_removed_document_is_found_no_more(store: &dyn Store) {
    write(store, STREAM, &[event(store, 1, 1, None)], &put(1, "TODO", "rotate keys"));
    write(store, STREAM, &[event(store, 2, 2, None)], &put(2, "TODO", "rotate locks"));
    let row = put(1, "DONE", "")[0].clone();
    write(store, STREAM, &[event(store, 3, 3, None)], &[row]);
    assert_eq!(names(store, "rotate"), ["TASK-1", "TASK-2"], "only its status changed");
    write(store, STREAM, &[event(store, 4, 4, None)], &put(1, "DONE", "change locks"));
    assert_eq!(names(store, "rotate"), ["TASK-2"]);
    assert_eq!(names(store, "locks"), ["TASK-1", "TASK-2"]);
    let gone = [DocumentChange::Remove(address("task", "TASK-2"))];
    write(store, STREAM, &[event(store, 5, 5, None)], &gone);
    assert_eq!(names(store, "locks"), ["TASK-1"]);
    let mut transaction = store.begin().unwrap();
    transaction.rebuild_search().unwrap();
    transaction.commit().unwrap();
    assert_eq!(names(store, "locks"), ["TASK-1"]);
    let mut transaction = store.begin().unwrap();
    let events = [event(store, 6, 6, None)];
    transaction.end(&Append { stream: STREAM, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert!(names(store, "locks").is_empty());
    assert_eq!(store.check().unwrap(), vec![]);
}

/// The same for few matches and for many, which SQLite reads in different ways.
pub(super) fn matches_are_counted_and_come_in_pages(store: &dyn Store) {
    const TASKS: u64 = 8_000;
    let status = |number: u64| if number.is_multiple_of(5) { "DONE" } else { "TODO" };
    let changes: Vec<DocumentChange> =
        (1..=TASKS).flat_map(|number| put(number, status(number), &text(number))).collect();
    write(store, STREAM, &[event(store, 1, 1, None)], &changes);
    for word in ["needle", "payment", "gateway", "retry", "pay", "et", "way retry"] {
        for parent in [None, Some("PLAN-1".to_owned())] {
            for statuses in [vec![], vec!["TODO"]] {
                let fits = |number: &u64| {
                    text(*number).contains(word)
                        && (parent.is_none() || number % 2 == 1)
                        && (statuses.is_empty() || status(*number) == "TODO")
                };
                let all: Vec<u64> = (1..=TASKS).filter(fits).collect();
                let page = all.iter().filter(|number| **number > 2_000).take(3);
                let page: Vec<String> = page.map(|number| format!("TASK-{number}")).collect();
                let query = ListQuery {
                    parent: parent.clone(),
                    statuses: statuses.clone(),
                    after: Some(2_000),
                    limit: Some(3),
                    ..ListQuery::of("task")
                };
                let found = found(store, &query, word);
                let names: Vec<String> =
                    found.page.into_iter().map(|(address, _)| address.name).collect();
                assert_eq!(names, page, "{word} {query:?}");
                assert_eq!(found.counts.values().sum::<u64>(), all.len() as u64, "{word}");
                let done = all.iter().filter(|number| status(**number) == "DONE").count() as u64;
                assert_eq!(found.counts.get("DONE").copied().unwrap_or(0), done, "{word}");
            }
        }
    }
}
