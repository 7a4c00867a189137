//! Adding, defining, noting and verifying steps.

use std::collections::BTreeMap;

use super::{Decision, derive, reject, step_ref, task_ref, waiver::person_only};
use crate::{
    CallFacts, WorkRefusal,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection, TaskResult,
        check_gate::{CheckState, ProjectGate},
        command::{AddSteps, DefineStep, NewStep, StepTarget},
        event::{
            AddedStep, StepDefined, StepFields, StepNoted, StepVerified, StepsAdded, StopAnswered,
        },
        id::StepId,
        lookup,
        path::{STEP_DEPTH_MAX, StepPath},
        rejection::PersonalAct,
        step::{Checkpoint, ConfirmationSource, ItemConfirmation, ProofModes, Step},
        stop::{StopReply, UnprovenStop},
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

pub(super) fn define(docs: &TaskDocs, call: &CallFacts, define: &DefineStep) -> Decision {
    let (task, step) = lookup::task_and_step(docs, &define.step)?;
    keeps_checks(call, Some(&step.path), &step.checks, define.checks.as_deref())?;
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
        checks: define.checks.clone(),
    };
    let mut then = step.clone();
    fields.apply(&mut then);
    weakening(docs, call, step, &then)?;
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

/// Only a person may take a check off a step or, without a path, off a task.
pub(super) fn keeps_checks(
    call: &CallFacts,
    path: Option<&StepPath>,
    before: &[String],
    after: Option<&[String]>,
) -> TaskResult<()> {
    let Some(after) = after else { return Ok(()) };
    let dropped = before.iter().filter(|name| !after.contains(name));
    let dropped: Vec<String> = dropped.cloned().collect();
    if dropped.is_empty() {
        return Ok(());
    }
    person_only(call, || PersonalAct::DropChecks { path: path.cloned(), checks: dropped })
}

/// Under the stricter rules of a project, only a person may ask for less proof, or rewrite what a
/// step that was begun has to fulfil. Adding to it is free.
pub(super) fn weakening(
    docs: &TaskDocs,
    call: &CallFacts,
    before: &Step,
    after: &Step,
) -> TaskResult<()> {
    if !ProjectGate::of(docs, call)?.is_strict() {
        return Ok(());
    }
    let path = || before.path.clone();
    for checkpoint in Checkpoint::PROVABLE {
        if after.proof_modes.get(checkpoint) < before.proof_modes.get(checkpoint) {
            person_only(call, || PersonalAct::WeakenProof { path: path(), checkpoint })?;
        }
    }
    for checkpoint in Checkpoint::GATE {
        let kept = |line: &String| after.list_of(checkpoint).contains(line);
        if before.is_started() && !before.list_of(checkpoint).iter().all(kept) {
            person_only(call, || PersonalAct::RewriteStarted { path: path(), checkpoint })?;
        }
    }
    Ok(())
}

/// Names of the fields a definition sets, in the order of the step object.
fn given_fields(define: &DefineStep) -> Vec<String> {
    let given = [
        ("title", define.title.is_some()),
        ("success_criteria", define.success_criteria.is_some()),
        ("tests", define.tests.is_some()),
        ("blockers", define.blockers.is_some()),
        ("checks", define.checks.is_some()),
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

/// Nothing happens once an agent was allowed to stop, or when the step was closed meanwhile.
pub(super) fn answer_stop(
    docs: &TaskDocs,
    target: &StepTarget,
    checks: &BTreeMap<String, CheckState>,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    let reply = UnprovenStop::reply(step.unproven_stop.as_ref()).filter(|_| !step.is_closed());
    let Some(reply) = reply else { return Ok(Vec::new()) };
    let step = step_ref(docs, task, step)?;
    let listed = reply == StopReply::Allowed;
    let checks = checks.clone();
    Ok(vec![TaskEvent::StopAnswered(StopAnswered { step, checks, reply, listed })])
}

pub(super) fn verify(
    docs: &TaskDocs,
    call: &CallFacts,
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
        items: Vec::new(),
        sources: given_by(call, confirmations),
        proofs: BTreeMap::new(),
        imported: false,
        derived,
    })])
}

/// The caller as the source of what it confirms.
fn given_by(
    call: &CallFacts,
    confirmations: &[(Checkpoint, bool)],
) -> BTreeMap<Checkpoint, ConfirmationSource> {
    let Some(by) = call.by.as_deref() else { return BTreeMap::new() };
    let confirmed = confirmations.iter().filter(|(_, confirmed)| *confirmed);
    let source = || ConfirmationSource { by: Some(by.clone()), run: None };
    confirmed.map(|(checkpoint, _)| (*checkpoint, source())).collect()
}

/// Confirms single criteria and tests; a list whose entries are all confirmed counts as confirmed.
pub(super) fn confirm_items(
    docs: &TaskDocs,
    call: &CallFacts,
    target: &StepTarget,
    items: &[ItemConfirmation],
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    for item in items {
        let count = step.list_of(item.checkpoint).len();
        if item.index as usize >= count {
            let path = step.path.clone();
            let ItemConfirmation { checkpoint, index, .. } = *item;
            return reject(TaskRejection::UnknownItem { path, checkpoint, index, count });
        }
    }
    let mut then = step.clone();
    then.add_items(items);
    let complete = |cp: &Checkpoint| then.unconfirmed_items(*cp).is_empty();
    let named = |cp: &Checkpoint| items.iter().any(|item| item.checkpoint == *cp);
    let confirmed = Checkpoint::GATE.into_iter().filter(|cp| named(cp) && complete(cp));
    let by_caller = |item: &ItemConfirmation| ItemConfirmation {
        by: call.by.as_deref().cloned(),
        ..item.clone()
    };
    Ok(vec![TaskEvent::StepVerified(StepVerified {
        step: step_ref(docs, task, step)?,
        confirmations: confirmed.map(|checkpoint| (checkpoint, true)).collect(),
        items: items.iter().map(by_caller).collect(),
        sources: BTreeMap::new(),
        proofs: BTreeMap::new(),
        imported: false,
        derived: derive::work_begins(docs, task)?,
    })])
}
