//! Fields of plans, tasks, steps and nodes by name, for history: what changed, and writing it back.

use std::collections::BTreeMap;

use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    entity::{Meta, Plan, Task},
    history::FieldValues,
    step::{Checkpoint, Step, StepBlock, StepNode, Waiver},
    view::step_object::WaiverObject,
};
use crate::json::field;

/// Patchable fields of a plan.
pub fn of_plan(plan: &Plan) -> FieldValues {
    let mut fields = of_meta(&plan.meta);
    fields.extend([field("contract", &plan.contract), field("contract_data", &plan.contract_data)]);
    fields
}

/// Patchable fields of a task.
pub fn of_task(task: &Task) -> FieldValues {
    let mut fields = of_meta(&task.meta);
    fields.extend([
        field("domain", &task.domain),
        field("phase", &task.phase),
        field("component", &task.component),
        field("assignee", &task.assignee),
        field("checks", &task.checks),
        field("status", &task.meta.status),
        field("plan", &task.parent),
    ]);
    fields
}

fn of_meta(meta: &Meta) -> FieldValues {
    BTreeMap::from([
        field("title", &meta.title),
        field("description", &meta.description),
        field("context", &meta.context),
        field("priority", &meta.priority),
        field("tags", &meta.tags),
        field("depends_on", &meta.depends_on),
    ])
}

/// Fields that only undo and redo use; no view shows them.
const HIDDEN: [&str; 5] = ["block_by_person", "closed_by", "items", "proofs", "unproven_stop"];

/// How the field ends that says who or what confirmed a checkpoint; no view shows it either.
const SOURCE_FIELD: &str = "_confirmed_by";

/// Whether views show a field.
pub(super) fn is_shown(name: &str) -> bool {
    !HIDDEN.contains(&name) && !name.ends_with(SOURCE_FIELD)
}

/// Fields of a step that operations change, its gate included.
pub fn of_step(step: &Step) -> FieldValues {
    let mut fields = BTreeMap::from([
        field("title", &step.title),
        field("success_criteria", &step.success_criteria),
        field("tests", &step.tests),
        field("blockers", &step.blockers),
        field("completed", &step.is_closed()),
        field("completed_at_ms", &step.completed_at),
        field("forced", &step.waiver.is_some()),
        field("waiver", &WaiverObject::of_step(step)),
        field("blocked", &step.block.is_some()),
        field("block_reason", &step.block.as_ref().and_then(|block| block.reason.as_ref())),
        field("block_by_person", &step.block.as_ref().is_some_and(|block| block.by_person)),
        field("checks", &step.checks),
        field("closed_by", &step.closed_by),
        field("items", &step.items),
        field("proofs", &step.proofs),
        field("unproven_stop", &step.unproven_stop),
    ]);
    for checkpoint in Checkpoint::ALL {
        let confirmed = step.confirmed.contains(&checkpoint);
        let source = step.confirmed_by.get(&checkpoint);
        let name = checkpoint.name();
        fields.extend([
            field(&format!("{name}_confirmed"), &confirmed),
            field(&format!("{name}{SOURCE_FIELD}"), &source),
        ]);
    }
    for checkpoint in Checkpoint::PROVABLE {
        let mode = step.proof_modes.get(checkpoint);
        fields.extend([field(&format!("proof_{}_mode", checkpoint.name()), &mode)]);
    }
    fields
}

pub fn of_node(node: &StepNode) -> FieldValues {
    BTreeMap::from([
        field("title", &node.title),
        field("status", &node.status),
        field("status_manual", &node.status_manual),
        field("priority", &node.priority),
        field("blocked", &node.blocked),
        field("description", &node.description),
        field("context", &node.context),
        field("blockers", &node.lists.blockers),
        field("dependencies", &node.lists.dependencies),
        field("next_steps", &node.lists.next_steps),
        field("problems", &node.lists.problems),
        field("risks", &node.lists.risks),
        field("success_criteria", &node.lists.success_criteria),
    ])
}

/// Whether two values of a field are equal. A waiver is, whether or not it was settled since.
pub(super) fn are_same(name: &str, one: &Value, other: &Value) -> bool {
    if name != "waiver" {
        return one == other;
    }
    let waiver = |value: &Value| Option::<Waiver>::deserialize(value).ok();
    one == other || waiver(one).is_some_and(|one| Some(one) == waiver(other))
}

/// The fields that views show, as they show them: operations of earlier versions hold a waiver in
/// its stored form and do not note that a closing was forced.
pub fn shown(stored: &FieldValues) -> FieldValues {
    let mut shown = stored.clone();
    shown.retain(|name, _| is_shown(name));
    let Some(stored) = stored.get("waiver") else { return shown };
    let waiver = Option::<Waiver>::deserialize(stored).ok().flatten();
    shown.extend([field("forced", &waiver.is_some())]);
    if let (Some(waiver), None) = (&waiver, stored.get("settled")) {
        shown.extend([field("waiver", &WaiverObject::when_given(waiver))]);
    }
    shown
}

