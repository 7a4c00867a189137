//! The status of a run, and its modes.

use crate::run::{
    RunFact, RunRejection,
    approval::rules as approval_rules,
    budget::brake,
    command::{SetStatus, StatusWish},
    decide::reject,
    draft::RunDraft,
    event::{ModeChanged, RunDeleted},
    id::{NodeId, TurnId},
    inbox::rules as inbox_rules,
    lookup::{self, Found},
    node::Repetition,
    phase,
    record::{
        Completion, Declarer, GlobalMode, Mode, Phase, PhaseReason, RunStatus, StatusCode,
        StatusReason,
    },
    turn::{TurnReason, rules as turn_rules},
};

/// What a requested status means for a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LifecycleStep {
    /// It is so already.
    Nothing,
    /// BOOT begins, for the first time or again.
    Boot,
    /// It stops starting turns.
    Pause(StatusCode),
    Resume,
    /// It completes in order.
    Complete,
    /// It was abandoned.
    Abandon,
    /// It continues with the work.
    Reopen,
}

/// The table of 5.2 of the rules; `None` for an impossible transition.
pub(crate) fn transition(status: RunStatus, phase: Phase, to: StatusWish) -> Option<LifecycleStep> {
    match (status, to) {
        (RunStatus::Queued, StatusWish::Queued)
        | (RunStatus::Running, StatusWish::Running)
        | (RunStatus::Completed, StatusWish::Completed)
        | (RunStatus::Failed, StatusWish::Failed) => Some(LifecycleStep::Nothing),
        (RunStatus::Queued, StatusWish::Running) => Some(LifecycleStep::Boot),
        (RunStatus::Failed, StatusWish::Running) if phase == Phase::Boot => {
            Some(LifecycleStep::Boot)
        }
        (RunStatus::Running | RunStatus::Paused, StatusWish::Paused) => {
            Some(LifecycleStep::Pause(StatusCode::User))
        }
        (RunStatus::Running | RunStatus::Paused, StatusWish::Stopped) => {
            Some(LifecycleStep::Pause(StatusCode::Stopped))
        }
        (RunStatus::Paused, StatusWish::Running) => Some(LifecycleStep::Resume),
        (RunStatus::Running | RunStatus::Paused, StatusWish::Completed)
            if phase == Phase::Execute =>
        {
            Some(LifecycleStep::Complete)
        }
        (RunStatus::Queued | RunStatus::Running | RunStatus::Paused, StatusWish::Failed) => {
            Some(LifecycleStep::Abandon)
        }
        (RunStatus::Completed | RunStatus::Failed, StatusWish::Running) => {
            Some(LifecycleStep::Reopen)
        }
        (RunStatus::Queued, StatusWish::Paused | StatusWish::Stopped | StatusWish::Completed)
        | (RunStatus::Running | RunStatus::Paused, StatusWish::Queued | StatusWish::Completed)
        | (
            RunStatus::Completed,
            StatusWish::Queued | StatusWish::Paused | StatusWish::Stopped | StatusWish::Failed,
        )
        | (
            RunStatus::Failed,
            StatusWish::Queued | StatusWish::Paused | StatusWish::Stopped | StatusWish::Completed,
        ) => None,
    }
}

pub(crate) fn set_status(draft: &mut RunDraft<'_>, wish: &SetStatus) -> Found<()> {
    let run = draft.run()?;
    let from = run.status;
    let phase = run.phase;
    let Some(step) = transition(from, phase, wish.to) else {
        return reject(RunRejection::BadTransition { from, phase, to: wish.to });
    };
    match step {
        LifecycleStep::Nothing => Ok(()),
        LifecycleStep::Boot => draft.change_run(|run| {
            run.status = RunStatus::Queued;
            run.status_reason = None;
            run.auto_start = true;
        }),
        LifecycleStep::Pause(code) => pause_by_user(draft, code, wish.interrupt),
        LifecycleStep::Resume => resume(draft),
        LifecycleStep::Complete => {
            let completion = Completion {
                by: Declarer::User,
                node_id: None,
                summary: String::new(),
                at: draft.now(),
                verify: wish.verify,
                docs_sync: wish.docs_sync,
                sent_back: false,
                new_input: false,
                claims: Vec::new(),
            };
            phase::declare(draft, completion)?;
            if wish.interrupt {
                interrupt_all(draft, TurnReason::RunCompleted)?;
            }
            phase::advance(draft)
        }
        LifecycleStep::Abandon => abandon(draft),
        LifecycleStep::Reopen => reopen(draft),
    }
}

/// A person pauses: a completion in progress is cancelled (5.1 of the rules).
fn pause_by_user(draft: &mut RunDraft<'_>, code: StatusCode, interrupt: bool) -> Found<()> {
    let run = draft.run()?;
    let finishing = matches!(run.phase, Phase::Verify | Phase::DocsSync);
    let again = run.status == RunStatus::Paused && code == StatusCode::User;
    if !again {
        pause(draft, StatusReason::plain(code, draft.now()))?;
    }
    if finishing {
        phase::enter(draft, Phase::Execute, PhaseReason::CompletionCancelled)?;
    }
    draft.change_run(|run| {
        run.completion = None;
        run.docs_node_id = None;
    })?;
    if interrupt || code == StatusCode::Stopped {
        interrupt_all(draft, TurnReason::RunPaused)?;
    }
    Ok(())
}

