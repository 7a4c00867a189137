//! The one story suite: what every store must do, through the traits only.
//!
//! Each story takes a fresh, empty store. A new engine joins by adding a module at the bottom, or
//! by calling [`all`].

mod catalogue;
mod ending;
mod found;
mod lists;
mod pieces;
mod search;
mod slices;
mod strings;
mod threads;

use std::borrow::Cow;

use muster_core::{Address, Index, ListQuery, LogPosition, Subject, Timestamp};

use crate::{
    Append, DocumentChange, DocumentRow, EventRow, FetchedDocument, Numbering, SqliteOptions,
    SqliteStore, Store, StoreError, StreamRow, WantedDocument,
};

const STREAM: &str = "workspace/acme";

/// The position of an event that is one of all events and one of its stream.
fn at(store: &dyn Store, global: u64, seq: u64) -> LogPosition {
    match store.snapshot().unwrap().numbering() {
        Numbering::OneLog => LogPosition { global, seq },
        Numbering::PerStream => LogPosition { global: seq, seq },
    }
}

fn event(store: &dyn Store, global: u64, seq: u64, subject: Option<(&str, &str)>) -> EventRow {
    EventRow {
        global: at(store, global, seq).global,
        seq,
        at: Timestamp(1_000 + i64::try_from(global).unwrap()),
        kind: format!("kind_{}", global % 3),
        subject: subject
            .map(|(entity, scope)| Subject { entity: entity.to_owned(), scope: scope.to_owned() }),
        body: format!("{{\"n\":{global},\"text\":\"Grüße\"}}"),
        shown: None,
        by: None,
        intent: None,
    }
}

fn address(kind: &'static str, name: &str) -> Address {
    Address { kind: Cow::Borrowed(kind), name: name.to_owned() }
}

fn document(name: &str, version: u64, index: Index) -> DocumentRow {
    DocumentRow {
        address: address("task", name),
        index,
        version,
        body: format!("{name} at {version}"),
    }
}

/// Appends and commits.
fn write(store: &dyn Store, stream: &str, events: &[EventRow], documents: &[DocumentChange]) {
    let mut transaction = store.begin().unwrap();
    transaction.append(&Append { stream, events, documents }).unwrap();
    transaction.commit().unwrap();
}

fn head(store: &dyn Store, stream: &str) -> LogPosition {
    store.snapshot().unwrap().head(stream).unwrap()
}

fn an_empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.position().unwrap(), 0);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.head(STREAM).unwrap(), LogPosition::default());
    assert_eq!(view.streams("").unwrap(), vec![]);
    assert_eq!(view.document(STREAM, &address("task", "TASK-1")).unwrap(), None);
    assert_eq!(view.list(STREAM, &ListQuery::of("task")).unwrap(), vec![]);
    assert_eq!(view.documents(STREAM).unwrap(), vec![]);
    assert_eq!(view.tail(STREAM, 0, 10).unwrap(), vec![]);
    drop(view);
    assert_eq!(store.check().unwrap(), vec![]);
    store.rest().unwrap();
}

