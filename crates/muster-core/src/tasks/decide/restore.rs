//! Undo and redo: writing back exactly the fields an operation changed (TASKS-UNDO), together with
//! what it added.

mod added;
mod conflict;
mod gates;

use serde_json::{Value, json};

use super::{
    Decision, derive, edit,
    moving::waits_for,
    reject,
    step::{keeps_checks, weakening},
    waiver::person_only,
};
use crate::{
    Env,
    json::field,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskKey, TaskRejection, TaskResult,
        check_gate::ProjectGate,
        entity::{Task, TaskStatus},
        event::{Derived, Restored},
        fields,
        history::{FieldValues, HistoryOperation, OperationChange},
        id::{EntityId, PlanId},
        lookup,
        rejection::PersonalAct,
        step::{Checkpoint, Step},
    },
};
use conflict::Conflict;

/// One undo or redo.
struct Restoring<'a> {
    docs: &'a TaskDocs,
    env: &'a Env,
    operation: &'a HistoryOperation,
    change: &'a OperationChange,
    undo: bool,
}

pub(super) fn restore(docs: &TaskDocs, env: &Env, op_seq: u64, undo: bool) -> Decision {
    let Some(TaskDocument::Operation(operation)) = docs.get(&TaskKey::Operation(op_seq))? else {
        return reject(TaskRejection::NothingToRestore { undo });
    };
    let Some(change) = &operation.change else {
        return reject(TaskRejection::NothingToRestore { undo });
    };
    let restoring = Restoring { docs, env, operation, change, undo };
    let event = match &change.added {
        Some(added) if added.has_places() => restoring.places(added)?,
        Some(_) | None => restoring.fields()?,
    };
    Ok(vec![TaskEvent::Restored(event)])
}

