//! Phases: from BOOT through the work to VERIFY, DOCS_SYNC and DONE.

use super::{approval, artifact, handoff, inbox, life, reject};
use crate::run::{
    RunFact, RunRejection,
    command::{BootReport, VerifyReport},
    draft::RunDraft,
    event::PhaseChanged,
    id::NodeId,
    lookup::{self, Found},
    node::Node,
    record::{
        Completion, Declarer, Phase, PhaseReason, RunStatus, StatusCode, StatusReason, Verification,
    },
    settings::DocsSync,
    stall,
};

/// Enters a phase; what a node may do follows it (RUNS-PH-5).
pub(super) fn enter(story: &mut RunDraft, phase: Phase, reason: PhaseReason) -> Found<()> {
    let previous_phase = Some(story.run()?.phase);
    story.tell(RunFact::PhaseChanged(PhaseChanged { phase, previous_phase, reason }))?;
    story.change_run(|run| {
        run.phase = phase;
        run.verifying = false;
    })?;
    if previous_phase == Some(Phase::DocsSync) || phase == Phase::DocsSync {
        story.settle_nodes()?;
    }
    Ok(())
}

pub(super) fn booted(story: &mut RunDraft, report: &BootReport) -> Found<()> {
    let run = story.run()?;
    if (run.phase, run.status) != (Phase::Boot, RunStatus::Queued) {
        return reject(RunRejection::WrongPhase { phase: run.phase });
    }
    artifact::record(story, NodeId::RUNTIME, &report.report)?;
    if !report.ok {
        let reason = StatusReason::plain(StatusCode::BootFailed, story.now());
        return story.change_run(|run| {
            run.status = RunStatus::Failed;
            run.status_reason = Some(reason);
        });
    }
    enter(story, Phase::Execute, PhaseReason::BootOk)?;
    story.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
    })?;
    deliver_goal(story)
}

/// Queues the goal for the lead, once, as soon as both are there (RUNS-AUTO-1).
pub(super) fn deliver_goal(story: &mut RunDraft) -> Found<()> {
    let Some(run) = lookup::find_run(story.docs())? else { return Ok(()) };
    let due = run.phase == Phase::Execute && run.status.is_active() && !run.goal_delivered;
    let (Some(goal), Some(root), true) = (run.goal.clone(), run.root_node_id, due) else {
        return Ok(());
    };
    inbox::say(story, root, &goal)?;
    story.change_run(|run| run.goal_delivered = true)
}

/// Accepts that the run is declared done (RUNS-DONE-1): nothing new starts from here on.
pub(super) fn declare(story: &mut RunDraft, completion: Completion) -> Found<()> {
    story.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.stall = None;
        run.completion = Some(completion);
        run.refused_completion = None;
    })
}

/// Goes on to VERIFY once the run is declared done and the last turn has ended.
pub(super) fn advance(story: &mut RunDraft) -> Found<()> {
    let run = story.run()?;
    let due = run.status == RunStatus::Running && run.phase == Phase::Execute;
    let Some(completion) = run.completion.clone().filter(|_| due) else { return Ok(()) };
    if lookup::pulse(story.docs())?.active_turns > 0 {
        return Ok(());
    }
    enter(story, Phase::Verify, PhaseReason::CompletionRequested)?;
    if !completion.verify {
        return passed(story, PhaseReason::VerifyOff);
    }
    if story.run()?.checks.is_empty() {
        return passed(story, PhaseReason::NoChecks);
    }
    story.change_run(|run| run.verifying = true)
}

/// Runs the checks for a person, without consequences for the phase.
pub(super) fn start_verify(story: &mut RunDraft) -> Found<()> {
    if story.run()?.verifying {
        return reject(RunRejection::VerifyRunning);
    }
    story.change_run(|run| run.verifying = true)
}

pub(super) fn verified(story: &mut RunDraft, report: &VerifyReport) -> Found<()> {
    let run = story.run()?;
    if !run.verifying {
        return reject(RunRejection::WrongPhase { phase: run.phase });
    }
    let counts = run.phase == Phase::Verify;
    for log in &report.logs {
        artifact::record(story, NodeId::RUNTIME, log)?;
    }
    artifact::record(story, NodeId::RUNTIME, &report.report)?;
    let verification = outcome(story, report, counts)?;
    story.change_run(|run| {
        run.verifying = false;
        run.verification = Some(verification);
        if report.ok {
            run.unproductive_turns = 0;
        }
    })?;
    match (counts, report.ok) {
        (false, _) => Ok(()),
        (true, true) => {
            forget_changes(story)?;
            passed(story, PhaseReason::VerifyOk)
        }
        (true, false) => failed(story, report),
    }
}

/// The outcome; equal failures are counted only where the phase asked for them.
fn outcome(story: &RunDraft, report: &VerifyReport, counts: bool) -> Found<Verification> {
    let before = story.run()?.verification.as_ref();
    let earlier = before.map_or(0, |last| last.count);
    let equal = before.is_some_and(|last| last.failure_hash == report.failure_hash);
    let count = match (report.ok, counts) {
        (true, _) => 0,
        (false, true) if equal => earlier + 1,
        (false, true) => 1,
        (false, false) => earlier,
    };
    Ok(Verification {
        ok: report.ok,
        at: story.now(),
        artifact_id: report.report.id,
        failure_hash: report.failure_hash.clone().filter(|_| !report.ok),
        count,
    })
}

