//! Closing, reopening and blocking a step.

use std::collections::BTreeMap;

use super::{Decision, derive, reject, step_ref, waiver::person_only};
use crate::{
    CallFacts, Timestamp,
    tasks::{
        TaskDocs, TaskEvent, TaskLookup, TaskRejection,
        check_gate::{CheckGate, CheckState, ProjectGate},
        command::{Force, StepTarget},
        entity::Task,
        event::{Derived, StepBlockSet, StepDone, StepReopened, StepVerified},
        id::CheckRunId,
        lookup,
        rejection::{GateReport, PersonalAct},
        step::{Checkpoint, Checkpoints, ConfirmationSource, SKIPPED_BLOCK, Step, Waiver},
    },
};

pub(super) fn close(
    docs: &TaskDocs,
    call: &CallFacts,
    (target, named): (&StepTarget, &Checkpoints),
    force: Option<&Force>,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if step.is_closed() {
        return reject(closed_already(step));
    }
    let project = ProjectGate::of(docs, call)?;
    let report = GateReport::of(task, step, named).with_checks(&project, task, step)?;
    let waiver = match (report.first_open(), force) {
        (None, _) => None,
        (Some(gate), None) => return reject(TaskRejection::GateOpen { gate, report }),
        (Some(_), Some(force)) => match report.first_firm() {
            Some(firm) => return reject(TaskRejection::GateOpen { gate: firm, report }),
            None => Some(waive(&report, force)),
        },
    };
    let checks = project.of_step(task, step)?;
    let set_aside = checks.iter().filter(|check| check.state == CheckState::Waived);
    let done = TaskEvent::StepDone(StepDone {
        step: step_ref(docs, task, step)?,
        waiver,
        set_aside: set_aside.map(|check| check.name.clone()).collect(),
        derived: derive::work_begins(docs, task)?,
    });
    let proven = proven_by_checks(docs, &project, (task, step), checks)?;
    Ok(proven.into_iter().chain([done]).collect())
}

/// The event that confirms what the checks of a step have shown.
fn proven_by_checks(
    docs: &TaskDocs,
    project: &ProjectGate<'_>,
    (task, step): (&Task, &Step),
    checks: Vec<CheckGate>,
) -> TaskLookup<Option<TaskEvent>> {
    let passed = checks.into_iter().filter_map(|check| {
        let run = check.run.filter(|_| check.state == CheckState::Passed)?;
        Some((check.name, run))
    });
    let proofs: BTreeMap<String, CheckRunId> = passed.collect();
    if proofs.is_empty() {
        return Ok(None);
    }
    let shown: Checkpoints = proofs.keys().flat_map(|name| project.proved_by(name)).collect();
    let source = |checkpoint: &Checkpoint| {
        let proves = |name: &String| project.proved_by(name).contains(checkpoint);
        let run = proofs.iter().find(|(name, _)| proves(name)).map(|(_, run)| *run);
        (*checkpoint, ConfirmationSource { by: None, run })
    };
    let sources = shown.iter().map(source).collect();
    let missing = shown.into_iter().filter(|checkpoint| !step.confirmed.contains(checkpoint));
    Ok(Some(TaskEvent::StepVerified(StepVerified {
        step: step_ref(docs, task, step)?,
        confirmations: missing.map(|checkpoint| (checkpoint, true)).collect(),
        items: Vec::new(),
        sources,
        proofs,
        imported: false,
        // What follows from closing is on the next event.
        derived: derive::nothing(),
    })))
}

fn closed_already(step: &Step) -> TaskRejection {
    TaskRejection::AlreadyClosed { step_id: step.id, path: step.path.clone() }
}

fn waive(report: &GateReport, force: &Force) -> Waiver {
    let skipped = skipped(report);
    Waiver { reason: force.reason.clone(), at: Timestamp::default(), skipped }
}

/// What force would skip, in readable words: `tests`, `proof:tests`, `blocked`.
pub(super) fn skipped(report: &GateReport) -> Vec<String> {
    let name = |checkpoint: &Checkpoint| checkpoint.name().to_owned();
    let mut skipped: Vec<String> = report.missing_checkpoints.iter().map(name).collect();
    skipped.extend(report.missing_proofs.iter().map(|cp| format!("proof:{}", cp.name())));
    if report.blocked {
        skipped.push(SKIPPED_BLOCK.to_owned());
    }
    skipped
}

pub(super) fn reopen(docs: &TaskDocs, target: &StepTarget) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if !step.is_closed() {
        let step_id = step.id;
        let path = step.path.clone();
        return reject(TaskRejection::NotClosed { step_id, path });
    }
    let mut derived: Derived = derive::step_opens(docs, task, &step.path)?;
    // TASKS-STATE-6: what was requested is not a consequence of itself.
    derived.reopened.retain(|path| *path != step.path);
    let step = step_ref(docs, task, step)?;
    Ok(vec![TaskEvent::StepReopened(StepReopened { step, derived })])
}

pub(super) fn block(
    docs: &TaskDocs,
    call: &CallFacts,
    target: &StepTarget,
    (blocked, reason): (bool, Option<&str>),
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if blocked && step.is_closed() {
        return reject(closed_already(step));
    }
    let is_personal = step.block.as_ref().is_some_and(|block| block.by_person);
    if is_personal && ProjectGate::of(docs, call)?.is_strict() {
        person_only(call, || PersonalAct::LiftBlock { path: step.path.clone() })?;
    }
    let reason = reason.filter(|_| blocked).map(str::to_owned);
    let step = step_ref(docs, task, step)?;
    Ok(vec![TaskEvent::StepBlockSet(StepBlockSet { step, blocked, reason })])
}
