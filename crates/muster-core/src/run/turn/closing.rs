//! The end of a turn: its result, the new state of its node, and the consequences for the run.

use crate::run::{
    RunFact, RunRejection,
    approval::{Approval, rules as approval_rules},
    artifact::{WrittenFile, rules as artifact_rules},
    budget::{
        self,
        brake::{self, TurnProgress},
    },
    command::CloseTurn,
    decide::reject,
    draft::RunDraft,
    event::{
        ApprovalDetached, FinalStatus, InboxChanged, ItemFate, TextFinished, ToolCompleted,
        ToolError, ToolResult, TurnEnded, TurnMoved, TurnStep,
    },
    handoff::rules as handoff_rules,
    hash::text_hash,
    id::NodeId,
    inbox::rules as inbox_rules,
    limits,
    lookup::{self, Found},
    moment::Moment,
    node::{ConnectionStatus, LastTurn, Node, Retry, steer},
    phase,
    record::{Mode, Phase, RunStatus},
    retry, rights,
    settings::Usage,
    stall,
    turn::{Executor, NodeTurn, RetryPolicy, TurnReason, TurnState, TurnStatus, failure},
};

/// Characters of a first line that evidence of a stall shows.
const SUMMARY_LINE_CHARS: usize = 300;

/// How a turn ended.
struct End {
    turn: NodeTurn,
    reason: TurnReason,
    status: TurnStatus,
    output_hash: Option<String>,
    diff_hash: Option<String>,
    /// First line of its text.
    line: Option<String>,
    changed: bool,
    progress: TurnProgress,
    retry: Option<Retry>,
}

impl End {
    /// Whether its inputs are set aside: an input that crashes its agent time and again must not
    /// come back automatically, and the inputs after it continue (RUNS-TURN-8).
    fn sets_aside(&self) -> bool {
        self.status == TurnStatus::Failed
            && self.retry.is_none()
            && self.turn.sent
            && retry::blames_inputs(self.reason)
            && !self.turn.consumed.is_empty()
    }
}

pub(crate) fn close(draft: &mut RunDraft<'_>, close: &CloseTurn) -> Found<()> {
    let turn = lookup::turn(draft.docs(), close.turn)?.clone();
    let (TurnState::Finishing, Some(reason)) = (turn.state, turn.reason) else {
        return reject(RunRejection::TurnNotLive { id: close.turn });
    };
    let node = turn.node_id;
    let id = turn.id;
    draft.in_turn(Some(id));
    close_tools(draft, &turn)?;
    let found = rights::violation(draft.run()?, draft.node(node)?, &turn, close.diff.as_ref());
    record_files(draft, node, close, found.as_ref().map_or(&[], |violation| &violation.paths))?;
    let end = summarise(draft, turn, reason, close)?;
    if end.turn.sent {
        let status = match end.status {
            TurnStatus::Completed => FinalStatus::Final,
            TurnStatus::Interrupted | TurnStatus::Failed => FinalStatus::Interrupted,
        };
        let content = close.text.clone();
        draft.emit_for(node, RunFact::TextFinished(TextFinished { content, status }))?;
    }
    if end.status == TurnStatus::Completed {
        handoff_rules::automatic(draft, id, close)?;
    }
    let signs =
        stall::signs(draft, &end.turn, end.output_hash.as_deref(), end.diff_hash.as_deref())?;
    emit_end(draft, &end)?;
    let violated = found.is_some();
    if let Some(violation) = found {
        draft.emit_for(node, RunFact::ViolationFound(violation))?;
    }
    let now = draft.now();
    let run = draft.run()?;
    let leads = run.mode == Mode::Auto && run.root_node_id == Some(node);
    draft.change_node(node, |node| {
        settle(node, &end, close, now);
        node.violation |= violated;
        node.armed = leads && end.status == TurnStatus::Completed && node.queue.is_empty();
        if end.status == TurnStatus::Completed {
            node.repetition = signs.repetition.clone();
        }
    })?;
    draft.in_turn(None);
    if end.sets_aside() {
        for taken in &end.turn.consumed {
            let changed = InboxChanged { item_id: taken.id, state: ItemFate::Failed };
            draft.emit_for(node, RunFact::InboxChanged(changed))?;
        }
    }
    follow(draft, &end, close, &signs)
}

