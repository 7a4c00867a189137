//! Many agents at once, each with a server of its own, that write to one store.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Instant,
};

use anyhow::{Context, Result};

use super::{
    Bench, SETTLING, SIZES, Stores,
    calls::{Kind, Targets},
    report::{Limit, Line, Measure},
    wire::Agent,
};

const PROCESSES: u64 = 16;
/// Minimum of their writes together.
const WRITES_PER_SECOND_MIN: f64 = 2_500.0;
/// Different calls of a process.
const CALLS_PREPARED: usize = 256;

#[derive(Default)]
struct Tally {
    stop: AtomicBool,
    done: AtomicU64,
    refused: AtomicU64,
}

/// Has all of them write notes for a while.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let time = bench.effort.slice * u32::try_from(bench.effort.slices)?;
    let (mut lines, Stores { folders: [folder, _], .. }) = bench.stores()?;
    let mut agents = Vec::new();
    for _ in 0..PROCESSES {
        let mut agent = Agent::start(&program, folder)?;
        agent.greet()?;
        agents.push(agent);
    }
    thread::sleep(SETTLING);
    let tally = Tally::default();
    let started = Instant::now();
    thread::scope(|scope| {
        let tally = &tally;
        let write = |(number, agent)| scope.spawn(move || write(agent, number, tally));
        let writers: Vec<_> = (0..).zip(agents).map(write).collect();
        thread::sleep(time);
        tally.stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().ok().context("a writer panicked")?)
    })?;
    let rate = tally.done.into_inner() as f64 / started.elapsed().as_secs_f64();
    let writes = Measure::PerSecond(rate, "writes");
    let refused = Measure::Amount(tally.refused.into_inner() as f64, "refused");
    let limit = Limit::AtLeast(WRITES_PER_SECOND_MIN);
    lines.push(Line::plain("processes, one store", "stdio", PROCESSES, writes, limit));
    lines.push(Line::plain("of them", "stdio", PROCESSES, refused, Limit::AtMost(0.0)));
    Ok(lines)
}

fn write(mut agent: Agent, number: u64, tally: &Tally) -> Result<()> {
    let mut targets = Targets::new(SIZES[0], 1_000 + number);
    let call = |_| Agent::prepared(Kind::Note.operation(), &targets.arguments(Kind::Note));
    let calls: Vec<String> = (0..CALLS_PREPARED).map(call).collect();
    for call in calls.iter().cycle() {
        if tally.stop.load(Ordering::Relaxed) {
            break;
        }
        let counter = if agent.send(call)? { &tally.done } else { &tally.refused };
        counter.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
