//! Turns: how they begin, their reports, and how their end is requested.

use crate::run::{
    RunFact, RunRejection,
    approval::rules as approval_rules,
    artifact::rules as artifact_rules,
    command::{BeginTurn, FailStart},
    decide::reject,
    draft::RunDraft,
    event::{
        LogSource, NodeLogged, ThoughtFinished, TurnEnded, TurnEnding, TurnMoved, TurnStarted,
        TurnStep, UsageReported,
    },
    id::{NodeId, TurnId},
    inbox::{InboxItem, rules as inbox_rules},
    limits,
    lookup::{self, Found},
    node::{ConnectionStatus, LastTurn, LiveTurn},
    provider::{ProviderEvent, ProviderOutcome},
    schedule::{self, Readiness},
    tool::provider_calls,
    turn::{
        Consumed, NodeTurn, PromptKind, PromptParts, Trigger, TurnReason, TurnState, TurnStatus,
    },
};

pub(crate) fn begin(draft: &mut RunDraft<'_>, begin: &BeginTurn) -> Found<()> {
    let node = draft.node(begin.node)?.clone();
    ready(draft, begin.node, begin.trigger)?;
    let consumed = taken(draft, begin)?;
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
        number: lookup::pulse(draft.docs())?.turns + 1,
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
    start(draft, begin.node, begin.turn, attempt, started)?;
    artifact_rules::record(draft, begin.node, &prompt.full)?;
    artifact_rules::record(draft, begin.node, &prompt.blocks)
}

/// The node may still begin, for the reason that its prompt was written for.
fn ready(draft: &RunDraft<'_>, id: NodeId, trigger: Trigger) -> Found<()> {
    let nodes = lookup::nodes(draft.docs())?;
    let pending = lookup::pulse(draft.docs())?.pending_approvals;
    let node = draft.node(id)?;
    let readiness = schedule::readiness(draft.run()?, &nodes, node, pending, draft.now());
    if readiness != Readiness::Ready(trigger) || draft.run()?.stall.is_some() {
        return reject(RunRejection::NotRunnable { id });
    }
    Ok(())
}

