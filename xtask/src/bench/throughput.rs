//! Eight concurrent callers against one: how much the writer's group commit gathers.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    calls::{Kind, Targets},
    report::{Limit, Line, Measure},
    wire::{Client, Server},
};

const CALLERS: u64 = 8;
/// Different calls of a caller.
const CALLS_PREPARED: usize = 256;
/// A sync that takes longer than this is most of a durable write.
const SLOW_SYNC: Duration = Duration::from_millis(1);
/// Minimum ratio of the writes of eight callers to those of one: where syncs are slow, where the
/// work dominates, and where much of the work is folding back the log of a large store.
const GAIN_MIN: f64 = 4.0;
const GAIN_OF_WORK_MIN: f64 = 2.0;
const GAIN_OF_FOLDING_MIN: f64 = 1.5;
/// Tasks of a store that is large in this sense.
const LARGE: u64 = 10_000;

/// How much eight callers must gain on a disk with such syncs, in a store of this size.
pub(crate) fn gain_limit(sync: Duration, tasks: u64) -> Limit {
    let work = if tasks < LARGE { GAIN_OF_WORK_MIN } else { GAIN_OF_FOLDING_MIN };
    Limit::AtLeast(if sync >= SLOW_SYNC { GAIN_MIN } else { work })
}

/// Durable writes per second of one caller and of eight, in turn.
pub(crate) fn measure(
    server: &Server,
    tasks: u64,
    (rounds, slice): (usize, Duration),
    limit: Limit,
) -> Result<Line> {
    let mut alone = Vec::with_capacity(rounds);
    let mut together = Vec::with_capacity(rounds);
    for round in 0..=rounds as u64 {
        let one = writes_per_second(server, tasks, 1, round, slice)?;
        let all = writes_per_second(server, tasks, CALLERS, round, slice)?;
        // The first round only warms up.
        if round > 0 {
            alone.push(one);
            together.push(all);
        }
    }
    let one = median(alone);
    let all = median(together);
    Ok(Line {
        what: format!("{CALLERS} callers"),
        place: "http",
        size: tasks,
        value: Measure::PerSecond(all, "writes"),
        base: format!("one caller {one:.0} writes/s"),
        ratio: all / one,
        limit,
    })
}

/// Durable writes per second of that many callers.
pub(crate) fn writes_per_second(
    server: &Server,
    tasks: u64,
    callers: u64,
    round: u64,
    slice: Duration,
) -> Result<f64> {
    let stop = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    let clients: Vec<Client> = (0..callers).map(|_| server.connect()).collect::<Result<_>>()?;
    let calls: Vec<Vec<String>> = (0..)
        .zip(&clients)
        .map(|(number, client)| {
            let targets = Targets::new(tasks, round * 1_000 + callers * 100 + number);
            prepared(client, targets)
        })
        .collect();
    let started = Instant::now();
    thread::scope(|scope| {
        let stop = &stop;
        let count = &count;
        let write = |(mut client, calls): (Client, Vec<String>)| {
            scope.spawn(move || -> Result<()> {
                for call in calls.iter().cycle() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    client.send(call)?;
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let writers: Vec<_> = clients.into_iter().zip(calls).map(write).collect();
        thread::sleep(slice);
        stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().ok().context("a caller panicked")?)
    })?;
    Ok(count.into_inner() as f64 / started.elapsed().as_secs_f64())
}

/// Calls written out beforehand: callers share the cores with the program, and what they do besides
/// would be measured with it.
fn prepared(client: &Client, mut targets: Targets) -> Vec<String> {
    let call = |_| client.prepared(Kind::Note.operation(), &targets.arguments(Kind::Note));
    (0..CALLS_PREPARED).map(call).collect()
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
