//! What follows when a node will not try again.

use crate::run::{
    draft::RunDraft,
    handoff::rules as handoff_rules,
    id::{NodeId, TurnId},
    inbox::rules as inbox_rules,
    lookup::{self, Found},
    record::{Mode, Phase, RunStatus, StatusCode, StatusReason, life},
};

/// Without its documentation turn the run cannot end automatically.
pub(crate) fn docs_interrupted(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    let run = draft.run()?;
    let working = run.status == RunStatus::Running && run.phase == Phase::DocsSync;
    if !working || run.docs_node_id != Some(id) || !draft.node(id)?.queue.is_empty() {
        return Ok(());
    }
    let code = StatusCode::DocsSyncFailed;
    let reason = StatusReason { node_id: Some(id), ..StatusReason::plain(code, draft.now()) };
    life::pause(draft, reason)
}

/// A node that will not retry automatically: the nodes that count on it are notified (RUNS-TURN-8).
pub(crate) fn failed_for_good(draft: &mut RunDraft<'_>, id: NodeId, turn: TurnId) -> Found<()> {
    handoff_rules::failure(draft, id, turn)?;
    let waiting: Vec<NodeId> = lookup::nodes(draft.docs())?
        .iter()
        .filter(|node| node.waiting_for.as_ref().is_some_and(|w| w.node_ids.contains(&id)))
        .map(|node| node.id)
        .collect();
    for other in waiting {
        draft.change_node(other, |node| inbox_rules::record_report(node, id))?;
    }
    let run = draft.run()?;
    let code = if run.status != RunStatus::Running {
        None
    } else if run.phase == Phase::DocsSync && run.docs_node_id == Some(id) {
        Some(StatusCode::DocsSyncFailed)
    } else if run.mode == Mode::Auto && run.root_node_id == Some(id) {
        Some(StatusCode::OrchestratorFailed)
    } else {
        None
    };
    let Some(code) = code else { return Ok(()) };
    let reason = StatusReason { node_id: Some(id), ..StatusReason::plain(code, draft.now()) };
    life::pause(draft, reason)
}