fn what_was_appended_is_read_back(store: &dyn Store) {
    let events = [event(store, 1, 1, Some(("TASK-1", "PLAN-1"))), event(store, 2, 2, None)];
    let index = Index {
        ord: 7,
        parent: "PLAN-1".to_owned(),
        status: Cow::Borrowed("TODO"),
        rank: Some(3),
        marks: 3,
    };
    let row = document("TASK-1", 2, index);
    write(store, STREAM, &events, &[DocumentChange::Put(row.clone(), None)]);
    write(store, "session/one", &[event(store, 3, 1, None)], &[]);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.head(STREAM).unwrap(), at(store, 3, 2));
    assert_eq!(view.head("session/one").unwrap(), at(store, 3, 1));
    assert_eq!(view.head("session/two").unwrap(), at(store, 3, 0));
    assert_eq!(view.tail(STREAM, 0, 10).unwrap(), events);
    assert_eq!(view.document(STREAM, &row.address).unwrap(), Some(row.clone()));
    assert_eq!(view.document("session/one", &row.address).unwrap(), None);
    let wanted = [Some(1), Some(2), None, None]
        .map(|held| WantedDocument { address: row.address.clone(), held });
    let mut wanted = wanted.to_vec();
    wanted[3].address.name = "TASK-2".to_owned();
    let whole = FetchedDocument::Row(row.clone());
    let fetched = [whole.clone(), FetchedDocument::Unchanged, whole, FetchedDocument::Absent];
    assert_eq!(view.fetch(STREAM, &wanted).unwrap(), fetched);
    assert_eq!(view.fetch("session/two", &wanted[..1]).unwrap(), [FetchedDocument::Absent]);
    assert_eq!(view.fetch(STREAM, &[]).unwrap(), []);
    assert_eq!(view.documents(STREAM).unwrap(), vec![row]);
    assert_eq!(
        view.streams("workspace/").unwrap(),
        vec![StreamRow { name: STREAM.to_owned(), seq: 2, ended: false }]
    );
    assert_eq!(view.streams("").unwrap().len(), 2);
    drop(view);
    assert_eq!(store.position().unwrap(), 3);
    assert_eq!(store.check().unwrap(), vec![]);
}

fn a_document_is_replaced_and_removed(store: &dyn Store) {
    let first = document("TASK-1", 1, Index { ord: 1, ..Index::default() });
    let body_only = DocumentRow { version: 2, body: "new".to_owned(), ..first.clone() };
    let moved = DocumentRow {
        version: 3,
        index: Index { ord: 9, parent: "PLAN-2".to_owned(), rank: Some(1), ..Index::default() },
        ..first.clone()
    };
    for (number, row) in [first, body_only, moved].into_iter().enumerate() {
        let position = number as u64 + 1;
        let change = [DocumentChange::Put(row.clone(), None)];
        write(store, STREAM, &[event(store, position, position, None)], &change);
        assert_eq!(store.snapshot().unwrap().documents(STREAM).unwrap(), vec![row]);
    }
    let gone = [
        DocumentChange::Remove(address("task", "TASK-1")),
        DocumentChange::Remove(address("task", "TASK-never")),
    ];
    write(store, STREAM, &[event(store, 4, 4, None)], &gone);
    assert_eq!(store.snapshot().unwrap().documents(STREAM).unwrap(), vec![]);
}

fn several_appends_share_one_transaction(store: &dyn Store) {
    let mut transaction = store.begin().unwrap();
    let other = "run/one";
    for round in 0..3 {
        let events = [event(store, round * 2 + 1, round + 1, None)];
        transaction.append(&Append { stream: STREAM, events: &events, documents: &[] }).unwrap();
        let events = [event(store, round * 2 + 2, round + 1, None)];
        transaction.append(&Append { stream: other, events: &events, documents: &[] }).unwrap();
        let expected = at(store, round * 2 + 2, round + 1);
        assert_eq!(transaction.head(STREAM).unwrap(), expected, "sees its own work");
    }
    assert_eq!(head(store, STREAM), LogPosition::default(), "other readers do not");
    assert_eq!(store.position().unwrap(), 0);
    transaction.commit().unwrap();
    assert_eq!(head(store, other), at(store, 6, 3));
    assert_eq!(store.position().unwrap(), 6);
    assert_eq!(store.check().unwrap(), vec![]);
}

fn a_dropped_transaction_leaves_nothing(store: &dyn Store) {
    write(store, STREAM, &[event(store, 1, 1, None)], &[]);
    let row = document("TASK-1", 2, Index::default());
    for stream in [STREAM, "session/new"] {
        let mut transaction = store.begin().unwrap();
        let seq = transaction.head(stream).unwrap().seq + 1;
        let append = Append {
            stream,
            events: &[event(store, 2, seq, None)],
            documents: &[DocumentChange::Put(row.clone(), None)],
        };
        transaction.append(&append).unwrap();
        assert_eq!(transaction.document(stream, &row.address).unwrap(), Some(row.clone()));
        drop(transaction);
        assert_eq!(store.snapshot().unwrap().document(stream, &row.address).unwrap(), None);
    }
    assert_eq!(head(store, STREAM), at(store, 1, 1));
    assert_eq!(store.position().unwrap(), 1);
    assert_eq!(store.snapshot().unwrap().streams("").unwrap().len(), 1);
    write(store, "session/new", &[event(store, 2, 1, None)], &[]);
    assert_eq!(store.check().unwrap(), vec![]);
}

