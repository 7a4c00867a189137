//! A damaged log: distinguished from what a crash leaves, and copied before it is used.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, config::DbConfig};

use super::{
    super::{
        SqliteOptions, SqliteStore, StoreAccess,
        wal::{self, Tear},
    },
    append, head, open,
};
use crate::{Store as _, StoreError};

const HEAD_BYTES: usize = 32;
const FRAME_BYTES: usize = 24 + 2048;
const WRITES: u64 = 20;

/// A store that was killed with its writes in the log; the log has nothing else.
struct Killed {
    home: tempfile::TempDir,
}

impl Killed {
    fn new() -> Self {
        let origin = tempfile::tempdir().unwrap();
        let store = open(origin.path());
        append(&store, 10).unwrap();
        let mut turn = store.writer.turn().unwrap();
        turn.link().unwrap();
        turn.restart_log().unwrap();
        drop(turn);
        for _ in 1..WRITES {
            append(&store, 2_000).unwrap();
        }
        let home = tempfile::tempdir().unwrap();
        for name in ["muster.db", "muster.db-wal", "muster.lock"] {
            fs::copy(origin.path().join(name), home.path().join(name)).unwrap();
        }
        Self { home }
    }

    fn path(&self) -> &Path {
        self.home.path()
    }

    fn log(&self) -> PathBuf {
        self.path().join("muster.db-wal")
    }

    fn flip(&self, at: usize) {
        let mut bytes = fs::read(self.log()).unwrap();
        bytes[at] ^= 0x10;
        fs::write(self.log(), bytes).unwrap();
    }

    /// The offset of a frame in the log.
    fn frame(number: usize) -> usize {
        HEAD_BYTES + (number - 1) * FRAME_BYTES
    }

    /// The frames that end commits, counted from one.
    fn ends(&self) -> Vec<usize> {
        let bytes = fs::read(self.log()).unwrap();
        let frames = (bytes.len() - HEAD_BYTES) / FRAME_BYTES;
        let ends = |number: &usize| {
            let at = Self::frame(*number) + 4;
            bytes[at..at + 4] != [0; 4]
        };
        (1..=frames).filter(ends).collect()
    }

    fn tear(&self) -> Option<Tear> {
        wal::tear(&self.path().join("muster.db")).unwrap()
    }
}

/// Opens a store read-only.
fn look(directory: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(directory, SqliteOptions { access: StoreAccess::Look, ..Default::default() })
}

/// Every file with its content, except SQLite's shared memory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| !path.to_string_lossy().ends_with("-shm"));
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_log_is_whole_or_torn_where_a_byte_was_flipped() {
    let whole = Killed::new();
    assert_eq!(whole.tear(), None);
    let ends = whole.ends();
    assert_eq!(ends.len() as u64, WRITES - 1);
    let middle = ends[8];
    let after = (ends.len() - 9) as u64;
    // A page, a checksum, salts, a page number: each is a tear at that frame.
    for at in [2_000, 17, 9, 2] {
        let killed = Killed::new();
        killed.flip(Killed::frame(middle) + at);
        let tear = killed.tear().unwrap();
        assert_eq!(tear.frame, middle as u64, "byte {at}");
        assert!((after - 1..=after).contains(&tear.commits), "byte {at}: {tear:?}");
    }
    for at in [1, 9, 17, 25] {
        let killed = Killed::new();
        killed.flip(at);
        let tear = killed.tear().unwrap();
        assert_eq!((tear.frame, tear.commits), (0, WRITES - 1), "byte {at} of the head");
    }
}

