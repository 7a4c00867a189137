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
    calls::{Kind, Targets},
    frames::Log,
    report::{Limit, Line, micros, times},
    series::Series,
    wire::Wire,
};

/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 20;
/// Syncs of one page that show what kind of disk it is.
const SYNCS: usize = 50;
/// How much slower a call may be in the larger store.
const GROWTH_MAX: f64 = 1.5;
/// A frame of the store's log: its head and a page, which the engine writes one after the other.
const HEAD_BYTES: usize = 24;
const PAGE_BYTES: usize = 4_096;
/// How many of them the file for syncs has.
const FRAMES_MAX: u64 = 1_024;

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
        file.write_all_at(&vec![1; (HEAD_BYTES + PAGE_BYTES) * FRAMES_MAX as usize], 0)?;
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
            self.frame = (self.frame + 1) % FRAMES_MAX;
        }
        Ok(self.file.sync_data()?)
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
    syncs: BTreeMap<Kind, Series>,
    frames: BTreeMap<Kind, Vec<u64>>,
    calls: BTreeMap<Kind, Series>,
}

/// Times all kinds of calls on a small and on a large store.
pub(crate) fn measure(
    place: &'static str,
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
    Ok(Kind::ALL.into_iter().flat_map(|kind| lines(place, kind, tasks, &times)).collect())
}

fn round(subjects: &mut [Subject<'_>; 2], disk: &mut Disk, times: &mut [Times; 2]) -> Result<()> {
    for kind in Kind::ALL {
        for (subject, times) in subjects.iter_mut().zip(times.iter_mut()) {
            subject.wire.echo(&mut times.echo)?;
            let arguments = subject.site.targets.arguments(kind);
            let series = times.calls.entry(kind).or_default();
            subject.wire.call(kind.operation(), &arguments, series)?;
            if kind.is_durable() {
                let frames = subject.site.log.newest_commit()?;
                times.frames.entry(kind).or_default().push(frames);
                times.syncs.entry(kind).or_default().time(|| disk.write(frames))?;
            }
        }
    }
    Ok(())
}

fn lines(place: &'static str, kind: Kind, tasks: [u64; 2], times: &[Times; 2]) -> [Line; 2] {
    let [small, large] = times;
    let none = Series::default();
    let calls = times.each_ref().map(|times| times.calls.get(&kind).unwrap_or(&none));
    let value = |series: &Series| {
        format!("{}, p99 {}", micros(series.median()), micros(series.percentile(99)))
    };
    let line = |at: usize, base: String, ratio: f64, limit: f64| Line {
        what: kind.label().to_owned(),
        place,
        tasks: tasks[at],
        value: value(calls[at]),
        base,
        ratio,
        limit: Limit::AtMost(limit),
    };
    let echo = small.echo.median();
    let (base, floor) = match small.syncs.get(&kind).map(Series::median) {
        Some(sync) => {
            let frames = median(small.frames.get(&kind));
            (format!("echo {} + {frames} frames {}", micros(echo), micros(sync)), echo + sync)
        }
        None => (format!("echo {}", micros(echo)), echo),
    };
    let smaller = calls[0].median();
    let beside = format!("{} (echo {})", micros(smaller), micros(large.echo.median()));
    [
        line(0, base, times_of(calls[0], floor), kind.limit()),
        line(1, beside, times_of(calls[1], smaller), GROWTH_MAX),
    ]
}

fn median(counts: Option<&Vec<u64>>) -> u64 {
    let mut counts = counts.cloned().unwrap_or_default();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default()
}

fn times_of(series: &Series, base: Duration) -> f64 {
    times(series.median(), base)
}
