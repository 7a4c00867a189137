//! The status of a run, and its modes.

use super::{approval, inbox, phase, reject, turn};
use crate::run::{
    RunFact, RunRejection, brake,
    command::{SetStatus, StatusWish},
    draft::RunDraft,
    event::{ModeChanged, RunDeleted},
    id::{NodeId, TurnId},
    lookup::{self, Found},
    node::Repetition,
    record::{
        Completion, Declarer, GlobalMode, Mode, Phase, PhaseReason, RunStatus, StatusCode,
        StatusReason,
    },
    turn::TurnReason,
};

/// What a wish means for a run as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::run) enum LifecycleStep {
    /// It is so already.
    Nothing,
    /// BOOT begins, for the first time or again.
    Boot,
    /// It stops starting turns.
    Pause(StatusCode),
    /// It goes on.
    Resume,
    /// It comes to its end in order.
    Complete,
    /// It is given up.
    Abandon,
    /// It begins again where the work is.
    Reopen,
}

/// The table of 5.2 of the rules; `None` where no way leads.
pub(in crate::run) fn transition(
    status: RunStatus,
    phase: Phase,
    to: StatusWish,
) -> Option<LifecycleStep> {
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

pub(super) fn set_status(story: &mut RunDraft, wish: &SetStatus) -> Found<()> {
    let run = story.run()?;
    let (from, phase) = (run.status, run.phase);
    let Some(step) = transition(from, phase, wish.to) else {
        return reject(RunRejection::BadTransition { from, phase, to: wish.to });
    };
    match step {
        LifecycleStep::Nothing => Ok(()),
        LifecycleStep::Boot => story.change_run(|run| {
            run.status = RunStatus::Queued;
            run.status_reason = None;
            run.auto_start = true;
        }),
        LifecycleStep::Pause(code) => pause_by_user(story, code, wish.interrupt),
        LifecycleStep::Resume => resume(story),
        LifecycleStep::Complete => {
            let completion = Completion {
                by: Declarer::User,
                node_id: None,
                summary: String::new(),
                at: story.now(),
                verify: wish.verify,
                docs_sync: wish.docs_sync,
                sent_back: false,
                new_input: false,
            };
            phase::declare(story, completion)?;
            if wish.interrupt {
                interrupt_all(story, TurnReason::RunCompleted)?;
            }
            phase::advance(story)
        }
        LifecycleStep::Abandon => abandon(story),
        LifecycleStep::Reopen => reopen(story),
    }
}

/// A person pauses: a completion under way is called off (5.1 of the rules).
fn pause_by_user(story: &mut RunDraft, code: StatusCode, interrupt: bool) -> Found<()> {
    let run = story.run()?;
    let finishing = matches!(run.phase, Phase::Verify | Phase::DocsSync);
    let again = run.status == RunStatus::Paused && code == StatusCode::User;
    if !again {
        pause(story, StatusReason::plain(code, story.now()))?;
    }
    if finishing {
        phase::enter(story, Phase::Execute, PhaseReason::CompletionCancelled)?;
    }
    story.change_run(|run| {
        run.completion = None;
        run.docs_node_id = None;
    })?;
    if interrupt || code == StatusCode::Stopped {
        interrupt_all(story, TurnReason::RunPaused)?;
    }
    Ok(())
}

/// Stops starting turns, for a reason.
pub(super) fn pause(story: &mut RunDraft, reason: StatusReason) -> Found<()> {
    story.change_run(|run| {
        run.status = RunStatus::Paused;
        run.status_reason = Some(reason);
        if run.phase == Phase::Verify {
            run.verifying = false;
        }
    })
}

/// Goes on: the stall is over, its counts begin anew, AUTO is armed again (RUNS-ST-2).
fn resume(story: &mut RunDraft) -> Found<()> {
    let stalled = story.run()?.stall.as_ref().map(|stall| stall.node_id);
    brake::release(story)?;
    let checks = story.run()?.phase == Phase::Verify;
    forgive_lead(story)?;
    story.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.stall = None;
        run.verifying |= checks;
        if let (Some(None), Some(verification)) = (stalled, &mut run.verification) {
            verification.count = 0;
        }
    })?;
    if let Some(Some(node)) = stalled {
        restart_counts(story, node)?;
    }
    phase::resume_docs(story)?;
    arm_root(story)?;
    // It may have been declared done before it was paused, with nothing in flight any more.
    phase::advance(story)
}

