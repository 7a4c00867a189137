//! The least that a durable store does for concurrent writers: what a real one is measured against.
//! `bare_group_commit FILE WRITERS SECONDS BYTES` has WRITERS threads hand over events of BYTES
//! bytes, each waiting until its event is on the disk, and prints the events per second.
//!
//! One thread takes all events that wait and commits them together, to a table with the one index
//! that a log of streams needs. There are no rules, documents, responses or connections.

use std::{
    env,
    error::Error,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

/// Events that wait, and that one commit takes at most.
const WAITING_MAX: usize = 1_024;
const GROUP_MAX: usize = 256;
/// Pages in the log before they are folded back, as in a real store.
const LOG_PAGES: u32 = 8_000;

const TABLE: &str = "
    CREATE TABLE event (
        global INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL,
        seq    INTEGER NOT NULL,
        at     INTEGER NOT NULL,
        kind   TEXT    NOT NULL,
        body   TEXT    NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX event_by_seq ON event (stream, seq);";

type Failure = Box<dyn Error + Send + Sync>;

/// An event, and where its writer waits.
struct Handed {
    stream: u64,
    body: String,
    done: SyncSender<()>,
}

#[expect(clippy::print_stdout, reason = "the rate is what the caller asks for")]
fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, writers, seconds, bytes] = arguments.as_slice() else {
        return Err("give a file, a number of writers, seconds and bytes of an event".into());
    };
    let connection = open(file.as_ref())?;
    let time = Duration::from_secs_f64(seconds.parse()?);
    println!("{:.0}", rate(connection, writers.parse()?, time, bytes.parse()?)?);
    Ok(())
}

fn open(file: &Path) -> Result<Connection, Failure> {
    let connection = Connection::open(file)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {LOG_PAGES};"
    ))?;
    connection.execute_batch(TABLE)?;
    Ok(connection)
}

/// Acknowledged events per second.
fn rate(
    connection: Connection,
    writers: u64,
    time: Duration,
    bytes: usize,
) -> Result<f64, Failure> {
    let (sender, events) = mpsc::sync_channel(WAITING_MAX);
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let written = thread::scope(|scope| {
        for stream in 0..writers {
            let sender = sender.clone();
            let stop = &stop;
            scope.spawn(move || hand_over(stream, bytes, &sender, stop));
        }
        drop(sender);
        let committer = scope.spawn(move || commit(connection, &events));
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        committer.join().map_err(|_| "the committer panicked")?
    })?;
    Ok(written as f64 / started.elapsed().as_secs_f64())
}

/// Hands over one event after the other until told to stop, or until the committer has failed.
fn hand_over(stream: u64, bytes: usize, sender: &SyncSender<Handed>, stop: &AtomicBool) {
    let (done, waited) = mpsc::sync_channel(1);
    while !stop.load(Ordering::Relaxed) {
        let handed = Handed { stream, body: "x".repeat(bytes), done: done.clone() };
        if sender.send(handed).is_err() || waited.recv().is_err() {
            return;
        }
    }
}

/// Commits what waits until all writers are gone; returns the number of events.
fn commit(mut connection: Connection, events: &Receiver<Handed>) -> Result<u64, Failure> {
    let mut written = 0;
    while let Ok(first) = events.recv() {
        let group = std::iter::once(first).chain(events.try_iter()).take(GROUP_MAX);
        let mut waiting = Vec::new();
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO event (stream, seq, at, kind, body) VALUES (?, ?, ?, 'noted', ?)",
            )?;
            for Handed { stream, body, done } in group {
                written += 1;
                insert.execute((stream, written, written, body))?;
                waiting.push(done);
            }
        }
        transaction.commit()?;
        for done in waiting {
            // Its writer waits, so there is room and a receiver.
            done.send(())?;
        }
    }
    Ok(written)
}
