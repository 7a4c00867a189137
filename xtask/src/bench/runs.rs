//! Runs over HTTP: a graph of 200 nodes with a short and with a long history, and how long a server
//! takes to start with them.

use std::{path::Path, time::Instant};

use anyhow::Result;
use serde_json::Value;

use super::{
    report::{Limit, Line, micros, times},
    series::Series,
    store::{Contents, Filled},
    wire::{Client, Server},
};
use crate::workspace::Workspace;

/// Events of the two runs.
pub(crate) const EVENTS: [u64; 2] = [1_000, 100_000];
/// How much longer a query may take with the long history.
const GROWTH_MAX: f64 = 1.5;
/// How long a start may take with it, in seconds.
const START_SECONDS_MAX: f64 = 1.0;
/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 5;

/// The store with these runs.
pub(crate) fn filled(workspace: &Workspace) -> Result<Filled> {
    let contents = EVENTS.map(|events| format!("run={events}"));
    Filled::ensure(workspace, "runs", Contents::Runs, &contents)
}

/// Starts a server, which recovers existing runs, and returns how long that took.
pub(crate) fn start(program: &Path, folder: &Path) -> Result<(Server, Line)> {
    let started = Instant::now();
    let server = Server::start(program, folder)?;
    let seconds = started.elapsed().as_secs_f64();
    let line = Line {
        what: "start with runs".to_owned(),
        place: "http",
        tasks: EVENTS[1],
        value: format!("{:.0} ms", seconds * 1e3),
        base: "seconds".to_owned(),
        ratio: seconds,
        limit: Limit::AtMost(START_SECONDS_MAX),
    };
    Ok((server, line))
}

/// Asks for both runs in turn.
pub(crate) fn measure(server: &Server, rounds: usize) -> Result<Vec<Line>> {
    let mut client = server.connect()?;
    let mut lines = Vec::new();
    for (what, tail) in [("a run", ""), ("newest events", "/events"), ("turns", "/turns")] {
        let mut series = [Series::default(), Series::default()];
        for round in 0..WARM_UP_ROUNDS + rounds {
            if round == WARM_UP_ROUNDS {
                series = [Series::default(), Series::default()];
            }
            for (events, series) in EVENTS.into_iter().zip(&mut series) {
                ask(&mut client, events, tail, series)?;
            }
        }
        lines.push(line(what, &series));
    }
    Ok(lines)
}

fn ask(client: &mut Client, events: u64, tail: &str, series: &mut Series) -> Result<()> {
    // The generator names its runs by their number of events, in the upper half of the id.
    let id = format!(
        "{:08x}-{:04x}-{:04x}-0000-000000000000",
        events >> 32,
        events >> 16 & 0xffff,
        events & 0xffff
    );
    client.ask("GET", &format!("/api/runs/{id}{tail}"), &Value::Null, series).map(drop)
}

fn line(what: &str, [small, large]: &[Series; 2]) -> Line {
    let value = |series: &Series| {
        format!("{}, p99 {}", micros(series.median()), micros(series.percentile(99)))
    };
    Line {
        what: what.to_owned(),
        place: "http",
        tasks: EVENTS[1],
        value: value(large),
        base: format!("{} with {} events", micros(small.median()), EVENTS[0]),
        ratio: times(large.median(), small.median()),
        limit: Limit::AtMost(GROWTH_MAX),
    }
}
