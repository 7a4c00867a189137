//! Several processes on one store: every caller is served, none gets an error, nothing is lost, and
//! everybody sees what the others wrote.

use std::{
    path::Path,
    process::Command,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use muster_api::{App, AppOptions};
use muster_engine::{Batch, Encoded, News, SystemClock};
use muster_store::{EventRow, SqliteOptions, SqliteStore, Store};
use muster_testkit::faults::Chance;
use serde_json::{Value, json};

use crate::{
    agent::{Agent, Caller},
    program,
};

const WORKSPACE: &str = "shared";
const PROCESSES: usize = 8;
const WRITES: usize = 200;
/// How soon a commit of another process has to be seen.
const SEEN_WITHIN: Duration = Duration::from_millis(100);
/// How long a writer waits for its turn in the test of a stopped one.
const SHORT_BOUND: Duration = Duration::from_millis(300);
/// Longer than any bound that is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

fn write(caller: &mut impl Caller, operation: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!(WORKSPACE);
    let envelope = caller.call(operation, &arguments).unwrap();
    assert_eq!(envelope["success"], true, "{operation}: {envelope:#}");
    envelope["result"].clone()
}

fn note(caller: &mut impl Caller, task: &str, text: &str) -> Value {
    write(caller, "tasks_note", json!({"task": task, "path": "s:0", "note": text}))
}

/// A plan with N tasks of one step; returns their ids.
fn prepare(caller: &mut impl Caller, tasks: usize) -> Vec<String> {
    let plan = write(caller, "tasks_create", json!({"kind": "plan", "title": "Shared"}));
    let task = |number: usize| {
        let steps = [json!({"title": "Step", "success_criteria": []})];
        let title = format!("Task {number}");
        json!({"parent": plan["id"], "title": title, "steps": steps})
    };
    let mut id = |number| write(caller, "tasks_create", task(number))["id"].clone();
    (0..tasks).map(|number| id(number).as_str().unwrap().to_owned()).collect()
}

/// Every event after a position, in order.
fn events(caller: &mut impl Caller, after: u64) -> Vec<Value> {
    let mut events = Vec::new();
    let mut since = json!(after);
    loop {
        let page = json!({"workspace": WORKSPACE, "since": since, "limit": 1_000});
        let answer = caller.call("tasks_delta", &page).unwrap();
        let result = &answer["result"];
        events.extend_from_slice(result["events"].as_array().unwrap());
        if result["has_more"] == false {
            return events;
        }
        since = result["cursor"].clone();
    }
}

fn is_sound(storage_dir: &Path) {
    let storage_dir = storage_dir.to_str().unwrap();
    let output = program::run(&["doctor", "--json", "--storage-dir", storage_dir]);
    assert_eq!(program::answer(&output)["damage"], json!([]));
}

/// Every event of the log, those that only replay sees included, has the next number.
fn is_gapless(storage_dir: &Path) {
    let store = SqliteStore::open(storage_dir, SqliteOptions::default()).unwrap();
    let mut snapshot = store.snapshot().unwrap();
    let stream = format!("workspace/{WORKSPACE}");
    let head = snapshot.head(&stream).unwrap();
    let log = snapshot.tail(&stream, 0, u32::MAX).unwrap();
    let seqs: Vec<u64> = log.iter().map(|row| row.seq).collect();
    assert!(seqs.iter().copied().eq(1..=head.seq), "the log has a gap");
    assert!(log.iter().map(|row| row.global).eq(1..=head.global), "positions have a gap");
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("p50 {:?}, p99 {:?}, longest {:?}", at(50), at(99), at(100))
}

#[test]
fn eight_agents_write_to_one_store_without_an_error_or_a_loss() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path());
    let tasks = prepare(&mut agent, PROCESSES);
    let before = events(&mut agent, 0).last().unwrap()["seq"].as_u64().unwrap();
    let start = Barrier::new(PROCESSES);
    let started = Instant::now();
    let times: Vec<Duration> = thread::scope(|scope| {
        let writer = |task: &str| {
            let mut agent = Agent::start(directory.path());
            start.wait();
            let mut times = Vec::with_capacity(WRITES);
            for number in 0..WRITES {
                let began = Instant::now();
                let written = note(&mut agent, task, &format!("note {number} on {task}"));
                times.push(began.elapsed());
                assert_eq!(written["note_seq"], json!(number + 1));
            }
            times
        };
        let running: Vec<_> = tasks.iter().map(|task| scope.spawn(move || writer(task))).collect();
        running.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let total = PROCESSES * WRITES;
    let per_second = total as f64 / started.elapsed().as_secs_f64();
    println!("{total} writes, {per_second:.0} per second, {}", quantiles(times));

    let events = events(&mut agent, before);
    let positions: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(positions.len(), total);
    assert!(positions.is_sorted_by(|one, next| one < next), "every event once and in order");
    is_gapless(directory.path());
    for task in &tasks {
        let its = events.iter().filter(|event| event["task"] == **task);
        let notes: Vec<&Value> = its.map(|event| &event["payload"]["summary"]).collect();
        let written: Vec<Value> =
            (0..WRITES).map(|number| json!(format!("note {number} on {task}"))).collect();
        assert_eq!(notes, written.iter().collect::<Vec<_>>());
    }
    is_sound(directory.path());
}

#[test]
fn commits_of_another_process_are_seen_soon() {
    const COMMITS: usize = 30;
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path());
    let task = prepare(&mut agent, 1).remove(0);
    let options = AppOptions { storage_dir: directory.path().to_owned(), ..AppOptions::default() };
    let app = App::open(options).unwrap();
    let after = app.status().unwrap().workspaces[0].events;
    let (seen, sightings) = mpsc::channel();
    let follow = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let stream = format!("workspace/{WORKSPACE}");
        let kind = |_: &str, row: &EventRow| Encoded::Frame(row.kind.clone().into());
        let mut follower = app.engine().follow(stream, after, kind).unwrap();
        for _ in 0..COMMITS {
            match runtime.block_on(follower.next()).unwrap() {
                News::Events(batches) => {
                    let moment = Instant::now();
                    let rows: Vec<_> = batches.iter().flat_map(Batch::frames).collect();
                    assert!(rows.is_sorted_by(|one, next| one.0 + 1 == next.0));
                    let notes = rows.iter().filter(|(_, kind)| *kind == b"step_noted");
                    notes.for_each(|(seq, _)| seen.send((*seq, moment)).unwrap());
                }
                other @ (News::Gap { .. } | News::End) => panic!("{other:?} for one that keeps up"),
            }
        }
    };
    let mut delays = Vec::new();
    thread::scope(|scope| {
        scope.spawn(follow);
        let mut last = after;
        for _ in 0..COMMITS {
            note(&mut agent, &task, "seen?");
            let committed = Instant::now();
            let (seq, moment) = sightings.recv_timeout(PATIENCE).unwrap();
            assert!(seq > last, "every event once and in order");
            last = seq;
            delays.push(moment.saturating_duration_since(committed));
        }
    });
    println!("commits of another process were seen after {}", quantiles(delays.clone()));
    // A busy machine may hold a thread up now and then; most must be in time.
    let in_time = delays.iter().filter(|delay| **delay <= SEEN_WITHIN).count();
    assert!(in_time * 10 >= COMMITS * 9, "{in_time} of {COMMITS} were seen in time");
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "{name} was not sent");
}

