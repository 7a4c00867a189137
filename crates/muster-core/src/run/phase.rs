//! Phases: from BOOT through the work to VERIFY, DOCS_SYNC and DONE.

use crate::run::{
    RunFact, RunRejection,
    approval::rules as approval_rules,
    artifact::rules as artifact_rules,
    command::{BootReport, VerifyReport},
    decide::reject,
    draft::RunDraft,
    event::PhaseChanged,
    handoff::rules as handoff_rules,
    id::NodeId,
    inbox::rules as inbox_rules,
    lookup::{self, Found},
    node::Node,
    record::{
        Completion, Declarer, Phase, PhaseReason, RunStatus, StatusCode, StatusReason,
        Verification, life,
    },
    settings::DocsSync,
    stall,
};

/// Enters a phase; the rights of nodes follow it (RUNS-PH-5).
pub(crate) fn enter(draft: &mut RunDraft<'_>, phase: Phase, reason: PhaseReason) -> Found<()> {
    let previous_phase = Some(draft.run()?.phase);
    draft.emit(RunFact::PhaseChanged(PhaseChanged { phase, previous_phase, reason }))?;
    draft.change_run(|run| {
        run.phase = phase;
        run.verifying = false;
    })?;
    if previous_phase == Some(Phase::DocsSync) || phase == Phase::DocsSync {
        draft.settle_nodes()?;
    }
    Ok(())
}

pub(crate) fn booted(draft: &mut RunDraft<'_>, report: &BootReport) -> Found<()> {
    let run = draft.run()?;
    if (run.phase, run.status) != (Phase::Boot, RunStatus::Queued) {
        return reject(RunRejection::WrongPhase { phase: run.phase });
    }
    artifact_rules::record(draft, NodeId::RUNTIME, &report.report)?;
    if !report.ok {
        let reason = StatusReason::plain(StatusCode::BootFailed, draft.now());
        return draft.change_run(|run| {
            run.status = RunStatus::Failed;
            run.status_reason = Some(reason);
        });
    }
    enter(draft, Phase::Execute, PhaseReason::BootOk)?;
    draft.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
    })?;
    deliver_goal(draft)
}

/// Queues the goal for the lead, once, as soon as both exist (RUNS-AUTO-1).
pub(crate) fn deliver_goal(draft: &mut RunDraft<'_>) -> Found<()> {
    let Some(run) = lookup::find_run(draft.docs())? else { return Ok(()) };
    let due = run.phase == Phase::Execute && run.status.is_active() && !run.goal_delivered;
    let (Some(goal), Some(root), true) = (run.goal.clone(), run.root_node_id, due) else {
        return Ok(());
    };
    inbox_rules::say(draft, root, &goal)?;
    draft.change_run(|run| run.goal_delivered = true)
}

/// Accepts that the run is declared done (RUNS-DONE-1): nothing new starts from here on.
pub(crate) fn declare(draft: &mut RunDraft<'_>, completion: Completion) -> Found<()> {
    draft.change_run(|run| {
        run.status = RunStatus::Running;
        run.status_reason = None;
        run.stall = None;
        run.completion = Some(completion);
        run.refused_completion = None;
    })
}

/// Continues with VERIFY once the run is declared done and the last turn has ended.
pub(crate) fn advance(draft: &mut RunDraft<'_>) -> Found<()> {
    let run = draft.run()?;
    let due = run.status == RunStatus::Running && run.phase == Phase::Execute;
    let Some(completion) = run.completion.clone().filter(|_| due) else { return Ok(()) };
    if lookup::pulse(draft.docs())?.active_turns > 0 {
        return Ok(());
    }
    enter(draft, Phase::Verify, PhaseReason::CompletionRequested)?;
    if !completion.verify {
        return passed(draft, PhaseReason::VerifyOff);
    }
    if draft.run()?.checks.is_empty() {
        return passed(draft, PhaseReason::NoChecks);
    }
    draft.change_run(|run| run.verifying = true)
}

/// Runs the checks for a person, without consequences for the phase.
pub(crate) fn start_verify(draft: &mut RunDraft<'_>) -> Found<()> {
    if draft.run()?.verifying {
        return reject(RunRejection::VerifyRunning);
    }
    draft.change_run(|run| run.verifying = true)
}

pub(crate) fn verified(draft: &mut RunDraft<'_>, report: &VerifyReport) -> Found<()> {
    let run = draft.run()?;
    if !run.verifying {
        return reject(RunRejection::WrongPhase { phase: run.phase });
    }
    let counts = run.phase == Phase::Verify;
    for log in &report.logs {
        artifact_rules::record(draft, NodeId::RUNTIME, log)?;
    }
    artifact_rules::record(draft, NodeId::RUNTIME, &report.report)?;
    let verification = outcome(draft, report, counts)?;
    draft.change_run(|run| {
        run.verifying = false;
        run.verification = Some(verification);
        if report.ok {
            run.unproductive_turns = 0;
        }
    })?;
    match (counts, report.ok) {
        (false, _) => Ok(()),
        (true, true) => {
            forget_changes(draft)?;
            passed(draft, PhaseReason::VerifyOk)
        }
        (true, false) => failed(draft, report),
    }
}

/// The outcome; equal failures are counted only where the phase requires it.
fn outcome(draft: &RunDraft<'_>, report: &VerifyReport, counts: bool) -> Found<Verification> {
    let before = draft.run()?.verification.as_ref();
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
        at: draft.now(),
        artifact_id: report.report.id,
        failure_hash: report.failure_hash.clone().filter(|_| !report.ok),
        count,
    })
}

