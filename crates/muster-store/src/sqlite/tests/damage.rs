//! Files that were cut, overwritten or emptied: reported, never repaired silently, never a panic.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt as _,
    path::Path,
};

use muster_core::{Address, Index};
use rusqlite::Connection;

use super::{
    super::{SqliteOptions, SqliteStore},
    STREAM, append, head, open,
};
use crate::{Append, Damage, DocumentChange, DocumentRow, Store as _, StoreError};

const PAGE_BYTES: usize = 2048;

/// A store of some hundred pages that was closed in good order.
fn filled(directory: &Path) {
    let store = open(directory);
    for _ in 0..300 {
        append(&store, 2_000).unwrap();
    }
    change_a_document(&store);
    store.rest().unwrap();
    assert_eq!(store.check().unwrap(), vec![]);
}

/// Writes a document as of the newest event.
fn change_a_document(store: &SqliteStore) {
    let mut transaction = store.begin().unwrap();
    let version = transaction.head(STREAM).unwrap().global;
    let address = Address { kind: "task".into(), name: "TASK-001".to_owned() };
    let row = DocumentRow { address, index: Index::default(), version, body: "{}".to_owned() };
    let documents = [DocumentChange::Put(row, None)];
    transaction.append(&Append { stream: STREAM, events: &[], documents: &documents }).unwrap();
    transaction.commit().unwrap();
}

/// The findings of opening and checking the file.
fn findings(directory: &Path) -> Vec<Damage> {
    match SqliteStore::open(directory, SqliteOptions::default()) {
        Ok(store) => store.check().unwrap(),
        Err(StoreError::Damaged { place, finding }) => vec![Damage { place, finding }],
        Err(error) => panic!("damage is called damage, not: {error}"),
    }
}

#[test]
fn a_truncated_file_is_reported_at_every_length() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let file = home.path().join("muster.db");
    let whole = fs::read(&file).unwrap();
    for length in
        [0, 1, 100, 511, 4_095, 4_096, 5_000, 12_288, whole.len() / 2, whole.len() - 4_096]
    {
        fs::write(&file, &whole[..length]).unwrap();
        let found = findings(home.path());
        assert!(!found.is_empty(), "cut to {length} bytes");
        assert_eq!(fs::metadata(&file).unwrap().len(), length as u64, "left as it was found");
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(findings(home.path()), vec![]);
}

#[test]
fn a_torn_page_anywhere_is_reported() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let file = home.path().join("muster.db");
    let whole = fs::read(&file).unwrap();
    let pages = whole.len() / PAGE_BYTES;
    let mut reported = 0;
    for page in 0..pages {
        let torn = OpenOptions::new().write(true).open(&file).unwrap();
        torn.write_all_at(&[0xA5; PAGE_BYTES / 2], (page * PAGE_BYTES) as u64).unwrap();
        drop(torn);
        reported += usize::from(!findings(home.path()).is_empty());
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(reported, pages);
}

#[test]
fn a_file_that_is_no_database_is_reported() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("muster.db"), "not a database at all".repeat(500)).unwrap();
    assert_eq!(findings(home.path()).len(), 1);
}

#[test]
fn an_emptied_file_keeps_the_log_that_is_left_of_it() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 2_000).unwrap();
    let file = home.path().join("muster.db");
    let log = home.path().join("muster.db-wal");
    let rest = fs::read(&log).unwrap();
    drop(store);
    fs::write(&file, "").unwrap();
    fs::write(&log, &rest).unwrap();
    assert_eq!(findings(home.path()).len(), 1);
    assert_eq!(fs::read(&log).unwrap(), rest);
}

