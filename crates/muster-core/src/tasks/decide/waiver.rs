//! Accepting a project and its protected files, and setting checks aside: what a person decides.

use super::{Decision, reject, task_ref};
use crate::{
    CallFacts, WorkRefusal,
    checks::{project::AcceptedProject, protected::ProtectedState},
    tasks::{
        TaskDocs, TaskEvent, TaskRejection, TaskResult,
        check_gate::CheckWaiver,
        command::WaiveCheck,
        event::{CheckWaiverSet, WaiverChange},
        lookup,
        rejection::PersonalAct,
    },
};

/// Refuses what only a person may do.
pub(super) fn person_only(call: &CallFacts, act: impl FnOnce() -> PersonalAct) -> TaskResult<()> {
    if call.is_person() { Ok(()) } else { reject(TaskRejection::PersonRequired(act())) }
}

pub(super) fn accept(call: &CallFacts, project: &AcceptedProject) -> Decision {
    person_only(call, || PersonalAct::AcceptProject)?;
    Ok(vec![TaskEvent::ProjectAccepted(project.clone())])
}

pub(super) fn review(call: &CallFacts, state: &ProtectedState) -> Decision {
    person_only(call, || PersonalAct::ReviewProtected)?;
    Ok(vec![TaskEvent::ProtectedReviewed(state.clone())])
}

pub(super) fn waive(docs: &TaskDocs, call: &CallFacts, waive: &WaiveCheck) -> Decision {
    let WaiveCheck { task, check, change, .. } = waive;
    let task = lookup::task(docs, *task)?;
    let step = match &waive.step {
        Some(selector) => Some(lookup::step(task, selector).map_err(WorkRefusal::Rejected)?),
        None => None,
    };
    let is_asked = matches!(change, WaiverChange::Asked { .. });
    if !is_asked {
        let act = || PersonalAct::Waive { task: task.id, check: check.clone() };
        person_only(call, act)?;
    }
    let given: &[CheckWaiver] = step.map_or(&task.check_waivers, |step| &step.check_waivers);
    let step_id = step.map(|step| step.id);
    let is_asked_for =
        task.waivers_asked.iter().any(|asked| asked.check == *check && asked.step == step_id);
    // Taking back also declines what was asked for.
    if *change == WaiverChange::TakenBack
        && !is_asked_for
        && given.iter().all(|waiver| waiver.check != *check)
    {
        return reject(TaskRejection::UnknownWaiver { check: check.clone() });
    }
    Ok(vec![TaskEvent::CheckWaiverSet(CheckWaiverSet {
        task: task_ref(docs, task)?,
        step: step.map(|step| (step.id, step.path.clone())),
        check: check.clone(),
        change: change.clone(),
        listed: is_asked,
    })])
}
