//! What only this engine has: plans, migrations, damage on disk, waiting with a bound.

mod damage;
mod full_disk;
mod glances;
mod looking;
mod migrations;
mod plans;
mod processes;
mod speed;
mod torn;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use muster_core::{LogPosition, Timestamp};

use super::{SqliteOptions, SqliteStore};
use crate::{Append, EventRow, Store, StoreError};

const STREAM: &str = "workspace/acme";

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, SqliteOptions::default()).unwrap()
}

/// Appends one event with a body of the given size and commits.
fn append(store: &SqliteStore, bytes: usize) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    let head = transaction.head(STREAM)?;
    let event = EventRow {
        global: head.global + 1,
        seq: head.seq + 1,
        at: Timestamp(0),
        kind: "noted".to_owned(),
        subject: None,
        body: "x".repeat(bytes),
        shown: None,
        by: None,
        intent: None,
    };
    transaction.append(&Append { stream: STREAM, events: &[event], documents: &[] })?;
    transaction.commit()
}

fn head(store: &SqliteStore) -> LogPosition {
    store.snapshot().unwrap().head(STREAM).unwrap()
}

fn wal_bytes(directory: &Path) -> u64 {
    fs::metadata(directory.join("muster.db-wal")).unwrap().len()
}

#[test]
fn a_reopened_store_has_everything_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    for round in 1..=3 {
        let store = open(home.path());
        append(&store, 10).unwrap();
        assert_eq!(head(&store), LogPosition { global: round, seq: round });
        assert_eq!(store.check().unwrap(), vec![]);
    }
}

#[test]
fn the_directory_is_private_and_holds_the_file() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("new").join("deep");
    let store = open(&directory);
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    append(&store, 10).unwrap();
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
    }
    let description = store.describe();
    let file = directory.join("muster.db");
    assert_eq!(description.location, Some(file.display().to_string()));
    assert!(description.bytes.unwrap() >= fs::metadata(file).unwrap().len());
    assert!(description.engine.starts_with("SQLite 3."));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let directory = file.join("store");
    let refused = SqliteStore::open(&directory, SqliteOptions::default()).err().unwrap();
    assert!(
        matches!(&refused, StoreError::Directory { path, .. } if *path == directory),
        "{refused}"
    );
}

#[test]
fn two_stores_on_one_file_see_each_other() {
    let home = tempfile::tempdir().unwrap();
    let one = open(home.path());
    let two = open(home.path());
    for round in 1..=5 {
        append(&one, 10).unwrap();
        assert_eq!(two.position().unwrap(), round * 2 - 1);
        append(&two, 10).unwrap();
        assert_eq!(one.position().unwrap(), round * 2);
    }
    assert_eq!(head(&one), head(&two));
}

#[test]
fn many_can_create_the_same_store_at_once() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("store");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| append(&open(&directory), 10).unwrap());
        }
    });
    assert_eq!(head(&open(&directory)), LogPosition { global: 8, seq: 8 });
}

#[test]
fn a_writer_waits_no_longer_than_its_bound() {
    let home = tempfile::tempdir().unwrap();
    let wait_bound = Duration::from_millis(50);
    let impatient = SqliteOptions { wait_bound, ..SqliteOptions::default() };
    let holder = open(home.path());
    let waiter = SqliteStore::open(home.path(), impatient).unwrap();
    let held = holder.begin().unwrap();
    for _ in 0..3 {
        let started = Instant::now();
        let refused = append(&waiter, 10).unwrap_err();
        assert!(matches!(refused, StoreError::Busy { waited_ms } if waited_ms >= 50), "{refused}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
    assert_eq!(
        waiter.snapshot().unwrap().head(STREAM).unwrap(),
        LogPosition::default(),
        "readers go on"
    );
    drop(held);
    // Abandoned places in the queue are passed on, not kept.
    append(&holder, 10).unwrap();
    append(&waiter, 10).unwrap();
    assert_eq!(head(&holder), LogPosition { global: 2, seq: 2 });
}

#[test]
fn a_second_transaction_of_one_store_waits_for_the_first() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let first = store.begin().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || sender.send(append(store, 10)).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        drop(first);
        receiver.recv().unwrap().unwrap();
    });
}