/// A person who resumes a run that stands still because its lead failed wants the lead to go on.
fn forgive_lead(story: &mut RunDraft) -> Found<()> {
    let run = story.run()?;
    let code = run.status_reason.as_ref().map(|reason| reason.code);
    match run.root_node_id.filter(|_| code == Some(StatusCode::OrchestratorFailed)) {
        Some(root) => story.change_node(root, inbox::forgive),
        None => Ok(()),
    }
}

/// The loop counters of a node begin at zero (RUNS-LOOP-6).
pub(super) fn restart_counts(story: &mut RunDraft, node: NodeId) -> Found<()> {
    let since_turn = lookup::pulse(story.docs())?.turns;
    if lookup::find_node(story.docs(), node)?.is_none() {
        return Ok(());
    }
    story.change_node(node, |node| {
        node.repetition = Repetition { since_turn, ..Repetition::default() };
    })
}

/// AUTO may prompt the lead again, if it has ever had a turn (RUNS-AUTO-2).
fn arm_root(story: &mut RunDraft) -> Found<()> {
    let run = story.run()?;
    let (Some(root), Mode::Auto) = (run.root_node_id, run.mode) else { return Ok(()) };
    story.change_node(root, |node| {
        node.armed |= node.last_turn.is_some() && node.turn.is_none() && node.queue.is_empty();
    })
}

fn abandon(story: &mut RunDraft) -> Found<()> {
    let now = story.now();
    story.change_run(|run| {
        run.status = RunStatus::Failed;
        run.status_reason = Some(StatusReason::plain(StatusCode::Abandoned, now));
        run.completion = None;
        run.docs_node_id = None;
        run.verifying = false;
    })?;
    interrupt_all(story, TurnReason::RunCompleted)?;
    approval::deny_all(story, "run_failed")
}

fn reopen(story: &mut RunDraft) -> Found<()> {
    if story.run()?.phase != Phase::Execute {
        phase::enter(story, Phase::Execute, PhaseReason::Reopened)?;
    }
    story.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.completion = None;
        run.docs_node_id = None;
        run.stall = None;
    })?;
    brake::release(story)?;
    phase::deliver_goal(story)?;
    arm_root(story)
}

pub(super) fn set_modes(
    story: &mut RunDraft,
    mode: Option<Mode>,
    global_mode: Option<GlobalMode>,
) -> Found<()> {
    let run = story.run()?;
    let before = (run.mode, run.global_mode);
    let (mode, global_mode) = (mode.unwrap_or(before.0), global_mode.unwrap_or(before.1));
    if before == (mode, global_mode) {
        return Ok(());
    }
    story.tell(RunFact::ModeChanged(ModeChanged { mode, global_mode }))?;
    story.change_run(|run| (run.mode, run.global_mode) = (mode, global_mode))?;
    story.settle_nodes()?;
    match (before.0, mode, story.run()?.root_node_id) {
        (Mode::Auto, Mode::Interactive, Some(root)) => {
            story.change_node(root, |node| node.armed = false)
        }
        (Mode::Interactive, Mode::Auto, _) => arm_root(story),
        (Mode::Auto | Mode::Interactive, _, _) => Ok(()),
    }
}

/// Ends every turn in flight.
pub(super) fn interrupt_all(story: &mut RunDraft, reason: TurnReason) -> Found<()> {
    let live: Vec<TurnId> = lookup::live_turns(story.docs())?.iter().map(|turn| turn.id).collect();
    live.into_iter().try_for_each(|id| turn::finish(story, id, reason, None))
}

/// Ends everything in flight, because the run is about to be deleted.
pub(super) fn delete(story: &mut RunDraft) -> Found<()> {
    story.run()?;
    interrupt_all(story, TurnReason::RunDeleted)?;
    approval::deny_all(story, "run_deleted")
}

/// Forgets the run. Its turns have ended before.
pub(super) fn remove(story: &mut RunDraft) -> Found<()> {
    story.run()?;
    if lookup::pulse(story.docs())?.active_turns > 0 {
        return reject(RunRejection::RunBusy);
    }
    story.tell(RunFact::RunDeleted(RunDeleted {}))
}
