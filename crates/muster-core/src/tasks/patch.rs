//! Field-wise updates: turns a list of set, unset, append and remove into the one command that does
//! it.

mod field;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    TaskAggregate, TaskCommand, TaskRejection,
    command::{DefineStep, FieldsEdit, NodeTarget, StepTarget},
    event::{EditKind, MetaPatch, OwnPatch},
    history::{Addressed, FieldValues},
    id::EntityId,
    lookup,
    rejection::FieldFault,
    step::{Checkpoint, NodeFields},
};
use crate::{
    WorkRefusal,
    tasks::{TaskDocs, TaskResult},
};
use field::FieldKind;

/// The operation of a patch entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// Give a field a value.
    Set,
    /// Take a field's value away.
    Unset,
    /// Add items to a list.
    Append,
    /// Remove items from a list.
    Remove,
}

/// One operation of a patch.
#[derive(Clone, PartialEq, Debug)]
pub struct PatchStep {
    pub verb: Verb,
    /// The field, by its stored name.
    pub field: String,
    /// The value, where the verb takes one.
    pub value: Option<Value>,
}

/// What a patch is applied to.
#[derive(Clone, PartialEq, Debug)]
pub enum PatchTarget {
    /// A plan or task itself.
    Detail(EntityId),
    Step(StepTarget),
    Node(NodeTarget),
}

/// A resolved patch: what it addresses, how history names it, and the command.
#[derive(Clone, PartialEq, Debug)]
pub struct ResolvedPatch {
    pub addressed: Addressed,
    /// Its name in the history.
    pub intent: &'static str,
    pub command: TaskCommand,
}

impl ResolvedPatch {
    /// Checks every operation, then computes the values after the patch (TASKS-PATCH-1).
    pub fn plan(docs: &TaskDocs, target: &PatchTarget, steps: &[PatchStep]) -> TaskResult<Self> {
        let addressed = addressed(docs, target)?;
        let mut values = addressed.fields(docs)?;
        let mut given: Vec<String> = Vec::new();
        for step in steps {
            let kind = field::kind(target, &step.field).ok_or_else(|| {
                let expected = field::names(target).join(", ");
                fault(&step.field, FieldFault::Unknown, &expected)
            })?;
            let current = values.get(&step.field).cloned().unwrap_or(Value::Null);
            values.insert(step.field.clone(), apply(kind, step, current)?);
            if !given.contains(&step.field) {
                given.push(step.field.clone());
            }
        }
        let changed = Changed { values: &values, given: &given };
        let (intent, command) = match target {
            PatchTarget::Detail(id) => ("task_detail_patch", changed.edit(*id)),
            PatchTarget::Step(step) => ("step_patch", changed.define_step(step)),
            PatchTarget::Node(node) => ("task_node_patch", changed.define_node(node)),
        };
        Ok(Self { addressed, intent, command })
    }
}

/// The command that gives fields of a plan or task these values, which are valid.
#[must_use]
pub fn edit_of(id: EntityId, values: &FieldValues) -> TaskCommand {
    let given: Vec<String> = values.keys().cloned().collect();
    Changed { values, given: &given }.edit(id)
}

/// The same for a step.
#[must_use]
pub fn define_of(step: &StepTarget, values: &FieldValues) -> TaskCommand {
    let given: Vec<String> = values.keys().cloned().collect();
    Changed { values, given: &given }.define_step(step)
}

fn addressed(docs: &TaskDocs, target: &PatchTarget) -> TaskResult<Addressed> {
    match target {
        PatchTarget::Detail(id) => {
            lookup::revision(docs, *id)?;
            Ok(Addressed { entity: *id, path: None, node: None })
        }
        PatchTarget::Step(step) => {
            let (task, step) = lookup::task_and_step(docs, step)?;
            Ok(Addressed { entity: task.id.into(), path: Some(step.path.clone()), node: None })
        }
        PatchTarget::Node(node) => {
            let (task, step, node) = lookup::task_step_and_node(docs, node)?;
            let entity = task.id.into();
            let path = Some(step.path.clone());
            Ok(Addressed { entity, path, node: Some(node.ordinal) })
        }
    }
}

fn fault(field: &str, fault: FieldFault, expected: &str) -> WorkRefusal<TaskAggregate> {
    let field = field.to_owned();
    let expected = expected.to_owned();
    WorkRefusal::rejected(TaskRejection::BadField { field, fault, expected })
}

