//! From starting the program to its first response: when it was used just before, and when nothing
//! of it is in memory.

use std::{
    fs,
    io::ErrorKind,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::{
    report::{Limit, Line, shown, times},
    series::Series,
    wire::{Agent, program},
};

/// The first response may take this many times what `--version` takes.
const START_MAX: f64 = 3.0;
/// The first response after everything in memory was dropped, in milliseconds.
const COLD_MS_MAX: f64 = 15.0;
/// Fewer cold starts than warm ones: they make everything else on the machine slow, too.
const COLD_PART: usize = 6;
const CACHES: &str = "/proc/sys/vm/drop_caches";

/// Times the start of an agent's server next to that of the program alone.
pub(crate) fn measure(path: &Path, storage_dir: &Path, tasks: u64, rounds: usize) -> Result<Line> {
    let mut version = Series::default();
    let mut answer = Series::default();
    for _ in 0..rounds {
        time_version(path, storage_dir, &mut version)?;
        time_answer(path, storage_dir, &mut answer)?;
    }
    Ok(Line {
        what: "first answer".to_owned(),
        place: "stdio",
        size: tasks,
        value: (&answer).into(),
        base: format!("--version {}", shown(version.median())),
        ratio: times(answer.median(), version.median()),
        limit: Limit::AtMost(START_MAX),
    })
}

/// The same with dropped caches; nothing without the right to drop them.
pub(crate) fn measure_cold(
    path: &Path,
    storage_dir: &Path,
    tasks: u64,
    rounds: usize,
) -> Result<Option<Line>> {
    let mut version = Series::default();
    let mut answer = Series::default();
    for _ in 0..rounds.div_ceil(COLD_PART) {
        if !caches_dropped()? {
            println!("no cold starts: only root may write {CACHES}");
            return Ok(None);
        }
        time_version(path, storage_dir, &mut version)?;
        caches_dropped()?;
        time_answer(path, storage_dir, &mut answer)?;
    }
    let limit = Limit::AtMost(COLD_MS_MAX);
    let line = Line::plain("first answer, cold", "stdio", tasks, (&answer).into(), limit);
    Ok(Some(line.beside(format!("milliseconds; --version {}", shown(version.median())))))
}

fn time_version(path: &Path, storage_dir: &Path, series: &mut Series) -> Result<()> {
    let mut command = program(path, storage_dir);
    command.arg("--version").stdout(Stdio::null());
    let status = series.time(|| Ok(command.status()?))?;
    ensure!(status.success(), "muster --version failed");
    Ok(())
}

fn time_answer(path: &Path, storage_dir: &Path, series: &mut Series) -> Result<()> {
    let start = || {
        let mut agent = Agent::start(path, storage_dir)?;
        agent.greet()?;
        Ok(agent)
    };
    // Ending it is not part of the start.
    series.time(start).map(drop)
}

/// Drops what the system remembers of files; returns whether it let us.
fn caches_dropped() -> Result<bool> {
    ensure!(Command::new("sync").status()?.success(), "sync failed");
    match fs::write(CACHES, "3") {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error).context("drop caches"),
    }
}
