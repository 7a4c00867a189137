//! The history of operations, for undo and redo.

mod added;
mod page;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use added::{AddedParts, WithdrawnParts};
pub use page::{OperationsQuery, newest_first};

use super::{
    TaskEvent, entity::TaskStatus, event::StepDone, fields, id::EntityId, lookup, path::StepPath,
    wire,
};
use crate::{
    Author, CallFacts, ConnectionId, Recorded, Timestamp,
    tasks::{TaskDocs, TaskResult},
};

/// Values of fields by name.
pub type FieldValues = BTreeMap<String, Value>;

/// One accepted mutation of a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HistoryOperation {
    /// The plan or task.
    pub entity: EntityId,
    /// Step that was addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<StepPath>,
    /// Ordinal of the node that was addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    pub intent: String,
    /// The undoable change; `None` when it cannot be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<OperationChange>,
    #[serde(default)]
    pub state: OperationState,
    /// Position; zero until it is recorded.
    #[serde(default)]
    pub seq: u64,
    /// When it was accepted.
    #[serde(default)]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// The connection it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionId>,
    /// Position of the last undo of it.
    #[serde(default)]
    pub undone_at: u64,
    /// What the last undo has taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Box<WithdrawnParts>>,
}

impl HistoryOperation {
    /// The operation that an event heads. One that can never be undone is only that: what its
    /// caller asked for, and the first event that it made of the plan or task.
    pub fn headed_by(recorded: &Recorded<TaskEvent>) -> Option<Self> {
        let intent = recorded.intent.as_deref()?;
        let addressed = Addressed::in_event(&recorded.event)?;
        let by = recorded.by.as_deref().cloned();
        Some(Self { seq: recorded.global, at: recorded.at, by, ..addressed.plain(intent) })
    }

    /// The same as this version writes it: earlier ones kept withdrawn totals and notes on steps as
    /// parts of their own.
    pub(super) fn in_current_form(mut self) -> Self {
        if let Some(withdrawn) = &mut self.withdrawn {
            withdrawn.bring_up_to_date();
        }
        self
    }

    /// What it was about.
    pub fn addressed(&self) -> Addressed {
        Addressed { entity: self.entity, path: self.path.clone(), node: self.node }
    }

    /// Whether the caller did it.
    pub fn is_of(&self, call: &CallFacts) -> bool {
        call.comes_from(self.by.as_ref(), self.connection.as_ref())
    }

    /// Whether it has effect: it was not undone.
    pub fn is_in_effect(&self) -> bool {
        match self.state {
            OperationState::Final | OperationState::Undoable => true,
            OperationState::Redoable | OperationState::Undone => false,
        }
    }
}

/// What an undoable operation changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OperationChange {
    /// Changed fields before.
    pub before: FieldValues,
    /// Changed fields after.
    pub after: FieldValues,
    /// Changes on other entities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedChange>,
    /// Whether it closed a step by force.
    #[serde(default)]
    pub forced: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<Box<AddedParts>>,
}

/// A derived change of another entity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DerivedChange {
    /// Plan or task.
    pub id: EntityId,
    pub path: Option<StepPath>,
    pub field: String,
    pub before: Value,
    pub after: Value,
}

/// The place of an operation on the stacks of undo and redo.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// It cannot be undone.
    #[default]
    Final,
    /// It can be undone.
    Undoable,
    /// It was undone and can be redone.
    Redoable,
    /// It was undone, and new work prevents a redo.
    Undone,
}

impl OperationState {
    /// The word in the list column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Undoable => "undoable",
            Self::Redoable => "redoable",
            Self::Undone => "undone",
        }
    }
}

/// The part of a plan, task or step tree that an operation addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addressed {
    /// The plan or task.
    pub entity: EntityId,
    pub path: Option<StepPath>,
    /// Ordinal of the node inside the step, if it is one.
    pub node: Option<u32>,
}

impl Addressed {
    /// What a public event changed; notes, cards, claims, undo and redo are not operations of their
    /// own.
    pub fn in_event(event: &TaskEvent) -> Option<Self> {
        let aside = matches!(
            event,
            TaskEvent::CardsCommitted(_)
                | TaskEvent::NoteCommitted(_)
                | TaskEvent::Restored(_)
                | TaskEvent::ClaimSet(_)
        );
        let (entity, _) = wire::subject(event).filter(|_| !aside)?;
        let path = event.step().map(|step| step.path.clone());
        Some(Self { entity, path, node: None })
    }

