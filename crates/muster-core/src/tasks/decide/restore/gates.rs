//! No undo or redo closes a step or completes a task past a gate or a check (TASKS-UNDO-3,
//! PROOF-GATE-6).

use serde_json::Value;

use super::{Conflict, Restoring};
use crate::{
    json::field,
    tasks::{
        TaskResult,
        check_gate::{CheckState, ProjectGate},
        decide::{claim, closing, status},
        entity::{Task, TaskStatus},
        fields,
        history::FieldValues,
        rejection::GateReport,
        step::{Checkpoints, Step},
    },
};

impl Restoring<'_> {
    /// Closing a step again has to pass the gates as they are now. It is then proven by the passes
    /// that hold now.
    pub(super) fn check_closing(&self, written: &mut FieldValues) -> TaskResult<()> {
        if written.get("completed") != Some(&Value::Bool(true)) {
            return Ok(());
        }
        let Some((task, step)) = self.step()? else { return Ok(()) };
        claim::check(self.env, task)?;
        let then = self.step_then(step, written);
        let project = ProjectGate::of(self.docs, &self.env.call)?;
        let report = GateReport::of(task, &then, &Checkpoints::new());
        let report = report.with_checks(&project, task, &then)?;
        let is_waived = self.change.forced || is_waived(&then, &report);
        let open = if is_waived { report.first_firm() } else { report.first_open() };
        if let Some(gate) = open {
            return self.conflict(Conflict::Gate(gate, Box::new(report)));
        }
        let proofs = proofs(&project, task, &then)?;
        written.extend(proofs);
        Ok(())
    }

    /// The step as it would be, but for its closing: the evidence of the operation comes back too.
    fn step_then(&self, step: &Step, written: &FieldValues) -> Step {
        let mut then = step.clone();
        fields::write_step(&mut then, written);
        then.completed_at = None;
        let back = self.operation.withdrawn.iter().flat_map(|parts| &parts.evidence);
        for evidence in back.filter(|_| !self.undo) {
            then.proven.extend(evidence.checkpoints.iter().copied());
        }
        then
    }

    /// Completing a task again has to pass its gates as they are now.
    pub(super) fn check_completion(&self, written: &FieldValues) -> TaskResult<()> {
        match self.status(written)? {
            Some((task, TaskStatus::Done)) => {
                claim::check(self.env, task)?;
                status::check_done(self.docs, &self.env.call, task.id.into())
            }
            Some((_, TaskStatus::Todo | TaskStatus::Active)) | None => Ok(()),
        }
    }
}

/// Whether the waiver that the step gets back names everything that is open now.
fn is_waived(then: &Step, report: &GateReport) -> bool {
    then.waiver.as_ref().is_some_and(|waiver| {
        closing::skipped(report).iter().all(|skipped| waiver.skipped.contains(skipped))
    })
}

/// The runs that show that the checks of a step hold now; nothing for a step without checks.
fn proofs(
    project: &ProjectGate<'_>,
    task: &Task,
    step: &Step,
) -> TaskResult<Option<(String, Value)>> {
    if step.checks.is_empty() {
        return Ok(None);
    }
    let passed = project.of_step(task, step)?.into_iter().filter_map(|check| {
        let run = check.run.filter(|_| check.state == CheckState::Passed)?;
        Some((check.name, run))
    });
    let mut proofs = step.proofs.clone();
    proofs.extend(passed);
    Ok(Some(field("proofs", &proofs)))
}
