//! Nodes, edges, and the journal of their changes.

use crate::run::{
    RunDocument, RunKey,
    event::{EdgeCreated, NodeConfigured, NodePatched},
    evolve::{Applied, FactPlace, RunDocs, change_pulse},
    id::EdgeId,
    pulse::{GraphChange, Journal},
};

/// Settings that other nodes see.
const SHOWN_SETTINGS: [&str; 4] = ["label", "alias", "roleTemplate", "provider"];

pub(crate) fn node_patched(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    patched: &NodePatched,
) -> Applied {
    let Some(id) = place.event.node_id else { return Ok(()) };
    let patch = (*patched.patch).clone();
    let failed = patch.failed == Some(true);
    if let Some(RunDocument::Node(node)) = docs.edit(&RunKey::Node(id))? {
        patch.apply(node);
        return if failed { note(docs, place, GraphChange::Failed { node: id }) } else { Ok(()) };
    }
    let Some(node) = patch.into_whole() else { return Ok(()) };
    docs.put(RunKey::Node(id), RunDocument::Node(Box::new(node)));
    change_pulse(docs, |pulse| {
        pulse.nodes += 1;
        pulse.living_nodes += 1;
    })?;
    note(docs, place, GraphChange::Added { node: id })
}

pub(crate) fn node_configured(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    configured: &NodeConfigured,
) -> Applied {
    let shown = |path: &str| SHOWN_SETTINGS.contains(&path);
    let Some(node) = place.event.node_id else { return Ok(()) };
    if !configured.changes.iter().any(|change| shown(&change.path)) {
        return Ok(());
    }
    note(docs, place, GraphChange::Changed { node })
}

pub(crate) fn node_deleted(docs: &mut RunDocs, place: FactPlace<'_>) -> Applied {
    let Some(node) = place.event.node_id else { return Ok(()) };
    let Some(RunDocument::Node(gone)) = docs.get(&RunKey::Node(node))? else { return Ok(()) };
    let label = gone.label.clone();
    docs.remove(RunKey::Node(node));
    change_pulse(docs, |pulse| pulse.living_nodes -= 1)?;
    note(docs, place, GraphChange::Removed { node, label })
}

pub(crate) fn edge_created(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    created: &EdgeCreated,
) -> Applied {
    let edge = created.edge.clone();
    let change = GraphChange::Edge { edge: edge.id, from: edge.from, to: edge.to };
    if !created.updated {
        change_pulse(docs, |pulse| pulse.edges += 1)?;
    }
    docs.put(RunKey::Edge(edge.id), RunDocument::Edge(edge));
    note(docs, place, change)
}

pub(crate) fn edge_deleted(docs: &mut RunDocs, place: FactPlace<'_>, id: EdgeId) -> Applied {
    let Some(RunDocument::Edge(edge)) = docs.get(&RunKey::Edge(id))? else { return Ok(()) };
    let change = GraphChange::Edge { edge: id, from: edge.from, to: edge.to };
    docs.remove(RunKey::Edge(id));
    note(docs, place, change)
}

fn note(docs: &mut RunDocs, place: FactPlace<'_>, change: GraphChange) -> Applied {
    match docs.edit(&RunKey::Journal)? {
        Some(RunDocument::Journal(journal)) => journal.add(place.seq, change),
        Some(_) | None => {
            let mut journal = Journal::default();
            journal.add(place.seq, change);
            docs.put(RunKey::Journal, RunDocument::Journal(journal));
        }
    }
    Ok(())
}