/// Stops the agent again and again until it is caught while it holds the store's write lock;
/// returns the refusal that this process then gets, and after which time.
fn stop_while_writing(process: u32, app: &App, task: &str) -> Option<(Value, Duration)> {
    let mut chance = Chance::new(7);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        signal(process, "-STOP");
        let began = Instant::now();
        let mut arguments = json!({"workspace": WORKSPACE, "task": task, "path": "s:0"});
        arguments["note"] = json!("from this process");
        let answer = app.call("tasks_note", arguments.as_object().unwrap().clone()).to_json();
        if answer["success"] == false {
            return Some((answer, began.elapsed()));
        }
        signal(process, "-CONT");
        for _ in 0..chance.below(200) {
            thread::yield_now();
        }
    }
    None
}

#[test]
fn a_stopped_writer_makes_others_wait_with_a_bound_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = Agent::start(directory.path());
    let tasks = prepare(&mut other, 3);
    let bounded = SqliteOptions { wait_bound: SHORT_BOUND, ..SqliteOptions::default() };
    let store = SqliteStore::open(directory.path(), bounded).unwrap();
    let app = App::over(Arc::new(store), Arc::new(SystemClock), AppOptions::default());
    let busy = Agent::start(directory.path());
    let process = busy.id();
    let (mut process_guard, mut talk) = busy.part();
    let enough = AtomicBool::new(false);
    let (refusal, busy_wrote, other_wrote) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0_usize;
            while !enough.load(Ordering::Relaxed) {
                count += 1;
                note(&mut talk, &tasks[0], "without pause");
            }
            count
        });
        let refusal = stop_while_writing(process, &app, &tasks[1]);
        let waiting = scope.spawn(|| note(&mut other, &tasks[2], "waits for its turn"));
        signal(process, "-CONT");
        enough.store(true, Ordering::Relaxed);
        (refusal, writer.join().unwrap(), waiting.join().unwrap())
    });
    process_guard.kill();
    let (refusal, after) = refusal.expect("the agent was never caught while it wrote");
    println!("refused after {after:?} with a bound of {SHORT_BOUND:?}");
    assert_eq!(refusal["error"]["code"], "STORE_BUSY", "{refusal:#}");
    assert!(after >= SHORT_BOUND && after < PATIENCE, "refused after {after:?}");
    assert_eq!(other_wrote["note_seq"], json!(1));
    let of_busy = events(&mut other, 0);
    let of_busy = of_busy.iter().filter(|event| event["task"] == *tasks[0]);
    assert_eq!(of_busy.filter(|event| event["type"] == "step_noted").count(), busy_wrote);
    is_sound(directory.path());
}