#[test]
fn what_a_crash_leaves_is_no_tear() {
    let killed = Killed::new();
    let bytes = fs::read(killed.log()).unwrap();
    let ends = killed.ends();
    let newest = Killed::frame(ends[ends.len() - 2] + 1);
    // Cut anywhere, and the newest commit written only in part, its end included.
    for length in [0, 10, HEAD_BYTES, newest - 5, newest, newest + 100, bytes.len() - 1] {
        fs::write(killed.log(), &bytes[..length]).unwrap();
        assert_eq!(killed.tear(), None, "cut to {length}");
    }
    let mut torn = bytes.clone();
    torn[newest..newest + FRAME_BYTES].fill(0);
    fs::write(killed.log(), &torn).unwrap();
    assert_eq!(killed.tear(), None);
    fs::write(killed.log(), [&bytes[..], &[0; 100_000]].concat()).unwrap();
    assert_eq!(killed.tear(), None, "room after the log");
    fs::write(killed.log(), vec![0; 100_000]).unwrap();
    assert_eq!(killed.tear(), None, "nothing but room");
}

#[test]
fn looking_reports_a_torn_log_and_changes_nothing() {
    for flipped in [Killed::frame(12) + 1_000, 20] {
        let killed = Killed::new();
        killed.flip(flipped);
        let before = files(killed.path());
        for _ in 0..2 {
            let store = look(killed.path()).unwrap();
            let found = store.check().unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].finding.contains("whole transactions come after"), "{found:?}");
            assert!(matches!(store.begin().err(), Some(StoreError::Directory { .. })));
            assert!(store.rest().is_err());
            drop(store);
            assert!(files(killed.path()) == before, "not a byte differs");
        }
    }
}

#[test]
fn a_start_keeps_a_torn_log_and_goes_on() {
    for flipped in [Killed::frame(12) + 1_000, 20] {
        let killed = Killed::new();
        killed.flip(flipped);
        let database = "muster.db";
        let log = "muster.db-wal";
        let before = [database, log].map(|name| fs::read(killed.path().join(name)).unwrap());
        let store = open(killed.path());
        let kept = store.describe().kept;
        assert_eq!(kept, [killed.path().join("damaged-1")]);
        let after = [database, log].map(|name| fs::read(kept[0].join(name)).unwrap());
        assert!(before == after, "the files are kept as they were");
        let seq = head(&store).seq;
        assert!((1..WRITES).contains(&seq), "{seq}");
        assert_eq!(store.check().unwrap(), vec![], "what is left is sound");
        append(&store, 10).unwrap();
        drop(store);
        let again = open(killed.path());
        assert_eq!(head(&again).seq, seq + 1);
        assert_eq!(again.describe().kept.len(), 1, "it is kept once");
        let found = look(&kept[0]).unwrap().check().unwrap();
        assert_eq!(found.len(), 1, "the copy can be looked at: {found:?}");
    }
}

#[test]
fn a_start_after_a_crash_keeps_nothing_and_loses_nothing() {
    let killed = Killed::new();
    let bytes = fs::read(killed.log()).unwrap();
    let ends = killed.ends();
    let newest = Killed::frame(ends[ends.len() - 2] + 1);
    fs::write(killed.log(), &bytes[..newest + 100]).unwrap();
    let store = open(killed.path());
    assert_eq!(head(&store).seq, WRITES - 1);
    assert_eq!(store.describe().kept, Vec::<PathBuf>::new());
}

#[test]
fn a_start_that_is_refused_leaves_the_log() {
    let killed = Killed::new();
    let newer = Connection::open(killed.path().join("muster.db")).unwrap();
    newer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    newer.execute("UPDATE meta SET v = 99 WHERE k = 'layout'", []).unwrap();
    drop(newer);
    let before = files(killed.path());
    let refused = SqliteStore::open(killed.path(), SqliteOptions::default()).err().unwrap();
    assert!(matches!(refused, StoreError::TooNew { .. }), "{refused}");
    assert!(files(killed.path()) == before);
}

#[test]
fn looking_while_others_write_finds_nothing() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    append(&store, 10).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for _ in 0..300 {
                append(&store, 3_000).unwrap();
            }
            store.rest().unwrap();
        });
        while !writing.is_finished() {
            assert_eq!(look(home.path()).unwrap().check().unwrap(), vec![]);
        }
    });
    drop(store);
    assert!(!home.path().join("muster.db-wal").exists());
    let before = files(home.path());
    drop(look(home.path()).unwrap());
    assert!(files(home.path()) == before, "no file is left");
}
