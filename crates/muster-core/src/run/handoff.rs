//! Which nodes may send to each other, and what the end of a turn owes to others.

pub(crate) mod rules;

use std::collections::BTreeSet;

use super::{
    RunAggregate,
    edge::{self, Direction, Edge, HandoffEnd, Way},
    id::NodeId,
    inbox::ItemKind,
    lookup::{self, Lookup},
    turn::NodeTurn,
};
use crate::Documents;

type Docs = Documents<RunAggregate>;

/// The route from one node to another, if an edge permits it (RUNS-HAND-1).
pub fn way(docs: &Docs, from: NodeId, to: NodeId) -> Lookup<Option<Way>> {
    let edges = lookup::edges(docs)?;
    way_along(docs, &edges, from, to)
}

fn way_along(docs: &Docs, edges: &[&Edge], from: NodeId, to: NodeId) -> Lookup<Option<Way>> {
    let (Some(from), Some(to)) = (end(docs, from)?, end(docs, to)?) else { return Ok(None) };
    Ok(edge::way(edges.iter().copied(), from, to))
}

fn end(docs: &Docs, id: NodeId) -> Lookup<Option<HandoffEnd>> {
    let node = lookup::find_node(docs, id)?.filter(|node| !node.deleting);
    Ok(node.map(|node| HandoffEnd { id, leads: node.orchestrator }))
}

/// The nodes that a completed turn reports to automatically: first those that gave it work and wait
/// for a report, then those that its result is forwarded to (RUNS-HAND-4, RUNS-HAND-5).
pub fn due(docs: &Docs, turn: &NodeTurn) -> Lookup<Vec<(NodeId, Way)>> {
    let Some(node) = lookup::find_node(docs, turn.node_id)? else { return Ok(Vec::new()) };
    let edges = lookup::edges(docs)?;
    let work = work_given(docs, turn)?;
    let already_sent: BTreeSet<NodeId> = turn.sent_to.iter().copied().collect();
    let mut due: Vec<(NodeId, Way)> = Vec::new();
    for giver in &work.givers {
        let counts = node.origin.node_id == Some(*giver)
            || lookup::find_node(docs, *giver)?.is_some_and(|giver| giver.orchestrator);
        if !counts || already_sent.contains(giver) {
            continue;
        }
        let way = way_along(docs, &edges, turn.node_id, *giver)?;
        // A report, even if the edge alone would make it a task.
        due.extend(way.map(|way| (*giver, Way { direction: Direction::Report, ..way })));
    }
    if !work.given {
        return Ok(due);
    }
    for edge in edges.iter().filter(|edge| edge.from == turn.node_id && edge.auto_deliver) {
        let served = already_sent.contains(&edge.to) || due.iter().any(|(to, _)| *to == edge.to);
        if !served {
            let way = way_along(docs, &edges, turn.node_id, edge.to)?;
            due.extend(way.map(|way| (edge.to, way)));
        }
    }
    Ok(due)
}

/// What a turn was asked to do.
struct Work {
    /// Whether a person or a task requested something.
    given: bool,
    /// The senders of tasks, each once, in their order.
    givers: Vec<NodeId>,
}

/// The nodes that gave a turn its tasks, each once, in their order.
pub fn givers(docs: &Docs, turn: &NodeTurn) -> Lookup<Vec<NodeId>> {
    Ok(work_given(docs, turn)?.givers)
}

fn work_given(docs: &Docs, turn: &NodeTurn) -> Lookup<Work> {
    let mut work = Work { given: false, givers: Vec::new() };
    for taken in &turn.consumed {
        let Some(item) = lookup::find_item(docs, taken.id)? else { continue };
        work.given |= item.kind == ItemKind::Message;
        let Some(envelope) = item.envelope() else { continue };
        if envelope.meta.direction != Direction::Task {
            continue;
        }
        work.given = true;
        if !work.givers.contains(&envelope.from_node_id) {
            work.givers.push(envelope.from_node_id);
        }
    }
    Ok(work)
}
