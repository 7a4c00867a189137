//! A plan's checklist and contract.

use super::{Decision, next_revision, reject};
use crate::tasks::{
    TaskDocs, TaskEvent, TaskKey, TaskRejection,
    command::{SetChecklist, SetContract},
    entity::Checklist,
    event::{ChecklistSet, ContractSet},
    lookup,
};

/// TASKS-PLAN-1: the position never leaves the list.
pub(super) fn checklist(docs: &TaskDocs, set: &SetChecklist) -> Decision {
    let plan = lookup::plan(docs, set.plan)?;
    let steps = set.steps.clone().unwrap_or_else(|| plan.checklist.steps.clone());
    let points = steps.len();
    let kept = (plan.checklist.current as usize).min(points);
    let current = match (set.current, set.advance) {
        (Some(current), _) => current as usize,
        (None, true) => kept + 1,
        (None, false) => kept,
    };
    if current > points {
        let argument = if set.current.is_some() { "current" } else { "advance" };
        return reject(TaskRejection::ChecklistPosition { argument, points });
    }
    let given =
        [("steps", set.steps.is_some()), ("doc", set.doc.is_some()), ("advance", set.advance)];
    let given = given.into_iter().filter(|(_, given)| *given);
    Ok(vec![TaskEvent::ChecklistSet(ChecklistSet {
        plan: plan.id,
        revision: next_revision(docs, &TaskKey::Plan(plan.id))?,
        checklist: Checklist {
            doc: set.doc.clone().unwrap_or_else(|| plan.checklist.doc.clone()),
            current: u32::try_from(current).unwrap_or(u32::MAX),
            steps,
        },
        given: given.map(|(name, _)| name.to_owned()).collect(),
    })])
}

/// TASKS-CONTR-1: missing fields stay unchanged.
pub(super) fn contract(docs: &TaskDocs, set: &SetContract) -> Decision {
    let plan = lookup::plan(docs, set.plan)?;
    let (contract, contract_data) = if set.clear {
        (None, None)
    } else {
        let kept = set.contract_data.clone().or_else(|| plan.contract_data.clone());
        (set.contract.clone().unwrap_or_else(|| plan.contract.clone()), kept)
    };
    Ok(vec![TaskEvent::ContractSet(ContractSet {
        plan: plan.id,
        revision: next_revision(docs, &TaskKey::Plan(plan.id))?,
        contract,
        contract_data,
        clear: set.clear,
    })])
}
