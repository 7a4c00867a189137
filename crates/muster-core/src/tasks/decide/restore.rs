//! Undo and redo: writing back exactly the fields an operation changed (TASKS-UNDO).

use serde_json::Value;

use super::{Decision, claim, derive, edit, entity_ref, reject, step::weakening};
use crate::tasks::{
    TaskDocs, TaskDocument, TaskEvent, TaskKey, TaskRejection, TaskResult,
    check_gate::ProjectGate,
    entity::Task,
    event::{Derived, Restored},
    fields,
    history::{FieldValues, HistoryOperation, OperationChange},
    id::EntityId,
    lookup,
    rejection::GateReport,
    step::{Checkpoints, Step},
};
use crate::{CallFacts, Env};

pub(super) fn restore(docs: &TaskDocs, env: &Env, op_seq: u64, undo: bool) -> Decision {
    let Some(TaskDocument::Operation(operation)) = docs.get(&TaskKey::Operation(op_seq))? else {
        return reject(TaskRejection::NothingToRestore { undo });
    };
    let Some(change) = &operation.change else {
        return reject(TaskRejection::NothingToRestore { undo });
    };
    let (found, written) =
        if undo { (&change.after, &change.before) } else { (&change.before, &change.after) };
    let conflicts = differing(&operation.addressed().fields(docs)?, found);
    if !conflicts.is_empty() {
        return reject(TaskRejection::RestoreConflict { op_seq, fields: conflicts, unmet: None });
    }
    check_circle(docs, operation, written)?;
    check_block(docs, operation, written)?;
    let written = &with_taken_back(docs, operation, written)?;
    check_weakening(docs, &env.call, operation, written)?;
    check_closing(docs, env, (operation, change), written)?;
    Ok(vec![TaskEvent::Restored(Restored {
        subject: entity_ref(docs, operation.entity)?,
        op_seq,
        intent: operation.intent.clone(),
        undo,
        path: operation.path.clone(),
        node: operation.node,
        fields: written.clone(),
        derived: consequences(docs, operation, written)?,
    })])
}

fn differing(current: &FieldValues, expected: &FieldValues) -> Vec<(String, Value, Value)> {
    let differs = |(name, value): (&String, &Value)| {
        let actual = current.get(name).cloned().unwrap_or(Value::Null);
        (!fields::are_same(name, &actual, value)).then(|| (name.clone(), value.clone(), actual))
    };
    expected.iter().filter_map(differs).collect()
}

fn addressed_step<'a>(
    docs: &'a TaskDocs,
    operation: &HistoryOperation,
) -> TaskResult<Option<(&'a Task, &'a Step)>> {
    let (EntityId::Task(id), Some(path)) = (operation.entity, &operation.path) else {
        return Ok(None);
    };
    let task = lookup::task(docs, id)?;
    Ok(task.steps.at(path).map(|step| (task, step)))
}

/// Dependencies of others may have changed since; they must not form a cycle (TASKS-EDIT-3).
fn check_circle(
    docs: &TaskDocs,
    operation: &HistoryOperation,
    written: &FieldValues,
) -> TaskResult<()> {
    let mut depends_on: Vec<EntityId> = Vec::new();
    fields::read(written, "depends_on", &mut depends_on);
    let added = edit::added(docs, operation.entity, &depends_on)?;
    if edit::leading_back(docs, operation.entity, &added)?.is_none() {
        return Ok(());
    }
    let field = "depends_on";
    let value = |fields: &FieldValues| fields.get(field).cloned().unwrap_or_default();
    let now = operation.addressed().fields(docs)?;
    let fields = vec![(field.to_owned(), value(written), value(&now))];
    reject(TaskRejection::RestoreConflict { op_seq: operation.seq, fields, unmet: None })
}

