//! What a start finds, and what an end leaves (RUNS-REC).
//!
//! By now the server has killed the remaining processes and has taken the diffs of the turns that
//! were in flight. Here their end is recorded, and whether the run continues automatically.

use crate::run::{
    RunFact,
    command::Recover,
    draft::RunDraft,
    event::{ToolCompleted, ToolError, ToolResult},
    id::{NodeId, ToolId},
    lookup::{self, Found},
    node::ConnectionStatus,
    record::{Phase, RunStatus, StatusCode, StatusReason, life},
    tool::calls,
    turn::{TurnReason, closing, rules as turn_rules},
};

/// The error of a call that was in flight.
const LOST_CALL: &str = "the server was restarted while this ran; check before repeating it";

pub(crate) fn recover(draft: &mut RunDraft<'_>, recover: &Recover) -> Found<()> {
    let open = has_open_work(draft)?;
    let reason = match recover.shutdown {
        true => TurnReason::ServerShutdown,
        false => TurnReason::ServerRestart,
    };
    for close in &recover.turns {
        turn_rules::finish(draft, close.turn, reason, None)?;
        closing::close(draft, close)?;
    }
    let nodes: Vec<(NodeId, Vec<ToolId>)> = lookup::nodes(draft.docs())?
        .iter()
        .map(|node| (node.id, node.late_tools.clone()))
        .collect();
    for (node, tools) in nodes {
        settle(draft, node, &tools)?;
    }
    draft.change_run(|run| run.verifying = false)?;
    if !open || draft.run()?.status != RunStatus::Running {
        return Ok(());
    }
    let code = if recover.shutdown { StatusCode::Shutdown } else { StatusCode::Restart };
    life::pause(draft, StatusReason::plain(code, draft.now()))
}

/// Whether something was due to happen automatically.
fn has_open_work(draft: &RunDraft<'_>) -> Found<bool> {
    let run = draft.run()?;
    let finishing = run.completion.is_some() && run.phase != Phase::Done;
    let busy = lookup::nodes(draft.docs())?.iter().any(|node| {
        let owes = node.redeliver_turn_id.is_some() && !node.failed;
        owes || node.turn.is_some() || !node.queue.is_empty() || node.retry.is_some() || node.armed
    });
    Ok(run.status == RunStatus::Running && (finishing || run.verifying || busy))
}

/// A node without its process; calls in flight have no outcome.
fn settle(draft: &mut RunDraft<'_>, id: NodeId, tools: &[ToolId]) -> Found<()> {
    give_up(draft, id, tools, LOST_CALL)?;
    for tool in tools {
        calls::deliver(draft, id, *tool, LOST_CALL)?;
    }
    if lookup::find_node(draft.docs(), id)?.is_none() {
        return Ok(());
    }
    draft.change_node(id, |node| {
        node.connection.status = ConnectionStatus::Disconnected;
        node.connection.streaming = false;
        node.process = None;
        node.late_tools.clear();
    })
}

/// Records that calls without a turn have no outcome.
pub(crate) fn give_up(
    draft: &mut RunDraft<'_>,
    id: NodeId,
    tools: &[ToolId],
    why: &str,
) -> Found<()> {
    for tool_id in tools {
        let error = ToolError { message: why.to_owned(), code: None };
        let result = ToolResult::default();
        let error = Some(error);
        let completed = ToolCompleted { tool_id: *tool_id, result, error };
        draft.emit_for(id, RunFact::ToolCompleted(completed))?;
    }
    Ok(())
}

/// Requests the end of every turn, because the server shuts down (RUNS-REC-4).
pub(crate) fn shut_down(draft: &mut RunDraft<'_>) -> Found<()> {
    life::interrupt_all(draft, TurnReason::ServerShutdown)
}
