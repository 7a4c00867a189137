//! Text search over a large store: for something that one task has, and for something that all
//! have.

use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{
    Bench, SETTLING, SIZES, Stores,
    report::{Limit, Line, shown, times},
    series::Series,
    store::WORKSPACE,
    wire::{Agent, Wire as _},
};

/// What is searched for, and how many tasks it finds.
const QUERIES: [(&str, &str, u64); 3] = [
    ("search, one match", "task 77001:", 1),
    ("search, no match", "a word that no task has", 0),
    ("search, all match", "cursor of the batch", SIZES[1]),
];
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
    Ok(lines)
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
