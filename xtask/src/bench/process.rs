//! What the system knows about a process (`/proc`): its memory, its work and what it wrote.

use std::{
    fs,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// How long a process may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// In which the system counts the work of processes.
const TICKS_PER_SECOND: u32 = 100;

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Without the program's text, which is one copy for all processes.
    pub(crate) own: u64,
    /// With it.
    pub(crate) all: u64,
}

/// What a process has used since it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Work on all cores together.
    pub(crate) cpu: Duration,
    /// Bytes that it passed to system calls that write, to files and to others.
    pub(crate) written: u64,
    /// Bytes that the system counts as made dirty: whole folios of its page cache, however little
    /// of them changed. One of a file that was written in large pieces has up to two megabytes.
    pub(crate) dirtied: u64,
}

impl Memory {
    /// What it holds now.
    pub(crate) fn of(child: &Child) -> Result<Self> {
        let status = read(child, "status")?;
        Ok(Self { own: field(&status, "RssAnon:")? * 1024, all: field(&status, "VmRSS:")? * 1024 })
    }
}

impl Usage {
    /// What it has used so far.
    pub(crate) fn of(child: &Child) -> Result<Self> {
        let status = read(child, "stat")?;
        // Its name is in parentheses and may hold spaces; user and system time come 11 fields
        // later.
        let (_, fields) = status.rsplit_once(')').context("the status of a process")?;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        let ticks: u64 = ticks.sum::<Result<u64, _>>()?;
        let io = read(child, "io")?;
        let written = field(&io, "wchar:")?;
        let dirtied = field(&io, "write_bytes:")?;
        Ok(Self { cpu: Duration::from_secs(ticks) / TICKS_PER_SECOND, written, dirtied })
    }

    /// What was used after an earlier look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            written: self.written.saturating_sub(before.written),
            dirtied: self.dirtied.saturating_sub(before.dirtied),
        }
    }
}

fn read(child: &Child, name: &str) -> Result<String> {
    let path = format!("/proc/{}/{name}", child.id());
    fs::read_to_string(&path).with_context(|| format!("read {path}"))
}

fn field(text: &str, name: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.with_context(|| format!("{name} of a process"))?.parse()?)
}

/// Waits until a stopping process has exited cleanly, which leaves nothing to recover; kills it
/// after a while.
pub(crate) fn end(child: &mut Child) {
    let deadline = Instant::now() + END_TIMEOUT;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    if child.kill().is_ok() {
        child.wait().map_or_else(|error| println!("a process did not end: {error}"), drop);
    }
}
