//! Runs out of their files, for a store that was lost (RUNS-DATA-2).
//!
//! `events.jsonl` of a run has every event, and the events alone give the run (RUNS-EV-4). What the
//! store has is left alone; a line that cannot be used is passed over and told, and so is whatever
//! stands behind the hole that it leaves.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::run::{Event, Runs as Room, id::RunId, moment::Moment};
use serde::Deserialize;

use crate::{Engine, transfer::TransferError};

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Runs that are there again.
    pub runs: u64,
    /// Their events.
    pub events: u64,
    /// Runs that the store has, and that were left as they are.
    pub kept: u64,
    /// Lines that could not be used: the file and the number of the line.
    pub unusable: Vec<(PathBuf, u64)>,
}

/// The part of a line that says where an event stands.
#[derive(Deserialize)]
struct Placed {
    seq: u64,
    ts: Moment,
}

/// Puts every run back that the store does not have.
pub fn rebuild(engine: &Engine, home: &Path) -> Result<Rebuilt, TransferError> {
    let mut rebuilt = Rebuilt::default();
    for (run, file) in files(home)? {
        if engine.store().snapshot()?.head(&run.stream())?.seq > 0 {
            rebuilt.kept += 1;
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        let lines = usable(&text, |line| rebuilt.unusable.push((file.clone(), line)));
        if lines.is_empty() {
            continue;
        }
        rebuilt.events += engine.import::<Room>(run.stream(), lines.iter().map(String::as_str))?;
        rebuilt.runs += 1;
    }
    Ok(rebuilt)
}

/// The files of events, by run.
fn files(home: &Path) -> io::Result<Vec<(RunId, PathBuf)>> {
    let entries = match fs::read_dir(home.join("runs")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let run = |entry: fs::DirEntry| {
        let run = entry.file_name().to_str()?.parse::<RunId>().ok()?;
        let file = entry.path().join("events.jsonl");
        file.is_file().then_some((run, file))
    };
    let mut found: Vec<(RunId, PathBuf)> = entries.flatten().filter_map(run).collect();
    found.sort();
    Ok(found)
}

/// The lines that follow each other without a hole, as an import takes them.
fn usable(text: &str, mut refuse: impl FnMut(u64)) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let placed = serde_json::from_str::<Placed>(line).ok();
        let placed = placed.filter(|_| serde_json::from_str::<Event>(line).is_ok());
        match placed {
            Some(Placed { seq, ts }) if seq == lines.len() as u64 + 1 => {
                let at = ts.0.0;
                lines.push(format!(r#"{{"seq":{seq},"at_ms":{at},"event":{line}}}"#));
            }
            Some(_) | None => refuse(number),
        }
    }
    lines
}