/// The value of a field after one operation (TASKS-PATCH-2).
fn apply(kind: FieldKind, step: &PatchStep, current: Value) -> TaskResult<Value> {
    let refuse = |why: FieldFault, expected: &str| fault(&step.field, why, expected);
    match (step.verb, &step.value) {
        (Verb::Unset, Some(_)) => Err(refuse(FieldFault::NotAllowed, "no value with unset")),
        (Verb::Unset, None) if !kind.can_be_unset() => {
            Err(refuse(FieldFault::NotAllowed, "set, as this field always has a value"))
        }
        (Verb::Unset, None) => Ok(kind.empty()),
        (Verb::Set | Verb::Append | Verb::Remove, None) => {
            Err(refuse(FieldFault::Missing, "a value"))
        }
        (Verb::Set, Some(value)) => {
            kind.checked(value).map_err(|(why, expected)| refuse(why, &expected))
        }
        (Verb::Append | Verb::Remove, Some(_)) if !kind.is_list() => {
            Err(refuse(FieldFault::NotAllowed, "set or unset, as this field is not a list"))
        }
        (verb, Some(value)) => {
            let items =
                if value.is_array() { value.clone() } else { Value::from(vec![value.clone()]) };
            let items = kind.checked(&items).map_err(|(why, expected)| refuse(why, &expected))?;
            let joined = join(current, items, verb);
            kind.checked(&joined).map_err(|(why, expected)| refuse(why, &expected))
        }
    }
}

/// Append skips items that are present, remove ignores those that are absent.
fn join(current: Value, items: Value, verb: Verb) -> Value {
    let list = |value: Value| match value {
        Value::Array(items) => items,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Vec::new()
        }
    };
    let mut current = list(current);
    let items = list(items);
    if verb == Verb::Remove {
        current.retain(|item| !items.contains(item));
    } else {
        let new: Vec<Value> = items.into_iter().filter(|item| !current.contains(item)).collect();
        current.extend(new);
    }
    Value::Array(current)
}

/// Values after a patch and the fields that it named.
struct Changed<'a> {
    values: &'a FieldValues,
    given: &'a [String],
}

impl Changed<'_> {
    fn take<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        if !self.given.iter().any(|given| given == name) {
            return None;
        }
        let value = self.values.get(name)?.clone();
        let read = serde_json::from_value(value);
        Some(read.unwrap_or_else(|error| unreachable!("{name} was checked: {error}")))
    }

    fn edit(&self, id: EntityId) -> TaskCommand {
        TaskCommand::Edit(FieldsEdit {
            id,
            meta: MetaPatch {
                title: self.take("title"),
                description: self.take("description"),
                context: self.take("context"),
                priority: self.take("priority"),
                tags: self.take("tags"),
                depends_on: self.take("depends_on"),
            },
            own: OwnPatch {
                contract: self.take("contract"),
                contract_data: self.take("contract_data"),
                domain: self.take("domain"),
                phase: self.take("phase"),
                component: self.take("component"),
                assignee: self.take("assignee"),
                checks: self.take("checks"),
            },
            manner: EditKind::Patch(self.given.to_vec()),
        })
    }

    fn define_step(&self, step: &StepTarget) -> TaskCommand {
        let mode = |checkpoint: Checkpoint| {
            let mode = self.take(&format!("proof_{}_mode", checkpoint.name()))?;
            Some((checkpoint, mode))
        };
        let modes: Vec<_> = Checkpoint::PROVABLE.into_iter().filter_map(mode).collect();
        TaskCommand::DefineStep(DefineStep {
            step: step.clone(),
            title: self.take("title"),
            success_criteria: self.take("success_criteria"),
            tests: self.take("tests"),
            blockers: self.take("blockers"),
            proof_modes: (!modes.is_empty()).then_some(modes),
            checks: self.take("checks"),
        })
    }

    fn define_node(&self, node: &NodeTarget) -> TaskCommand {
        let fields = NodeFields {
            title: self.take("title"),
            status: self.take("status"),
            status_manual: self.take("status_manual"),
            priority: self.take("priority"),
            blocked: self.take("blocked"),
            description: self.take("description"),
            context: self.take("context"),
            blockers: self.take("blockers"),
            dependencies: self.take("dependencies"),
            next_steps: self.take("next_steps"),
            problems: self.take("problems"),
            risks: self.take("risks"),
            success_criteria: self.take("success_criteria"),
        };
        TaskCommand::DefineNode { node: node.clone(), fields, given: self.given.to_vec() }
    }
}