/// A closed step is not blocked (TASKS-BLOCK-1), unless it was closed by force despite a block.
fn check_block(
    docs: &TaskDocs,
    operation: &HistoryOperation,
    written: &FieldValues,
) -> TaskResult<()> {
    let blocks = operation.node.is_none() && written.get("blocked") == Some(&Value::Bool(true));
    match addressed_step(docs, operation)? {
        Some((_, step)) if blocks && step.is_closed() && !step.was_closed_blocked() => {
            let [expected, actual] = [false, true].map(Value::Bool);
            let fields = vec![("completed".to_owned(), expected, actual)];
            reject(TaskRejection::RestoreConflict { op_seq: operation.seq, fields, unmet: None })
        }
        Some(_) | None => Ok(()),
    }
}

/// TASKS-STATE-7, as for a direct call: changed criteria or tests revoke a confirmation that was
/// given for the old ones.
fn with_taken_back(
    docs: &TaskDocs,
    operation: &HistoryOperation,
    written: &FieldValues,
) -> TaskResult<FieldValues> {
    let mut written = written.clone();
    if operation.path.is_none() || operation.node.is_some() {
        return Ok(written);
    }
    let now = operation.addressed().fields(docs)?;
    for (list, confirmed) in
        [("success_criteria", "criteria_confirmed"), ("tests", "tests_confirmed")]
    {
        let differs = written.get(list).is_some_and(|value| now.get(list) != Some(value));
        if differs && now.get(confirmed) == Some(&Value::Bool(true)) {
            written.entry(confirmed.to_owned()).or_insert(Value::Bool(false));
        }
    }
    Ok(written)
}

/// Under the stricter rules of a project, undo and redo weaken a step as little as a definition
/// may.
fn check_weakening(
    docs: &TaskDocs,
    call: &CallFacts,
    operation: &HistoryOperation,
    written: &FieldValues,
) -> TaskResult<()> {
    let Some((_, step)) = addressed_step(docs, operation)? else { return Ok(()) };
    if operation.node.is_some() {
        return Ok(());
    }
    let mut then = step.clone();
    fields::write_step(&mut then, written);
    weakening(docs, call, step, &then)
}

/// TASKS-UNDO-3: closing a step again has to pass the gates as they are now.
fn check_closing(
    docs: &TaskDocs,
    env: &Env,
    (operation, change): (&HistoryOperation, &OperationChange),
    written: &FieldValues,
) -> TaskResult<()> {
    let closes = written.get("completed") == Some(&Value::Bool(true));
    if !closes || operation.node.is_some() {
        return Ok(());
    }
    let Some((task, step)) = addressed_step(docs, operation)? else { return Ok(()) };
    claim::check(env, task)?;
    let mut then = step.clone();
    fields::write_step(&mut then, written);
    then.completed_at = None;
    let project = ProjectGate::of(docs, &env.call)?;
    let report = GateReport::of(task, &then, &Checkpoints::new());
    let report = report.with_checks(&project, task, &then)?;
    let open = if change.forced { report.first_firm() } else { report.first_open() };
    match open {
        Some(gate) => {
            let op_seq = operation.seq;
            let unmet = Some((gate, report));
            reject(TaskRejection::RestoreConflict { op_seq, fields: Vec::new(), unmet })
        }
        None => Ok(()),
    }
}

/// Consequences as for a direct call; status of task and plan never moves back (TASKS-UNDO-2).
fn consequences(
    docs: &TaskDocs,
    operation: &HistoryOperation,
    written: &FieldValues,
) -> TaskResult<Derived> {
    let Some((task, step)) = addressed_step(docs, operation)? else { return Ok(derive::nothing()) };
    let writes = |value: bool| written.get("completed") == Some(&Value::Bool(value));
    let changes_lists = written.contains_key("success_criteria") || written.contains_key("tests");
    let opens = match operation.node {
        Some(_) => written.get("status").is_some_and(|status| status != "DONE"),
        None => changes_lists && !writes(true),
    };
    if writes(false) || (opens && step.is_closed()) {
        let mut derived = derive::step_opens(docs, task, &step.path)?;
        if writes(false) {
            // TASKS-STATE-6: what was requested is not a consequence of itself.
            derived.reopened.retain(|path| *path != step.path);
        }
        Ok(derived)
    } else if writes(true) {
        derive::work_begins(docs, task)
    } else {
        Ok(derive::nothing())
    }
}
