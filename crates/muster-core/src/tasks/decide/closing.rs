//! Closing, reopening and blocking a step.

use super::{Decision, derive, reject, step_ref};
use crate::{
    Timestamp,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection,
        command::{Force, StepTarget},
        event::{Derived, StepBlockSet, StepDone, StepReopened},
        lookup,
        rejection::{GateReport, StepGate},
        step::{Checkpoint, Checkpoints, SKIPPED_BLOCK, Step, Waiver},
    },
};

pub(super) fn close(
    docs: &TaskDocs,
    target: &StepTarget,
    named: &Checkpoints,
    force: Option<&Force>,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if step.is_closed() {
        return reject(closed_already(step));
    }
    let report = GateReport::of(task, step, named);
    let waiver = match (report.first_open(), force) {
        (None, _) => None,
        // TASKS-GATE-4: force never skips open children.
        (Some(_), Some(force)) if !report.has_open_children() => Some(waive(&report, force)),
        (Some(_), Some(_)) => {
            return reject(TaskRejection::GateOpen { gate: StepGate::Children, report });
        }
        (Some(gate), None) => return reject(TaskRejection::GateOpen { gate, report }),
    };
    Ok(vec![TaskEvent::StepDone(StepDone {
        step: step_ref(docs, task, step)?,
        waiver,
        derived: derive::work_begins(docs, task)?,
    })])
}

fn closed_already(step: &Step) -> TaskRejection {
    TaskRejection::AlreadyClosed { step_id: step.id, path: step.path.clone() }
}

/// What was skipped, in readable words: `tests`, `proof:tests`, `blocked`.
fn waive(report: &GateReport, force: &Force) -> Waiver {
    let name = |checkpoint: &Checkpoint| checkpoint.name().to_owned();
    let mut skipped: Vec<String> = report.missing_checkpoints.iter().map(name).collect();
    skipped.extend(report.missing_proofs.iter().map(|cp| format!("proof:{}", cp.name())));
    if report.blocked {
        skipped.push(SKIPPED_BLOCK.to_owned());
    }
    Waiver { reason: force.reason.clone(), at: Timestamp::default(), skipped }
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
    target: &StepTarget,
    blocked: bool,
    reason: Option<&str>,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if blocked && step.is_closed() {
        return reject(closed_already(step));
    }
    let reason = reason.filter(|_| blocked).map(str::to_owned);
    let step = step_ref(docs, task, step)?;
    Ok(vec![TaskEvent::StepBlockSet(StepBlockSet { step, blocked, reason })])
}
