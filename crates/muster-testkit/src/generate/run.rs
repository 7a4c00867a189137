//! Runs with a graph and a history of a known size.

use muster_core::{
    Draft, WorkRefusal,
    run::{
        Ask, RunAggregate, RunCommand, RunRejection,
        command::{CreateRun, GraphNodeInput, PutEdge, RunFields, SettingsPatch},
        edge::Actor,
        id::{IdSeed, NodeId, RunId},
        node::{PermissionsMode, Provider},
    },
};
use muster_engine::{Engine, ExecuteError};

/// Nodes of the graph: an orchestrator with an edge to each of the others.
const NODES: u128 = 200;
/// Messages in one transaction; each is two events.
const MESSAGES: u64 = 10;

/// Adds a run of 200 nodes whose log has at least `events` events, and fewer than 200 more. Its
/// name is the number asked for; it was never started, so that nothing is driven.
pub fn add_run(engine: &Engine, events: u64) -> Result<(), ExecuteError<RunRejection>> {
    let run = RunId(u128::from(events) << 64);
    let nodes = engine.execute::<RunAggregate, _>(run.stream(), move |draft| create(draft, run))?;
    let mut written = engine.store().snapshot()?.head(&run.stream())?.seq;
    while written < events {
        let nodes = nodes.clone();
        engine.execute::<RunAggregate, _>(run.stream(), move |draft| {
            (0..MESSAGES).try_for_each(|number| {
                let node = nodes[(number as usize) % nodes.len()];
                let content = format!("What is left of part {}?", written + number);
                let ask =
                    Ask::SendMessage { node: Some(node), content, interrupt: false, id: None };
                tell(draft, u128::from(written + number) << 32, ask).map(drop)
            })
        })?;
        written += 2 * MESSAGES;
    }
    Ok(())
}

fn create(
    draft: &mut Draft<'_, RunAggregate>,
    run: RunId,
) -> Result<Vec<NodeId>, WorkRefusal<RunAggregate>> {
    let create = CreateRun {
        id: run,
        cwd: "/".to_owned(),
        fields: RunFields {
            name: Some((run.0 >> 64).to_string()),
            settings: Some(SettingsPatch {
                max_nodes: Some(NODES as u32),
                ..SettingsPatch::default()
            }),
            ..RunFields::default()
        },
        mode: None,
        global_mode: None,
        auto_start: false,
        nodes: Vec::new(),
        permissions_mode: PermissionsMode::Skip,
    };
    tell(draft, 1 << 96, Ask::CreateRun(Box::new(create)))?;
    let mut nodes = Vec::new();
    for number in 0..NODES {
        nodes.extend(tell(draft, (2 << 96) + (number << 32), node(number))?);
    }
    for (number, to) in (0..).zip(nodes.iter().skip(1)) {
        let edge = Ask::PutEdge(PutEdge::between(nodes[0], *to));
        tell(draft, (3 << 96) + (number << 32), edge)?;
    }
    Ok(nodes)
}

fn node(number: u128) -> Ask {
    let role = if number == 0 { "orchestrator" } else { "implementer" };
    Ask::CreateNode(Box::new(GraphNodeInput {
        label: Some(format!("Node {number}")),
        role_template: Some(role.to_owned()),
        provider: Some(Provider::Custom),
        ..GraphNodeInput::default()
    }))
}

/// Applies a command; returns the node that its first event is about.
fn tell(
    draft: &mut Draft<'_, RunAggregate>,
    seed: u128,
    ask: Ask,
) -> Result<Option<NodeId>, WorkRefusal<RunAggregate>> {
    let command = RunCommand { by: Actor::USER, seed: IdSeed(seed), ask };
    let events = draft.apply(&command)?;
    Ok(events.first().and_then(|recorded| recorded.event.node_id))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::{App, AppOptions};
    use muster_core::{
        Timestamp,
        run::{RunAggregate, id::RunId, lookup},
    };
    use muster_engine::FixedClock;
    use muster_store::MemoryStore;

    use super::{NODES, add_run};

    #[test]
    fn a_run_has_the_events_asked_for_and_is_sound() {
        let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
        let app = App::over(Arc::new(MemoryStore::new()), clock, AppOptions::default());
        add_run(app.engine(), 2_000).unwrap();
        let stream = RunId(2_000 << 64).stream();
        let seen = app.engine().read_at::<RunAggregate, _>(&stream, |docs| {
            Ok((lookup::run(docs)?.name.clone(), lookup::nodes(docs)?.len()))
        });
        let ((name, nodes), head) = seen.unwrap();
        assert_eq!((name.as_str(), nodes as u128), ("2000", NODES));
        assert!((2_000..2_200).contains(&head.seq), "{head:?}");
        assert_eq!(app.doctor().unwrap().damage, vec![]);
    }
}
