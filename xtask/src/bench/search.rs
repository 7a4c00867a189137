//! Text search over a large store: for something that one task has, and for something that all
//! have; in tasks, and over everything.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    Bench, SETTLING, SIZES, Stores,
    report::{Limit, Line, shown, times},
    series::Series,
    store::WORKSPACE,
    wire::{Agent, Server, Wire as _},
};

/// What is searched for, and how many tasks it finds.
const QUERIES: [(&str, &str, u64); 3] = [
    ("search, one match", "task 77001:", 1),
    ("search, no match", "a word that no task has", 0),
    ("search, all match", "cursor of the batch", SIZES[1]),
];
/// The same over everything, with how many results there must be.
const FINDS: [(&str, &str, usize); 4] = [
    ("find, one task", "77001:", 2),
    ("find, an id", "TASK-77001", 1),
    ("find, nothing", "words%20that%20nothing%20contains", 0),
    ("find, every task and step", "write%20of", 0),
];
const FIND_MILLIS_MAX: f64 = 50.0;
/// A server must have indexed every event of the store within this time.
const INDEXING_MAX: Duration = Duration::from_secs(300);
const INDEXING_LOOK: Duration = Duration::from_millis(500);
/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 2;
/// Searches are timed this many times less often than other calls.
const ROUNDS_PART: usize = 10;
const MILLIS_MAX: f64 = 10.0;
/// The same in round trips of an empty call, for machines that are slower as a whole.
const ECHOES_MAX: f64 = 120.0;

/// Times the queries in turn.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let rounds = bench.effort.rounds / ROUNDS_PART;
    let (mut lines, Stores { folders: [_, large], .. }) = bench.stores()?;
    let large: &Path = large;
    let mut agent = Agent::start(&program, large)?;
    agent.greet()?;
    thread::sleep(SETTLING);
    let mut echo = Series::default();
    let mut searches = QUERIES.map(|_| Series::default());
    for round in 0..WARM_UP_ROUNDS + rounds {
        if round == WARM_UP_ROUNDS {
            echo = Series::default();
            searches = QUERIES.map(|_| Series::default());
        }
        agent.echo(&mut echo)?;
        for ((_, query, matches), series) in QUERIES.iter().zip(&mut searches) {
            let arguments = json!({"workspace": WORKSPACE, "query": query, "limit": 10});
            let found = agent.call("tasks_context", &arguments, series)?;
            let tasks = found["counts"]["tasks"].as_u64().context("a count of tasks")?;
            // Other parts may have added tasks.
            ensure!(tasks >= *matches, "{query:?} found {tasks} tasks");
        }
    }
    for ((what, ..), series) in QUERIES.iter().zip(&searches) {
        lines.extend(both(what, &echo, series));
    }
    drop(agent);
    lines.extend(finds(&program, large, rounds)?);
    Ok(lines)
}

/// Times searches over everything, once every event is indexed.
fn finds(program: &Path, store: &Path, rounds: usize) -> Result<Vec<Line>> {
    let server = Server::start(program, store)?;
    let mut client = server.connect()?;
    let mut find = |query: &str, series: &mut Series| -> Result<Value> {
        client.ask("GET", &format!("/api/find?q={query}"), &Value::Null, series)
    };
    let started = Instant::now();
    while find("index", &mut Series::default())?["unsearched"] != json!(0) {
        ensure!(started.elapsed() < INDEXING_MAX, "events are not indexed");
        thread::sleep(INDEXING_LOOK);
    }
    println!("indexed after {:.1} s", started.elapsed().as_secs_f64());
    let mut times = FINDS.map(|_| Series::default());
    for round in 0..WARM_UP_ROUNDS + rounds {
        if round == WARM_UP_ROUNDS {
            times = FINDS.map(|_| Series::default());
        }
        for ((_, query, least), series) in FINDS.iter().zip(&mut times) {
            let found = find(query, series)?;
            let hits = found["hits"].as_array().context("a list of results")?;
            ensure!(hits.len() >= *least, "{query:?} found {} results", hits.len());
        }
    }
    let limit = Limit::AtMost(FIND_MILLIS_MAX);
    let line = |((what, ..), series): (&(&str, &str, usize), &Series)| {
        Line::plain(*what, "http", SIZES[1], series.into(), limit)
    };
    Ok(FINDS.iter().zip(&times).map(line).collect())
}

fn both(what: &str, echo: &Series, series: &Series) -> [Line; 2] {
    let plain = Line::plain(what, "stdio", SIZES[1], series.into(), Limit::AtMost(MILLIS_MAX));
    let against = Line {
        base: format!("echo {}", shown(echo.median())),
        ratio: times(series.median(), echo.median()),
        limit: Limit::AtMost(ECHOES_MAX),
        ..plain.clone()
    };
    [plain, against]
}
