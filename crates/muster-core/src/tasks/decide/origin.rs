//! What only imports do: noting where something came from, and closing what its source closed.

use super::{Decision, derive, entity_ref, reject, step_ref};
use crate::{
    CallFacts, Timestamp,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection, TaskResult,
        command::{NoteOrigin, StepTarget},
        entity::{Task, TaskStatus},
        event::{OriginNoted, StatusMove, StatusSet, StepDone},
        id::TaskId,
        lookup,
        origin::may_close_imported,
        rejection::{GateReport, PersonalAct, StepGate},
        step::{Checkpoints, Step, Waiver},
    },
};

pub(super) fn note(docs: &TaskDocs, note: &NoteOrigin) -> Decision {
    Ok(vec![TaskEvent::OriginNoted(OriginNoted {
        subject: entity_ref(docs, note.id)?,
        origin: note.origin.clone(),
        meta: note.meta.clone(),
        steps: note.steps.clone(),
    })])
}

/// Closes a step that its source has closed. It is closed by force, whatever its gate says, except
/// that its children have to be closed.
pub(super) fn close_step(
    docs: &TaskDocs,
    call: &CallFacts,
    target: &StepTarget,
    reason: &str,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    is_allowed(docs, call, task, Some(step))?;
    if step.is_closed() {
        return Ok(Vec::new());
    }
    let report = GateReport::of(task, step, &Checkpoints::new());
    if report.has_open_children() {
        return reject(TaskRejection::GateOpen { gate: StepGate::Children, report });
    }
    let skipped = super::closing::skipped(&report);
    let waiver = Waiver { reason: Some(reason.to_owned()), at: Timestamp::default(), skipped };
    Ok(vec![TaskEvent::StepDone(StepDone {
        step: step_ref(docs, task, step)?,
        waiver: Some(waiver),
        set_aside: Default::default(),
        derived: derive::work_begins(docs, task)?,
    })])
}

/// Completes a task whose steps are closed, because its source says that it is.
pub(super) fn complete(docs: &TaskDocs, call: &CallFacts, id: TaskId) -> Decision {
    let task = lookup::task(docs, id)?;
    is_allowed(docs, call, task, None)?;
    let from = task.meta.status;
    if from == TaskStatus::Done {
        return Ok(Vec::new());
    }
    let open = task.steps.iter().filter(|step| !step.is_closed());
    let open: Vec<_> = open.map(|step| (step.id, step.path.clone())).collect();
    if task.steps.is_empty() || !open.is_empty() {
        return reject(TaskRejection::StepsOpen { task: id, total: task.steps.len(), open });
    }
    let to = TaskStatus::Done;
    let derived = derive::plan_follows(docs, task, to)?;
    let subject = entity_ref(docs, id.into())?;
    Ok(vec![TaskEvent::StatusSet(StatusSet { subject, moved: StatusMove { from, to }, derived })])
}

/// Only what an import made is closed like this.
fn is_allowed(
    docs: &TaskDocs,
    call: &CallFacts,
    task: &Task,
    step: Option<&Step>,
) -> TaskResult<()> {
    let is_imported = task.meta.origin.is_some() && step.is_none_or(|step| step.origin.is_some());
    if is_imported && may_close_imported(docs, call, task)? {
        return Ok(());
    }
    reject(TaskRejection::PersonRequired(PersonalAct::CloseImported { task: task.id }))
}
