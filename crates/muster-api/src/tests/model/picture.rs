//! The reference in the words of the views.

use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Map, Value, json};

use super::{
    play::WORKSPACE,
    reference::{
        CHECKPOINTS, Entity, Fields, Node, Operation, Path, Reference, State, Step, node_id,
        path_text, step_id,
    },
};

/// Compares a plan or task as `tasks_resume` shows it.
pub(super) fn compare(state: &Reference, id: &str, shown: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(without_times(&shown["target"]), target(state, id));
    let entity = &state.entities[id];
    if entity.parent.is_none() {
        return Ok(());
    }
    let steps = entity.steps.iter();
    let steps: Vec<Value> =
        steps.map(|(path, step)| of_step(path, step, entity.revision)).collect();
    let steps_shown: Vec<Value> =
        shown["steps"].as_array().into_iter().flatten().map(without_times).collect();
    prop_assert_eq!(steps_shown.len(), steps.len());
    for (shown, expected) in steps_shown.iter().zip(&steps) {
        prop_assert_eq!(shown, expected);
    }
    let summary = &shown["steps_summary"];
    let count = |test: &dyn Fn(&Step) -> bool| entity.steps.values().filter(|s| test(s)).count();
    prop_assert_eq!(&summary["total"], &json!(entity.steps.len()));
    prop_assert_eq!(&summary["completed"], &json!(count(&Step::is_closed)));
    prop_assert_eq!(&summary["forced"], &json!(count(&|step| !step.fields["waiver"].is_null())));
    let first = entity.first_open().map(|path| json!(path_text(&path)));
    let first_shown = summary["first_open"].get("path").cloned();
    prop_assert_eq!(first_shown, first);
    Ok(())
}

