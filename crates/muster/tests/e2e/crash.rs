//! The program is killed at random moments while it is written to. Whatever it had acknowledged is
//! there afterwards, nothing is half done, and a call that is repeated with its key happens once.
//!
//! `MUSTER_TEST_FULL=1` asks for many more kills. What follows from the seed is who calls what and
//! how many calls go before a kill; the rest is up to the machine.

mod checks;
mod writer;

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use muster_testkit::{faults::Chance, server::ServerProcess};

use self::{
    checks::{Findings, compare, doctor_is_content},
    writer::Writer,
};
use crate::{
    agent::{Agent, Client},
    program,
};

const SEED: u64 = 20_260_728;
const KILLS_QUICK: u64 = 20;
const KILLS_FULL: u64 = 1_000;
/// Kills before a new store is begun, because every check reads the whole log.
const KILLS_PER_STORE: u64 = 5;
/// Writers over HTTP, and as many processes of agents beside the server.
const CLIENTS: usize = 8;
/// Acknowledged writes before a kill, at most.
const WRITES_BEFORE_KILL_MAX: u64 = 400;
/// A kill comes up to this long after the last write that was waited for.
const KILL_DELAY_MAX: Duration = Duration::from_millis(3);
/// How long writes are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

fn kills() -> u64 {
    match std::env::var("MUSTER_TEST_FULL") {
        Ok(full) if full == "1" => KILLS_FULL,
        _ => KILLS_QUICK,
    }
}

/// Waits until N writes are acknowledged, and then for a random moment; false when
/// the writes do not come.
#[must_use]
fn await_moment(count: &AtomicU64, wanted: u64, chance: &mut Chance) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while count.load(Ordering::Relaxed) < wanted {
        if Instant::now() > deadline {
            return false;
        }
        thread::yield_now();
    }
    let delay = chance.below(KILL_DELAY_MAX.as_nanos().try_into().unwrap());
    let moment = Instant::now() + Duration::from_nanos(delay);
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    true
}

/// The times it took to be ready again after a kill.
#[derive(Default)]
struct Reopened(Vec<Duration>);

#[expect(clippy::print_stdout, reason = "the figures are what a full run is for")]
fn report(what: &str, kills: u64, findings: &Findings, mut reopened: Reopened) {
    reopened.0.sort_unstable();
    let Findings { acknowledged, lost, doubtful, kept, replayed } = findings;
    println!(
        "{what}: {kills} kills, {acknowledged} writes acknowledged, {} lost, {doubtful} under way \
         at a kill of which {kept} had happened, {replayed} replayed by their key, ready again in \
         {:?} (median) and {:?} (longest)",
        lost.len(),
        reopened.0[reopened.0.len() / 2],
        reopened.0[reopened.0.len() - 1],
    );
    assert!(lost.is_empty(), "lost: {lost:#?}");
    assert!(*acknowledged as u64 > kills && *replayed > 0, "the writers did not come to write");
}

#[test]
fn a_killed_server_loses_no_acknowledged_write() {
    let mut findings = Findings::default();
    let mut reopened = Reopened::default();
    let mut chance = Chance::new(SEED);
    for store in 0..kills() / KILLS_PER_STORE {
        let directory = tempfile::tempdir().unwrap();
        let mut writers: Vec<Writer> =
            (0..2 * CLIENTS as u64).map(|number| Writer::new(number, SEED + store)).collect();
        let mut server = serve(directory.path());
        for _ in 0..KILLS_PER_STORE {
            kill_under_load(&mut server, directory.path(), &mut writers, &mut chance);
            doctor_is_content(directory.path());
            let started = Instant::now();
            server = serve(directory.path());
            let mut client = Client::open(server.address(), server.token().unwrap()).unwrap();
            reopened.0.push(started.elapsed());
            compare(&mut writers, &mut client, &mut findings);
        }
    }
    report("muster serve", kills(), &findings, reopened);
}

fn serve(storage_dir: &Path) -> ServerProcess {
    ServerProcess::start(program::path(), storage_dir, &[]).unwrap()
}

/// Kills the server while all write, then the agents, which go on without it.
fn kill_under_load(
    server: &mut ServerProcess,
    storage_dir: &Path,
    writers: &mut [Writer],
    chance: &mut Chance,
) {
    let address = server.address();
    let token = server.token().unwrap().to_owned();
    let (over_http, beside) = writers.split_at_mut(CLIENTS);
    let agents = beside.iter().map(|_| Agent::start(storage_dir).part());
    let (mut processes, talks): (Vec<_>, Vec<_>) = agents.unzip();
    let count = AtomicU64::new(0);
    let beside_count = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in over_http {
            let mut client = Client::open(address, &token).unwrap();
            let count = &count;
            scope.spawn(move || writer.work(&mut client, count));
        }
        for (writer, mut talk) in beside.iter_mut().zip(talks) {
            let count = &beside_count;
            scope.spawn(move || writer.work(&mut talk, count));
        }
        let wrote = await_moment(&count, chance.below(WRITES_BEFORE_KILL_MAX), chance);
        // The writers end when no process answers them: the kills come before every complaint.
        server.kill().unwrap();
        let so_far = beside_count.load(Ordering::Relaxed);
        let went_on = await_moment(&beside_count, so_far + 1 + chance.below(20), chance);
        for process in &mut processes {
            process.kill();
        }
        assert!(wrote, "the writers did not come to write within {PATIENCE:?}");
        assert!(went_on, "the agents did not go on within {PATIENCE:?}");
    });
}

#[test]
fn killed_agents_lose_no_acknowledged_write_and_hold_nobody_up() {
    let mut findings = Findings::default();
    let mut reopened = Reopened::default();
    let mut chance = Chance::new(SEED);
    for store in 0..kills() / KILLS_PER_STORE / 2 {
        let directory = tempfile::tempdir().unwrap();
        let mut writers = [Writer::new(0, SEED + store), Writer::new(1, SEED + store)];
        for _ in 0..KILLS_PER_STORE {
            kill_one_by_one(directory.path(), &mut writers, &mut chance);
            doctor_is_content(directory.path());
            let started = Instant::now();
            let mut agent = Agent::start(directory.path());
            reopened.0.push(started.elapsed());
            compare(&mut writers, &mut agent, &mut findings);
        }
    }
    report("muster mcp", kills(), &findings, reopened);
}

/// Two processes write; one is killed, the other has to be able to go on, then it is killed too.
fn kill_one_by_one(storage_dir: &Path, writers: &mut [Writer; 2], chance: &mut Chance) {
    let [first, second] = writers;
    let (mut first_process, mut first_talk) = Agent::start(storage_dir).part();
    let (mut second_process, mut second_talk) = Agent::start(storage_dir).part();
    let first_count = AtomicU64::new(0);
    let second_count = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| first.work(&mut first_talk, &first_count));
        scope.spawn(|| second.work(&mut second_talk, &second_count));
        let first_wrote =
            await_moment(&first_count, chance.below(WRITES_BEFORE_KILL_MAX / 2), chance);
        first_process.kill();
        let so_far = second_count.load(Ordering::Relaxed);
        let second_wrote = await_moment(&second_count, so_far + 1 + chance.below(20), chance);
        second_process.kill();
        assert!(first_wrote, "the first agent did not come to write within {PATIENCE:?}");
        assert!(second_wrote, "the second agent did not go on within {PATIENCE:?}");
    });
}
