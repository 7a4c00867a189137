//! Undo and redo of operations that added steps or a task: what they added goes or comes back as a
//! whole, and only if it was not worked on since.

use serde_json::{Value, json};

use super::{Conflict, Restoring};
use crate::{
    EventChoice, EventQuery, ListOrder, ListQuery,
    tasks::{
        TaskDocument, TaskRejection, TaskResult,
        decide::{claim, derive, entity_ref, reject},
        event::{Derived, EntityRef, Restored},
        history::{AddedParts, OperationState, WithdrawnParts},
        id::EntityId,
        lookup,
    },
};

impl Restoring<'_> {
    pub(super) fn places(&self, added: &AddedParts) -> TaskResult<Restored> {
        let derived = if self.undo {
            self.check_untouched(added)?;
            derive::nothing()
        } else {
            self.coming_back()?
        };
        let steps = added.steps.clone();
        let entities = added.entities().collect();
        Ok(Restored { derived, steps, entities, ..self.event()? })
    }

    /// The plan or task and its revision after the event; also of a task that an undo removed.
    pub(super) fn subject(&self) -> TaskResult<EntityRef> {
        let gone = self.operation.withdrawn.as_ref().and_then(|parts| parts.task.as_ref());
        match gone {
            Some(task) => {
                let revision = task.meta.revision + 1;
                Ok(EntityRef { id: task.id.into(), plan: task.parent, revision })
            }
            None => entity_ref(self.docs, self.operation.entity),
        }
    }

    /// Refuses to remove what others have worked on.
    fn check_untouched(&self, added: &AddedParts) -> TaskResult<()> {
        if let Some(id) = added.task
            && let Some(task) = lookup::find_task(self.docs, id)?
        {
            claim::check(self.env, task)?;
        }
        for id in added.entities() {
            if self.has_later_work(id)? {
                return self.conflict(Conflict::Touched);
            }
        }
        if added.is_untouched(self.docs, self.operation.entity)? {
            return Ok(());
        }
        self.conflict(Conflict::Touched)
    }

    /// Whether an operation after this one has effect on a plan or task.
    fn has_later_work(&self, id: EntityId) -> TaskResult<bool> {
        let states = [OperationState::Final.name(), OperationState::Undoable.name()];
        let query = ListQuery {
            parent: Some(id.to_string()),
            statuses: states.to_vec(),
            order: ListOrder::Descending,
            limit: Some(1),
            ..ListQuery::of("operation")
        };
        let newest = self.docs.list(&query)?.into_iter().next();
        if let Some(TaskDocument::Operation(operation)) = newest
            && operation.seq > self.operation.seq
        {
            return Ok(true);
        }
        let heads = self.docs.events(&EventQuery {
            choice: EventChoice::Intended,
            above: self.operation.seq,
            ..EventQuery::newest_of(id.to_string(), 1)
        })?;
        Ok(!heads.is_empty())
    }

    /// What follows when steps or a task come back.
    fn coming_back(&self) -> TaskResult<Derived> {
        let Some(parts) = self.operation.withdrawn.as_deref() else {
            return reject(TaskRejection::NothingToRestore { undo: self.undo });
        };
        match (self.operation.entity, &parts.task) {
            (_, Some(task)) if parts.plan.is_none() => {
                match lookup::find_plan(self.docs, task.parent)? {
                    Some(plan) => derive::open_task_appears(self.docs, plan),
                    None => {
                        let gone = ("plan".to_owned(), json!(task.parent), Value::Null);
                        self.conflict(Conflict::Fields(vec![gone]))
                    }
                }
            }
            (EntityId::Task(id), None) => self.steps_come_back(id, parts),
            (EntityId::Task(_) | EntityId::Plan(_), _) => Ok(derive::nothing()),
        }
    }

    fn steps_come_back(
        &self,
        id: crate::tasks::id::TaskId,
        parts: &WithdrawnParts,
    ) -> TaskResult<Derived> {
        let task = lookup::task(self.docs, id)?;
        let Some(first) = parts.steps.first() else { return Ok(derive::nothing()) };
        let parent = first.path.parent();
        match &parent {
            Some(path) if task.steps.at(path).is_none() => self.conflict(Conflict::Touched),
            Some(_) | None => derive::steps_appear(self.docs, task, parent.as_ref()),
        }
    }
}
