//! Runs over HTTP: a graph of 200 nodes with a short and with a long history, and how long a server
//! takes to start with them.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::{
    report::{Limit, Line, shown, times},
    series::Series,
    store::{Contents, Filled},
    wire::{Client, Server},
};
use crate::workspace::Workspace;

/// Events of the two runs.
pub(crate) const EVENTS: [u64; 2] = [1_000, 100_000];
/// How much longer a query may take with the long history.
const GROWTH_MAX: f64 = 1.5;
/// How many further runs there are, each with about this many events, which create its graph.
const FURTHER_RUNS: u64 = 50;
const FURTHER_EVENTS: u64 = 400;
/// How long a start may take with all of them, in milliseconds.
const START_MS_MAX: f64 = 100.0;
/// Starts after an orderly stop.
const RESTARTS: usize = 5;
/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 5;

/// The store with these runs.
pub(crate) fn filled(workspace: &Workspace) -> Result<Filled> {
    // A run is named by its number of events, so no two are the same.
    let further = FURTHER_EVENTS..FURTHER_EVENTS + FURTHER_RUNS;
    let contents: Vec<String> =
        further.chain(EVENTS).map(|events| format!("run={events}")).collect();
    Filled::ensure(workspace, "runs", Contents::Runs, &contents)
}

/// Starts a server, which recovers existing runs, and returns how long that took: the first time,
/// when the files of all runs have to be written, and after orderly stops.
pub(crate) fn start(program: &Path, folder: &Path) -> Result<(Server, Vec<Line>)> {
    let mut first = Series::default();
    let mut server = first.time(|| Server::start(program, folder))?;
    let mut again = Series::default();
    for _ in 0..RESTARTS {
        drop(server);
        server = again.time(|| Server::start(program, folder))?;
    }
    let line = |what, series: &Series| {
        let limit = Limit::AtMost(START_MS_MAX);
        Line::plain(what, "http", FURTHER_RUNS + EVENTS.len() as u64, series.into(), limit)
    };
    let lines = vec![line("first start with runs", &first), line("start with runs", &again)];
    Ok((server, lines))
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
    Line {
        what: what.to_owned(),
        place: "http",
        size: EVENTS[1],
        value: large.into(),
        base: format!("{} with {} events", shown(small.median()), EVENTS[0]),
        ratio: times(large.median(), small.median()),
        limit: Limit::AtMost(GROWTH_MAX),
    }
}
