//! Measurements against the disk itself, in one run, because machines differ. Not part of the
//! tests: `cargo test --release -p muster-store -- --ignored --nocapture speed`.

use std::{
    borrow::Cow,
    fs::File,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

use muster_core::{Address, Index, ListOrder, ListQuery, Mark, Subject, Timestamp};

use super::{STREAM, open};
use crate::{Append, DocumentChange, DocumentRow, EventRow, SqliteStore, Store as _, Transaction};

const ROUNDS: usize = 2_000;
const CALLERS: usize = 8;
/// Commits taken into one group at most.
const GROUP_MAX: usize = 256;

/// One event and the document that it changes, of the usual size.
fn append(transaction: &mut dyn Transaction, task: u64) {
    let head = transaction.head(STREAM).unwrap();
    let global = head.global + 1;
    let name = format!("TASK-{task}");
    let event = EventRow {
        global,
        seq: head.seq + 1,
        at: Timestamp(0),
        kind: "step_done".to_owned(),
        subject: Some(Subject { entity: name.clone(), scope: "PLAN-1".to_owned() }),
        body: "x".repeat(300),
        shown: None,
        by: None,
        intent: None,
    };
    let index = Index {
        ord: task,
        parent: "PLAN-1".to_owned(),
        status: Cow::Borrowed("TODO"),
        rank: Some(u32::try_from(task % 7).unwrap()),
        marks: Mark::Listed as u8,
    };
    let document = DocumentRow {
        address: Address { kind: Cow::Borrowed("task"), name },
        index,
        version: global,
        body: "y".repeat(600),
    };
    let documents = [DocumentChange::Put(document, None)];
    transaction
        .append(&Append { stream: STREAM, events: &[event], documents: &documents })
        .unwrap();
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn timed(rounds: usize, mut work: impl FnMut(usize)) -> f64 {
    let times = (0..rounds).map(|round| {
        let started = Instant::now();
        work(round);
        started.elapsed()
    });
    median(times.collect())
}

/// A file whose content is overwritten and synced, 4 KiB at a time.
struct Raw(File);

impl Raw {
    fn new(directory: &Path) -> Self {
        let file = File::create(directory.join("raw")).unwrap();
        file.write_all_at(&vec![0; 4096 * ROUNDS], 0).unwrap();
        file.sync_all().unwrap();
        Self(file)
    }

    fn sync(&self, round: usize) {
        self.0.write_all_at(&[1; 4096], 4096 * round as u64).unwrap();
        self.0.sync_data().unwrap();
    }
}

fn write(store: &SqliteStore, round: usize) {
    let mut transaction = store.begin().unwrap();
    append(&mut *transaction, round as u64 % 500);
    transaction.commit().unwrap();
}

/// One caller against the disk, in turns, so that both meet the same load.
fn single(directory: &Path) -> [f64; 3] {
    let raw = Raw::new(directory);
    let growing = open(&directory.join("growing"));
    let rested = open(&directory.join("rested"));
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..ROUNDS {
        if round.is_multiple_of(100) {
            rested.rest().unwrap();
        }
        let works: [&dyn Fn(); 3] =
            [&|| raw.sync(round), &|| write(&growing, round), &|| write(&rested, round)];
        for (work, times) in works.into_iter().zip(&mut times) {
            let started = Instant::now();
            work();
            times.push(started.elapsed());
        }
    }
    times.map(median)
}

/// A writer that commits everything waiting as one group.
fn write_groups(store: &SqliteStore, requests: &Receiver<(u64, Sender<()>)>) {
    while let Ok(first) = requests.recv() {
        let mut transaction = store.begin().unwrap();
        let mut waiting = Vec::new();
        for (task, done) in std::iter::once(first).chain(requests.try_iter()).take(GROUP_MAX) {
            append(&mut *transaction, task);
            waiting.push(done);
        }
        transaction.commit().unwrap();
        waiting.into_iter().for_each(|done| done.send(()).unwrap());
    }
}

/// Writes per second of several callers of one writer.
fn grouped(store: &SqliteStore, callers: usize) -> f64 {
    let (sender, receiver) = mpsc::channel();
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || write_groups(store, &receiver));
        for caller in 0..callers {
            let sender = sender.clone();
            scope.spawn(move || {
                let (done, finished) = mpsc::channel();
                for round in 0..ROUNDS {
                    sender.send(((caller * ROUNDS + round) as u64 % 500, done.clone())).unwrap();
                    finished.recv().unwrap();
                }
            });
        }
        drop(sender);
    });
    (callers * ROUNDS) as f64 / started.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn writes_against_the_disk() {
    let home = tempfile::tempdir().unwrap();
    let opened = timed(200, |_| drop(open(home.path())));
    let store = open(home.path());
    let [sync, growing, rested] = single(home.path());
    println!("raw sync of 4 KiB p50 {sync:.0} us");
    println!(
        "event and document, one caller, growing log {growing:.0} us, {:.2} x",
        growing / sync
    );
    println!("event and document, one caller, rested log {rested:.0} us, {:.2} x", rested / sync);
    let one = grouped(&store, 1);
    let many = grouped(&store, CALLERS);
    println!("grouped: 1 caller {one:.0}/s, {CALLERS} callers {many:.0}/s, {:.1} x", many / one);
    println!("opening an existing store and closing it p50 {opened:.0} us");
    let snapshot = timed(ROUNDS, |_| drop(store.snapshot().unwrap()));
    let mut view = store.snapshot().unwrap();
    let open_tasks = ListQuery {
        parent: Some("PLAN-1".to_owned()),
        statuses: vec!["TODO", "ACTIVE"],
        limit: Some(50),
        ..ListQuery::of("task")
    };
    let ranked = ListQuery { statuses: vec![], order: ListOrder::Rank, ..open_tasks.clone() };
    let listed = timed(ROUNDS, |_| drop(view.list(STREAM, &open_tasks).unwrap()));
    let by_rank = timed(ROUNDS, |_| drop(view.list(STREAM, &ranked).unwrap()));
    let tail = timed(ROUNDS, |_| drop(view.tail(STREAM, 1_000, 50).unwrap()));
    let polled = timed(ROUNDS, |_| assert!(store.position().unwrap() > 0));
    println!(
        "snapshot {snapshot:.1} us, position {polled:.1} us, 50 documents by two statuses \
              {listed:.0} us, by rank {by_rank:.0} us, 50 events {tail:.0} us"
    );
}