/// A required check failed: the work goes on with the report (RUNS-PH-3).
fn failed(story: &mut RunDraft, report: &VerifyReport) -> Found<()> {
    enter(story, Phase::Execute, PhaseReason::VerifyFailed)?;
    story.change_run(|run| run.completion = None)?;
    let told = receivers(story)?;
    for node in &told {
        handoff::verification(story, *node, report)?;
    }
    forget_changes(story)?;
    if stall::verification(story, report)? {
        return Ok(());
    }
    if told.is_empty() {
        let reason = StatusReason::plain(StatusCode::VerifyFailed, story.now());
        return life::pause(story, reason);
    }
    Ok(())
}

/// Who is told that checks failed: the lead, else whoever changed something since the last VERIFY.
fn receivers(story: &RunDraft) -> Found<Vec<NodeId>> {
    if let Some(root) = story.run()?.root_node_id {
        return Ok(vec![root]);
    }
    let nodes = lookup::nodes(story.docs())?;
    Ok(nodes.iter().filter(|node| node.changed).map(|node| node.id).collect())
}

fn forget_changes(story: &mut RunDraft) -> Found<()> {
    let changed: Vec<NodeId> = lookup::nodes(story.docs())?
        .iter()
        .filter(|node| node.changed)
        .map(|node| node.id)
        .collect();
    changed.into_iter().try_for_each(|id| story.change_node(id, |node| node.changed = false))
}

/// VERIFY is passed, or was not wanted.
fn passed(story: &mut RunDraft, reason: PhaseReason) -> Found<()> {
    let run = story.run()?;
    let Some(completion) = run.completion.clone() else { return Ok(()) };
    if completion.new_input {
        return back_to_work(story);
    }
    if completion.sent_back {
        return done(story, reason);
    }
    let wanted = completion.docs_sync && run.settings.docs_sync == DocsSync::Auto;
    let changed = run.changed;
    enter(story, Phase::DocsSync, reason)?;
    if !wanted {
        return done(story, PhaseReason::DocsSyncOff);
    }
    if !changed {
        return done(story, PhaseReason::NoChanges);
    }
    assign_docs(story)
}

/// Gives the documentation to whoever can write it, if anybody can.
pub(super) fn assign_docs(story: &mut RunDraft) -> Found<()> {
    let writer = docs_writer(story)?;
    story.change_run(|run| run.docs_node_id = writer)?;
    match writer {
        Some(writer) => handoff::docs_sync(story, writer),
        None => done(story, PhaseReason::NoDocsNode),
    }
}

/// Takes the documentation up again after a pause.
pub(super) fn resume_docs(story: &mut RunDraft) -> Found<()> {
    let run = story.run()?;
    let (Phase::DocsSync, Some(writer)) = (run.phase, run.docs_node_id) else { return Ok(()) };
    story.change_node(writer, inbox::forgive)?;
    let node = story.node(writer)?;
    if node.turn.is_some() || node.redeliver_turn_id.is_some() || !node.queue.is_empty() {
        return Ok(());
    }
    handoff::docs_sync(story, writer)
}

/// Who writes the documentation: the lead, else the oldest planner, else the oldest (RUNS-PH-4).
fn docs_writer(story: &RunDraft) -> Found<Option<NodeId>> {
    let root = story.run()?.root_node_id;
    let able = |node: &&&Node| node.capabilities.write_docs && !node.held && !node.failed;
    let nodes = lookup::nodes(story.docs())?;
    let best = nodes.iter().filter(able).min_by_key(|node| {
        let planner = node.role_template.trim().eq_ignore_ascii_case("planner");
        (Some(node.id) != root, !planner, node.number)
    });
    Ok(best.map(|node| node.id))
}

/// The documentation turn is over (RUNS-PH-4).
pub(super) fn docs_synced(story: &mut RunDraft, changed_code: bool) -> Found<()> {
    let Some(completion) = story.run()?.completion.clone() else { return Ok(()) };
    story.change_run(|run| run.docs_node_id = None)?;
    if changed_code && !completion.sent_back {
        story.change_run(|run| {
            run.completion = Some(Completion { sent_back: true, ..completion.clone() });
        })?;
        enter(story, Phase::Verify, PhaseReason::DocsSyncChangedCode)?;
        if !completion.verify || story.run()?.checks.is_empty() {
            return passed(story, PhaseReason::VerifyOk);
        }
        return story.change_run(|run| run.verifying = true);
    }
    if completion.new_input {
        return back_to_work(story);
    }
    done(story, PhaseReason::DocsSynced)
}

/// A person said something meanwhile: it is not done after all.
fn back_to_work(story: &mut RunDraft) -> Found<()> {
    enter(story, Phase::Execute, PhaseReason::NewInput)?;
    story.change_run(|run| run.completion = None)
}

/// The end (RUNS-DONE-3).
fn done(story: &mut RunDraft, reason: PhaseReason) -> Found<()> {
    enter(story, Phase::Done, reason)?;
    let by = story.run()?.completion.as_ref().map(|completion| completion.by);
    let code = match by {
        Some(Declarer::Orchestrator) => StatusCode::CompletedByOrchestrator,
        Some(Declarer::User) | None => StatusCode::CompletedByUser,
    };
    let reason = StatusReason::plain(code, story.now());
    story.change_run(|run| {
        run.status = RunStatus::Completed;
        run.status_reason = Some(reason);
    })?;
    approval::deny_all(story, "run_completed")
}
