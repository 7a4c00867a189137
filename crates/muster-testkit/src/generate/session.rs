//! Sessions with trees of a known size.

use muster_core::{
    Draft, WorkRefusal,
    session::{
        SessionAggregate, SessionCommand, SessionId, SessionRejection,
        command::{Create, Record, RecordOrigin},
        entity::SessionDriver,
        perform,
    },
};
use muster_engine::{Engine, ExecuteError};
use serde_json::{Map, Value, json};

/// Calls with a result each in one turn. Turns are long, because the whole tree is compiled at
/// the end of each.
const CALLS_PER_TURN: u64 = 2_500;
/// Calls in one transaction.
const CALLS: u64 = 5;

/// Adds a session whose tree has at least `nodes` nodes, and fewer than 100 more. Its title is the
/// number asked for, its last turn is running, and something drives it.
pub fn add_session(engine: &Engine, nodes: u64) -> Result<(), ExecuteError<SessionRejection>> {
    let stream = SessionId::from_bits(u128::from(nodes)).stream();
    let driver = SessionDriver { phase: "bench".to_owned(), status: "running".to_owned() };
    let title = Some(nodes.to_string());
    let create = SessionCommand::Create(Box::new(Create {
        title,
        driver: Some(driver),
        ..Create::default()
    }));
    engine.execute::<SessionAggregate, _>(stream.clone(), move |draft| {
        perform(draft, &create).map(drop)
    })?;
    let calls = nodes.div_ceil(2);
    for first in (0..calls).step_by(CALLS as usize) {
        engine.execute::<SessionAggregate, _>(stream.clone(), move |draft| {
            if first % CALLS_PER_TURN == 0 {
                perform(draft, &report("turn_start", Map::new()))?;
            }
            (first..first + CALLS).try_for_each(|number| add_call(draft, number))
        })?;
    }
    Ok(())
}

fn add_call(
    draft: &mut Draft<'_, SessionAggregate>,
    number: u64,
) -> Result<(), WorkRefusal<SessionAggregate>> {
    let call_id = json!(format!("c-{number}"));
    let arguments = json!({"command": format!("cargo test case_{number}")});
    let call = fields([
        ("call_id", call_id.clone()),
        ("tool", json!("shell")),
        ("call", json!({"name": "shell", "arguments": arguments})),
    ]);
    perform(draft, &report("tool_call", call))?;
    let output = format!("test case_{number} ... ok; 1 passed, 0 failed");
    let result = fields([("call_id", call_id), ("result", json!(output))]);
    perform(draft, &report("tool_result", result)).map(drop)
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn report(kind: &str, body: Map<String, Value>) -> SessionCommand {
    SessionCommand::Record(Box::new(Record::of(RecordOrigin::Outside, kind, body)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::{App, AppOptions};
    use muster_core::{Timestamp, session::SessionId};
    use muster_engine::FixedClock;
    use muster_store::MemoryStore;
    use serde_json::json;

    use super::add_session;

    #[test]
    fn a_session_has_the_nodes_asked_for_and_is_sound() {
        let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
        let app = App::over(Arc::new(MemoryStore::new()), clock, AppOptions::default());
        add_session(app.engine(), 300).unwrap();
        let id = SessionId::from_bits(300);
        let summary = json!(app.sessions().ctrees(&id).unwrap());
        let nodes = summary["snapshot"]["node_count"].as_u64().unwrap();
        assert!((300..400).contains(&nodes), "{nodes}");
        assert_eq!(app.sessions().show(&id).unwrap().title.as_deref(), Some("300"));
        assert_eq!(app.doctor().unwrap().damage, vec![]);
    }
}
