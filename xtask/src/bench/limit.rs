//! Concurrent writers against the limit program: notes over HTTP, and a group commit of the same
//! event bytes to the same disk that does nothing else.

use std::{fs, path::Path, process::Command, thread, time::Duration};

use anyhow::{Context, Result};

use super::{
    Bench, SETTLING, SIZES, Stores, built,
    report::{Limit, Line, Measure},
    store,
    throughput::{median, writes_per_second},
    wire::Server,
};
use crate::workspace::output;

/// Callers, and the share of the limit program's rate that they must reach.
const SHARES_MIN: [(u64, f64); 2] = [(8, 0.40), (64, 0.35)];
/// What the log stores of a note and of the operation that made it.
const EVENT_BYTES: usize = 376;

/// Both in turn, so that other load on the machine affects them alike.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let effort = bench.effort;
    let bare = built(bench.workspace, "release", "bare_group_commit");
    let folder = store::folder(bench.workspace).join("measured-limit");
    let (mut lines, Stores { folders: [small, _], .. }) = bench.stores()?;
    let server = Server::start(&program, small)?;
    thread::sleep(SETTLING);
    for (callers, share) in SHARES_MIN {
        let mut ours = Vec::new();
        let mut limits = Vec::new();
        for round in 0..=effort.slices as u64 {
            let our = writes_per_second(&server, SIZES[0], callers, round, effort.slice)?;
            let limit = bare_rate(&bare, &folder, callers, effort.slice)?;
            // The first round only warms up.
            if round > 0 {
                ours.push(our);
                limits.push(limit);
            }
        }
        let our = median(ours);
        let limit = median(limits);
        lines.push(Line {
            what: "notes, limit program".to_owned(),
            place: "http",
            size: callers,
            value: Measure::PerSecond(our, "writes"),
            base: format!("bare group commit {limit:.0} writes/s"),
            ratio: our / limit,
            limit: Limit::AtLeast(share),
        });
    }
    Ok(lines)
}

/// Starts from an empty file each time.
fn bare_rate(program: &Path, folder: &Path, writers: u64, time: Duration) -> Result<f64> {
    if folder.exists() {
        fs::remove_dir_all(folder).context("remove the file of an earlier round")?;
    }
    fs::create_dir_all(folder)?;
    let mut command = Command::new(program);
    command.arg(folder.join("events.db")).arg(writers.to_string());
    command.arg(time.as_secs_f64().to_string()).arg(EVENT_BYTES.to_string());
    output(&mut command)?.trim().parse().context("the rate of the limit program")
}
