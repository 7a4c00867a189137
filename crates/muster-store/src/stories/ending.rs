//! What is left of a stream that has ended, and that nothing else is affected.

use muster_core::{EventOrder, EventQuery, Index, ListQuery, Mark};

use super::{STREAM, address, at, document, event, head, write};
use crate::{Append, DocumentChange, Store, StoreError, StreamRow};

const SESSION: &str = "session/one";

fn listed(ord: u64) -> Index {
    Index { ord, marks: Mark::Listed as u8, ..Index::default() }
}

/// Two streams whose events alternate: positions 1 to 6, three each, the session's are odd.
fn alternate(store: &dyn Store) {
    for round in 0..3 {
        let position = round * 2 + 1;
        let name = format!("TASK-{round}");
        let put = [DocumentChange::Put(document(&name, position, listed(round)), None)];
        let subject = Some(("TASK-0", "PLAN-0"));
        write(store, SESSION, &[event(store, position, round + 1, subject)], &put);
        let put = [DocumentChange::Put(document(&name, position + 1, listed(round)), None)];
        write(store, STREAM, &[event(store, position + 1, round + 1, None)], &put);
    }
}

fn end(store: &dyn Store, position: u64, seq: u64) {
    let tombstone = document("TOMB", position, Index::default());
    let events = [event(store, position, seq, None)];
    let documents = [DocumentChange::Put(tombstone, None)];
    let mut transaction = store.begin().unwrap();
    transaction.end(&Append { stream: SESSION, events: &events, documents: &documents }).unwrap();
    transaction.commit().unwrap();
}

fn row(name: &str, seq: u64, ended: bool) -> StreamRow {
    StreamRow { name: name.to_owned(), seq, ended }
}

pub(super) fn an_ended_stream_keeps_its_last_events_and_takes_no_more(store: &dyn Store) {
    alternate(store);
    end(store, 7, 4);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.head(SESSION).unwrap(), at(store, 7, 4));
    assert_eq!(view.tail(SESSION, 0, 10).unwrap(), [event(store, 7, 4, None)]);
    assert_eq!(view.tail(SESSION, 4, 10).unwrap(), []);
    let tombstone = document("TOMB", 7, Index::default());
    assert_eq!(view.documents(SESSION).unwrap(), [tombstone]);
    assert_eq!(view.list(SESSION, &ListQuery::of("task")).unwrap(), []);
    assert_eq!(view.version(SESSION, &address("task", "TASK-1")).unwrap(), None);
    let slice = EventQuery::of(EventOrder::OldestFirst, 9);
    assert_eq!(view.events(SESSION, &slice).unwrap(), []);
    assert_eq!(view.streams("").unwrap(), [row(SESSION, 4, true), row(STREAM, 3, false)]);
    assert_eq!(view.tail(STREAM, 0, 10).unwrap().len(), 3, "its neighbour is whole");
    assert_eq!(view.documents(STREAM).unwrap().len(), 3);
    drop(view);
    let mut transaction = store.begin().unwrap();
    let events = [event(store, 8, 5, None)];
    let append = Append { stream: SESSION, events: &events, documents: &[] };
    let refused = transaction.append(&append);
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let refused = transaction.end(&append);
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    // The refusals have spoiled nothing.
    let events = [event(store, 8, 4, None)];
    transaction.append(&Append { stream: STREAM, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn positions_go_on_behind_an_end(store: &dyn Store) {
    write(store, SESSION, &[event(store, 1, 1, None), event(store, 2, 2, None)], &[]);
    let mut before = store.snapshot().unwrap();
    assert_eq!(before.head(SESSION).unwrap().seq, 2);
    end(store, 3, 3);
    assert_eq!(store.position().unwrap(), 3, "others notice");
    assert_eq!(before.tail(SESSION, 0, 9).unwrap().len(), 2, "an open view stays at its moment");
    assert_eq!(before.streams("").unwrap(), [row(SESSION, 2, false)]);
    drop(before);
    write(store, STREAM, &[event(store, 4, 1, None)], &[]);
    assert_eq!(head(store, STREAM), at(store, 4, 1));
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn an_end_that_was_not_committed_never_was(store: &dyn Store) {
    alternate(store);
    let mut transaction = store.begin().unwrap();
    let last = event(store, 7, 4, None);
    let events = std::slice::from_ref(&last);
    let refused = transaction.end(&Append { stream: SESSION, events: &[], documents: &[] });
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    transaction.end(&Append { stream: SESSION, events, documents: &[] }).unwrap();
    assert_eq!(transaction.tail(SESSION, 0, 9).unwrap(), [last]);
    drop(transaction);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.tail(SESSION, 0, 9).unwrap().len(), 3);
    assert_eq!(view.documents(SESSION).unwrap().len(), 3);
    assert_eq!(view.streams("session/").unwrap(), [row(SESSION, 3, false)]);
    drop(view);
    write(store, SESSION, &[event(store, 7, 4, None)], &[]);
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn an_end_shares_a_transaction_with_other_streams(store: &dyn Store) {
    alternate(store);
    let mut transaction = store.begin().unwrap();
    let append = |stream| Append { stream, events: &[], documents: &[] };
    transaction.append(&Append { events: &[event(store, 7, 4, None)], ..append(SESSION) }).unwrap();
    transaction.end(&Append { events: &[event(store, 8, 5, None)], ..append(SESSION) }).unwrap();
    transaction.append(&Append { events: &[event(store, 9, 4, None)], ..append(STREAM) }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(head(store, SESSION), at(store, 9, 5));
    assert_eq!(store.snapshot().unwrap().tail(SESSION, 0, 9).unwrap(), [event(store, 8, 5, None)]);
    assert_eq!(store.snapshot().unwrap().tail(STREAM, 0, 9).unwrap().len(), 4);
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn a_stream_can_begin_with_its_end(store: &dyn Store) {
    end(store, 1, 1);
    assert_eq!(store.snapshot().unwrap().streams("").unwrap(), [row(SESSION, 1, true)]);
    assert_eq!(store.snapshot().unwrap().documents(SESSION).unwrap().len(), 1);
    assert_eq!(store.check().unwrap(), vec![]);
}
