//! Several processes on one file: each gets a turn, none gets an error, nothing is lost.
//!
//! The processes are this test binary, started again with the name of the one test that is their
//! work.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use muster_core::{LogPosition, Timestamp};

use super::{STREAM, head, open};
use crate::{Append, EventRow, SqliteStore, Store as _};

const PROCESSES: usize = 8;
const WRITES: usize = 200;
/// Where a started process finds the directory to work on.
const DIRECTORY: &str = "MUSTER_TEST_DIRECTORY";
/// Where it finds how often it is to write.
const COUNT: &str = "MUSTER_TEST_WRITES";
/// A stall that counts as starvation on any machine.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// What a process reports about one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    global: u64,
    waited_us: u64,
    took_us: u64,
}

/// Writes once, and reports it only after the commit.
fn write(store: &SqliteStore, writer: u32) -> Written {
    let started = Instant::now();
    let micros = |since: Instant| u64::try_from(since.elapsed().as_micros()).unwrap();
    let mut transaction = store.begin().unwrap();
    let waited_us = micros(started);
    let head = transaction.head(STREAM).unwrap();
    let event = EventRow {
        global: head.global + 1,
        seq: head.seq + 1,
        at: Timestamp(0),
        kind: "noted".to_owned(),
        subject: None,
        body: writer.to_string(),
        shown: None,
        by: None,
        intent: None,
    };
    transaction.append(&Append { stream: STREAM, events: &[event], documents: &[] }).unwrap();
    transaction.commit().unwrap();
    Written { global: head.global + 1, waited_us, took_us: micros(started) }
}

/// The work of one process: reports that it is ready, waits for the start signal, writes, reports.
#[test]
#[ignore = "started by the tests below as a process of its own"]
fn work() {
    let (Ok(directory), Ok(count)) = (env::var(DIRECTORY), env::var(COUNT)) else { return };
    let store = open(Path::new(&directory));
    println!("\nready");
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
    for _ in 0..count.parse::<usize>().unwrap() {
        let Written { global, waited_us, took_us } = write(&store, std::process::id());
        println!("wrote {global} {waited_us} {took_us}");
    }
}

/// A started process and its output.
struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(directory: &Path, writes: usize) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "sqlite::tests::processes::work", "--ignored", "--nocapture"]);
        command.env(DIRECTORY, directory).env(COUNT, writes.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        Self { child, lines }
    }

    fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// Its next report; a line that a kill cut short does not count.
    fn report(&mut self) -> Option<Written> {
        let line =
            self.lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("wrote "))?;
        let mut numbers = line.split(' ').skip(1).map_while(|number| number.parse().ok());
        let global = numbers.next()?;
        let waited_us = numbers.next()?;
        Some(Written { global, waited_us, took_us: numbers.next()? })
    }
}

fn quantiles(micros: impl Iterator<Item = u64>) -> String {
    let mut micros: Vec<u64> = micros.collect();
    micros.sort_unstable();
    let at = |share: usize| micros[(micros.len() - 1) * share / 100];
    format!("p50 {} us, p99 {} us, max {} us", at(50), at(99), at(100))
}

#[test]
fn eight_processes_write_without_an_error_a_loss_or_a_starved_one() {
    let home = tempfile::tempdir().unwrap();
    let mut workers: Vec<Worker> =
        (0..PROCESSES).map(|_| Worker::start(home.path(), WRITES)).collect();
    let started = Instant::now();
    workers.iter_mut().for_each(Worker::go);
    let mut reports = Vec::new();
    for worker in &mut workers {
        reports.extend(std::iter::from_fn(|| worker.report()));
        assert!(worker.child.wait().unwrap().success());
    }
    let seconds = started.elapsed().as_secs_f64();
    let total = PROCESSES * WRITES;
    println!("{total} writes in {seconds:.2} s, {:.0} per second", total as f64 / seconds);
    println!("for the turn {}", quantiles(reports.iter().map(|report| report.waited_us)));
    println!("in all {}", quantiles(reports.iter().map(|report| report.took_us)));
    assert_eq!(reports.len(), total);
    let longest = reports.iter().map(|report| report.waited_us).max().unwrap();
    let longest = Duration::from_micros(longest);
    assert!(longest < WAIT_MAX, "a writer waited {longest:?}");
    let store = open(home.path());
    assert_eq!(head(&store), LogPosition { global: total as u64, seq: total as u64 });
    assert_eq!(store.check().unwrap(), vec![]);
}

#[test]
fn killed_processes_lose_nothing_that_they_reported() {
    let home = tempfile::tempdir().unwrap();
    let rounds = if env::var("MUSTER_TEST_FULL").is_ok_and(|full| full == "1") { 100 } else { 10 };
    let mut promised: Vec<(u64, String)> = Vec::new();
    for round in 0..rounds {
        let mut workers: Vec<Worker> =
            (0..4).map(|_| Worker::start(home.path(), usize::MAX)).collect();
        workers.iter_mut().for_each(Worker::go);
        // Killed at a moment that shifts from round to round, each in the middle of something else.
        for _ in 0..=round * 7 % 40 {
            let first = workers[0].report().unwrap();
            promised.push((first.global, workers[0].child.id().to_string()));
        }
        for worker in &mut workers {
            worker.child.kill().unwrap();
            worker.child.wait().unwrap();
        }
        for worker in &mut workers {
            let writer = worker.child.id().to_string();
            let reports = std::iter::from_fn(|| worker.report());
            promised.extend(reports.map(|report| (report.global, writer.clone())));
        }
        let store = open(home.path());
        assert_eq!(store.check().unwrap(), vec![], "round {round}");
        let events = store.snapshot().unwrap().tail(STREAM, 0, u32::MAX).unwrap();
        for (global, writer) in &promised {
            let found = events.get(usize::try_from(*global).unwrap() - 1);
            assert_eq!(found.map(|event| &event.body), Some(writer), "round {round}, {global}");
        }
    }
    println!("{rounds} kills of 4 writers, {} reported, none lost", promised.len());
    assert!(promised.len() > rounds * 10);
}
