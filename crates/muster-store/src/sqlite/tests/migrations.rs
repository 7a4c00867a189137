//! Files of every released layout open with the current code and keep their content.

use std::{borrow::Cow, fs, path::Path};

use muster_core::{Address, Index, LogPosition, Subject, Timestamp};
use rusqlite::Connection;

use super::{
    super::{SCHEMA_VERSION, SqliteOptions, SqliteStore, StoreAccess},
    STREAM, append, head, open,
};
use crate::{DocumentRow, EventRow, Store as _, StoreError};

/// A file of each layout version as SQL text, oldest first; written once at its release, never
/// edited.
pub(super) const FIXTURES: &[&str] = &[
    include_str!("../layout/fixtures/1.sql"),
    include_str!("../layout/fixtures/2.sql"),
    include_str!("../layout/fixtures/3.sql"),
    include_str!("../layout/fixtures/4.sql"),
    include_str!("../layout/fixtures/5.sql"),
    include_str!("../layout/fixtures/6.sql"),
    include_str!("../layout/fixtures/7.sql"),
    include_str!("../layout/fixtures/8.sql"),
    include_str!("../layout/fixtures/9.sql"),
];

fn make(directory: &Path, sql: &str) {
    let connection = Connection::open(directory.join("muster.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn schema(directory: &Path) -> Vec<(String, String)> {
    let connection = Connection::open(directory.join("muster.db")).unwrap();
    let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The task that every fixture holds.
fn task() -> DocumentRow {
    DocumentRow {
        address: Address { kind: Cow::Borrowed("task"), name: "TASK-001".to_owned() },
        index: Index {
            ord: 1,
            parent: "PLAN-001".to_owned(),
            status: Cow::Borrowed("ACTIVE"),
            rank: Some(2),
            marks: 7,
        },
        version: 4,
        body: "{\"title\":\"second\"}".to_owned(),
    }
}

#[test]
fn every_older_layout_opens_and_keeps_its_content() {
    assert_eq!(FIXTURES.len(), SCHEMA_VERSION as usize, "each version has a fixture");
    let fresh = tempfile::tempdir().unwrap();
    drop(open(fresh.path()));
    for fixture in FIXTURES {
        let home = tempfile::tempdir().unwrap();
        make(home.path(), fixture);
        let store = open(home.path());
        assert_eq!(store.check().unwrap(), vec![]);
        let mut view = store.snapshot().unwrap();
        assert_eq!(view.head(STREAM).unwrap(), LogPosition { global: 4, seq: 3 });
        assert_eq!(view.document(STREAM, &task().address).unwrap(), Some(task()));
        let created = EventRow {
            global: 2,
            seq: 2,
            at: Timestamp(1001),
            kind: "task_created".to_owned(),
            subject: Some(Subject { entity: "TASK-001".to_owned(), scope: "PLAN-001".to_owned() }),
            body: "{\"title\":\"first\"}".to_owned(),
            shown: None,
            by: None,
            intent: None,
        };
        assert_eq!(view.tail(STREAM, 1, 1).unwrap(), vec![created]);
        assert_eq!(view.tail("session/one", 0, 9).unwrap().len(), 1);
        drop(view);
        append(&store, 10).unwrap();
        assert_eq!(head(&store), LogPosition { global: 5, seq: 4 });
        drop(store);
        assert_eq!(schema(home.path()), schema(fresh.path()));
    }
}

#[test]
fn a_store_is_copied_before_it_is_migrated() {
    for (layout, fixture) in (1..SCHEMA_VERSION).zip(FIXTURES) {
        let home = tempfile::tempdir().unwrap();
        make(home.path(), fixture);
        let copy = home.path().join(format!("muster.db.layout-{layout}"));
        assert_eq!(open(home.path()).describe().kept, std::slice::from_ref(&copy));
        let back = tempfile::tempdir().unwrap();
        fs::copy(&copy, back.path().join("muster.db")).unwrap();
        let options = SqliteOptions { access: StoreAccess::Look, ..SqliteOptions::default() };
        let store = SqliteStore::open(back.path(), options).unwrap();
        assert_eq!(store.describe().schema_version, layout);
        assert_eq!(store.check().unwrap(), vec![]);
    }
    let empty = tempfile::tempdir().unwrap();
    make(empty.path(), include_str!("../layout/1.sql"));
    make(empty.path(), "INSERT INTO meta VALUES ('layout', 1)");
    assert!(open(empty.path()).describe().kept.is_empty(), "there is nothing to keep");
}

#[test]
fn a_newer_layout_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    drop(open(home.path()));
    make(home.path(), "UPDATE meta SET v = 99 WHERE k = 'layout'");
    let before = fs::read(home.path().join("muster.db")).unwrap();
    let refused = SqliteStore::open(home.path(), SqliteOptions::default()).err().unwrap();
    assert!(matches!(refused, StoreError::TooNew { found: 99, known: SCHEMA_VERSION }));
    assert_eq!(fs::read(home.path().join("muster.db")).unwrap(), before);
}

#[test]
fn a_database_of_something_else_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    make(home.path(), "CREATE TABLE song (title TEXT)");
    let before = fs::read(home.path().join("muster.db")).unwrap();
    let refused = SqliteStore::open(home.path(), SqliteOptions::default()).err().unwrap();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert_eq!(fs::read(home.path().join("muster.db")).unwrap(), before);
}

#[test]
fn every_store_has_an_identity_of_its_own() {
    let identity = || {
        let home = tempfile::tempdir().unwrap();
        drop(open(home.path()));
        let connection = Connection::open(home.path().join("muster.db")).unwrap();
        let sql = "SELECT v FROM meta WHERE k = 'instance'";
        connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let one = identity();
    let two = identity();
    assert_eq!(one.len(), 32);
    assert_ne!(one, two);
}