/// The inputs of the prompt: the first waiting ones, after those that are delivered again.
fn taken(draft: &RunDraft<'_>, begin: &BeginTurn) -> Found<Vec<Consumed>> {
    let offered = schedule::inputs(draft.docs(), draft.node(begin.node)?)?;
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

/// Records that a turn begins, and what that means for its node.
fn start(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    id: TurnId,
    attempt: u32,
    started: TurnStarted,
) -> Found<()> {
    if lookup::find_turn(draft.docs(), id)?.is_some() {
        return reject(RunRejection::TurnNotLive { id });
    }
    let now = draft.now();
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
        fresh.map(|taken| lookup::item(draft.docs(), taken.id).cloned()).collect::<Found<_>>()?;
    draft.in_turn(Some(id));
    let step = TurnStep::Started(Box::new(started));
    draft.emit_for(node, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    draft.change_node(node, |node| {
        items.iter().for_each(|item| inbox_rules::leave(&mut node.queue, item));
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

/// A turn that cannot be sent: it fails, and its inputs stay where they are.
pub(crate) fn fail_start(draft: &mut RunDraft<'_>, fail: &FailStart) -> Found<()> {
    ready(draft, fail.node, fail.trigger)?;
    let node = draft.node(fail.node)?.clone();
    let started = TurnStarted {
        number: lookup::pulse(draft.docs())?.turns + 1,
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
    let attempt = 1;
    let reason = fail.reason;
    let now = draft.now();
    start(draft, fail.node, fail.turn, attempt, started)?;
    let detail =
        fail.detail.as_deref().map(|text| crate::text::cut(text, limits::DETAIL_CHARS_MAX));
    let ended = TurnEnded { reason, detail: detail.clone(), ..TurnEnded::plain(reason) };
    let step = TurnStep::Failed(ended);
    draft.emit_for(fail.node, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    draft.change_node(fail.node, |changed| {
        let turn_id = fail.turn;
        let status = TurnStatus::Failed;
        changed.turn = None;
        changed.last_turn = Some(LastTurn { turn_id, status, reason, ended_at: now, detail });
        changed.connection = node.connection;
        changed.redeliver_turn_id = node.redeliver_turn_id;
        changed.failed = true;
        changed.failures += 1;
        reason.name().clone_into(&mut changed.summary);
    })?;
    crate::run::turn::failure::failed_for_good(draft, fail.node, fail.turn)
}

/// The turn, if it has not ended.
fn live(draft: &RunDraft<'_>, id: TurnId) -> Found<NodeTurn> {
    let turn = lookup::turn(draft.docs(), id)?;
    if turn.is_live() { Ok(turn.clone()) } else { reject(RunRejection::TurnNotLive { id }) }
}

/// The provider has the prompt.
pub(crate) fn sent(draft: &mut RunDraft<'_>, id: TurnId) -> Found<()> {
    let turn = live(draft, id)?;
    if turn.state != TurnState::Preparing {
        return reject(RunRejection::TurnNotLive { id });
    }
    draft.in_turn(Some(id));
    let attempt = turn.attempt;
    let step = TurnStep::Sent;
    draft.emit_for(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))
}

/// Half of the time that a turn may be silent has passed (RUNS-TURN-6).
pub(crate) fn silent(draft: &mut RunDraft<'_>, id: TurnId) -> Found<()> {
    let turn = live(draft, id)?;
    draft.in_turn(Some(id));
    let attempt = turn.attempt;
    let step = TurnStep::Silent;
    draft.emit_for(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))
}

/// Interrupts the turn that a node has in flight, if it has one.
pub(crate) fn interrupt_node(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    reason: TurnReason,
) -> Found<()> {
    match draft.node(node)?.live_turn() {
        Some(turn) => finish(draft, turn, reason, None),
        None => Ok(()),
    }
}

/// Requests the end of a turn; its driver reports when it has ended. The first reason counts.
pub(crate) fn finish(
    draft: &mut RunDraft<'_>,
    id: TurnId,
    reason: TurnReason,
    detail: Option<&str>,
) -> Found<()> {
    let turn = live(draft, id)?;
    if turn.state == TurnState::Finishing {
        return Ok(());
    }
    let detail = detail.map(|text| crate::text::cut(text, limits::DETAIL_CHARS_MAX));
    let outer = draft.in_turn(Some(id));
    let attempt = turn.attempt;
    let step = TurnStep::Finishing(TurnEnding { reason, detail });
    draft.emit_for(turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))?;
    if reason.status() != TurnStatus::Completed {
        approval_rules::deny_of_turn(draft, id, reason)?;
    }
    draft.in_turn(outer);
    Ok(())
}

/// A report of a provider. Reports that belong to no live turn go to the log (RUNS-TURN-2).
pub(crate) fn report(draft: &mut RunDraft<'_>, id: TurnId, event: &ProviderEvent) -> Found<()> {
    let turn = lookup::turn(draft.docs(), id)?.clone();
    draft.in_turn(Some(id));
    if lookup::find_node(draft.docs(), turn.node_id)?.is_none() {
        return Ok(());
    }
    if !turn.is_live() {
        return late(draft, &turn, event);
    }
    let node = turn.node_id;
    match event {
        ProviderEvent::SessionStarted { session_id } => draft.change_node(node, |node| {
            if !node.session_ends {
                node.session.session_id.clone_from(session_id);
            }
        }),
        ProviderEvent::Delta { text } => stream(draft, &turn, text),
        ProviderEvent::ThoughtDelta { text } => {
            draft.emit_pieces(node, text, RunFact::ThoughtStreamed)
        }
        ProviderEvent::Thought { text } => {
            let fact = RunFact::ThoughtFinished(ThoughtFinished { content: text.clone() });
            draft.emit_for(node, fact)
        }
        ProviderEvent::ToolProposed(call) => {
            provider_calls::proposed(draft, &turn, call).map(|_| ())
        }
        ProviderEvent::ApprovalRequested { id, tool, context, can_modify } => {
            let question = provider_calls::ProviderQuestion {
                id,
                context: context.as_deref(),
                can_modify: *can_modify,
            };
            provider_calls::on_question(draft, &turn, tool, &question)
        }
        ProviderEvent::ApprovalWithdrawn { id } => provider_calls::withdrawn(draft, &turn, id),
        ProviderEvent::ToolStarted { id } => provider_calls::started(draft, &turn, id),
        ProviderEvent::ToolCompleted { id, result, error } => {
            provider_calls::completed(draft, &turn, id, result, error.as_ref())
        }
        ProviderEvent::Plan { .. } => Ok(()),
        ProviderEvent::Usage { model, usage } => {
            let provider = turn.provider;
            let model = model.clone();
            let usage = *usage;
            let fact = RunFact::UsageReported(UsageReported { provider, model, usage });
            draft.emit_for(node, fact)?;
            crate::run::budget::add(draft, node, &usage.into())
        }
        ProviderEvent::Progress { summary } => progress(draft, node, summary),
        ProviderEvent::Beat { silent_ms } => beat(draft, node, *silent_ms),
        ProviderEvent::Log { source, line, suppressed } => {
            log(draft, node, *source, line, *suppressed)
        }
        ProviderEvent::TurnEnded(outcome) => ended(draft, id, outcome),
    }
}

fn ended(draft: &mut RunDraft<'_>, id: TurnId, outcome: &ProviderOutcome) -> Found<()> {
    match outcome {
        ProviderOutcome::Completed => finish(draft, id, TurnReason::Done, None),
        ProviderOutcome::Interrupted => finish(draft, id, TurnReason::UserInterrupt, None),
        ProviderOutcome::Failed { reason, detail } => {
            let failed = reason.status() == TurnStatus::Failed;
            let reason = if failed { *reason } else { TurnReason::ProviderError };
            finish(draft, id, reason, detail.as_deref())
        }
    }
}

/// Text as events of a bounded size (RUNS-EV-7).
fn stream(draft: &mut RunDraft<'_>, turn: &NodeTurn, text: &str) -> Found<()> {
    let now = draft.now();
    draft.emit_pieces(turn.node_id, text, RunFact::TextStreamed)?;
    if draft.node(turn.node_id)?.connection.streaming {
        return Ok(());
    }
    draft.change_node(turn.node_id, |node| {
        node.connection.streaming = true;
        node.connection.last_output_at = Some(now);
    })
}

fn progress(draft: &mut RunDraft<'_>, node: NodeId, summary: &str) -> Found<()> {
    let now = draft.now();
    let summary = crate::text::cut(summary.trim(), limits::SUMMARY_CHARS_MAX);
    let too_soon =
        |last: crate::run::moment::Moment| now < last.after_ms(limits::PROGRESS_INTERVAL_MS);
    draft.change_node(node, |node| {
        let Some(turn) = node.turn.as_mut() else { return };
        if summary.is_empty() || turn.summary_at.is_some_and(too_soon) || node.summary == summary {
            return;
        }
        turn.summary_at = Some(now);
        node.summary = summary;
    })
}

/// A heartbeat with the time of the last output, written at most twice a minute (RUNS-EV-8).
fn beat(draft: &mut RunDraft<'_>, node: NodeId, silent_ms: u32) -> Found<()> {
    let now = draft.now();
    draft.change_node(node, |node| {
        let connection = &mut node.connection;
        let last = connection.last_heartbeat_at;
        if last.is_none_or(|last| now >= last.after_ms(limits::BEAT_INTERVAL_MS)) {
            connection.last_heartbeat_at = Some(now);
            let last_output = now.after_ms(-i64::from(silent_ms));
            connection.last_output_at = connection.last_output_at.max(Some(last_output));
        }
    })
}

/// A line of a node's log.
pub(crate) fn log(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    source: LogSource,
    line: &str,
    suppressed: Option<u64>,
) -> Found<()> {
    let line = crate::text::cut(line, limits::LOG_LINE_CHARS_MAX);
    draft.emit_for(node, RunFact::NodeLogged(NodeLogged { source, line, suppressed }))
}

/// A report that arrived after the end of its turn: it never reaches another turn.
fn late(draft: &mut RunDraft<'_>, turn: &NodeTurn, event: &ProviderEvent) -> Found<()> {
    let text = match event {
        ProviderEvent::Delta { text }
        | ProviderEvent::ThoughtDelta { text }
        | ProviderEvent::Thought { text } => text.clone(),
        ProviderEvent::Log { source, line, suppressed } => {
            return log(draft, turn.node_id, *source, line, *suppressed);
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
    log(draft, turn.node_id, LogSource::Stdout, &text, None)
}
