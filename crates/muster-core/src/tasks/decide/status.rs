//! Setting the status of a plan or task; DONE has to pass (TASKS-GATE-5).

use super::{Decision, Docs, closing::open_gate, derive, entity_ref, reject};
use crate::{
    ListQuery, Refusal,
    tasks::{
        Document, Event, Rejection, Tasks,
        entity::{Plan, Status, Task},
        event::{StatusMove, StatusSet},
        id::EntityId,
        lookup,
        rejection::{Gate, GateReport},
        step::{Checkpoint, Checkpoints, Step},
    },
};

/// Entries of a list in a refusal.
const LISTED_MAX: usize = 20;

pub(super) fn set(docs: &Docs, id: EntityId, to: Status) -> Decision {
    let from = match id {
        EntityId::Plan(id) => lookup::plan(docs, id)?.meta.status,
        EntityId::Task(id) => lookup::task(docs, id)?.meta.status,
    };
    if from == to {
        return Ok(Vec::new());
    }
    if to == Status::Done {
        check_done(docs, id)?;
    }
    let derived = match id {
        EntityId::Plan(_) => derive::nothing(),
        EntityId::Task(id) => derive::plan_follows(docs, lookup::task(docs, id)?, to)?,
    };
    let subject = entity_ref(docs, id)?;
    Ok(vec![Event::StatusSet(StatusSet { subject, moved: StatusMove { from, to }, derived })])
}

/// Whether a plan or task may be DONE now; it may be so already.
pub fn check_done(docs: &Docs, id: EntityId) -> Result<(), Refusal<Tasks>> {
    let meta = match id {
        EntityId::Plan(id) => {
            let plan = lookup::plan(docs, id)?;
            check_tasks(docs, plan)?;
            &plan.meta
        }
        EntityId::Task(id) => {
            let task = lookup::task(docs, id)?;
            check_steps(docs, task)?;
            &task.meta
        }
    };
    if meta.is_waiting() {
        return reject(Rejection::DependenciesOpen { id, waiting_on: meta.waits() });
    }
    Ok(())
}

fn check_tasks(docs: &Docs, plan: &Plan) -> Result<(), Refusal<Tasks>> {
    let open = ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: vec![Status::Todo.name(), Status::Active.name()],
        limit: Some(LISTED_MAX as u32),
        ..ListQuery::of("task")
    };
    let open: Vec<_> =
        docs.list(&open)?.into_iter().filter_map(Document::as_task).map(|task| task.id).collect();
    if open.is_empty() {
        return Ok(());
    }
    reject(Rejection::TasksOpen { plan: plan.id, open })
}

fn check_steps(docs: &Docs, task: &Task) -> Result<(), Refusal<Tasks>> {
    if task.steps.is_empty() {
        return reject(steps_open(task));
    }
    for gate in [Gate::Checkpoints, Gate::Proof] {
        let fails = |step: &&Step| match gate {
            Gate::Proof => Checkpoint::ALL.into_iter().any(|cp| step.misses_proof(cp)),
            Gate::Checkpoints | Gate::Children | Gate::Blocked => {
                Checkpoint::ALL.into_iter().any(|cp| step.misses(cp))
            }
        };
        let failing: Vec<&Step> = task.steps.iter().filter(fails).collect();
        if let Some(first) = failing.first() {
            let mut report = GateReport::of(task, first, &Checkpoints::new());
            let paths = failing.iter().take(LISTED_MAX).map(|step| step.path.clone());
            report.steps = paths.collect();
            return open_gate(docs, gate, report);
        }
    }
    if task.steps.iter().any(|step| !step.is_closed()) {
        return reject(steps_open(task));
    }
    Ok(())
}

fn steps_open(task: &Task) -> Rejection {
    let open = task.steps.iter().filter(|step| !step.is_closed()).take(LISTED_MAX);
    let open = open.map(|step| (step.id, step.path.clone())).collect();
    Rejection::StepsOpen { task: task.id, total: task.steps.len(), open }
}
