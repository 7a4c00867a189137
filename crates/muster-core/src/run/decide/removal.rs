//! Removing a node, with everything that hangs on it (RUNS-NODE-7).

use super::{approval, graph, inbox, node, phase, recovery, turn};
use crate::run::{
    RunFact,
    approval::Approval,
    draft::RunDraft,
    event::{ItemFate, RunNodeDeleted},
    id::{EdgeId, ItemId, NodeId},
    lookup::{self, Found},
    turn::TurnReason,
};

/// What is said of a call that runs while its node goes.
const DELETED: &str = "its node was deleted while this ran";

/// Deletes a node: at once, or when the turn in flight has ended.
pub(super) fn delete(story: &mut RunDraft, id: NodeId) -> Found<()> {
    let live = story.node(id)?.turn.is_some();
    if !live {
        return remove(story, id);
    }
    turn::interrupt_node(story, id, TurnReason::NodeDeleted)?;
    isolate(story, id)?;
    story.change_node(id, |node| node.deleting = true)
}

/// Takes away approvals and edges.
fn isolate(story: &mut RunDraft, id: NodeId) -> Found<()> {
    let pending: Vec<Approval> = lookup::pending_approvals(story.docs())?
        .into_iter()
        .filter(|approval| approval.node_id == id)
        .cloned()
        .collect();
    for approval in &pending {
        approval::deny(story, approval, "node_deleted")?;
    }
    let edges: Vec<EdgeId> = lookup::edges(story.docs())?
        .iter()
        .filter(|edge| edge.touches(id))
        .map(|edge| edge.id)
        .collect();
    for edge in edges {
        graph::disconnect(story, edge)?;
    }
    Ok(())
}

/// Drops the inputs that wait; returns how many there were.
fn empty_inbox(story: &mut RunDraft, id: NodeId) -> Found<u32> {
    let waiting: Vec<ItemId> =
        lookup::queued(story.docs(), id, None)?.iter().map(|item| item.id).collect();
    inbox::remove(story, id, &waiting, ItemFate::Dropped)?;
    let failed: Vec<ItemId> =
        lookup::failed_inputs(story.docs(), id)?.iter().map(|item| item.id).collect();
    inbox::discard(story, id, &failed, ItemFate::Dropped)?;
    Ok(u32::try_from(waiting.len() + failed.len()).unwrap_or(u32::MAX))
}

/// Removes a node that has no turn in flight.
pub(super) fn remove(story: &mut RunDraft, id: NodeId) -> Found<()> {
    isolate(story, id)?;
    let dropped = empty_inbox(story, id)?;
    let late = story.node(id)?.late_tools.clone();
    recovery::give_up(story, id, &late, DELETED)?;
    story.tell_of(id, RunFact::NodeDeleted(RunNodeDeleted { dropped }))?;
    let root = node::root(story)?;
    story.change_run(|run| run.root_node_id = root)?;
    if story.run()?.docs_node_id == Some(id) {
        phase::assign_docs(story)?;
    }
    phase::deliver_goal(story)
}
