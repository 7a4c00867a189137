//! Searches over all streams: events by what they say, documents by what they are found by.

use muster_core::{Index, Mark};

use super::{STREAM, document, event, write};
use crate::{Append, DocumentChange, EventEntries, Store, StringsQuery};

const RUN: &str = "run/one";

fn strings(strings: &[&str]) -> Vec<String> {
    strings.iter().map(|string| (*string).to_owned()).collect()
}

fn index(store: &dyn Store, entries: &[(u64, &str)], through: u64) {
    let strings: Vec<(u64, String)> =
        entries.iter().map(|(position, text)| (*position, (*text).to_owned())).collect();
    let mut transaction = store.begin().unwrap();
    transaction.index_events(&EventEntries { strings: &strings, through }).unwrap();
    assert_eq!(transaction.indexed_through().unwrap(), through, "sees its own work");
    transaction.commit().unwrap();
}

/// Positions of the events that say these strings.
fn said(store: &dyn Store, wanted: &[&str], stream: Option<&str>, limit: u32) -> Vec<u64> {
    let strings = strings(wanted);
    let query = StringsQuery { strings: &strings, stream, limit };
    let found = store.snapshot().unwrap().events_with(&query).unwrap();
    found.into_iter().map(|place| place.global).collect()
}

/// Four events of two streams, three of which say something.
fn fill(store: &dyn Store) {
    write(store, STREAM, &[event(1, 1, None), event(2, 2, None)], &[]);
    write(store, RUN, &[event(3, 1, None), event(4, 2, None)], &[]);
    index(store, &[(1, "\u{1f} rotate keys"), (2, "\u{1f} grüße an alle")], 2);
    index(store, &[(4, "\u{1f} rotate locks")], 4);
}

pub(super) fn events_are_found_by_what_they_say_newest_first(store: &dyn Store) {
    assert_eq!(store.snapshot().unwrap().indexed_through().unwrap(), 0);
    assert_eq!(said(store, &["rotate"], None, 9), [0; 0]);
    fill(store);
    assert_eq!(said(store, &["rotate"], None, 9), [4, 1]);
    assert_eq!(said(store, &["rotate"], None, 1), [4]);
    assert_eq!(said(store, &["rotate"], Some(STREAM), 1), [1]);
    assert_eq!(said(store, &["rotate"], Some("run/none"), 9), [0; 0]);
    assert_eq!(said(store, &["rotate", "keys"], None, 9), [1]);
    assert_eq!(said(store, &["\u{1f} g"], None, 9), [2], "one character where a field begins");
    assert_eq!(said(store, &[" lo"], None, 9), [4], "two where a word does");
    assert_eq!(said(store, &["üße"], None, 9), [2]);
    assert_eq!(said(store, &["ro"], None, 9), [0; 0], "too short");
    assert_eq!(said(store, &[], None, 9), [0; 0]);
    let strings = strings(&["locks"]);
    let query = StringsQuery { strings: &strings, stream: None, limit: 9 };
    let found = store.snapshot().unwrap().events_with(&query).unwrap();
    assert_eq!((found[0].stream.as_str(), found[0].seq), (RUN, 2));
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn the_log_is_read_over_all_streams(store: &dyn Store) {
    fill(store);
    let mut view = store.snapshot().unwrap();
    let read = |rows: Vec<crate::StreamEvent>| -> Vec<(String, u64)> {
        rows.into_iter().map(|row| (row.stream, row.event.global)).collect()
    };
    let tail = read(view.log(1, 2).unwrap());
    assert_eq!(tail, [(STREAM.to_owned(), 2), (RUN.to_owned(), 3)]);
    assert_eq!(read(view.log(3, 9).unwrap()), [(RUN.to_owned(), 4)]);
    assert!(view.log(4, 9).unwrap().is_empty() && view.log(u64::MAX, 9).unwrap().is_empty());
}

pub(super) fn what_is_gone_or_dropped_is_not_found(store: &dyn Store) {
    fill(store);
    let mut transaction = store.begin().unwrap();
    transaction.clear_event_index().unwrap();
    assert_eq!(transaction.indexed_through().unwrap(), 0);
    drop(transaction);
    assert_eq!(said(store, &["rotate"], None, 9), [4, 1], "it was not committed");
    let mut transaction = store.begin().unwrap();
    let events = [event(5, 3, None)];
    transaction.end(&Append { stream: RUN, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(said(store, &["rotate"], None, 9), [1]);
    let mut transaction = store.begin().unwrap();
    transaction.clear_event_index().unwrap();
    transaction.commit().unwrap();
    assert_eq!(said(store, &["rotate"], None, 9), [0; 0]);
    index(store, &[(1, "\u{1f} rotate keys")], 5);
    assert_eq!(said(store, &["rotate"], None, 9), [1]);
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn documents_of_all_streams_are_found_newest_first(store: &dyn Store) {
    let put = |name: &str, version: u64, text: &str| {
        let index = Index { ord: version, marks: Mark::Listed as u8, ..Index::default() };
        let row = document(name, version, index);
        let search = DocumentChange::Search(row.address.clone(), text.to_owned());
        [DocumentChange::Put(row, None), search]
    };
    write(store, STREAM, &[event(1, 1, None)], &put("TASK-1", 1, "task-1\u{1f}rotate keys"));
    write(store, "workspace/other", &[event(2, 1, None)], &put("TASK-1", 2, "task-1\u{1f}rotate"));
    write(store, STREAM, &[event(3, 2, None)], &put("TASK-2", 3, "task-2\u{1f}old keys"));
    let found = |wanted: &[&str], stream: Option<&str>, limit: u32| {
        let strings = strings(wanted);
        let query = StringsQuery { strings: &strings, stream, limit };
        let found = store.snapshot().unwrap().documents_with(&query).unwrap().unwrap();
        let name = |found: crate::FoundDocument| (found.stream, found.address.name, found.searched);
        found.into_iter().map(name).collect::<Vec<_>>()
    };
    let row = |stream: &str, name: &str, text: &str| {
        (stream.to_owned(), name.to_owned(), text.to_owned())
    };
    let first = row(STREAM, "TASK-1", "task-1\u{1f}rotate keys");
    let other = row("workspace/other", "TASK-1", "task-1\u{1f}rotate");
    let last = row(STREAM, "TASK-2", "task-2\u{1f}old keys");
    assert_eq!(found(&["rotate"], None, 9), [other.clone(), first.clone()]);
    assert_eq!(found(&["rotate"], None, 1), [other]);
    assert_eq!(found(&["keys"], Some(STREAM), 9), [last, first.clone()]);
    assert_eq!(found(&["keys", "\u{1f}rot"], None, 9), [first]);
    assert!(found(&["ke"], None, 9).is_empty() && found(&["keys"], Some("none"), 9).is_empty());
}
