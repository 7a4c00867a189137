//! Searches over all streams: events by what they say, documents by what they are found by.

use std::time::{Duration, Instant};

use muster_core::{Index, Mark};

use super::{STREAM, at, document, event, write};
use crate::{
    Append, DocumentChange, EventEntries, EventRow, LogCursor, LogEnd, LogPlace, Store,
    StringsQuery,
};

const RUN: &str = "run/one";
/// How long events of all streams may be held back by older transactions.
const LOG_WAIT_MAX: Duration = Duration::from_secs(30);

fn strings(strings: &[&str]) -> Vec<String> {
    strings.iter().map(|string| (*string).to_owned()).collect()
}

/// Where the events of [`fill`] are.
fn place(store: &dyn Store, number: u64) -> LogPlace {
    let (stream, seq) = if number < 3 { (STREAM, number) } else { (RUN, number - 2) };
    LogPlace { stream: stream.to_owned(), seq, global: at(store, number, seq).global }
}

/// Indexes all events that are not, of which these say something.
fn index(store: &dyn Store, entries: &[(u64, &str)]) {
    let strings: Vec<(LogPlace, String)> =
        entries.iter().map(|(number, text)| (place(store, *number), (*text).to_owned())).collect();
    let mut transaction = store.begin().unwrap();
    let rows = transaction.unindexed(LogEnd::Oldest, 9).unwrap();
    let covered: Vec<LogPlace> = rows
        .into_iter()
        .map(|row| LogPlace { stream: row.stream, seq: row.event.seq, global: row.event.global })
        .collect();
    let entries = EventEntries { strings: &strings, covered: &covered };
    transaction.index_events(&entries).unwrap();
    assert_eq!(transaction.unindexed_count().unwrap(), 0, "sees its own work");
    transaction.index_events(&entries).unwrap();
    transaction.commit().unwrap();
}

/// Numbers of the events that say these strings.
fn said(store: &dyn Store, wanted: &[&str], stream: Option<&str>, limit: u32) -> Vec<u64> {
    let strings = strings(wanted);
    let query = StringsQuery { strings: &strings, stream, limit };
    let found = store.snapshot().unwrap().events_with(&query).unwrap();
    let number = |found: LogPlace| (1..=4).find(|number| place(store, *number) == found).unwrap();
    found.into_iter().map(number).collect()
}

/// Four events of two streams, three of which say something.
fn fill(store: &dyn Store) {
    write(store, STREAM, &[event(store, 1, 1, None), event(store, 2, 2, None)], &[]);
    index(store, &[(1, "\u{1f} rotate keys"), (2, "\u{1f} grüße an alle")]);
    write(store, RUN, &[event(store, 3, 1, None), event(store, 4, 2, None)], &[]);
    index(store, &[(4, "\u{1f} rotate locks")]);
}

pub(super) fn events_are_found_by_what_they_say_newest_first(store: &dyn Store) {
    assert_eq!(store.snapshot().unwrap().unindexed_count().unwrap(), 0);
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

pub(super) fn what_is_not_indexed_is_read_over_all_streams(store: &dyn Store) {
    let unindexed = |end, limit| -> Vec<(String, u64)> {
        let rows = store.snapshot().unwrap().unindexed(end, limit).unwrap();
        rows.into_iter().map(|row| (row.stream, row.event.seq)).collect()
    };
    fill(store);
    assert!(unindexed(LogEnd::Oldest, 9).is_empty() && unindexed(LogEnd::Newest, 9).is_empty());
    let events: Vec<EventRow> =
        (0..3).map(|number| event(store, 5 + number, 3 + number, None)).collect();
    write(store, STREAM, &events, &[]);
    write(store, RUN, &[event(store, 8, 3, None)], &[]);
    assert_eq!(store.snapshot().unwrap().unindexed_count().unwrap(), 4);
    let all = [(STREAM, 3), (STREAM, 4), (STREAM, 5), (RUN, 3)];
    let all = all.map(|(stream, seq)| (stream.to_owned(), seq));
    assert_eq!(unindexed(LogEnd::Oldest, 9), all);
    assert_eq!(unindexed(LogEnd::Oldest, 2), all[..2]);
    assert_eq!(unindexed(LogEnd::Newest, 9), all);
    assert_eq!(unindexed(LogEnd::Newest, 2), all[2..]);
    index(store, &[]);
    assert!(unindexed(LogEnd::Oldest, 9).is_empty());
}

pub(super) fn events_of_all_streams_are_read_in_parts(store: &dyn Store) {
    fill(store);
    let mut read: Vec<(String, u64)> = Vec::new();
    let mut cursor = LogCursor::default();
    let started = Instant::now();
    // Where several servers write, an event is only read once no older transaction is open,
    // whatever that one writes to.
    while read.len() < 4 && started.elapsed() < LOG_WAIT_MAX {
        let part = store.snapshot().unwrap().log(cursor, 3).unwrap();
        assert!(part.len() <= 3);
        cursor = part.last().map_or(cursor, |(cursor, _)| *cursor);
        read.extend(part.into_iter().map(|(_, row)| (row.stream, row.event.seq)));
    }
    let of = |stream: &str| -> Vec<u64> {
        read.iter().filter(|(name, _)| name == stream).map(|(_, seq)| *seq).collect()
    };
    assert_eq!((of(STREAM), of(RUN)), (vec![1, 2], vec![1, 2]));
    assert_eq!(cursor.to_string().parse(), Ok(cursor));
    assert!(store.snapshot().unwrap().log(cursor, 9).unwrap().is_empty());
    write(store, RUN, &[event(store, 5, 3, None)], &[]);
    let mut next = Vec::new();
    while next.is_empty() && started.elapsed() < LOG_WAIT_MAX {
        next = store.snapshot().unwrap().log(cursor, 9).unwrap();
    }
    assert_eq!(next.into_iter().map(|(_, row)| row.event.seq).collect::<Vec<_>>(), [3]);
}

pub(super) fn what_is_gone_or_dropped_is_not_found(store: &dyn Store) {
    fill(store);
    let mut transaction = store.begin().unwrap();
    transaction.clear_event_index().unwrap();
    assert_eq!(transaction.unindexed_count().unwrap(), 4);
    drop(transaction);
    assert_eq!(said(store, &["rotate"], None, 9), [4, 1], "it was not committed");
    let mut transaction = store.begin().unwrap();
    let events = [event(store, 5, 3, None)];
    transaction.end(&Append { stream: RUN, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(said(store, &["rotate"], None, 9), [1]);
    let mut transaction = store.begin().unwrap();
    transaction.clear_event_index().unwrap();
    transaction.commit().unwrap();
    assert_eq!(said(store, &["rotate"], None, 9), [0; 0]);
    index(store, &[(1, "\u{1f} rotate keys")]);
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
    write(store, STREAM, &[event(store, 1, 1, None)], &put("TASK-1", 1, "task-1\u{1f}rotate keys"));
    write(
        store,
        "workspace/other",
        &[event(store, 2, 1, None)],
        &put("TASK-1", 2, "task-1\u{1f}rotate"),
    );
    write(store, STREAM, &[event(store, 3, 2, None)], &put("TASK-2", 3, "task-2\u{1f}old keys"));
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
