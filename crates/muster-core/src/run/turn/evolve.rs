//! Turns, from their prompt to their end, with the tools that they have open.

use crate::run::{
    RunDocument, RunKey,
    event::{TokenUsage, TurnEnded, TurnMoved, TurnStarted, TurnStep},
    evolve::{Applied, FactPlace, RunDocs, change_pulse},
    id::{ApprovalId, ToolId, TurnId},
    inbox::ItemState,
    settings::Usage,
    turn::{NodeTurn, OpenTool, Tool, TurnArtifacts, TurnState},
};

/// Changes the turn that an event belongs to.
pub(crate) fn change(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    change: impl FnOnce(&mut NodeTurn),
) -> Applied {
    let Some(id) = place.event.turn_id else { return Ok(()) };
    if let Some(RunDocument::Turn(turn)) = docs.edit(&RunKey::Turn(id))? {
        change(turn);
    }
    Ok(())
}

pub(crate) fn moved(docs: &mut RunDocs, place: FactPlace<'_>, moved: &TurnMoved) -> Applied {
    let state = match &moved.step {
        TurnStep::Started(started) => return begun(docs, place, moved.attempt, started),
        TurnStep::Completed(ended) | TurnStep::Interrupted(ended) | TurnStep::Failed(ended) => {
            return has_ended(docs, place, ended);
        }
        TurnStep::Silent => return Ok(()),
        TurnStep::Finishing(ending) => {
            change(docs, place, |turn| {
                turn.reason = Some(ending.reason);
                turn.detail.clone_from(&ending.detail);
            })?;
            TurnState::Finishing
        }
        TurnStep::Sent => {
            change(docs, place, |turn| turn.sent = true)?;
            TurnState::Sent
        }
        TurnStep::ToolPending => TurnState::Tool,
        TurnStep::AwaitingApproval => TurnState::AwaitingApproval,
    };
    enter(docs, place, state)
}

/// Changes the state of a turn, and the copy that its node shows.
fn enter(docs: &mut RunDocs, place: FactPlace<'_>, state: TurnState) -> Applied {
    change(docs, place, |turn| turn.state = state)?;
    let Some(node) = place.event.node_id else { return Ok(()) };
    if let Some(RunDocument::Node(node)) = docs.edit(&RunKey::Node(node))?
        && let Some(live) = node.turn.as_mut()
        && Some(live.turn_id) == place.event.turn_id
    {
        live.state = state;
    }
    Ok(())
}

fn begun(docs: &mut RunDocs, place: FactPlace<'_>, attempt: u32, started: &TurnStarted) -> Applied {
    let (Some(node_id), Some(id)) = (place.event.node_id, place.event.turn_id) else {
        return Ok(());
    };
    let Some(RunDocument::Node(node)) = docs.get(&RunKey::Node(node_id))? else { return Ok(()) };
    let run_id = node.run_id;
    let turn = NodeTurn {
        id,
        run_id,
        node_id,
        number: started.number,
        attempt,
        retry_of: started.retry_of,
        trigger: started.trigger,
        state: TurnState::Preparing,
        started_at: place.at,
        ended_at: None,
        prompt_kind: started.prompt_kind,
        prompt_hash: started.prompt_hash.clone(),
        sent_hash: started.sent_hash.clone(),
        prompt_parts: started.prompt_parts.clone(),
        sent: false,
        consumed: started.consumed.clone(),
        status: None,
        reason: None,
        detail: None,
        provider: started.provider,
        session_id: started.session_id.clone(),
        effective: started.effective,
        tree: started.tree.clone(),
        usage: Usage::default(),
        output_hash: None,
        diff_hash: None,
        summary: None,
        artifacts: TurnArtifacts::default(),
        reports: Vec::new(),
        sent_to: Vec::new(),
        handoffs: 0,
        tools: Vec::new(),
        seq: place.seq,
    };
    docs.create(RunKey::Turn(id), RunDocument::Turn(Box::new(turn)));
    for taken in &started.consumed {
        if let Some(RunDocument::Item(item)) = docs.edit(&RunKey::Item(taken.id))? {
            item.state = ItemState::Consumed;
            item.consumed_turn_id = Some(id);
        }
    }
    change_pulse(docs, |pulse| {
        pulse.turns += 1;
        pulse.active_turns += 1;
    })
}

fn has_ended(docs: &mut RunDocs, place: FactPlace<'_>, ended: &TurnEnded) -> Applied {
    change(docs, place, |turn| {
        let seconds = place.at.seconds_since(turn.started_at);
        turn.usage.add(&Usage { turns: 1, active_seconds: seconds, ..Usage::default() });
        turn.state = TurnState::Ended;
        turn.ended_at = Some(place.at);
        turn.status = Some(ended.reason.status());
        turn.reason = Some(ended.reason);
        turn.detail.clone_from(&ended.detail);
        turn.output_hash.clone_from(&ended.output_hash);
        turn.diff_hash.clone_from(&ended.diff_hash);
        turn.summary.clone_from(&ended.summary);
    })?;
    change_pulse(docs, |pulse| pulse.active_turns -= 1)
}

/// Text arrived: only the first of a stretch changes anything, so that a delta stays cheap.
pub(crate) fn streamed(docs: &mut RunDocs, place: FactPlace<'_>) -> Applied {
    let Some(id) = place.event.turn_id else { return Ok(()) };
    let Some(RunDocument::Turn(turn)) = docs.get(&RunKey::Turn(id))? else { return Ok(()) };
    match turn.state {
        TurnState::Sent | TurnState::Tool => enter(docs, place, TurnState::Streaming),
        TurnState::Preparing
        | TurnState::Streaming
        | TurnState::AwaitingApproval
        | TurnState::Finishing
        | TurnState::Ended => Ok(()),
    }
}

pub(crate) fn tool_proposed(docs: &mut RunDocs, place: FactPlace<'_>, tool: &Tool) -> Applied {
    change(docs, place, |turn| {
        turn.tools.push(OpenTool { tool: tool.clone(), started: false, approval_id: None });
    })
}

pub(crate) fn tool_started(docs: &mut RunDocs, place: FactPlace<'_>, tool: &Tool) -> Applied {
    change(docs, place, |turn| {
        if let Some(open) = turn.tools.iter_mut().find(|open| open.tool.id == tool.id) {
            open.started = true;
            open.tool.args.clone_from(&tool.args);
        }
    })
}

/// A tool is no longer the turn's: it is completed, or it waits for its approval elsewhere.
pub(crate) fn tool_left(docs: &mut RunDocs, place: FactPlace<'_>, id: ToolId) -> Applied {
    change(docs, place, |turn| turn.tools.retain(|open| open.tool.id != id))
}

pub(crate) fn tool_waits(
    docs: &mut RunDocs,
    turn: TurnId,
    tool: ToolId,
    approval: Option<ApprovalId>,
) -> Applied {
    if let Some(RunDocument::Turn(turn)) = docs.edit(&RunKey::Turn(turn))?
        && let Some(open) = turn.tools.iter_mut().find(|open| open.tool.id == tool)
    {
        open.approval_id = approval;
    }
    Ok(())
}

pub(crate) fn used(docs: &mut RunDocs, place: FactPlace<'_>, usage: TokenUsage) -> Applied {
    change(docs, place, |turn| turn.usage.add(&usage.into()))
}