/// The fields that differ, before and after.
pub fn difference(before: &FieldValues, after: &FieldValues) -> (FieldValues, FieldValues) {
    let changed = |(name, value): &(&String, &Value)| {
        !before.get(*name).is_some_and(|before| are_same(name, before, value))
    };
    let names: Vec<&String> = after.iter().filter(changed).map(|(name, _)| name).collect();
    let pick = |fields: &FieldValues| -> FieldValues {
        names
            .iter()
            .filter_map(|name| Some(((*name).clone(), fields.get(*name)?.clone())))
            .collect()
    };
    (pick(before), pick(after))
}

/// Writes fields of a step back.
pub(super) fn write_step(step: &mut Step, fields: &FieldValues) {
    read(fields, "title", &mut step.title);
    read(fields, "success_criteria", &mut step.success_criteria);
    read(fields, "tests", &mut step.tests);
    read(fields, "blockers", &mut step.blockers);
    read(fields, "completed_at_ms", &mut step.completed_at);
    read(fields, "waiver", &mut step.waiver);
    read(fields, "checks", &mut step.checks);
    read(fields, "closed_by", &mut step.closed_by);
    read(fields, "items", &mut step.items);
    read(fields, "proofs", &mut step.proofs);
    read(fields, "unproven_stop", &mut step.unproven_stop);
    let mut blocked = step.block.is_some();
    let mut reason = step.block.take().and_then(|block| block.reason);
    // Events of earlier versions do not say who had set the block.
    let mut by_person = false;
    read(fields, "blocked", &mut blocked);
    read(fields, "block_reason", &mut reason);
    read(fields, "block_by_person", &mut by_person);
    step.block = blocked.then_some(StepBlock { reason, by_person });
    for checkpoint in Checkpoint::ALL {
        match fields.get(&format!("{}_confirmed", checkpoint.name())) {
            Some(Value::Bool(true)) => {
                step.confirmed.insert(checkpoint);
            }
            Some(_) => {
                step.confirmed.remove(&checkpoint);
            }
            None => {}
        }
        let mut source = step.confirmed_by.remove(&checkpoint);
        read(fields, &format!("{}{SOURCE_FIELD}", checkpoint.name()), &mut source);
        let source = source.filter(|_| step.confirmed.contains(&checkpoint));
        step.confirmed_by.extend(source.map(|source| (checkpoint, source)));
        let mut mode = step.proof_modes.get(checkpoint);
        read(fields, &format!("proof_{}_mode", checkpoint.name()), &mut mode);
        step.proof_modes.set(checkpoint, mode);
    }
}

/// Writes fields of a node back.
pub(super) fn write_node(node: &mut StepNode, fields: &FieldValues) {
    read(fields, "title", &mut node.title);
    read(fields, "status", &mut node.status);
    read(fields, "status_manual", &mut node.status_manual);
    read(fields, "priority", &mut node.priority);
    read(fields, "blocked", &mut node.blocked);
    read(fields, "description", &mut node.description);
    read(fields, "context", &mut node.context);
    read(fields, "blockers", &mut node.lists.blockers);
    read(fields, "dependencies", &mut node.lists.dependencies);
    read(fields, "next_steps", &mut node.lists.next_steps);
    read(fields, "problems", &mut node.lists.problems);
    read(fields, "risks", &mut node.lists.risks);
    read(fields, "success_criteria", &mut node.lists.success_criteria);
}

/// Writes fields of a task back; dependencies and the plan are up to the caller.
pub(super) fn write_task(task: &mut Task, fields: &FieldValues) {
    write_meta(&mut task.meta, fields);
    read(fields, "domain", &mut task.domain);
    read(fields, "phase", &mut task.phase);
    read(fields, "component", &mut task.component);
    read(fields, "assignee", &mut task.assignee);
    read(fields, "checks", &mut task.checks);
    read(fields, "status", &mut task.meta.status);
}

/// Writes fields of a plan back; dependencies are linked by the caller.
pub(super) fn write_plan(plan: &mut Plan, fields: &FieldValues) {
    write_meta(&mut plan.meta, fields);
    read(fields, "contract", &mut plan.contract);
    read(fields, "contract_data", &mut plan.contract_data);
}

fn write_meta(meta: &mut super::entity::Meta, fields: &FieldValues) {
    read(fields, "title", &mut meta.title);
    read(fields, "description", &mut meta.description);
    read(fields, "context", &mut meta.context);
    read(fields, "priority", &mut meta.priority);
    read(fields, "tags", &mut meta.tags);
    read(fields, "depends_on", &mut meta.depends_on);
}

/// Sets a value from the field of that name, if it is there.
pub(super) fn read<T: DeserializeOwned + Serialize>(
    fields: &FieldValues,
    name: &str,
    slot: &mut T,
) {
    let Some(value) = fields.get(name) else { return };
    match serde_json::from_value(value.clone()) {
        Ok(read) => *slot = read,
        Err(error) => unreachable!("{name} was written by this room: {error}"),
    }
}
