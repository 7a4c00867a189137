//! Turns: how they begin, what is reported of them, and how their end is called for.

use super::{approval, artifact, inbox, reject, tool};
use crate::run::{
    RunFact, RunRejection,
    command::{BeginTurn, FailStart},
    draft::RunDraft,
    event::{
        LogSource, NodeLogged, ThoughtFinished, TurnEnded, TurnEnding, TurnMoved, TurnStarted,
        TurnStep, UsageReported,
    },
    id::{NodeId, TurnId},
    inbox::InboxItem,
    limits,
    lookup::{self, Found},
    node::{ConnectionStatus, LastTurn, LiveTurn},
    provider::{ProviderEvent, ProviderOutcome},
    schedule::{self, Readiness},
    turn::{
        Consumed, NodeTurn, PromptKind, PromptParts, Trigger, TurnReason, TurnState, TurnStatus,
    },
};

pub(super) fn begin(story: &mut RunDraft, begin: &BeginTurn) -> Found<()> {
    let node = story.node(begin.node)?.clone();
    ready(story, begin.node, begin.trigger)?;
    let consumed = taken(story, begin)?;
    let attempt = match begin.trigger {
        Trigger::Retry => node.failures + 1,
        Trigger::User
        | Trigger::Handoff
        | Trigger::Auto
        | Trigger::Resume
        | Trigger::ToolResult
        | Trigger::DocsSync
        | Trigger::Start => 1,
    };
    let prompt = &begin.prompt;
    let started = TurnStarted {
        number: lookup::pulse(story.docs())?.turns + 1,
        trigger: begin.trigger,
        consumed,
        prompt_kind: prompt.kind,
        prompt_hash: prompt.hash.clone(),
        sent_hash: prompt.sent_hash.clone(),
        prompt_parts: prompt.parts.clone(),
        retry_of: node.redeliver_turn_id.filter(|_| begin.trigger == Trigger::Retry),
        provider: node.provider,
        session_id: node.session.session_id.clone(),
        effective: node.effective,
        tree: begin.tree.clone(),
    };
    start(story, begin.node, begin.turn, attempt, started)?;
    artifact::record(story, begin.node, &prompt.full)?;
    artifact::record(story, begin.node, &prompt.blocks)
}

/// The node may still begin, for the reason that its prompt was written for.
fn ready(story: &RunDraft, id: NodeId, trigger: Trigger) -> Found<()> {
    let nodes = lookup::nodes(story.docs())?;
    let pending = lookup::pulse(story.docs())?.pending_approvals;
    let node = story.node(id)?;
    let readiness = schedule::readiness(story.run()?, &nodes, node, pending, story.now());
    if readiness != Readiness::Ready(trigger) || story.run()?.stall.is_some() {
        return reject(RunRejection::NotRunnable { id });
    }
    Ok(())
}

/// The inputs that the prompt holds: the first of those that wait, behind those that come again.
fn taken(story: &RunDraft, begin: &BeginTurn) -> Found<Vec<Consumed>> {
    let offered = schedule::inputs(story.docs(), story.node(begin.node)?)?;
    let again: Vec<Consumed> = offered.iter().copied().filter(|input| input.redelivered).collect();
    let waiting = offered[again.len()..].iter().copied();
    let chosen: Vec<Consumed> =
        waiting.zip(&begin.inputs).filter(|(input, id)| input.id == **id).map(|(i, _)| i).collect();
    let none_left_behind = !chosen.is_empty() || offered.len() == again.len() || !again.is_empty();
    if chosen.len() != begin.inputs.len() || !none_left_behind {
        return reject(RunRejection::NotRunnable { id: begin.node });
    }
    Ok(again.into_iter().chain(chosen).collect())
}

