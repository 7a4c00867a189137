//! Undo and redo: writing back exactly the fields an operation changed (TASKS-UNDO).

use serde_json::Value;

use super::{Decision, Docs, derive, entity_ref, reject};
use crate::{
    Refusal,
    tasks::{
        Document, Event, Key, Rejection, Tasks,
        entity::Task,
        event::{Derived, Restored},
        fields,
        history::{Change, Fields, Operation},
        id::EntityId,
        lookup,
        rejection::GateReport,
        step::{Checkpoints, Step},
    },
};

pub(super) fn restore(docs: &Docs, op_seq: u64, undo: bool) -> Decision {
    let Some(Document::Operation(operation)) = docs.get(&Key::Operation(op_seq))? else {
        return reject(Rejection::NothingToRestore { undo });
    };
    let Some(change) = &operation.change else {
        return reject(Rejection::NothingToRestore { undo });
    };
    let (found, written) =
        if undo { (&change.after, &change.before) } else { (&change.before, &change.after) };
    let conflicts = differing(&operation.addressed().fields(docs)?, found);
    if !conflicts.is_empty() {
        return reject(Rejection::RestoreConflict { op_seq, fields: conflicts, unmet: None });
    }
    check_closing(docs, operation, change, written)?;
    Ok(vec![Event::Restored(Restored {
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

fn differing(current: &Fields, expected: &Fields) -> Vec<(String, Value, Value)> {
    let differs = |(name, value): (&String, &Value)| {
        let actual = current.get(name).cloned().unwrap_or(Value::Null);
        (actual != *value).then(|| (name.clone(), value.clone(), actual))
    };
    expected.iter().filter_map(differs).collect()
}

fn addressed_step<'a>(
    docs: &'a Docs,
    operation: &Operation,
) -> Result<Option<(&'a Task, &'a Step)>, Refusal<Tasks>> {
    let (EntityId::Task(id), Some(path)) = (operation.entity, &operation.path) else {
        return Ok(None);
    };
    let task = lookup::task(docs, id)?;
    Ok(task.steps.at(path).map(|step| (task, step)))
}

/// TASKS-UNDO-3: closing a step again has to pass the gates as they are now.
fn check_closing(
    docs: &Docs,
    operation: &Operation,
    change: &Change,
    written: &Fields,
) -> Result<(), Refusal<Tasks>> {
    let closes = written.get("completed") == Some(&Value::Bool(true));
    if !closes || operation.node.is_some() {
        return Ok(());
    }
    let Some((task, step)) = addressed_step(docs, operation)? else { return Ok(()) };
    let mut then = step.clone();
    fields::write_step(&mut then, written);
    then.completed_at = None;
    let report = GateReport::of(task, &then, &Checkpoints::new());
    let open = if change.forced {
        report.has_open_children().then_some(crate::tasks::rejection::Gate::Children)
    } else {
        report.first_open()
    };
    match open {
        Some(gate) => {
            let (op_seq, unmet) = (operation.seq, Some((gate, report)));
            reject(Rejection::RestoreConflict { op_seq, fields: Vec::new(), unmet })
        }
        None => Ok(()),
    }
}

/// What follows as for a direct call; status of task and plan never moves back (TASKS-UNDO-2).
fn consequences(
    docs: &Docs,
    operation: &Operation,
    written: &Fields,
) -> Result<Derived, Refusal<Tasks>> {
    let Some((task, step)) = addressed_step(docs, operation)? else { return Ok(derive::nothing()) };
    let opens_step = written.get("completed") == Some(&Value::Bool(false));
    let opens_node =
        operation.node.is_some() && written.get("status").is_some_and(|status| status != "DONE");
    let closes = written.get("completed") == Some(&Value::Bool(true));
    if opens_step || (opens_node && step.is_closed()) {
        derive::step_opens(docs, task, &step.path)
    } else if closes {
        derive::work_begins(docs, task)
    } else {
        Ok(derive::nothing())
    }
}
