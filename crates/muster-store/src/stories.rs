//! The one story suite: what every store must do, told through the traits only.
//!
//! Each story takes a fresh, empty store. A new engine joins by adding a line at the bottom.

use std::borrow::Cow;

use muster_core::{
    Address, EventOrder, EventQuery, Head, Index, ListOrder, ListQuery, Mark, Subject, Timestamp,
};

use crate::{
    Append, DocumentChange, DocumentRow, EventRow, MemoryStore, Snapshot, SqliteOptions,
    SqliteStore, Store, StoreError, StreamRow,
};

const STREAM: &str = "workspace/acme";

fn event(global: u64, seq: u64, subject: Option<(&str, &str)>) -> EventRow {
    EventRow {
        global,
        seq,
        at: Timestamp(1_000 + i64::try_from(global).unwrap()),
        kind: format!("kind_{}", global % 3),
        subject: subject
            .map(|(entity, scope)| Subject { entity: entity.to_owned(), scope: scope.to_owned() }),
        body: format!("{{\"n\":{global},\"text\":\"Grüße\"}}"),
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

fn head(store: &dyn Store, stream: &str) -> Head {
    store.snapshot().unwrap().head(stream).unwrap()
}

fn an_empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.position().unwrap(), 0);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.head(STREAM).unwrap(), Head::default());
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
    let events = [event(1, 1, Some(("TASK-1", "PLAN-1"))), event(2, 2, None)];
    let index = Index {
        ord: 7,
        parent: "PLAN-1".to_owned(),
        status: Cow::Borrowed("TODO"),
        rank: Some(3),
        marks: 3,
    };
    let row = document("TASK-1", 2, index);
    write(store, STREAM, &events, &[DocumentChange::Put(row.clone())]);
    write(store, "session/one", &[event(3, 1, None)], &[]);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.head(STREAM).unwrap(), Head { global: 3, seq: 2 });
    assert_eq!(view.head("session/one").unwrap(), Head { global: 3, seq: 1 });
    assert_eq!(view.head("session/two").unwrap(), Head { global: 3, seq: 0 });
    assert_eq!(view.tail(STREAM, 0, 10).unwrap(), events);
    assert_eq!(view.document(STREAM, &row.address).unwrap(), Some(row.clone()));
    assert_eq!(view.document("session/one", &row.address).unwrap(), None);
    assert_eq!(view.documents(STREAM).unwrap(), vec![row]);
    assert_eq!(
        view.streams("workspace/").unwrap(),
        vec![StreamRow { name: STREAM.to_owned(), seq: 2 }]
    );
    assert_eq!(view.streams("").unwrap().len(), 2);
    drop(view);
    assert_eq!(store.position().unwrap(), 3);
    assert_eq!(store.check().unwrap(), vec![]);
}

/// Every story on one kind of store.
macro_rules! told_on {
    ($name:ident, $fresh:expr, [$($story:ident),* $(,)?]) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $story() {
                    let (_home, store) = $fresh;
                    super::$story(&store);
                }
            )*
        }
    };
}

fn sqlite() -> (tempfile::TempDir, SqliteStore) {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&home.path().join("store"), SqliteOptions::default()).unwrap();
    (home, store)
}

told_on!(
    memory,
    ((), MemoryStore::new()),
    [an_empty_store_has_nothing, what_was_appended_is_read_back]
);
told_on!(sqlite_file, sqlite(), [an_empty_store_has_nothing, what_was_appended_is_read_back]);