/// Sorted by name and without the moments of creation and change.
fn without_times(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(name, _)| !["created_at_ms", "updated_at_ms"].contains(&name.as_str()));
            let mut kept: Vec<(String, Value)> =
                kept.map(|(name, value)| (name.clone(), without_times(value))).collect();
            kept.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(kept.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(without_times).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn percent(part: usize, whole: usize) -> usize {
    (100 * part).checked_div(whole).unwrap_or(0)
}

fn target(state: &Reference, id: &str) -> Value {
    let entity: &Entity = &state.entities[id];
    let mut shown: Map<String, Value> = entity.fields.clone().into_iter().collect();
    let waiting_on = state.waiting_on(id);
    let progress = match &entity.parent {
        Some(parent) => {
            shown.insert("parent".to_owned(), json!(parent));
            let closed = entity.steps.values().filter(|step| step.is_closed()).count();
            percent(closed, entity.steps.len())
        }
        None => {
            let points = entity.points.len();
            let checklist =
                json!({"doc": entity.doc, "current": entity.current, "steps": entity.points});
            shown.insert("checklist".to_owned(), checklist);
            shown.insert("plan_progress".to_owned(), json!(format!("{}/{points}", entity.current)));
            let tasks = state.tasks_of(id);
            let done = tasks.iter().filter(|task| state.entities[*task].is_done()).count();
            percent(done, tasks.len())
        }
    };
    let kind = if entity.parent.is_some() { "task" } else { "plan" };
    let more = json!({
        "id": id, "qualified_id": format!("{WORKSPACE}:{id}"), "kind": kind,
        "revision": entity.revision, "status": entity.status, "waiting": !waiting_on.is_empty(),
        "waiting_on": waiting_on, "progress": progress,
    });
    shown.extend(more.as_object().cloned().unwrap_or_default());
    without_times(&Value::Object(shown))
}

fn of_step(path: &Path, step: &Step, revision: u64) -> Value {
    let mut shown: Map<String, Value> = step.fields.clone().into_iter().collect();
    let settled = step.unconfirmed(&[]).is_empty() && step.unproven().is_empty();
    if let Some(Value::Object(waiver)) = shown.get_mut("waiver") {
        waiver.insert("settled".to_owned(), json!(settled));
    }
    for checkpoint in &CHECKPOINTS[1..] {
        let present = step.proven.contains(*checkpoint);
        shown.insert(format!("proof_{checkpoint}_present"), json!(present));
    }
    for checkpoint in &CHECKPOINTS[2..] {
        shown.insert(format!("require_{checkpoint}"), json!(step.requires(checkpoint)));
    }
    let nodes = step.nodes.iter().map(|(at, node)| of_node(path, *at, node));
    let more = json!({
        "step_id": step_id(step.id), "path": path_text(path), "revision": revision,
        "forced": !step.fields["waiver"].is_null(), "notes_count": step.notes,
        "evidence_count": step.evidence.len(), "nodes": nodes.collect::<Vec<_>>(),
    });
    shown.extend(more.as_object().cloned().unwrap_or_default());
    let confirmations = confirmations(step);
    if !confirmations.is_empty() {
        shown.insert("confirmations".to_owned(), json!(confirmations));
    }
    if step.is_closed() {
        let look = if !step.evidence.is_empty() { "evidence" } else { "claimed" };
        shown.insert("look".to_owned(), json!(look));
    }
    without_times(&Value::Object(shown))
}

/// Criteria and tests are only confirmed as a whole here.
fn confirmations(step: &Step) -> Vec<Value> {
    let lists = [("criteria", "success_criteria"), ("tests", "tests")];
    let confirmed = lists.into_iter().filter(|(checkpoint, list)| {
        step.fields[&format!("{checkpoint}_confirmed")] == json!(true)
            && step.fields[*list] != json!([])
    });
    confirmed.map(|(checkpoint, _)| json!({"checkpoint": checkpoint, "bulk": true})).collect()
}

fn of_node(path: &Path, at: u32, node: &Node) -> Value {
    let mut shown: Map<String, Value> = node.fields.clone().into_iter().collect();
    shown.insert("node_id".to_owned(), json!(node_id(node.id)));
    shown.insert("path".to_owned(), json!(format!("{}.t:{at}", path_text(path))));
    Value::Object(shown)
}

/// Compares the whole history, newest first.
pub(super) fn compare_history(state: &Reference, shown: &Value) -> Result<(), TestCaseError> {
    let shown: Vec<Value> =
        shown["operations"].as_array().into_iter().flatten().map(comparable).collect();
    let expected: Vec<Value> = state.history.iter().rev().map(of_operation).collect();
    prop_assert_eq!(shown, expected);
    Ok(())
}

/// The parts of an entry that the rules fix.
fn comparable(entry: &Value) -> Value {
    let mut derived: Vec<Value> =
        entry["derived"].as_array().into_iter().flatten().map(without_times).collect();
    derived.sort_by_key(Value::to_string);
    json!({
        "task": entry["task"], "intent": entry["intent"], "undoable": entry["undoable"],
        "undone": entry["undone"], "before": plain(&entry["before"]),
        "after": plain(&entry["after"]), "derived": derived,
    })
}

/// A waiver counts by its presence.
fn plain(fields: &Value) -> Value {
    let mut fields = without_times(fields);
    if let Some(waiver) = fields.get_mut("waiver") {
        *waiver = json!(!waiver.is_null());
    }
    fields
}

fn of_operation(operation: &Operation) -> Value {
    let fields = |pick: &dyn Fn(&super::reference::Change) -> Fields| {
        let Some(change) = &operation.change else { return Value::Null };
        let mut fields = pick(change);
        if let Some(waiver) = fields.get("waiver") {
            fields.insert("forced".to_owned(), json!(!waiver.is_null()));
        }
        json!(fields)
    };
    comparable(&json!({
        "task": operation.place.entity, "intent": operation.intent,
        "undoable": operation.change.is_some(),
        "undone": matches!(operation.state, State::Redoable | State::Undone),
        "before": fields(&|change| {
            let added = change.added.fields().into_keys().map(|name| (name, Value::Null));
            change.before.clone().into_iter().chain(added).collect()
        }),
        "after": fields(&|change| {
            change.after.clone().into_iter().chain(change.added.fields()).collect()
        }),
        "derived": operation.change.as_ref().map(|c| c.derived.clone()).unwrap_or_default(),
    }))
}
