//! What a start has to do: runs that were cut off, and work whose outcome is missing.

use super::{Docs, NodeEffect, RunEffect, StopManner, boots, manner, must_reset};
use crate::run::{
    lookup::{self, Lookup},
    node::Node,
    record::RunStatus,
    turn::TurnState,
};

/// Whether a start has to recover a run first: something of it was in flight.
pub fn needs_recovery(docs: &Docs) -> Lookup<bool> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(false) };
    let left =
        |node: &&Node| node.turn.is_some() || node.process.is_some() || !node.late_tools.is_empty();
    let working = run.status == RunStatus::Running || run.verifying;
    Ok(working || lookup::nodes(docs)?.iter().any(left))
}

/// What a start has to do in a recovered run: the work whose outcome is missing.
pub fn outstanding(docs: &Docs) -> Lookup<Vec<RunEffect>> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(Vec::new()) };
    let mut effects = Vec::new();
    if boots(run) {
        effects.push(RunEffect::RunBoot);
    }
    if run.verifying {
        effects.push(RunEffect::RunChecks);
    }
    for node in lookup::nodes(docs)? {
        if must_reset(node) {
            effects.push(RunEffect::OfNode(node.id, NodeEffect::ResetContext));
        }
    }
    for turn in lookup::live_turns(docs)? {
        if turn.state == TurnState::Finishing {
            let manner = turn.reason.map_or(StopManner::Kill, manner);
            let finish = NodeEffect::FinishTurn { turn: turn.id, manner };
            effects.push(RunEffect::OfNode(turn.node_id, finish));
        }
    }
    effects.push(RunEffect::Schedule);
    Ok(effects)
}
