//! The memory of an agent's server: at rest, and after it has worked.

use std::thread;

use anyhow::Result;

use super::{
    Bench, SETTLING, SIZES, Stores,
    calls::Kind,
    process::Memory,
    report::{Limit, Line, MB, Measure},
    series::Series,
    wire::{Agent, Wire as _},
};

/// Calls of all kinds in turn, as many as a long task takes.
const CALLS: usize = 1_500;
/// With the text of the program, of which there is one copy for all processes.
const MEMORY_MB_MAX: f64 = 15.0;

/// Looks at a server of each store.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let (mut lines, Stores { folders, sites, .. }) = bench.stores()?;
    for ((folder, site), tasks) in folders.iter().zip(sites).zip(SIZES) {
        let mut agent = Agent::start(&program, folder)?;
        agent.greet()?;
        thread::sleep(SETTLING);
        lines.push(line("memory at rest", tasks, Memory::of(agent.process())?));
        for kind in Kind::ALL.into_iter().cycle().take(CALLS) {
            let arguments = site.targets.arguments(kind);
            agent.call(kind.operation(), &arguments, &mut Series::default())?;
        }
        thread::sleep(SETTLING);
        lines.push(line("after 1,500 calls", tasks, Memory::of(agent.process())?));
    }
    Ok(lines)
}

fn line(what: &str, tasks: u64, memory: Memory) -> Line {
    let value = Measure::Amount(memory.all as f64 / MB, "MB");
    Line::plain(what, "stdio", tasks, value, Limit::AtMost(MEMORY_MB_MAX))
        .beside(format!("{:.1} MB of its own", memory.own as f64 / MB))
}