/// A required check failed: the work continues with the report (RUNS-PH-3).
fn failed(draft: &mut RunDraft<'_>, report: &VerifyReport) -> Found<()> {
    enter(draft, Phase::Execute, PhaseReason::VerifyFailed)?;
    draft.change_run(|run| run.completion = None)?;
    let receivers = receivers(draft)?;
    for node in &receivers {
        handoff_rules::verification(draft, *node, report)?;
    }
    forget_changes(draft)?;
    if stall::verification(draft, report)? {
        return Ok(());
    }
    if receivers.is_empty() {
        let reason = StatusReason::plain(StatusCode::VerifyFailed, draft.now());
        return life::pause(draft, reason);
    }
    Ok(())
}

/// The receivers of a failed check: the lead, else the nodes that changed something since the last
/// VERIFY.
fn receivers(draft: &RunDraft<'_>) -> Found<Vec<NodeId>> {
    if let Some(root) = draft.run()?.root_node_id {
        return Ok(vec![root]);
    }
    let nodes = lookup::nodes(draft.docs())?;
    Ok(nodes.iter().filter(|node| node.changed).map(|node| node.id).collect())
}

fn forget_changes(draft: &mut RunDraft<'_>) -> Found<()> {
    let changed: Vec<NodeId> = lookup::nodes(draft.docs())?
        .iter()
        .filter(|node| node.changed)
        .map(|node| node.id)
        .collect();
    changed.into_iter().try_for_each(|id| draft.change_node(id, |node| node.changed = false))
}

/// VERIFY is passed, or was not requested.
fn passed(draft: &mut RunDraft<'_>, reason: PhaseReason) -> Found<()> {
    let run = draft.run()?;
    let Some(completion) = run.completion.clone() else { return Ok(()) };
    if completion.new_input {
        return back_to_work(draft);
    }
    if completion.sent_back {
        return done(draft, reason);
    }
    let wanted = completion.docs_sync && run.settings.docs_sync == DocsSync::Auto;
    let changed = run.changed;
    enter(draft, Phase::DocsSync, reason)?;
    if !wanted {
        return done(draft, PhaseReason::DocsSyncOff);
    }
    if !changed {
        return done(draft, PhaseReason::NoChanges);
    }
    assign_docs(draft)
}

/// Assigns the documentation to a node that can write it, if there is one.
pub(crate) fn assign_docs(draft: &mut RunDraft<'_>) -> Found<()> {
    let writer = docs_writer(draft)?;
    draft.change_run(|run| run.docs_node_id = writer)?;
    match writer {
        Some(writer) => handoff_rules::docs_sync(draft, writer),
        None => done(draft, PhaseReason::NoDocsNode),
    }
}

/// Resumes the documentation after a pause.
pub(crate) fn resume_docs(draft: &mut RunDraft<'_>) -> Found<()> {
    let run = draft.run()?;
    let (Phase::DocsSync, Some(writer)) = (run.phase, run.docs_node_id) else { return Ok(()) };
    draft.change_node(writer, inbox_rules::forgive)?;
    let node = draft.node(writer)?;
    if node.turn.is_some() || node.redeliver_turn_id.is_some() || !node.queue.is_empty() {
        return Ok(());
    }
    handoff_rules::docs_sync(draft, writer)
}

/// The writer of the documentation: the lead, else the oldest planner, else the oldest (RUNS-PH-4).
fn docs_writer(draft: &RunDraft<'_>) -> Found<Option<NodeId>> {
    let root = draft.run()?.root_node_id;
    let able = |node: &&&Node| node.capabilities.write_docs && !node.held && !node.failed;
    let nodes = lookup::nodes(draft.docs())?;
    let best = nodes.iter().filter(able).min_by_key(|node| {
        let planner = node.role_template.trim().eq_ignore_ascii_case("planner");
        (Some(node.id) != root, !planner, node.number)
    });
    Ok(best.map(|node| node.id))
}

/// The documentation turn is over (RUNS-PH-4).
pub(crate) fn docs_synced(draft: &mut RunDraft<'_>, changed_code: bool) -> Found<()> {
    let Some(completion) = draft.run()?.completion.clone() else { return Ok(()) };
    draft.change_run(|run| run.docs_node_id = None)?;
    if changed_code && !completion.sent_back {
        draft.change_run(|run| {
            run.completion = Some(Completion { sent_back: true, ..completion.clone() });
        })?;
        enter(draft, Phase::Verify, PhaseReason::DocsSyncChangedCode)?;
        if !completion.verify || draft.run()?.checks.is_empty() {
            return passed(draft, PhaseReason::VerifyOk);
        }
        return draft.change_run(|run| run.verifying = true);
    }
    if completion.new_input {
        return back_to_work(draft);
    }
    done(draft, PhaseReason::DocsSynced)
}

/// A person sent a message meanwhile: it is not done after all.
fn back_to_work(draft: &mut RunDraft<'_>) -> Found<()> {
    enter(draft, Phase::Execute, PhaseReason::NewInput)?;
    draft.change_run(|run| run.completion = None)
}

/// The end (RUNS-DONE-3).
fn done(draft: &mut RunDraft<'_>, reason: PhaseReason) -> Found<()> {
    enter(draft, Phase::Done, reason)?;
    let by = draft.run()?.completion.as_ref().map(|completion| completion.by);
    let code = match by {
        Some(Declarer::Orchestrator) => StatusCode::CompletedByOrchestrator,
        Some(Declarer::User) | None => StatusCode::CompletedByUser,
    };
    let reason = StatusReason::plain(code, draft.now());
    draft.change_run(|run| {
        run.status = RunStatus::Completed;
        run.status_reason = Some(reason);
    })?;
    approval_rules::deny_all(draft, "run_completed")
}
