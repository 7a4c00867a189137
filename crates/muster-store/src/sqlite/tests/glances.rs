//! Reading with the connection that wrote, where one caller does both.

use std::{path::Path, thread, time::Duration};

use muster_core::LogPosition;

use super::{
    super::{SqliteOptions, SqliteStore},
    STREAM, append, open,
};
use crate::Store as _;

fn of_one_caller(directory: &Path) -> SqliteStore {
    let options = SqliteOptions {
        one_caller: true,
        wait_bound: Duration::from_secs(5),
        ..SqliteOptions::default()
    };
    SqliteStore::open(directory, options).unwrap()
}

fn glanced(store: &SqliteStore) -> LogPosition {
    store.glance().unwrap().head(STREAM).unwrap()
}

/// A head after this many events.
fn after(count: u64) -> LogPosition {
    LogPosition { global: count, seq: count }
}

#[test]
fn a_glance_sees_every_commit_of_this_process_and_of_others() {
    let home = tempfile::tempdir().unwrap();
    let store = of_one_caller(home.path());
    let other = open(home.path());
    assert_eq!(glanced(&store), after(0), "before anything was written");
    for round in 0..3 {
        append(&store, 10).unwrap();
        assert_eq!(glanced(&store), after(round * 2 + 1));
        append(&other, 10).unwrap();
        assert_eq!(glanced(&store), after(round * 2 + 2));
    }
}

#[test]
fn a_glance_shows_one_moment_and_a_writer_waits_for_it() {
    let home = tempfile::tempdir().unwrap();
    let store = of_one_caller(home.path());
    let other = open(home.path());
    append(&store, 10).unwrap();
    let mut glance = store.glance().unwrap();
    assert_eq!(glance.head(STREAM).unwrap(), after(1));
    append(&other, 10).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| append(&store, 10));
        assert_eq!(glance.tail(STREAM, 0, 9).unwrap().len(), 1, "the moment it began in");
        // Concurrent glances get their own reader.
        assert_eq!(glanced(&store), after(2));
        assert!(!waiting.is_finished());
        drop(glance);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(glanced(&store), after(3));
}

#[test]
fn where_many_call_the_writer_is_never_lent() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 10).unwrap();
    let glance = store.glance().unwrap();
    append(&store, 10).unwrap();
    drop(glance);
    assert_eq!(glanced(&store), after(2));
}