/// Closes what the turn has open. Questions about Muster's own tools stay, since a person may still
/// decide them; so do those about tools whose process a restart has ended (RUNS-APP-5).
fn close_tools(draft: &mut RunDraft<'_>, turn: &NodeTurn) -> Found<()> {
    for open in &turn.tools {
        let approval = match open.approval_id {
            Some(id) => Some(lookup::approval(draft.docs(), id)?.clone()),
            None => None,
        };
        match approval {
            Some(approval) if open.tool.executor == Executor::Muster => {
                detach(draft, &approval, true)?;
                continue;
            }
            Some(approval) if restarts(turn.reason) => detach(draft, &approval, false)?,
            Some(approval) => {
                approval_rules::deny(draft, &approval, "turn_completed")?;
                continue;
            }
            None => {}
        }
        let completed = ToolCompleted {
            tool_id: open.tool.id,
            result: ToolResult::default(),
            error: Some(ToolError { message: "turn ended".to_owned(), code: None }),
        };
        draft.emit_for(turn.node_id, RunFact::ToolCompleted(completed))?;
    }
    Ok(())
}

fn restarts(reason: Option<TurnReason>) -> bool {
    matches!(reason, Some(TurnReason::ServerRestart | TurnReason::ServerShutdown))
}

/// Nothing waits for the decision any more; a node that can continue without it does.
pub(crate) fn detach(draft: &mut RunDraft<'_>, approval: &Approval, goes_on: bool) -> Found<()> {
    let approval_id = approval.approval_id;
    let outer = draft.in_turn(Some(approval.turn_id));
    let fact = RunFact::ApprovalDetached(ApprovalDetached { approval_id });
    draft.emit_for(approval.node_id, fact)?;
    draft.in_turn(outer);
    if goes_on {
        draft
            .change_node(approval.node_id, |node| node.awaiting.retain(|id| *id != approval_id))?;
    }
    Ok(())
}

fn record_files(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    close: &CloseTurn,
    violations: &[String],
) -> Found<()> {
    if let Some(diff) = &close.diff {
        let mut diff: WrittenFile = diff.clone();
        if let Some(metadata) = &mut diff.diff {
            metadata.violations = violations.to_vec();
        }
        artifact_rules::record(draft, node, &diff)?;
    }
    let files = [&close.transcript, &close.log, &close.pack].into_iter().flatten();
    files.chain(&close.reports).try_for_each(|file| artifact_rules::record(draft, node, file))
}

fn summarise(
    draft: &mut RunDraft<'_>,
    turn: NodeTurn,
    reason: TurnReason,
    close: &CloseTurn,
) -> Found<End> {
    let status = reason.status();
    let completed = status == TurnStatus::Completed;
    let metadata = close.diff.as_ref().and_then(|diff| diff.diff.as_ref());
    let first = close.text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = first.map(|line| crate::text::cut(line, SUMMARY_LINE_CHARS));
    let retry = match status {
        TurnStatus::Failed => planned(draft, &turn, reason, close)?,
        TurnStatus::Completed | TurnStatus::Interrupted => None,
    };
    Ok(End {
        reason,
        status,
        output_hash: completed.then(|| text_hash(&close.text)),
        diff_hash: metadata.and_then(|diff| diff.diff_hash.clone()).filter(|_| completed),
        line,
        changed: metadata.is_some_and(|diff| !diff.files_changed.is_empty()),
        progress: match completed {
            true => TurnProgress::of(&turn, close.diff.as_ref()),
            false => TurnProgress::Unknown,
        },
        retry,
        turn,
    })
}

/// When a failed turn is retried (RUNS-TURN-7).
fn planned(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    reason: TurnReason,
    close: &CloseTurn,
) -> Found<Option<Retry>> {
    if close.retry.useless {
        return Ok(None);
    }
    let chance = (draft.fresh() >> 32) as u64;
    let failures = draft.node(turn.node_id)?.failures + 1;
    let retries = draft.run()?.settings.retry_max;
    let pause = retry::pause(reason.retry(), failures, retries, close.retry.after_ms, chance);
    Ok(pause.map(|pause| Retry {
        attempt: failures + 1,
        max: pause.max,
        at: draft.now().after_ms(i64::try_from(pause.ms).unwrap_or(i64::MAX)),
        reason,
    }))
}

fn emit_end(draft: &mut RunDraft<'_>, end: &End) -> Found<()> {
    let ended = TurnEnded {
        reason: end.reason,
        detail: end.turn.detail.clone(),
        retry_at: end.retry.as_ref().map(|retry| retry.at),
        output_hash: end.output_hash.clone(),
        diff_hash: end.diff_hash.clone(),
        summary: end.line.clone(),
    };
    let step = match end.status {
        TurnStatus::Completed => TurnStep::Completed(ended),
        TurnStatus::Interrupted => TurnStep::Interrupted(ended),
        TurnStatus::Failed => TurnStep::Failed(ended),
    };
    let attempt = end.turn.attempt;
    draft.emit_for(end.turn.node_id, RunFact::TurnMoved(TurnMoved { attempt, step }))
}