/// Tells that a turn begins, and what that means for its node.
fn start(
    story: &mut RunDraft,
    node: NodeId,
    id: TurnId,
    attempt: u32,
    started: TurnStarted,
) -> Found<()> {
    if lookup::find_turn(story.docs(), id)?.is_some() {
        return reject(RunRejection::TurnNotLive { id });
    }
    let now = story.now();
    let live = LiveTurn {
        turn_id: id,
        state: TurnState::Preparing,
        attempt,
        trigger: started.trigger,
        started_at: now,
        prompt_kind: started.prompt_kind,
        summary: None,
        summary_at: None,
    };
    let fresh = started.consumed.iter().filter(|taken| !taken.redelivered);
    let items: Vec<InboxItem> =
        fresh.map(|taken| lookup::item(story.docs(), taken.id).cloned()).collect::<Found<_>>()?;
    story.in_turn(Some(id));
    let step = TurnStep::Started(Box::new(started));
    story.tell_of(node, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    story.change_node(node, |node| {
        items.iter().for_each(|item| inbox::leave(&mut node.queue, item));
        node.queue.since = node.queue.since.map(|_| now);
        "starting".clone_into(&mut node.summary);
        node.last_activity_at = now;
        node.connection.status = ConnectionStatus::Connected;
        node.connection.streaming = false;
        node.connection.last_heartbeat_at = Some(now);
        node.connection.last_output_at = Some(now);
        node.turn = Some(live);
        node.retry = None;
        node.failed = false;
        node.armed = false;
        node.start_requested = false;
        node.waiting_for = None;
        node.redeliver_turn_id = None;
    })
}

/// A turn that cannot even be asked: it fails, and its inputs stay where they are.
pub(super) fn fail_start(story: &mut RunDraft, fail: &FailStart) -> Found<()> {
    ready(story, fail.node, fail.trigger)?;
    let node = story.node(fail.node)?.clone();
    let started = TurnStarted {
        number: lookup::pulse(story.docs())?.turns + 1,
        trigger: fail.trigger,
        consumed: Vec::new(),
        prompt_kind: PromptKind::Full,
        prompt_hash: String::new(),
        sent_hash: String::new(),
        prompt_parts: PromptParts::default(),
        retry_of: None,
        provider: node.provider,
        session_id: node.session.session_id.clone(),
        effective: node.effective,
        tree: None,
    };
    let (attempt, reason, now) = (1, fail.reason, story.now());
    start(story, fail.node, fail.turn, attempt, started)?;
    let detail =
        fail.detail.as_deref().map(|text| crate::text::cut(text, limits::DETAIL_CHARS_MAX));
    let ended = TurnEnded { reason, detail: detail.clone(), ..TurnEnded::plain(reason) };
    let step = TurnStep::Failed(ended);
    story.tell_of(fail.node, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    story.change_node(fail.node, |changed| {
        let (turn_id, status) = (fail.turn, TurnStatus::Failed);
        changed.turn = None;
        changed.last_turn = Some(LastTurn { turn_id, status, reason, ended_at: now, detail });
        changed.connection = node.connection;
        changed.redeliver_turn_id = node.redeliver_turn_id;
        changed.failed = true;
        changed.failures += 1;
        reason.name().clone_into(&mut changed.summary);
    })?;
    super::closing::failed_for_good(story, fail.node, fail.turn)
}

/// The turn, if it has not ended.
fn live(story: &RunDraft, id: TurnId) -> Found<NodeTurn> {
    let turn = lookup::turn(story.docs(), id)?;
    if turn.is_live() { Ok(turn.clone()) } else { reject(RunRejection::TurnNotLive { id }) }
}

/// The provider has the prompt.
pub(super) fn sent(story: &mut RunDraft, id: TurnId) -> Found<()> {
    let turn = live(story, id)?;
    if turn.state != TurnState::Preparing {
        return reject(RunRejection::TurnNotLive { id });
    }
    story.in_turn(Some(id));
    let (attempt, step) = (turn.attempt, TurnStep::Sent);
    story.tell_of(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))
}

/// Half of the time that a turn may be silent has passed (RUNS-TURN-6).
pub(super) fn silent(story: &mut RunDraft, id: TurnId) -> Found<()> {
    let turn = live(story, id)?;
    story.in_turn(Some(id));
    let (attempt, step) = (turn.attempt, TurnStep::Silent);
    story.tell_of(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))
}