fn positions_that_do_not_continue_the_log_are_refused(store: &dyn Store) {
    write(store, STREAM, &[event(store, 1, 1, None), event(store, 2, 2, None)], &[]);
    let event = |global, seq| EventRow { global, ..event(store, global, seq, None) };
    let wrong: [&[EventRow]; 6] = [
        &[event(2, 3)],
        &[event(4, 3)],
        &[event(3, 2)],
        &[event(3, 4)],
        &[event(3, 3), event(5, 4)],
        &[event(3, 3), event(4, 3)],
    ];
    let mut transaction = store.begin().unwrap();
    for events in wrong {
        let row = document("TASK-1", 3, Index::default());
        let documents = [DocumentChange::Put(row, None)];
        let refused = transaction.append(&Append { stream: STREAM, events, documents: &documents });
        assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    }
    // A rejected append writes nothing and spoils nothing: the transaction can continue.
    let events = [event(3, 3)];
    transaction.append(&Append { stream: STREAM, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(head(store, STREAM), at(store, 3, 3));
    assert_eq!(store.snapshot().unwrap().documents(STREAM).unwrap(), vec![]);
}

fn a_snapshot_stays_at_its_moment(store: &dyn Store) {
    let row = |version| document("TASK-1", version, Index { ord: version, ..Index::default() });
    write(store, STREAM, &[event(store, 1, 1, None)], &[DocumentChange::Put(row(1), None)]);
    let mut before = store.snapshot().unwrap();
    assert_eq!(before.head(STREAM).unwrap().seq, 1);
    write(store, STREAM, &[event(store, 2, 2, None)], &[DocumentChange::Put(row(2), None)]);
    write(store, "session/one", &[event(store, 3, 1, None)], &[]);
    let mut after = store.snapshot().unwrap();
    assert_eq!(before.head(STREAM).unwrap(), at(store, 1, 1));
    assert_eq!(before.tail(STREAM, 0, 10).unwrap().len(), 1);
    assert_eq!(before.documents(STREAM).unwrap(), vec![row(1)]);
    assert_eq!(before.streams("session/").unwrap(), vec![]);
    assert_eq!(after.head(STREAM).unwrap(), at(store, 3, 2));
    assert_eq!(after.documents(STREAM).unwrap(), vec![row(2)]);
}

fn the_tail_is_read_in_pages(store: &dyn Store) {
    let events: Vec<EventRow> = (1..=25).map(|number| event(store, number, number, None)).collect();
    write(store, STREAM, &events, &[]);
    let mut view = store.snapshot().unwrap();
    let mut read = Vec::new();
    loop {
        let page = view.tail(STREAM, read.len() as u64, 10).unwrap();
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert_eq!(read, events);
    assert_eq!(view.tail(STREAM, 24, 10).unwrap(), events[24..]);
    assert_eq!(view.tail(STREAM, 0, 0).unwrap(), vec![]);
    assert_eq!(view.tail(STREAM, u64::MAX, 10).unwrap(), vec![]);
}

fn streams_are_found_by_prefix(store: &dyn Store) {
    let names =
        ["run/a", "session/a", "session/b", "session0", "sessioo/c", "workspace/\u{10FFFF}"];
    for (number, name) in names.iter().rev().enumerate() {
        write(store, name, &[event(store, number as u64 + 1, 1, None)], &[]);
    }
    let mut view = store.snapshot().unwrap();
    let mut found = |prefix: &str| -> Vec<String> {
        view.streams(prefix).unwrap().into_iter().map(|row| row.name).collect()
    };
    assert_eq!(found(""), names);
    assert_eq!(found("session/"), ["session/a", "session/b"]);
    assert_eq!(found("workspace/"), ["workspace/\u{10FFFF}"]);
    assert_eq!(found("zzz"), Vec::<String>::new());
}

/// Passes every story, chapter by chapter, to a macro.
macro_rules! every_story {
    ($each:ident, $argument:tt) => {
        $each!(
            $argument,
            crate::stories,
            [
                a_document_is_replaced_and_removed,
                a_dropped_transaction_leaves_nothing,
                a_snapshot_stays_at_its_moment,
                an_empty_store_has_nothing,
                positions_that_do_not_continue_the_log_are_refused,
                several_appends_share_one_transaction,
                streams_are_found_by_prefix,
                the_tail_is_read_in_pages,
                what_was_appended_is_read_back,
            ]
        );
        $each!(
            $argument,
            crate::stories::threads,
            [
                more_snapshots_than_readers_can_be_open_at_once,
                the_position_follows_other_threads,
                writers_take_turns,
            ]
        );
        $each!(
            $argument,
            crate::stories::lists,
            [lists_hold_what_they_admit_in_every_order, pages_of_a_list_meet_without_gap]
        );
        $each!(
            $argument,
            crate::stories::search,
            [
                a_string_is_found_wherever_it_is,
                a_changed_or_removed_document_is_found_no_more,
                matches_are_counted_and_come_in_pages,
            ]
        );
        $each!(
            $argument,
            crate::stories::found,
            [
                events_are_found_by_what_they_say_newest_first,
                what_is_not_indexed_is_read_over_all_streams,
                events_of_all_streams_are_read_in_parts,
                what_is_gone_or_dropped_is_not_found,
                documents_of_all_streams_are_found_newest_first,
            ]
        );
        $each!($argument, crate::stories::slices, [event_slices_are_read_both_ways]);
        $each!($argument, crate::stories::strings, [any_character_can_be_in_a_string]);
        $each!(
            $argument,
            crate::stories::pieces,
            [a_body_is_its_pieces_in_order, pieces_come_and_go_with_their_document]
        );
        $each!(
            $argument,
            crate::stories::ending,
            [
                an_end_that_was_not_committed_never_was,
                an_ended_stream_keeps_its_last_events_and_takes_no_more,
                an_end_shares_a_transaction_with_other_streams,
                positions_go_on_behind_an_end,
                a_stream_can_begin_with_its_end,
            ]
        );
        $each!(
            $argument,
            crate::stories::catalogue,
            [the_catalogue_holds_what_is_marked_newest_first, an_end_leaves_the_catalogue]
        );
    };
}

/// A test for each story, on one kind of store.
macro_rules! tests_on {
    (($fresh:expr), $chapter:path, [$($story:ident),*$(,)?]) => {
        $(
            #[test]
            fn $story() {
                use $chapter as chapter;
                let (_home, store) = $fresh;
                chapter::$story(&store);
            }
        )*
    };
}

/// Adds stories to a list, for stores that are expensive to create.
macro_rules! collected {
    (($stories:ident), $chapter:path, [$($story:ident),*$(,)?]) => {
        {
            use $chapter as chapter;
            $($stories.push((stringify!($story), chapter::$story as Story));)*
        }
    };
}

/// What a store must do.
pub(crate) type Story = fn(&dyn Store);

/// All stories with their names.
pub(crate) fn all() -> Vec<(&'static str, Story)> {
    let mut stories = Vec::new();
    every_story!(collected, (stories));
    stories
}

fn sqlite() -> (tempfile::TempDir, SqliteStore) {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&home.path().join("store"), SqliteOptions::default()).unwrap();
    (home, store)
}

mod in_memory {
    every_story!(tests_on, (((), crate::MemoryStore::new())));
}

mod in_memory_by_stream {
    every_story!(tests_on, (((), crate::MemoryStore::numbered(crate::Numbering::PerStream))));
}

mod on_sqlite {
    every_story!(tests_on, (super::sqlite()));
}