/// Stops starting turns, for a reason.
pub(crate) fn pause(draft: &mut RunDraft<'_>, reason: StatusReason) -> Found<()> {
    draft.change_run(|run| {
        run.status = RunStatus::Paused;
        run.status_reason = Some(reason);
        if run.phase == Phase::Verify {
            run.verifying = false;
        }
    })
}

/// Continues: the stall is over, its counts restart, AUTO is armed again (RUNS-ST-2).
fn resume(draft: &mut RunDraft<'_>) -> Found<()> {
    let stalled = draft.run()?.stall.as_ref().map(|stall| stall.node_id);
    brake::release(draft)?;
    let checks = draft.run()?.phase == Phase::Verify;
    forgive_lead(draft)?;
    draft.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.stall = None;
        run.verifying |= checks;
        if let (Some(None), Some(verification)) = (stalled, &mut run.verification) {
            verification.count = 0;
        }
    })?;
    if let Some(Some(node)) = stalled {
        restart_counts(draft, node)?;
    }
    phase::resume_docs(draft)?;
    arm_root(draft)?;
    // It may have been declared done before it was paused, with nothing in flight any more.
    phase::advance(draft)
}

/// A person who resumes a run that halted because its lead failed wants the lead to continue.
fn forgive_lead(draft: &mut RunDraft<'_>) -> Found<()> {
    let run = draft.run()?;
    let code = run.status_reason.as_ref().map(|reason| reason.code);
    match run.root_node_id.filter(|_| code == Some(StatusCode::OrchestratorFailed)) {
        Some(root) => draft.change_node(root, inbox_rules::forgive),
        None => Ok(()),
    }
}

/// Resets the loop counters of a node (RUNS-LOOP-6).
pub(crate) fn restart_counts(draft: &mut RunDraft<'_>, node: NodeId) -> Found<()> {
    let since_turn = lookup::pulse(draft.docs())?.turns;
    if lookup::find_node(draft.docs(), node)?.is_none() {
        return Ok(());
    }
    draft.change_node(node, |node| {
        node.repetition = Repetition { since_turn, ..Repetition::default() };
    })
}

/// AUTO may prompt the lead again, if it has ever had a turn (RUNS-AUTO-2).
fn arm_root(draft: &mut RunDraft<'_>) -> Found<()> {
    let run = draft.run()?;
    let (Some(root), Mode::Auto) = (run.root_node_id, run.mode) else { return Ok(()) };
    draft.change_node(root, |node| {
        node.armed |= node.last_turn.is_some() && node.turn.is_none() && node.queue.is_empty();
    })
}

fn abandon(draft: &mut RunDraft<'_>) -> Found<()> {
    let now = draft.now();
    draft.change_run(|run| {
        run.status = RunStatus::Failed;
        run.status_reason = Some(StatusReason::plain(StatusCode::Abandoned, now));
        run.completion = None;
        run.docs_node_id = None;
        run.verifying = false;
    })?;
    interrupt_all(draft, TurnReason::RunCompleted)?;
    approval_rules::deny_all(draft, "run_failed")
}

fn reopen(draft: &mut RunDraft<'_>) -> Found<()> {
    if draft.run()?.phase != Phase::Execute {
        phase::enter(draft, Phase::Execute, PhaseReason::Reopened)?;
    }
    draft.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.completion = None;
        run.docs_node_id = None;
        run.stall = None;
    })?;
    brake::release(draft)?;
    phase::deliver_goal(draft)?;
    arm_root(draft)
}

pub(crate) fn set_modes(
    draft: &mut RunDraft<'_>,
    mode: Option<Mode>,
    global_mode: Option<GlobalMode>,
) -> Found<()> {
    let run = draft.run()?;
    let before = (run.mode, run.global_mode);
    let mode = mode.unwrap_or(before.0);
    let global_mode = global_mode.unwrap_or(before.1);
    if before == (mode, global_mode) {
        return Ok(());
    }
    draft.emit(RunFact::ModeChanged(ModeChanged { mode, global_mode }))?;
    draft.change_run(|run| (run.mode, run.global_mode) = (mode, global_mode))?;
    draft.settle_nodes()?;
    match (before.0, mode, draft.run()?.root_node_id) {
        (Mode::Auto, Mode::Interactive, Some(root)) => {
            draft.change_node(root, |node| node.armed = false)
        }
        (Mode::Interactive, Mode::Auto, _) => arm_root(draft),
        (Mode::Auto | Mode::Interactive, _, _) => Ok(()),
    }
}

/// Ends every turn in flight.
pub(crate) fn interrupt_all(draft: &mut RunDraft<'_>, reason: TurnReason) -> Found<()> {
    let live: Vec<TurnId> = lookup::live_turns(draft.docs())?.iter().map(|turn| turn.id).collect();
    live.into_iter().try_for_each(|id| turn_rules::finish(draft, id, reason, None))
}

/// Ends everything in flight, because the run is about to be deleted.
pub(crate) fn delete(draft: &mut RunDraft<'_>) -> Found<()> {
    draft.run()?;
    interrupt_all(draft, TurnReason::RunDeleted)?;
    approval_rules::deny_all(draft, "run_deleted")
}

/// Deletes the run. Its turns have ended before.
pub(crate) fn remove(draft: &mut RunDraft<'_>) -> Found<()> {
    draft.run()?;
    if lookup::pulse(draft.docs())?.active_turns > 0 {
        return reject(RunRejection::RunBusy);
    }
    draft.emit(RunFact::RunDeleted(RunDeleted {}))
}
