//! What a start finds, and what an end leaves (RUNS-REC).
//!
//! Whoever starts the server has killed what was left of the processes and has taken the diffs of
//! the turns that were in flight. Here their end is told, and whether the run goes on by itself.

use super::{agent, closing, life, turn};
use crate::run::{
    RunFact,
    command::Recover,
    draft::RunDraft,
    event::{ToolCompleted, ToolError, ToolResult},
    id::{NodeId, ToolId},
    lookup::{self, Found},
    node::ConnectionStatus,
    record::{Phase, RunStatus, StatusCode, StatusReason},
    turn::TurnReason,
};

/// What is said of a call that was under way.
const LOST_CALL: &str = "the server was restarted while this ran; check before repeating it";

pub(super) fn recover(story: &mut RunDraft, recover: &Recover) -> Found<()> {
    let open = has_open_work(story)?;
    let reason = match recover.shutdown {
        true => TurnReason::ServerShutdown,
        false => TurnReason::ServerRestart,
    };
    for close in &recover.turns {
        turn::finish(story, close.turn, reason, None)?;
        closing::close(story, close)?;
    }
    let nodes: Vec<(NodeId, Vec<ToolId>)> = lookup::nodes(story.docs())?
        .iter()
        .map(|node| (node.id, node.late_tools.clone()))
        .collect();
    for (node, tools) in nodes {
        settle(story, node, &tools)?;
    }
    story.change_run(|run| run.verifying = false)?;
    if !open || story.run()?.status != RunStatus::Running {
        return Ok(());
    }
    let code = if recover.shutdown { StatusCode::Shutdown } else { StatusCode::Restart };
    life::pause(story, StatusReason::plain(code, story.now()))
}

/// Whether something was to happen by itself.
fn has_open_work(story: &RunDraft) -> Found<bool> {
    let run = story.run()?;
    let finishing = run.completion.is_some() && run.phase != Phase::Done;
    let busy = lookup::nodes(story.docs())?.iter().any(|node| {
        let owes = node.redeliver_turn_id.is_some() && !node.failed;
        owes || node.turn.is_some() || !node.queue.is_empty() || node.retry.is_some() || node.armed
    });
    Ok(run.status == RunStatus::Running && (finishing || run.verifying || busy))
}

/// A node without its process; calls that were under way have no outcome.
fn settle(story: &mut RunDraft, id: NodeId, tools: &[ToolId]) -> Found<()> {
    give_up(story, id, tools, LOST_CALL)?;
    for tool in tools {
        agent::deliver(story, id, *tool, LOST_CALL)?;
    }
    if lookup::find_node(story.docs(), id)?.is_none() {
        return Ok(());
    }
    story.change_node(id, |node| {
        node.connection.status = ConnectionStatus::Disconnected;
        node.connection.streaming = false;
        node.process = None;
        node.late_tools.clear();
    })
}

/// Tells that calls which ran without a turn have no outcome.
pub(super) fn give_up(story: &mut RunDraft, id: NodeId, tools: &[ToolId], why: &str) -> Found<()> {
    for tool_id in tools {
        let error = ToolError { message: why.to_owned(), code: None };
        let (result, error) = (ToolResult::default(), Some(error));
        let completed = ToolCompleted { tool_id: *tool_id, result, error };
        story.tell_of(id, RunFact::ToolCompleted(completed))?;
    }
    Ok(())
}

/// Calls for the end of every turn, because the server ends (RUNS-REC-4).
pub(super) fn shut_down(story: &mut RunDraft) -> Found<()> {
    life::interrupt_all(story, TurnReason::ServerShutdown)
}