/// Changes the file while the store does not look.
fn tamper(directory: &Path, sql: &str) {
    let connection = Connection::open(directory.join("muster.db")).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn a_log_with_a_gap_is_reported() {
    let origin = tempfile::tempdir().unwrap();
    filled(origin.path());
    for (sql, places) in [
        ("DELETE FROM event WHERE seq = 150", vec!["stream"]),
        // Whatever the newest event changed is newer than what is left of the log.
        ("DELETE FROM event WHERE seq = 300", vec!["document"]),
        ("DELETE FROM event WHERE seq = 1", vec!["stream"]),
        ("DELETE FROM event", vec!["document"]),
        ("UPDATE event SET global = 999 WHERE seq = 150", vec!["log"]),
        ("DELETE FROM event WHERE seq < 300", vec!["stream"]),
        ("DELETE FROM event WHERE seq < 300; UPDATE stream SET ended = 1", vec![]),
        ("DELETE FROM event WHERE seq = 299; UPDATE stream SET ended = 1", vec!["stream"]),
        ("DELETE FROM event; UPDATE stream SET ended = 1", vec!["stream", "document"]),
        ("DELETE FROM stream", vec!["references"; 100]),
        (
            "INSERT INTO document (stream, kind, name, version, ord, parent, status, marks, body) \
             VALUES (1, 'task', 'TASK-1', 301, 1, '', '', 0, '')",
            vec!["document"],
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        fs::copy(origin.path().join("muster.db"), home.path().join("muster.db")).unwrap();
        tamper(home.path(), sql);
        let found = findings(home.path());
        let found: Vec<&str> = found.iter().map(|damage| damage.place.as_str()).collect();
        assert_eq!(found, places, "{sql}");
    }
}

#[test]
fn a_reference_to_nothing_is_named() {
    let home = tempfile::tempdir().unwrap();
    append(&open(home.path()), 10).unwrap();
    tamper(home.path(), "INSERT INTO brief (document, body) VALUES (77, '')");
    let found = findings(home.path());
    let finding = "brief row 77 refers to a document that is not there";
    assert!(found.iter().any(|damage| damage.finding == finding), "{found:?}");
}

#[test]
fn a_torn_log_tail_costs_nothing_that_was_folded_back() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 2_000).unwrap();
    store.rest().unwrap();
    append(&store, 2_000).unwrap();
    let log = home.path().join("muster.db-wal");
    let torn = fs::read(&log).unwrap();
    drop(store);
    let other = tempfile::tempdir().unwrap();
    fs::copy(home.path().join("muster.db"), other.path().join("muster.db")).unwrap();
    fs::write(other.path().join("muster.db-wal"), &torn[..torn.len() - 100]).unwrap();
    let store = open(other.path());
    assert_eq!(store.check().unwrap(), vec![]);
    assert!(head(&store).seq >= 1);
    append(&store, 10).unwrap();
}

#[test]
fn a_copy_of_a_damaged_file_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let file = home.path().join("muster.db");
    let bytes = fs::metadata(&file).unwrap().len();
    let torn = OpenOptions::new().write(true).open(&file).unwrap();
    let page = PAGE_BYTES as u64;
    torn.write_all_at(&[0xA5; 512], bytes / 2 / page * page).unwrap();
    let target = home.path().join("copy");
    let refused = open(home.path()).backup(&target).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    let left = fs::read_dir(home.path()).unwrap().flatten();
    let copies = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("copy"));
    assert_eq!(copies.count(), 0);
}

#[test]
fn a_file_that_was_taken_away_takes_no_writes_until_it_is_back() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 10).unwrap();
    for (name, finding) in [("muster.db", "was removed"), ("muster.db-wal", "was removed")] {
        let here = home.path().join(name);
        let aside = home.path().join("aside");
        fs::rename(&here, &aside).unwrap();
        let refused = append(&store, 10).unwrap_err().to_string();
        assert!(refused.contains(finding), "{name}: {refused}");
        assert_eq!(store.confirm_in_place().is_err(), name == "muster.db");
        fs::write(&here, "another").unwrap();
        let refused = append(&store, 10).unwrap_err().to_string();
        assert!(refused.contains("replaced"), "{name}: {refused}");
        fs::rename(&aside, &here).unwrap();
        append(&store, 10).unwrap();
    }
    assert_eq!(head(&store).seq, 3);
    assert_eq!(store.check().unwrap(), vec![]);
}

#[test]
fn compacting_gives_spare_pages_back() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let file = home.path().join("muster.db");
    let store = open(home.path());
    let mut transaction = store.begin().unwrap();
    let last = transaction.head(super::STREAM).unwrap();
    let event = crate::EventRow {
        global: last.global + 1,
        seq: last.seq + 1,
        at: muster_core::Timestamp(0),
        kind: "ended".to_owned(),
        subject: None,
        body: "{}".to_owned(),
        shown: None,
        by: None,
        intent: None,
    };
    let end = crate::Append { stream: super::STREAM, events: &[event], documents: &[] };
    transaction.end(&end).unwrap();
    transaction.commit().unwrap();
    let before = fs::metadata(&file).unwrap().len();
    assert!(store.spare_bytes().unwrap() > before / 2);
    store.compact().unwrap();
    assert_eq!(store.spare_bytes().unwrap(), 0);
    assert!(fs::metadata(&file).unwrap().len() < before / 2);
    assert_eq!(store.check().unwrap(), vec![]);
    assert_eq!(head(&store).seq, last.seq + 1);
}
