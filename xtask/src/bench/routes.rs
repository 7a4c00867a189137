//! What HTTP itself costs: a route without an operation against one of a bare server, and an empty
//! operation against that route. All other calls over HTTP are compared with the first.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    bare::Bare,
    latency::OPERATION_MAX,
    report::{Limit, Line, shown, times},
    series::Series,
    store::WORKSPACE,
    wire::{Server, Wire as _},
};

/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 50;
/// How many times a round trip to the bare server one to the route may take.
const ROUTE_MAX: f64 = 2.0;

/// Times of one kind of request each.
#[derive(Default)]
struct Times {
    bare: Series,
    route: Series,
    operation: Series,
}

/// Requests all three in turn.
pub(crate) fn measure(server: &Server, bare: &Bare, rounds: usize) -> Result<[Line; 2]> {
    let mut client = server.connect()?;
    let mut bare = bare.connect()?;
    let arguments = json!({"workspace": WORKSPACE});
    let mut times = Times::default();
    for round in 0..WARM_UP_ROUNDS + rounds {
        if round == WARM_UP_ROUNDS {
            times = Times::default();
        }
        bare.ask("GET", "/health", &Value::Null, &mut times.bare)?;
        client.echo(&mut times.route)?;
        // The operation that an agent is timed with; no list was written.
        client.call("todo_read", &arguments, &mut times.operation)?;
    }
    let Times { bare, route, operation } = times;
    Ok([
        line("GET /health", &route, ("a bare server", &bare), ROUTE_MAX),
        line("an empty operation", &operation, ("GET /health", &route), OPERATION_MAX),
    ])
}

fn line(what: &str, series: &Series, (name, base): (&str, &Series), limit: f64) -> Line {
    Line {
        what: what.to_owned(),
        place: "http",
        size: 0,
        value: series.into(),
        base: format!("{name} {}", shown(base.median())),
        ratio: times(series.median(), base.median()),
        limit: Limit::AtMost(limit),
    }
}