/// Interrupts the turn that a node has in flight, if it has one.
pub(super) fn interrupt_node(story: &mut RunDraft, node: NodeId, reason: TurnReason) -> Found<()> {
    match story.node(node)?.live_turn() {
        Some(turn) => finish(story, turn, reason, None),
        None => Ok(()),
    }
}

/// Says that a turn shall end; whoever drives it reports when it has. The first reason counts.
pub(super) fn finish(
    story: &mut RunDraft,
    id: TurnId,
    reason: TurnReason,
    detail: Option<&str>,
) -> Found<()> {
    let turn = live(story, id)?;
    if turn.state == TurnState::Finishing {
        return Ok(());
    }
    let detail = detail.map(|text| crate::text::cut(text, limits::DETAIL_CHARS_MAX));
    let outer = story.in_turn(Some(id));
    let (attempt, step) = (turn.attempt, TurnStep::Finishing(TurnEnding { reason, detail }));
    story.tell_of(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    if reason.status() != TurnStatus::Completed {
        approval::deny_of_turn(story, id, reason)?;
    }
    story.in_turn(outer);
    Ok(())
}

/// What a provider reports. What belongs to no live turn goes to the log (RUNS-TURN-2).
pub(super) fn report(story: &mut RunDraft, id: TurnId, event: &ProviderEvent) -> Found<()> {
    let turn = lookup::turn(story.docs(), id)?.clone();
    story.in_turn(Some(id));
    if lookup::find_node(story.docs(), turn.node_id)?.is_none() {
        return Ok(());
    }
    if !turn.is_live() {
        return late(story, &turn, event);
    }
    let node = turn.node_id;
    match event {
        ProviderEvent::SessionStarted { session_id } => story.change_node(node, |node| {
            if !node.session_ends {
                node.session.session_id.clone_from(session_id);
            }
        }),
        ProviderEvent::Delta { text } => stream(story, &turn, text),
        ProviderEvent::ThoughtDelta { text } => {
            story.tell_pieces(node, text, RunFact::ThoughtStreamed)
        }
        ProviderEvent::Thought { text } => {
            let fact = RunFact::ThoughtFinished(ThoughtFinished { content: text.clone() });
            story.tell_of(node, fact)
        }
        ProviderEvent::ToolProposed(call) => tool::proposed(story, &turn, call).map(|_| ()),
        ProviderEvent::ApprovalRequested { id, tool, context, can_modify } => {
            let question =
                tool::ProviderQuestion { id, context: context.as_deref(), can_modify: *can_modify };
            tool::asked(story, &turn, tool, &question)
        }
        ProviderEvent::ApprovalWithdrawn { id } => tool::withdrawn(story, &turn, id),
        ProviderEvent::ToolStarted { id } => tool::started(story, &turn, id),
        ProviderEvent::ToolCompleted { id, result, error } => {
            tool::completed(story, &turn, id, result, error.as_ref())
        }
        ProviderEvent::Plan { .. } => Ok(()),
        ProviderEvent::Usage { model, usage } => {
            let (provider, model, usage) = (turn.provider, model.clone(), *usage);
            let fact = RunFact::UsageReported(UsageReported { provider, model, usage });
            story.tell_of(node, fact)?;
            super::budget::add(story, node, &usage.into())
        }
        ProviderEvent::Progress { summary } => progress(story, node, summary),
        ProviderEvent::Beat { silent_ms } => beat(story, node, *silent_ms),
        ProviderEvent::Log { source, line, suppressed } => {
            log(story, node, *source, line, *suppressed)
        }
        ProviderEvent::TurnEnded(outcome) => ended(story, id, outcome),
    }
}

fn ended(story: &mut RunDraft, id: TurnId, outcome: &ProviderOutcome) -> Found<()> {
    match outcome {
        ProviderOutcome::Completed => finish(story, id, TurnReason::Done, None),
        ProviderOutcome::Interrupted => finish(story, id, TurnReason::UserInterrupt, None),
        ProviderOutcome::Failed { reason, detail } => {
            let failed = reason.status() == TurnStatus::Failed;
            let reason = if failed { *reason } else { TurnReason::ProviderError };
            finish(story, id, reason, detail.as_deref())
        }
    }
}

/// Text as events of a bounded size (RUNS-EV-7).
fn stream(story: &mut RunDraft, turn: &NodeTurn, text: &str) -> Found<()> {
    let now = story.now();
    story.tell_pieces(turn.node_id, text, RunFact::TextStreamed)?;
    if story.node(turn.node_id)?.connection.streaming {
        return Ok(());
    }
    story.change_node(turn.node_id, |node| {
        node.connection.streaming = true;
        node.connection.last_output_at = Some(now);
    })
}

fn progress(story: &mut RunDraft, node: NodeId, summary: &str) -> Found<()> {
    let now = story.now();
    let summary = crate::text::cut(summary.trim(), limits::SUMMARY_CHARS_MAX);
    let too_soon =
        |last: crate::run::moment::Moment| now < last.after_ms(limits::PROGRESS_INTERVAL_MS);
    story.change_node(node, |node| {
        let Some(turn) = node.turn.as_mut() else { return };
        if summary.is_empty() || turn.summary_at.is_some_and(too_soon) || node.summary == summary {
            return;
        }
        turn.summary_at = Some(now);
        node.summary = summary;
    })
}

/// A sign of life with the last output before it, written at most twice a minute (RUNS-EV-8).
fn beat(story: &mut RunDraft, node: NodeId, silent_ms: u32) -> Found<()> {
    let now = story.now();
    story.change_node(node, |node| {
        let connection = &mut node.connection;
        let last = connection.last_heartbeat_at;
        if last.is_none_or(|last| now >= last.after_ms(limits::BEAT_INTERVAL_MS)) {
            connection.last_heartbeat_at = Some(now);
            let heard = now.after_ms(-i64::from(silent_ms));
            connection.last_output_at = connection.last_output_at.max(Some(heard));
        }
    })
}

/// A line of a node's log.
pub(super) fn log(
    story: &mut RunDraft,
    node: NodeId,
    source: LogSource,
    line: &str,
    suppressed: Option<u64>,
) -> Found<()> {
    let line = crate::text::cut(line, limits::LOG_LINE_CHARS_MAX);
    story.tell_of(node, RunFact::NodeLogged(NodeLogged { source, line, suppressed }))
}

/// What came when its turn was over already: it never reaches another turn.
fn late(story: &mut RunDraft, turn: &NodeTurn, event: &ProviderEvent) -> Found<()> {
    let said = match event {
        ProviderEvent::Delta { text }
        | ProviderEvent::ThoughtDelta { text }
        | ProviderEvent::Thought { text } => text.clone(),
        ProviderEvent::Log { source, line, suppressed } => {
            return log(story, turn.node_id, *source, line, *suppressed);
        }
        ProviderEvent::ToolProposed(call) => format!("late tool call {}", call.name),
        ProviderEvent::ApprovalRequested { tool, .. } => {
            format!("late question about {}", tool.name)
        }
        ProviderEvent::ToolStarted { id } | ProviderEvent::ToolCompleted { id, .. } => {
            format!("late report of tool {id}")
        }
        ProviderEvent::Usage { .. } => "late report of usage".to_owned(),
        ProviderEvent::SessionStarted { .. }
        | ProviderEvent::ApprovalWithdrawn { .. }
        | ProviderEvent::Plan { .. }
        | ProviderEvent::Progress { .. }
        | ProviderEvent::Beat { .. }
        | ProviderEvent::TurnEnded(_) => return Ok(()),
    };
    log(story, turn.node_id, LogSource::Stdout, &said, None)
}
