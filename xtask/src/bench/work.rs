//! What a note costs besides its time: what it writes to the disk and how long it keeps a core
//! busy.
//!
//! Both are taken over very many notes, so that checkpoints, which write every changed page once
//! more, are part of it. What is written is what the program passes to the system for its files:
//! what the system counts depends on how the files came into its page cache.

use std::thread;

use anyhow::{Result, ensure};

use super::{
    Bench, SETTLING, SIZES, Stores,
    calls::Kind,
    process::Usage,
    report::{Limit, Line, Measure},
    wire::Agent,
};

/// What a note may write, and what it may keep a core busy.
const WRITTEN_KB_MAX: f64 = 25.0;
const CPU_MICROS_MAX: f64 = 150.0;

/// Has an agent's server write notes on tasks all over each store.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let notes = bench.effort.notes;
    let (mut lines, Stores { folders, sites, .. }) = bench.stores()?;
    for ((folder, site), tasks) in folders.iter().zip(sites).zip(SIZES) {
        let mut agent = Agent::start(&program, folder)?;
        agent.greet()?;
        let before = Usage::of(agent.process())?;
        let mut answered = 0;
        for _ in 0..notes {
            let arguments = site.targets.arguments(Kind::Note);
            let done = agent.send(&Agent::prepared(Kind::Note.operation(), &arguments))?;
            ensure!(done, "a note was refused");
            answered += agent.answer_bytes() as u64;
        }
        // An idle server folds back the rest of its log.
        thread::sleep(SETTLING);
        let used = Usage::of(agent.process())?.since(before);
        let written = used.written.saturating_sub(answered);
        lines.extend(costs(tasks, Usage { written, ..used }, notes));
    }
    Ok(lines)
}

fn costs(tasks: u64, used: Usage, notes: u32) -> [Line; 2] {
    let kilobytes = |bytes: u64| bytes as f64 / 1e3 / f64::from(notes);
    let written = Measure::Amount(kilobytes(used.written), "KB");
    let dirtied = format!("{:.0} KB counted in whole folios", kilobytes(used.dirtied));
    let cpu = Measure::Amount(used.cpu.as_secs_f64() * 1e6 / f64::from(notes), "us of a core");
    let line = |what, value, limit| Line::plain(what, "stdio", tasks, value, Limit::AtMost(limit));
    [
        line("written by a note", written, WRITTEN_KB_MAX).beside(dirtied),
        line("work of a note", cpu, CPU_MICROS_MAX),
    ]
}