/// The content of the database file without its log. Copied by another process, because closing a
/// file that SQLite has open would release SQLite's locks on it.
fn without_log(directory: &Path) -> LogPosition {
    let home = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    assert!(copy.arg(directory.join("muster.db")).arg(home.path()).status().unwrap().success());
    head(&open(home.path()))
}

#[test]
fn the_write_ahead_log_is_folded_back_as_it_grows_and_at_rest() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let mebibyte = 1024 * 1024;
    let mut largest = 0;
    for _ in 0..100 {
        append(&store, mebibyte).unwrap();
        largest = largest.max(wal_bytes(home.path()));
    }
    assert!(largest > 30 * mebibyte as u64, "the log is let grow, it reached {largest}");
    assert!(largest < 40 * mebibyte as u64, "and is reset, it reached {largest}");
    assert!(without_log(home.path()).seq < 100, "something is only in the log");
    store.rest().unwrap();
    assert_eq!(without_log(home.path()), LogPosition { global: 100, seq: 100 });
    assert_eq!(store.check().unwrap(), vec![]);
}

#[test]
fn a_rested_log_has_room_and_does_not_grow_with_the_next_writes() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 100).unwrap();
    assert!(wal_bytes(home.path()) < 1024 * 1024);
    store.rest().unwrap();
    let room = wal_bytes(home.path());
    for _ in 0..100 {
        append(&store, 100).unwrap();
    }
    assert_eq!(wal_bytes(home.path()), room);
    assert_eq!(room, 4 * 1024 * 1024);
    // The zeros after the log are its end, also for recovery.
    let copy = tempfile::tempdir().unwrap();
    for name in ["muster.db", "muster.db-wal"] {
        let mut command = Command::new("cp");
        let status = command.arg(home.path().join(name)).arg(copy.path()).status();
        assert!(status.unwrap().success());
    }
    let recovered = open(copy.path());
    assert_eq!(head(&recovered).seq, 101);
    assert_eq!(recovered.check().unwrap(), vec![]);
    drop(store);
    assert!(!home.path().join("muster.db-wal").exists(), "the last one to leave removes it");
}

#[test]
fn a_reader_that_stays_cannot_stop_writers_or_rest() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 10).unwrap();
    let mut old = store.snapshot().unwrap();
    for _ in 0..50 {
        append(&store, 1024 * 1024).unwrap();
    }
    store.rest().unwrap();
    assert_eq!(old.head(STREAM).unwrap(), LogPosition { global: 1, seq: 1 });
    assert!(wal_bytes(home.path()) > 50 * 1024 * 1024, "it needs the log as it was");
    drop(old);
    store.rest().unwrap();
    assert_eq!(wal_bytes(home.path()), 4 * 1024 * 1024, "a log that grew too large is cut");
    assert_eq!(without_log(home.path()).seq, 51);
}

#[test]
fn a_backup_is_a_whole_store_and_never_overwrites() {
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("store"));
    for _ in 0..20 {
        append(&store, 5_000).unwrap();
    }
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    let target = other.join("muster.db");
    let open_view = store.snapshot().unwrap();
    store.backup(&target).unwrap();
    drop(open_view);
    append(&store, 10).unwrap();
    let copy = open(&other);
    assert_eq!(head(&copy), LogPosition { global: 20, seq: 20 });
    assert_eq!(copy.check().unwrap(), vec![]);
    append(&copy, 10).unwrap();
    drop(copy);
    let before = fs::read(&target).unwrap();
    let refused = store.backup(&target).unwrap_err();
    assert!(matches!(refused, StoreError::Directory { .. }), "{refused}");
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn an_interrupted_backup_is_in_nobody_s_way() {
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("store"));
    append(&store, 5_000).unwrap();
    let target = home.path().join("copy.db");
    let part = home.path().join("copy.db.part");
    fs::write(&part, "half of something".repeat(10_000)).unwrap();
    let writing = fs::File::open(&part).unwrap();
    writing.lock().unwrap();
    let refused = store.backup(&target).unwrap_err();
    assert!(refused.to_string().contains("another backup"), "{refused}");
    assert!(!target.exists() && part.exists());
    drop(writing);
    store.backup(&target).unwrap();
    assert!(!part.exists());
    let other = tempfile::tempdir().unwrap();
    fs::rename(&target, other.path().join("muster.db")).unwrap();
    assert_eq!(head(&open(other.path())).seq, 1);
}
