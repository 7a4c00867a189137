//! One caller: how long each kind of call takes, next to an empty one and a sync of the disk.
//!
//! Everything that is compared is measured in turn, call by call, so that other load on the machine
//! affects all of it alike.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    os::unix::fs::FileExt as _,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};

use super::{
    calls::{Bound, Kind, Targets},
    frames::Log,
    report::{Limit, Line, shown, times},
    series::Series,
    wire::Wire,
};

/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 20;
/// Syncs of one page that show what kind of disk it is.
const SYNCS: usize = 50;
/// How many times a route without an operation one with an empty operation may take.
pub(crate) const OPERATION_MAX: f64 = 1.5;
/// How much slower a call may be in the larger store.
const GROWTH_MAX: f64 = 1.5;
/// A frame of the store's log: its head and a page, which the engine writes one after the other.
const HEAD_BYTES: usize = 24;
const PAGE_BYTES: usize = 2_048;
/// How many of them the file for syncs has.
const FILE_FRAMES: u64 = 1_024;
/// How many times an echo and a sync of the frames that it wrote a durable call may take. Compared
/// with the sync of one page, writing more shows; compared with this, other work does.
const FRAMES_MAX: f64 = 2.0;

/// Writes that wait for the disk, as the lower bound of every durable call.
pub(crate) struct Disk {
    file: File,
    frame: u64,
}

impl Disk {
    /// A file on the same disk as the stores, written once so that its pages exist.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("sync");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(true).write(true).open(path);
        let file = file.context("open a file to sync")?;
        file.write_all_at(&vec![1; (HEAD_BYTES + PAGE_BYTES) * FILE_FRAMES as usize], 0)?;
        file.sync_all()?;
        Ok(Self { file, frame: 0 })
    }

    /// How long one page takes to be durable.
    pub(crate) fn page_time(&mut self) -> Result<Duration> {
        let mut series = Series::default();
        for _ in 0..SYNCS {
            series.time(|| self.write(1))?;
        }
        Ok(series.median())
    }

    fn write(&mut self, frames: u64) -> Result<()> {
        for _ in 0..frames {
            let at = self.frame * (HEAD_BYTES + PAGE_BYTES) as u64;
            self.file.write_all_at(&[2; HEAD_BYTES], at)?;
            self.file.write_all_at(&[2; PAGE_BYTES], at + HEAD_BYTES as u64)?;
            self.frame = (self.frame + 1) % FILE_FRAMES;
        }
        Ok(self.file.sync_data()?)
    }
}

/// How calls reach the program, and with that what an echo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// An echo is an operation that finds nothing.
    Stdio,
    /// An echo is a route without an operation.
    Http,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }

    /// How many echoes N operations may take.
    fn echoes(self, operations: f64) -> f64 {
        match self {
            Self::Stdio => operations,
            Self::Http => operations * OPERATION_MAX,
        }
    }
}

/// One store.
pub(crate) struct Site {
    /// What to call on it.
    pub(crate) targets: Targets,
    pub(crate) log: Log,
}

/// One store over one transport.
pub(crate) struct Subject<'a> {
    /// Tasks in the store.
    pub(crate) tasks: u64,
    /// The way to it.
    pub(crate) wire: &'a mut dyn Wire,
    /// The store.
    pub(crate) site: &'a mut Site,
}

#[derive(Default)]
struct Times {
    echo: Series,
    /// Syncs of one page, which is the least that a durable call can do.
    page: Series,
    /// Syncs of as many frames as the call wrote.
    syncs: BTreeMap<Kind, Series>,
    frames: BTreeMap<Kind, Vec<u64>>,
    calls: BTreeMap<Kind, Series>,
}

/// Times all kinds of calls on a small and on a large store.
pub(crate) fn measure(
    transport: Transport,
    subjects: &mut [Subject<'_>; 2],
    disk: &mut Disk,
    rounds: usize,
) -> Result<Vec<Line>> {
    let mut warm_up = [Times::default(), Times::default()];
    for _ in 0..WARM_UP_ROUNDS.min(rounds) {
        round(subjects, disk, &mut warm_up)?;
    }
    let mut times = [Times::default(), Times::default()];
    for _ in 0..rounds {
        round(subjects, disk, &mut times)?;
    }
    let tasks = [subjects[0].tasks, subjects[1].tasks];
    Ok(Kind::ALL.into_iter().flat_map(|kind| lines(transport, kind, tasks, &times)).collect())
}

fn round(subjects: &mut [Subject<'_>; 2], disk: &mut Disk, times: &mut [Times; 2]) -> Result<()> {
    for kind in Kind::ALL {
        for (subject, times) in subjects.iter_mut().zip(times.iter_mut()) {
            subject.wire.echo(&mut times.echo)?;
            let arguments = subject.site.targets.arguments(kind);
            let series = times.calls.entry(kind).or_default();
            subject.wire.call(kind.operation(), &arguments, series)?;
            if let Bound::Durable(_) = kind.bound() {
                let frames = subject.site.log.newest_commit()?;
                times.frames.entry(kind).or_default().push(frames);
                times.syncs.entry(kind).or_default().time(|| disk.write(frames))?;
                times.page.time(|| disk.write(1))?;
            }
        }
    }
    Ok(())
}

/// One kind of call: in the smaller store against the least it could take, then in the larger one
/// against the smaller.
fn lines(
    transport: Transport,
    kind: Kind,
    tasks: [u64; 2],
    [small, large]: &[Times; 2],
) -> Vec<Line> {
    let none = Series::default();
    let calls = [small, large].map(|times| times.calls.get(&kind).unwrap_or(&none));
    let line = |at: usize, base: String, floor: Duration, limit: f64| Line {
        what: kind.label().to_owned(),
        place: transport.name(),
        size: tasks[at],
        value: calls[at].into(),
        base,
        ratio: times(calls[at].median(), floor),
        limit: Limit::AtMost(limit),
    };
    let echo = small.echo.median();
    let echoed = format!("echo {}", shown(echo));
    let mut lines = Vec::new();
    match kind.bound() {
        Bound::Durable(most) => {
            let page = small.page.median();
            let sync = small.syncs.get(&kind).unwrap_or(&none).median();
            let frames = median(small.frames.get(&kind));
            let base = format!("{echoed} + a page {}", shown(page));
            lines.push(line(0, base, echo + page, most));
            let base = format!("{echoed} + {frames} frames {}", shown(sync));
            lines.push(line(0, base, echo + sync, FRAMES_MAX));
        }
        Bound::Operations(most) => lines.push(line(0, echoed, echo, transport.echoes(most))),
    }
    let smaller = calls[0].median();
    let base = format!("{} (echo {})", shown(smaller), shown(large.echo.median()));
    lines.push(line(1, base, smaller, GROWTH_MAX));
    lines
}

fn median(counts: Option<&Vec<u64>>) -> u64 {
    let mut counts = counts.cloned().unwrap_or_default();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default()
}
