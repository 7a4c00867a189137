//! Setting the status of a plan or task; DONE has to pass (TASKS-GATE-5).

use super::{Decision, Docs, closing::gate_open, derive, entity_ref, reject};
use crate::{
    ListQuery, Refusal, Unloaded,
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
        return lapsed_gates(docs, id)?.into_iter().next().map_or(Ok(Vec::new()), reject);
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

/// Refuses with the first gate that is open.
fn check_done(docs: &Docs, id: EntityId) -> Result<(), Refusal<Tasks>> {
    open_gates(docs, id)?.into_iter().next().map_or(Ok(()), reject)
}

/// All that keeps a plan or task from being DONE, in the order of the gates; it may be so already.
pub fn open_gates(docs: &Docs, id: EntityId) -> Result<Vec<Rejection>, Refusal<Tasks>> {
    let (meta, mut open) = match id {
        EntityId::Plan(id) => {
            let plan = lookup::plan(docs, id)?;
            (&plan.meta, open_tasks(docs, plan)?.into_iter().collect())
        }
        EntityId::Task(id) => {
            let task = lookup::task(docs, id)?;
            (&task.meta, gates_of_steps(docs, task)?)
        }
    };
    if meta.is_waiting() {
        open.push(Rejection::DependenciesOpen { id, waiting_on: meta.waits() });
    }
    Ok(open)
}

/// Confirmations and proofs that a DONE task has come to need since, by evidence or a proof mode
/// (TASKS-EVD-2).
pub fn lapsed_gates(docs: &Docs, id: EntityId) -> Result<Vec<Rejection>, Refusal<Tasks>> {
    match id {
        EntityId::Plan(_) => Ok(Vec::new()),
        EntityId::Task(id) => match lookup::task(docs, id)? {
            task if task.meta.status == Status::Done => Ok(gates_of_steps(docs, task)?),
            _ => Ok(Vec::new()),
        },
    }
}

fn open_tasks(docs: &Docs, plan: &Plan) -> Result<Option<Rejection>, Unloaded<Tasks>> {
    let open = ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: vec![Status::Todo.name(), Status::Active.name()],
        limit: Some(LISTED_MAX as u32),
        ..ListQuery::of("task")
    };
    let open: Vec<_> =
        docs.list(&open)?.into_iter().filter_map(Document::as_task).map(|task| task.id).collect();
    Ok((!open.is_empty()).then_some(Rejection::TasksOpen { plan: plan.id, open }))
}

fn gates_of_steps(docs: &Docs, task: &Task) -> Result<Vec<Rejection>, Unloaded<Tasks>> {
    let mut open = Vec::new();
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
            open.push(gate_open(docs, gate, report)?);
        }
    }
    if task.steps.is_empty() || task.steps.iter().any(|step| !step.is_closed()) {
        open.push(steps_open(task));
    }
    Ok(open)
}

fn steps_open(task: &Task) -> Rejection {
    let open = task.steps.iter().filter(|step| !step.is_closed()).take(LISTED_MAX);
    let open = open.map(|step| (step.id, step.path.clone())).collect();
    Rejection::StepsOpen { task: task.id, total: task.steps.len(), open }
}
