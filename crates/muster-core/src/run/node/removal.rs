//! Removing a node, with everything that hangs on it (RUNS-NODE-7).

use crate::run::{
    RunFact,
    approval::{Approval, rules as approval_rules},
    draft::RunDraft,
    edge::rules as edge_rules,
    event::{ItemFate, RunNodeDeleted},
    id::{EdgeId, ItemId, NodeId},
    inbox::rules as inbox_rules,
    lookup::{self, Found},
    node::rules as node_rules,
    phase,
    record::recovery,
    turn::{TurnReason, rules as turn_rules},
};

/// The error of a call that runs while its node is deleted.
const DELETED: &str = "its node was deleted while this ran";

/// Deletes a node: immediately, or when the turn in flight has ended.
pub(crate) fn delete(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    let live = draft.node(id)?.turn.is_some();
    if !live {
        return remove(draft, id);
    }
    turn_rules::interrupt_node(draft, id, TurnReason::NodeDeleted)?;
    isolate(draft, id)?;
    draft.change_node(id, |node| node.deleting = true)
}

/// Takes away approvals and edges.
fn isolate(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    let pending: Vec<Approval> = lookup::pending_approvals(draft.docs())?
        .into_iter()
        .filter(|approval| approval.node_id == id)
        .cloned()
        .collect();
    for approval in &pending {
        approval_rules::deny(draft, approval, "node_deleted")?;
    }
    let edges: Vec<EdgeId> = lookup::edges(draft.docs())?
        .iter()
        .filter(|edge| edge.touches(id))
        .map(|edge| edge.id)
        .collect();
    for edge in edges {
        edge_rules::disconnect(draft, edge)?;
    }
    Ok(())
}

/// Drops the waiting inputs; returns how many there were.
fn empty_inbox(draft: &mut RunDraft<'_>, id: NodeId) -> Found<u32> {
    let waiting: Vec<ItemId> =
        lookup::queued(draft.docs(), id, None)?.iter().map(|item| item.id).collect();
    inbox_rules::remove(draft, id, &waiting, ItemFate::Dropped)?;
    let failed: Vec<ItemId> =
        lookup::failed_inputs(draft.docs(), id)?.iter().map(|item| item.id).collect();
    inbox_rules::discard(draft, id, &failed, ItemFate::Dropped)?;
    Ok(u32::try_from(waiting.len() + failed.len()).unwrap_or(u32::MAX))
}

/// Removes a node that has no turn in flight.
pub(crate) fn remove(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    isolate(draft, id)?;
    let dropped = empty_inbox(draft, id)?;
    let late = draft.node(id)?.late_tools.clone();
    recovery::give_up(draft, id, &late, DELETED)?;
    draft.emit_for(id, RunFact::NodeDeleted(RunNodeDeleted { dropped }))?;
    let root = node_rules::root(draft)?;
    draft.change_run(|run| run.root_node_id = root)?;
    if draft.run()?.docs_node_id == Some(id) {
        phase::assign_docs(draft)?;
    }
    phase::deliver_goal(draft)
}
