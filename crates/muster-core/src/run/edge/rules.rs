//! Edges: creating, changing and removing them.

use crate::run::{
    RunFact, RunRejection,
    bounds::{bad, text},
    command::PutEdge,
    decide::reject,
    draft::RunDraft,
    edge::{Actor, Edge, EdgeType},
    event::{EdgeCreated, EdgeDeleted},
    id::{EdgeId, NodeId},
    limits,
    lookup::{self, Found},
    rejection::Limited,
};

/// Creates an edge, or changes the one that has the id (RUNS-EDGE-2); returns its id.
pub(crate) fn put(draft: &mut RunDraft<'_>, put: &PutEdge, by: Actor) -> Found<EdgeId> {
    if let Some(id) = put.id
        && let Some(edge) = lookup::find_edge(draft.docs(), id)?.cloned()
    {
        return change(draft, put, &edge);
    }
    let from = draft.node(put.from)?;
    let from_leads = from.orchestrator;
    let to_leads = draft.node(put.to)?.orchestrator;
    if put.from == put.to {
        return reject(RunRejection::SelfEdge);
    }
    let kind = put.kind.unwrap_or(match to_leads && !from_leads {
        true => EdgeType::Report,
        false => EdgeType::Handoff,
    });
    let label = label(put.label.as_deref(), kind)?;
    let edges = lookup::edges(draft.docs())?;
    let same = |edge: &&&Edge| {
        (edge.from, edge.to, edge.kind) == (put.from, put.to, kind) && edge.label == label
    };
    if let Some(edge) = edges.iter().find(same) {
        return Ok(edge.id);
    }
    if edges.len() >= limits::EDGES_MAX {
        let max = limits::EDGES_MAX as u64;
        return reject(RunRejection::LimitReached { what: Limited::Edges, max });
    }
    let edge = Edge {
        id: put.id.unwrap_or_else(|| EdgeId(draft.fresh())),
        from: put.from,
        to: put.to,
        bidirectional: put.bidirectional.unwrap_or(true),
        kind,
        label,
        auto_deliver: put.auto_deliver.unwrap_or(auto_deliver(kind, from_leads)),
        created_by: by,
        created_at: draft.now(),
        number: lookup::pulse(draft.docs())?.edges + 1,
    };
    let id = edge.id;
    draft.emit(RunFact::EdgeCreated(EdgeCreated { edge, updated: false }))?;
    Ok(id)
}

/// Whether the end of a turn is sent along automatically (RUNS-EDGE-3).
fn auto_deliver(kind: EdgeType, from_leads: bool) -> bool {
    match kind {
        EdgeType::Report => true,
        EdgeType::Handoff => !from_leads,
    }
}

fn label(given: Option<&str>, kind: EdgeType) -> Found<String> {
    let given = given.map(str::trim).filter(|label| !label.is_empty());
    let label = given.unwrap_or(kind.default_label());
    text("label", label, limits::EDGE_LABEL_CHARS_MAX)?;
    Ok(label.to_owned())
}

fn change(draft: &mut RunDraft<'_>, put: &PutEdge, before: &Edge) -> Found<EdgeId> {
    if (put.from, put.to) != (before.from, before.to) {
        return bad("edge", "an edge between the same nodes, which cannot change");
    }
    let mut edge = before.clone();
    edge.kind = put.kind.unwrap_or(edge.kind);
    edge.bidirectional = put.bidirectional.unwrap_or(edge.bidirectional);
    edge.auto_deliver = put.auto_deliver.unwrap_or(edge.auto_deliver);
    if let Some(given) = &put.label {
        edge.label = label(Some(given), edge.kind)?;
    }
    let id = edge.id;
    if edge != *before {
        draft.emit(RunFact::EdgeCreated(EdgeCreated { edge, updated: true }))?;
    }
    Ok(id)
}

/// Removes an edge; what was sent along it stays (RUNS-HAND-3).
pub(crate) fn disconnect(draft: &mut RunDraft<'_>, edge_id: EdgeId) -> Found<()> {
    lookup::edge(draft.docs(), edge_id)?;
    draft.emit(RunFact::EdgeDeleted(EdgeDeleted { edge_id }))
}

/// Edges of one node, oldest first.
pub(crate) fn edges_of(draft: &RunDraft<'_>, node: NodeId) -> Found<Vec<Edge>> {
    let edges = lookup::edges(draft.docs())?;
    Ok(edges.into_iter().filter(|edge| edge.touches(node)).cloned().collect())
}