/// The state of a node after its turn (6.3 of the rules).
fn settle(node: &mut Node, end: &End, close: &CloseTurn, now: Moment) {
    let seconds = now.seconds_since(end.turn.started_at);
    node.usage.add(&Usage { turns: 1, active_seconds: seconds, ..Usage::default() });
    let set = node.turn.take().and_then(|live| live.summary);
    let line =
        end.line.as_deref().map(|line| crate::text::cut(line, limits::SHORT_SUMMARY_CHARS_MAX));
    node.summary = match end.status {
        TurnStatus::Completed => set.or(line).unwrap_or_else(|| "done".to_owned()),
        TurnStatus::Interrupted | TurnStatus::Failed => end.reason.name().to_owned(),
    };
    node.last_turn = Some(LastTurn {
        turn_id: end.turn.id,
        status: end.status,
        reason: end.reason,
        ended_at: now,
        detail: failure_line(end),
    });
    node.last_activity_at = now;
    // However short the turn was, its program was alive until now.
    node.connection.last_heartbeat_at = Some(now);
    node.connection.last_output_at = Some(now);
    node.connection.streaming = false;
    node.connection.status = match close.process_gone {
        true => ConnectionStatus::Disconnected,
        false => ConnectionStatus::Idle,
    };
    if close.process_gone {
        node.process = None;
    }
    node.changed |= end.changed;
    match end.status {
        TurnStatus::Completed => inbox_rules::forgive(node),
        TurnStatus::Interrupted => {
            node.redeliver_turn_id = end.reason.resumes().then_some(end.turn.id);
        }
        TurnStatus::Failed => settle_failure(node, end),
    }
    // RUNS-PROMPT-7: the provider knows in this session what was sent.
    if end.turn.sent {
        node.told_turn_id = Some(end.turn.id);
    }
    if node.session_ends {
        steer::end_session(node);
    }
    if node.reset_requested.is_some() {
        steer::forget(node, end.turn.number);
    }
}

/// The first line of a failure's description.
fn failure_line(end: &End) -> Option<String> {
    let detail = end.turn.detail.as_deref().filter(|_| end.status == TurnStatus::Failed)?;
    let line = detail.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(crate::text::cut(line, SUMMARY_LINE_CHARS))
}

fn settle_failure(node: &mut Node, end: &End) {
    node.failures += 1;
    node.retry.clone_from(&end.retry);
    node.redeliver_turn_id = (!end.sets_aside()).then_some(end.turn.id);
    node.over_budget |= end.reason == TurnReason::BudgetExceeded;
    let idle = matches!(end.reason, TurnReason::BudgetExceeded | TurnReason::StoreFailed);
    node.failed = !idle;
    if end.reason.retry() == RetryPolicy::OnceAfterReset && end.retry.is_some() {
        node.reset_requested = Some(end.reason.name().to_owned());
    }
    if end.sets_aside() {
        node.failed_inputs += u32::try_from(end.turn.consumed.len()).unwrap_or(u32::MAX);
        if !node.queue.is_empty() {
            inbox_rules::forgive(node);
        }
    }
}

fn follow(
    draft: &mut RunDraft<'_>,
    end: &End,
    close: &CloseTurn,
    signs: &stall::Signs,
) -> Found<()> {
    let node = end.turn.node_id;
    let turn = end.turn.id;
    let seconds = draft.now().seconds_since(end.turn.started_at);
    let used = Usage { turns: 1, active_seconds: seconds, ..Usage::default() };
    draft.change_run(|run| {
        run.usage.add(&used);
        run.changed |= end.changed;
        run.unproductive_turns = end.progress.counted(run.unproductive_turns);
    })?;
    budget::watch(draft, node)?;
    if end.status == TurnStatus::Failed && end.retry.is_none() {
        let goes_on = end.sets_aside() && !draft.node(node)?.failed;
        if goes_on {
            handoff_rules::failure(draft, node, turn)?;
        } else {
            failure::failed_for_good(draft, node, turn)?;
        }
    }
    if end.status == TurnStatus::Completed && draft.run()?.status == RunStatus::Running {
        stall::judge(draft, &end.turn, signs)?;
        if draft.run()?.stall.is_none() {
            brake::judge(draft, &end.turn)?;
        }
    }
    let run = draft.run()?;
    if run.phase == Phase::DocsSync
        && run.docs_node_id == Some(node)
        && end.status == TurnStatus::Completed
    {
        let code = rights::touches_code(run, close.diff.as_ref());
        phase::docs_synced(draft, code)?;
    }
    if end.reason == TurnReason::UserInterrupt {
        failure::docs_interrupted(draft, node)?;
    }
    if draft.node(node)?.deleting {
        crate::run::node::removal::remove(draft, node)?;
    }
    phase::advance(draft)
}
