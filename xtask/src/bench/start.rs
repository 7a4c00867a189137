//! From starting the program to its first response, and its memory.

use std::{path::Path, process::Stdio};

use anyhow::{Result, ensure};

use super::{
    report::{Limit, Line, micros, times},
    series::Series,
    wire::{Agent, program},
};

/// The first response may take this many times what `--version` takes.
const START_MAX: f64 = 3.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Times the start of an agent's server next to that of the program alone.
pub(crate) fn measure(path: &Path, storage_dir: &Path, tasks: u64, rounds: usize) -> Result<Line> {
    let mut version = Series::default();
    let mut answer = Series::default();
    for _ in 0..rounds {
        let mut command = program(path, storage_dir);
        command.arg("--version").stdout(Stdio::null());
        let status = version.time(|| Ok(command.status()?))?;
        ensure!(status.success(), "muster --version failed");
        answer.time(|| {
            let mut agent = Agent::start(path, storage_dir)?;
            agent.greet()?;
            // Ending it is not part of the start.
            Ok(agent)
        })?;
    }
    Ok(Line {
        what: "first answer".to_owned(),
        place: "stdio",
        tasks,
        value: format!("{}, p99 {}", micros(answer.median()), micros(answer.percentile(99))),
        base: format!("--version {}", micros(version.median())),
        ratio: times(answer.median(), version.median()),
        limit: Limit::AtMost(START_MAX),
    })
}

/// The memory of an agent's server after it has worked.
pub(crate) fn memory(agent: &Agent, tasks: u64, limit_mib: f64) -> Result<Line> {
    let (own, all) = agent.memory()?;
    Ok(Line {
        what: "memory".to_owned(),
        place: "stdio",
        tasks,
        value: format!("{:.1} MiB", all as f64 / MIB),
        base: format!("{:.1} MiB of its own", own as f64 / MIB),
        ratio: all as f64 / MIB,
        limit: Limit::AtMost(limit_mib),
    })
}
