//! Several processes on one file: everybody gets a turn, nobody an error, nothing is lost.
//!
//! The processes are this test binary, started again with the name of the one test that is their work.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use muster_core::{Head, Timestamp};

use super::{STREAM, head, open};
use crate::{Append, EventRow, SqliteStore, Store as _};

const PROCESSES: usize = 8;
const WRITES: usize = 200;
/// Where a started process finds the directory to work on.
const DIRECTORY: &str = "MUSTER_TEST_DIRECTORY";
/// A stall that counts as starvation on any machine.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Writes once; answers how long it took to get the turn and how long in all.
fn write(store: &SqliteStore, writer: u32) -> (Duration, Duration) {
    let started = Instant::now();
    let mut transaction = store.begin().unwrap();
    let waited = started.elapsed();
    let head = transaction.head(STREAM).unwrap();
    let event = EventRow {
        global: head.global + 1,
        seq: head.seq + 1,
        at: Timestamp(0),
        kind: "noted".to_owned(),
        subject: None,
        body: format!("{writer}"),
    };
    transaction.append(&Append { stream: STREAM, events: &[event], documents: &[] }).unwrap();
    transaction.commit().unwrap();
    (waited, started.elapsed())
}

/// The work of one process: says that it is there, waits for the word, writes, reports.
#[test]
#[ignore = "started by the tests below as a process of its own"]
fn work() {
    let Ok(directory) = env::var(DIRECTORY) else { return };
    let store = open(Path::new(&directory));
    println!("ready");
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
    for _ in 0..WRITES {
        let (waited, took) = write(&store, std::process::id());
        println!("wrote {} {}", waited.as_micros(), took.as_micros());
    }
}

fn start(directory: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "sqlite::tests::processes::work", "--ignored", "--nocapture"]);
    command.env(DIRECTORY, directory).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The process's next line that is its own and not the test framework's.
fn line(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Option<String> {
    lines.map(Result::unwrap).find_map(|line| {
        ["ready", "wrote"].iter().find_map(|word| Some(line[line.find(word)?..].to_owned()))
    })
}

fn quantiles(mut micros: Vec<u64>) -> String {
    micros.sort_unstable();
    let at = |share: usize| micros[(micros.len() - 1) * share / 100];
    format!("p50 {} us, p99 {} us, max {} us", at(50), at(99), at(100))
}

#[test]
fn eight_processes_write_without_an_error_a_loss_or_a_starved_one() {
    let home = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| start(home.path())).collect();
    let mut outputs: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()).lines())
        .collect();
    for output in &mut outputs {
        assert_eq!(line(output).unwrap(), "ready");
    }
    let started = Instant::now();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let (mut waits, mut writes) = (Vec::new(), Vec::new());
    for (child, output) in children.iter_mut().zip(&mut outputs) {
        while let Some(report) = line(output) {
            let mut numbers = report.split(' ').skip(1).map(|number| number.parse().unwrap());
            waits.push(numbers.next().unwrap());
            writes.push(numbers.next().unwrap());
        }
        assert!(child.wait().unwrap().success());
    }
    let seconds = started.elapsed().as_secs_f64();
    let total = PROCESSES * WRITES;
    println!("{total} writes in {seconds:.2} s, {:.0} per second", total as f64 / seconds);
    println!("for the turn {}", quantiles(waits.clone()));
    println!("in all {}", quantiles(writes.clone()));
    assert_eq!(writes.len(), total);
    let longest = Duration::from_micros(*waits.iter().max().unwrap());
    assert!(longest < WAIT_MAX, "somebody waited {longest:?}");
    let store = open(home.path());
    assert_eq!(head(&store), Head { global: total as u64, seq: total as u64 });
    assert_eq!(store.check().unwrap(), vec![]);
}
