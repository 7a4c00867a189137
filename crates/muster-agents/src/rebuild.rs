//! Restores runs from their files, for a store that was lost or put back from an older copy
//! (RUNS-DATA-2).
//!
//! `events.jsonl` of a run has every event, and the events alone give the run (RUNS-EV-4). A run
//! that the store does not have is restored whole. One whose file continues where the store ends is
//! continued, for example after a backup was restored, when the longer file is kept next to it.
//! Everything else in the store is left alone. A line that cannot be used is skipped and reported,
//! and so is everything after the gap that it leaves.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::run::{RunAggregate as Room, RunEvent, id::RunId, moment::Moment};
use serde::Deserialize;

use super::{lane::written, logfile::NEWER};
use muster_engine::{Engine, transfer::TransferError};

const PAGE_EVENTS: u32 = 1_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Restored runs.
    pub runs: u64,
    /// Runs that the store had a part of.
    pub continued: u64,
    pub events: u64,
    /// Runs that the store has, and that were left as they are.
    pub kept: u64,
    /// Files with more events than the store, which has diverged since.
    pub diverged: Vec<PathBuf>,
    /// Lines that could not be used: the file and the number of the line.
    pub unusable: Vec<(PathBuf, u64)>,
}

/// The part of a line that holds the position of an event.
#[derive(Deserialize)]
struct Placed {
    seq: u64,
    ts: Moment,
}

/// The usable part of a file of events.
struct Readable {
    file: PathBuf,
    /// Lines as an import takes them.
    lines: Vec<String>,
    /// Numbers of those that cannot be used.
    unusable: Vec<u64>,
}

/// Restores what the store does not have.
pub fn rebuild(engine: &Engine, home: &Path) -> Result<Rebuilt, TransferError> {
    let mut rebuilt = Rebuilt::default();
    for (run, folder) in folders(home)? {
        let Some(longest) = longest(&folder)? else { continue };
        let head = engine.store().snapshot()?.head(&run.stream())?.seq;
        let Readable { file, lines, unusable } = longest;
        if head >= lines.len() as u64 {
            rebuilt.kept += u64::from(head > 0);
            let lost = unusable.into_iter().filter(|_| head == 0);
            rebuilt.unusable.extend(lost.map(|line| (file.clone(), line)));
            continue;
        }
        if !is_continued(engine, run, &lines)? {
            rebuilt.diverged.push(file);
            continue;
        }
        let texts = lines.iter().map(String::as_str);
        rebuilt.events += engine.import_after::<Room>(run.stream(), texts, head)?;
        match head {
            0 => rebuilt.runs += 1,
            _ => rebuilt.continued += 1,
        }
        rebuilt.unusable.extend(unusable.into_iter().map(|line| (file.clone(), line)));
    }
    Ok(rebuilt)
}

/// Whether a file begins with every event that the store has.
fn is_continued(engine: &Engine, run: RunId, lines: &[String]) -> Result<bool, TransferError> {
    let mut snapshot = engine.store().snapshot()?;
    let mut compared = 0;
    loop {
        let rows = snapshot.tail(&run.stream(), compared, PAGE_EVENTS)?;
        let Some(last) = rows.last() else { return Ok(true) };
        let same = rows.iter().zip(lines.iter().skip(usize::try_from(compared).unwrap_or(0)));
        for (row, line) in same {
            if *line != imported(row.seq, row.at.0, &written(run, row)) {
                return Ok(false);
            }
        }
        compared = last.seq;
    }
}

fn folders(home: &Path) -> io::Result<Vec<(RunId, PathBuf)>> {
    let entries = match fs::read_dir(home.join("runs")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let run = |entry: fs::DirEntry| {
        let run = entry.file_name().to_str()?.parse::<RunId>().ok()?;
        Some((run, entry.path()))
    };
    let mut found: Vec<(RunId, PathBuf)> = entries.flatten().filter_map(run).collect();
    found.sort();
    Ok(found)
}

/// The longest file of a run: the current one, or one that was kept next to it.
fn longest(folder: &Path) -> io::Result<Option<Readable>> {
    let mut longest: Option<Readable> = None;
    let mut files = vec![folder.join("events.jsonl")];
    let kept = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let newer = format!("events.{NEWER}");
    files.extend(kept.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&newer))
    }));
    files.sort();
    for file in files.into_iter().filter(|file| file.is_file()) {
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        let mut unusable = Vec::new();
        let lines = usable(&text, |line| unusable.push(line));
        if longest.as_ref().is_none_or(|longest| lines.len() > longest.lines.len()) {
            longest = Some(Readable { file, lines, unusable });
        }
    }
    Ok(longest)
}

/// The lines without a gap, as an import takes them.
fn usable(text: &str, mut refuse: impl FnMut(u64)) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let placed = serde_json::from_str::<Placed>(line).ok();
        let placed = placed.filter(|_| serde_json::from_str::<RunEvent>(line).is_ok());
        match placed {
            Some(Placed { seq, ts }) if seq == lines.len() as u64 + 1 => {
                lines.push(imported(seq, ts.0.0, line));
            }
            Some(_) | None => refuse(number),
        }
    }
    lines
}

/// A line as an import takes it.
fn imported(seq: u64, at: i64, line: &str) -> String {
    format!(r#"{{"seq":{seq},"at_ms":{at},"event":{line}}}"#)
}