impl Restoring<'_> {
    /// Writes fields back if they are as the operation left them.
    fn fields(&self) -> TaskResult<Restored> {
        let Self { docs, operation, change, undo, .. } = self;
        let (found, written) =
            if *undo { (&change.after, &change.before) } else { (&change.before, &change.after) };
        let conflicts = differing(&operation.addressed().fields(docs)?, found);
        if !conflicts.is_empty() {
            return self.conflict(Conflict::Fields(conflicts));
        }
        self.check_circle(written)?;
        self.check_plan(written)?;
        self.check_block(written)?;
        let mut written = self.with_taken_back(written)?;
        self.check_weakening(&written)?;
        self.check_closing(&mut written)?;
        self.check_completion(&written)?;
        let derived = self.consequences(&written)?;
        Ok(Restored { fields: written, derived, ..self.event()? })
    }

    /// The event without fields and consequences.
    fn event(&self) -> TaskResult<Restored> {
        let operation = self.operation;
        Ok(Restored {
            subject: self.subject()?,
            op_seq: operation.seq,
            intent: operation.intent.clone(),
            undo: self.undo,
            path: operation.path.clone(),
            node: operation.node,
            fields: FieldValues::new(),
            derived: derive::nothing(),
            steps: Vec::new(),
            entities: Vec::new(),
        })
    }

    /// The step that the operation addressed, unless it addressed a node of it.
    fn step(&self) -> TaskResult<Option<(&Task, &Step)>> {
        if self.operation.node.is_some() { Ok(None) } else { self.step_of_node() }
    }

    fn step_of_node(&self) -> TaskResult<Option<(&Task, &Step)>> {
        let (EntityId::Task(id), Some(path)) = (self.operation.entity, &self.operation.path) else {
            return Ok(None);
        };
        let task = lookup::task(self.docs, id)?;
        Ok(task.steps.at(path).map(|step| (task, step)))
    }

    /// Dependencies of others may have changed since; they must not form a cycle (TASKS-EDIT-3).
    fn check_circle(&self, written: &FieldValues) -> TaskResult<()> {
        let Self { docs, operation, .. } = self;
        let mut depends_on: Vec<EntityId> = Vec::new();
        fields::read(written, "depends_on", &mut depends_on);
        let added = edit::added(docs, operation.entity, &depends_on)?;
        if edit::leading_back(docs, operation.entity, &added)?.is_none() {
            return Ok(());
        }
        let field = "depends_on";
        let value = |fields: &FieldValues| fields.get(field).cloned().unwrap_or_default();
        let now = operation.addressed().fields(docs)?;
        self.conflict(Conflict::Fields(vec![(field.to_owned(), value(written), value(&now))]))
    }

    /// A task can go back to a plan that exists and that it does not wait for.
    fn check_plan(&self, written: &FieldValues) -> TaskResult<()> {
        let Some((task, to)) = self.plan(written)? else { return Ok(()) };
        if lookup::find_plan(self.docs, to)?.is_some() && !waits_for(self.docs, task.id, to)? {
            return Ok(());
        }
        let conflict = ("plan".to_owned(), json!(to), json!(task.parent));
        self.conflict(Conflict::Fields(vec![conflict]))
    }

    /// The task and the plan that it goes back to.
    fn plan(&self, written: &FieldValues) -> TaskResult<Option<(&Task, PlanId)>> {
        let (EntityId::Task(id), None) = (self.operation.entity, &self.operation.path) else {
            return Ok(None);
        };
        let mut plan = None;
        fields::read(written, "plan", &mut plan);
        let Some(plan) = plan else { return Ok(None) };
        Ok(Some((lookup::task(self.docs, id)?, plan)))
    }

    /// A closed step is not blocked (TASKS-BLOCK-1), unless it was closed by force despite a block.
    fn check_block(&self, written: &FieldValues) -> TaskResult<()> {
        let blocks = written.get("blocked") == Some(&Value::Bool(true));
        match self.step()? {
            Some((_, step)) if blocks && step.is_closed() && !step.was_closed_blocked() => {
                let [expected, actual] = [false, true].map(Value::Bool);
                let completed = ("completed".to_owned(), expected, actual);
                self.conflict(Conflict::Fields(vec![completed]))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// TASKS-STATE-7, as for a direct call: changed criteria or tests revoke confirmations that
    /// were given for the old ones.
    fn with_taken_back(&self, written: &FieldValues) -> TaskResult<FieldValues> {
        let mut written = written.clone();
        let Some((_, step)) = self.step()? else { return Ok(written) };
        let mut items = step.items.clone();
        for checkpoint in Checkpoint::GATE {
            let list = match checkpoint {
                Checkpoint::Criteria => "success_criteria",
                Checkpoint::Tests | Checkpoint::Security | Checkpoint::Perf | Checkpoint::Docs => {
                    checkpoint.name()
                }
            };
            let now = serde_json::json!(step.list_of(checkpoint));
            if written.get(list).is_none_or(|value| *value == now) {
                continue;
            }
            items.retain(|item| item.checkpoint != checkpoint);
            if step.confirmed.contains(&checkpoint) {
                let confirmed = format!("{}_confirmed", checkpoint.name());
                written.entry(confirmed).or_insert(Value::Bool(false));
            }
        }
        let (items_field, value) = field("items", &items);
        if items != step.items {
            written.entry(items_field).or_insert(value);
        }
        if step.block.as_ref().is_some_and(|block| block.by_person) {
            written.entry("block_by_person".to_owned()).or_insert(Value::Bool(true));
        }
        Ok(written)
    }

    /// Undo and redo weaken a step as little as a direct call may: only a person takes a check off
    /// or, under the stricter rules of a project, asks for less or lifts a person's block.
    fn check_weakening(&self, written: &FieldValues) -> TaskResult<()> {
        let call = &self.env.call;
        let mut checks: Option<Vec<String>> = None;
        fields::read(written, "checks", &mut checks);
        if let (EntityId::Task(id), None) = (self.operation.entity, &self.operation.path) {
            return keeps_checks(
                call,
                None,
                &lookup::task(self.docs, id)?.checks,
                checks.as_deref(),
            );
        }
        let Some((_, step)) = self.step()? else { return Ok(()) };
        keeps_checks(call, Some(&step.path), &step.checks, checks.as_deref())?;
        let mut then = step.clone();
        fields::write_step(&mut then, written);
        weakening(self.docs, call, step, &then)?;
        let is_personal = step.block.as_ref().is_some_and(|block| block.by_person);
        if is_personal && then.block != step.block && ProjectGate::of(self.docs, call)?.is_strict()
        {
            person_only(call, || PersonalAct::LiftBlock { path: step.path.clone() })?;
        }
        Ok(())
    }

    /// Consequences as for a direct call; status of task and plan never moves back (TASKS-UNDO-2).
    fn consequences(&self, written: &FieldValues) -> TaskResult<Derived> {
        if let Some((task, to)) = self.status(written)? {
            return derive::plan_follows(self.docs, task, to);
        }
        if let Some((task, to)) = self.plan(written)? {
            return derive::task_appears(self.docs, task, lookup::plan(self.docs, to)?);
        }
        let Some((task, step)) = self.step_of_node()? else { return Ok(derive::nothing()) };
        let writes = |value: bool| written.get("completed") == Some(&Value::Bool(value));
        let changes_lists =
            written.contains_key("success_criteria") || written.contains_key("tests");
        let opens = match self.operation.node {
            Some(_) => written.get("status").is_some_and(|status| status != "DONE"),
            None => changes_lists && !writes(true),
        };
        if writes(false) || (opens && step.is_closed()) {
            let mut derived = derive::step_opens(self.docs, task, &step.path)?;
            if writes(false) {
                // TASKS-STATE-6: what was requested is not a consequence of itself.
                derived.reopened.retain(|path| *path != step.path);
            }
            Ok(derived)
        } else if writes(true) {
            derive::work_begins(self.docs, task)
        } else {
            Ok(derive::nothing())
        }
    }

    /// The status that the task itself gets.
    fn status(&self, written: &FieldValues) -> TaskResult<Option<(&Task, TaskStatus)>> {
        let (EntityId::Task(id), None) = (self.operation.entity, &self.operation.path) else {
            return Ok(None);
        };
        if !written.contains_key("status") {
            return Ok(None);
        }
        let task = lookup::task(self.docs, id)?;
        let mut to = task.meta.status;
        fields::read(written, "status", &mut to);
        Ok(Some((task, to)))
    }
}

fn differing(current: &FieldValues, expected: &FieldValues) -> Vec<(String, Value, Value)> {
    let differs = |(name, value): (&String, &Value)| {
        let actual = current.get(name).cloned().unwrap_or(Value::Null);
        (!fields::are_same(name, &actual, value)).then(|| (name.clone(), value.clone(), actual))
    };
    expected.iter().filter_map(differs).collect()
}
