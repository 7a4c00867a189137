//! Setting the status of a plan or task; DONE has to pass its gates (TASKS-GATE-5).

use super::{Decision, derive, entity_ref, reject};
use crate::{
    CallFacts, ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskLookup, TaskRejection, TaskResult,
        check_gate::{CheckGate, ProjectGate},
        entity::{Plan, Task, TaskStatus},
        event::{StatusMove, StatusSet},
        id::EntityId,
        lookup,
        rejection::{GateReport, StepGate},
        step::{Checkpoint, Checkpoints, Step},
    },
};

/// Entries of a list in a rejection.
const LISTED_MAX: usize = 20;

pub(super) fn set(docs: &TaskDocs, call: &CallFacts, id: EntityId, to: TaskStatus) -> Decision {
    let from = match id {
        EntityId::Plan(id) => lookup::plan(docs, id)?.meta.status,
        EntityId::Task(id) => lookup::task(docs, id)?.meta.status,
    };
    if from == to {
        return lapsed_gates(docs, call, id)?.into_iter().next().map_or(Ok(Vec::new()), reject);
    }
    if to == TaskStatus::Done {
        check_done(docs, call, id)?;
    }
    let derived = match id {
        EntityId::Plan(_) => derive::nothing(),
        EntityId::Task(id) => derive::plan_follows(docs, lookup::task(docs, id)?, to)?,
    };
    let subject = entity_ref(docs, id)?;
    Ok(vec![TaskEvent::StatusSet(StatusSet { subject, moved: StatusMove { from, to }, derived })])
}

/// Rejects with the first open gate.
pub(super) fn check_done(docs: &TaskDocs, call: &CallFacts, id: EntityId) -> TaskResult<()> {
    open_gates(docs, call, id)?.into_iter().next().map_or(Ok(()), reject)
}

/// All gates that keep a plan or task from being DONE, in order; also for one that is DONE already.
pub fn open_gates(
    docs: &TaskDocs,
    call: &CallFacts,
    id: EntityId,
) -> TaskResult<Vec<TaskRejection>> {
    let (meta, mut open) = match id {
        EntityId::Plan(id) => {
            let plan = lookup::plan(docs, id)?;
            (&plan.meta, open_tasks(docs, plan)?.into_iter().collect())
        }
        EntityId::Task(id) => {
            let task = lookup::task(docs, id)?;
            (&task.meta, gates_of_task(docs, call, task)?)
        }
    };
    if meta.is_waiting() {
        open.push(TaskRejection::DependenciesOpen { id, waiting_on: meta.waits() });
    }
    Ok(open)
}

/// Confirmations and proofs that a DONE task needs by now, because of evidence or a proof mode
/// (TASKS-EVD-2).
pub fn lapsed_gates(
    docs: &TaskDocs,
    call: &CallFacts,
    id: EntityId,
) -> TaskResult<Vec<TaskRejection>> {
    match id {
        EntityId::Plan(_) => Ok(Vec::new()),
        EntityId::Task(id) => match lookup::task(docs, id)? {
            task if task.meta.status == TaskStatus::Done => {
                Ok(gates_of_steps(docs, call, task)?.into_iter().chain(steps_open(task)).collect())
            }
            _ => Ok(Vec::new()),
        },
    }
}

fn open_tasks(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Option<TaskRejection>> {
    let open = ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: vec![TaskStatus::Todo.name(), TaskStatus::Active.name()],
        limit: Some(LISTED_MAX as u32),
        ..ListQuery::of("task")
    };
    let open: Vec<_> = docs
        .list(&open)?
        .into_iter()
        .filter_map(TaskDocument::as_task)
        .map(|task| task.id)
        .collect();
    Ok((!open.is_empty()).then_some(TaskRejection::TasksOpen { plan: plan.id, open }))
}

fn gates_of_task(docs: &TaskDocs, call: &CallFacts, task: &Task) -> TaskLookup<Vec<TaskRejection>> {
    let mut open = gates_of_steps(docs, call, task)?;
    let project = ProjectGate::of(docs, call)?;
    let checks = project.of_task(task)?.into_iter().filter(|check| !check.state.holds());
    let checks: Vec<CheckGate> = checks.chain(project.protected()?).collect();
    if !checks.is_empty() {
        open.push(TaskRejection::ChecksOpen { task: task.id, checks });
    }
    open.extend(steps_open(task));
    Ok(open)
}

/// Confirmations and proofs that steps lack.
fn gates_of_steps(
    docs: &TaskDocs,
    call: &CallFacts,
    task: &Task,
) -> TaskLookup<Vec<TaskRejection>> {
    let project = ProjectGate::of(docs, call)?;
    let mut open = Vec::new();
    for gate in [StepGate::Checkpoints, StepGate::Proof] {
        let fails = |step: &&Step| {
            let decided = project.decided(step);
            let mut asked = Checkpoint::ALL.into_iter().filter(|cp| !decided.contains(cp));
            match gate {
                StepGate::Proof => asked.any(|cp| step.misses_proof(cp)),
                StepGate::Checkpoints
                | StepGate::Checks
                | StepGate::Children
                | StepGate::Blocked => asked.any(|cp| step.misses(cp)),
            }
        };
        let failing: Vec<&Step> = task.steps.iter().filter(fails).collect();
        if let Some(first) = failing.first() {
            let report = GateReport::of(task, first, &Checkpoints::new());
            let mut report = report.with_checks(&project, task, first)?;
            let paths = failing.iter().take(LISTED_MAX).map(|step| step.path.clone());
            report.steps = paths.collect();
            open.push(TaskRejection::GateOpen { gate, report });
        }
    }
    Ok(open)
}

fn steps_open(task: &Task) -> Option<TaskRejection> {
    if !task.steps.is_empty() && task.steps.iter().all(Step::is_closed) {
        return None;
    }
    let open = task.steps.iter().filter(|step| !step.is_closed()).take(LISTED_MAX);
    let open = open.map(|step| (step.id, step.path.clone())).collect();
    Some(TaskRejection::StepsOpen { task: task.id, total: task.steps.len(), open })
}