    pub fn fields(&self, docs: &TaskDocs) -> TaskResult<FieldValues> {
        match (self.entity, &self.path) {
            (EntityId::Plan(id), _) => Ok(fields::of_plan(lookup::plan(docs, id)?)),
            (EntityId::Task(id), None) => Ok(fields::of_task(lookup::task(docs, id)?)),
            (EntityId::Task(id), Some(path)) => {
                let step = lookup::task(docs, id)?.steps.at(path);
                let nodes = step.map(|step| step.nodes.as_slice()).unwrap_or_default();
                Ok(match self.node {
                    Some(at) => nodes.iter().find(|node| node.ordinal == at).map(fields::of_node),
                    None => step.map(fields::of_step),
                }
                .unwrap_or_default())
            }
        }
    }

    /// The undoable operation that led from `before` to the current state.
    pub fn operation(
        &self,
        docs: &TaskDocs,
        intent: &str,
        before: &FieldValues,
        events: &[Recorded<TaskEvent>],
    ) -> TaskResult<HistoryOperation> {
        let added = AddedParts::of(docs, self.entity, events)?;
        // What a new step does to the task, its status above all, is a consequence.
        let adds_places = added.as_ref().is_some_and(AddedParts::has_places);
        let now = if adds_places { FieldValues::new() } else { self.fields(docs)? };
        let (before, after) = fields::difference(before, &now);
        let forced = |recorded: &Recorded<TaskEvent>| {
            let waiver = |done: &StepDone| done.waiver.is_some();
            matches!(&recorded.event, TaskEvent::StepDone(done) if waiver(done))
        };
        let change = OperationChange {
            before,
            after,
            derived: events.iter().flat_map(|recorded| self.derived(&recorded.event)).collect(),
            forced: events.iter().any(forced),
            added: added.map(Box::new),
        };
        Ok(HistoryOperation { change: Some(change), ..self.plain(intent) })
    }

    /// The undoable operation that created the task.
    pub fn creation(
        &self,
        docs: &TaskDocs,
        intent: &str,
        focus_before: Option<EntityId>,
        events: &[Recorded<TaskEvent>],
    ) -> TaskResult<HistoryOperation> {
        let added = AddedParts::of(docs, self.entity, events)?;
        let change = OperationChange {
            before: FieldValues::new(),
            after: FieldValues::new(),
            derived: events.iter().flat_map(|recorded| self.derived(&recorded.event)).collect(),
            forced: false,
            added: added.map(|added| Box::new(AddedParts { focus_before, ..added })),
        };
        Ok(HistoryOperation { change: Some(change), ..self.plain(intent) })
    }

    /// An operation that cannot be undone.
    pub fn plain(&self, intent: &str) -> HistoryOperation {
        HistoryOperation {
            entity: self.entity,
            path: self.path.clone(),
            node: self.node,
            intent: intent.to_owned(),
            change: None,
            state: OperationState::Final,
            seq: 0,
            at: Timestamp::default(),
            by: None,
            connection: None,
            undone_at: 0,
            withdrawn: None,
        }
    }

    /// Changes of other steps, of the task's status and of the plan's status (TASKS-HIST-2).
    fn derived(&self, event: &TaskEvent) -> Vec<DerivedChange> {
        let Some(derived) = event.derived() else { return Vec::new() };
        let mut changes = Vec::new();
        let others = derived.reopened.iter();
        for path in others.filter(|path| self.node.is_some() || Some(*path) != self.path.as_ref()) {
            changes.push(DerivedChange {
                id: self.entity,
                path: Some(path.clone()),
                field: "completed".to_owned(),
                before: json!(true),
                after: json!(false),
            });
        }
        let status = |id: EntityId, before: TaskStatus, after: TaskStatus| DerivedChange {
            id,
            path: None,
            field: "status".to_owned(),
            before: json!(before),
            after: json!(after),
        };
        changes.extend(derived.status.map(|moved| status(self.entity, moved.from, moved.to)));
        changes.extend(derived.plan.map(|plan| status(plan.id.into(), plan.from, plan.to)));
        changes
    }
}
