//! The newest events of a plan or task, shown oldest first (TASKS-VIEW-5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Documents, EventOrder, EventQuery, Slice, Unloaded,
    tasks::{
        TaskAggregate, TaskEvent,
        id::EntityId,
        wire::{self, EventView},
    },
};

/// A slice of events and how long it could be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Events at most.
    pub limit: u32,
    /// Events, oldest first.
    pub events: Vec<EventView>,
}

impl Timeline {
    /// The newest events of an entity; a plan's include its tasks'.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        id: EntityId,
        limit: u32,
    ) -> Result<Self, Unloaded<TaskAggregate>> {
        let newest = Self::events(docs, id, limit)?;
        let newest = newest.iter().flat_map(|slice| slice.iter());
        Ok(Self { limit, events: newest.rev().filter_map(wire::show).collect() })
    }

    /// The slice of the log, newest first; `None` when nothing is to be shown.
    pub(super) fn events(
        docs: &Documents<TaskAggregate>,
        id: EntityId,
        limit: u32,
    ) -> Result<Option<Slice<TaskEvent>>, Unloaded<TaskAggregate>> {
        if limit == 0 {
            return Ok(None);
        }
        let (entity, scope) = match id {
            EntityId::Task(id) => (Some(id.to_string()), None),
            EntityId::Plan(id) => (None, Some(id.to_string())),
        };
        let order = EventOrder::NewestFirst;
        docs.events(&EventQuery { entity, scope, after: None, order, limit }).map(Some)
    }
}
