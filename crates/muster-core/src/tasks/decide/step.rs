//! Adding, defining, noting and verifying steps.

use super::{Decision, derive, reject, step_ref, task_ref};
use crate::{
    WorkRefusal,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection,
        command::{AddSteps, DefineStep, NewStep, StepTarget},
        event::{AddedStep, StepDefined, StepFields, StepNoted, StepVerified, StepsAdded},
        id::StepId,
        lookup,
        path::{STEP_DEPTH_MAX, StepPath},
        step::{Checkpoint, ProofModes},
    },
};

pub(super) fn add(docs: &TaskDocs, add: &AddSteps) -> Decision {
    let task = lookup::task(docs, add.task)?;
    let parent = match &add.parent {
        None => None,
        Some(selector) => match lookup::step(task, selector) {
            Ok(step) => Some(step.path.clone()),
            Err(rejection) => return Err(WorkRefusal::Rejected(rejection)),
        },
    };
    if parent.as_ref().map_or(0, StepPath::depth) >= STEP_DEPTH_MAX {
        return reject(TaskRejection::TooDeep);
    }
    let ordinals = task.steps.next_ordinal(parent.as_ref())..;
    let numbers = lookup::workspace(docs)?.last_step + 1..;
    let added = |((new, ordinal), number): ((&NewStep, u32), u64)| AddedStep {
        id: StepId(number),
        path: StepPath::child_of(parent.as_ref(), ordinal),
        title: new.title.clone(),
        fields: new.fields.clone(),
    };
    let steps = add.steps.iter().zip(ordinals).zip(numbers).map(added).collect();
    let derived = derive::steps_appear(docs, task, parent.as_ref())?;
    let task = task_ref(docs, task)?;
    Ok(vec![TaskEvent::StepsAdded(StepsAdded { task, parent_path: parent, steps, derived })])
}

pub(super) fn define(docs: &TaskDocs, define: &DefineStep) -> Decision {
    let (task, step) = lookup::task_and_step(docs, &define.step)?;
    let fields = StepFields {
        success_criteria: define.success_criteria.clone(),
        tests: define.tests.clone(),
        blockers: define.blockers.clone(),
        proof_modes: define.proof_modes.as_ref().map(|changes| {
            let mut modes: ProofModes = step.proof_modes;
            for (checkpoint, mode) in changes {
                modes.set(*checkpoint, *mode);
            }
            modes
        }),
    };
    // TASKS-STATE-7: a list that really differs revokes its confirmation.
    let differs = |new: &Option<Vec<String>>, old: &[String]| {
        new.as_ref().is_some_and(|new| new.as_slice() != old)
    };
    let changed = [
        (Checkpoint::Criteria, differs(&fields.success_criteria, &step.success_criteria)),
        (Checkpoint::Tests, differs(&fields.tests, &step.tests)),
    ];
    let cleared: Vec<Checkpoint> =
        changed.into_iter().filter(|(_, differs)| *differs).map(|(cp, _)| cp).collect();
    let derived = if !cleared.is_empty() && step.is_closed() {
        derive::step_opens(docs, task, &step.path)?
    } else {
        derive::nothing()
    };
    Ok(vec![TaskEvent::StepDefined(StepDefined {
        step: step_ref(docs, task, step)?,
        title: define.title.clone(),
        given: given_fields(define),
        fields,
        cleared,
        derived,
    })])
}

/// Names of the fields a definition sets, in the order of the step object.
fn given_fields(define: &DefineStep) -> Vec<String> {
    let given = [
        ("title", define.title.is_some()),
        ("success_criteria", define.success_criteria.is_some()),
        ("tests", define.tests.is_some()),
        ("blockers", define.blockers.is_some()),
    ];
    let mut names: Vec<String> =
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect();
    for (checkpoint, _) in define.proof_modes.iter().flatten() {
        names.push(format!("proof_{}_mode", checkpoint.name()));
    }
    names
}

pub(super) fn note(docs: &TaskDocs, target: &StepTarget, note: &str) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    Ok(vec![TaskEvent::StepNoted(StepNoted {
        step: step_ref(docs, task, step)?,
        note_seq: step.notes + 1,
        note: note.to_owned(),
    })])
}

pub(super) fn verify(
    docs: &TaskDocs,
    target: &StepTarget,
    confirmations: &[(Checkpoint, bool)],
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    let confirms = confirmations.iter().any(|(_, confirmed)| *confirmed);
    let withdraws = confirmations
        .iter()
        .any(|(checkpoint, confirmed)| !confirmed && step.requires(*checkpoint));
    let derived = if withdraws && step.is_closed() {
        derive::step_opens(docs, task, &step.path)?
    } else if confirms {
        derive::work_begins(docs, task)?
    } else {
        derive::nothing()
    };
    Ok(vec![TaskEvent::StepVerified(StepVerified {
        step: step_ref(docs, task, step)?,
        confirmations: confirmations.to_vec(),
        derived,
    })])
}
