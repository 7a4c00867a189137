//! The newest events of a plan or task, shown oldest first (TASKS-VIEW-5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    EventOrder, EventQuery, Slice,
    tasks::{
        TaskDocs, TaskEvent, TaskLookup,
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
    pub fn of(docs: &TaskDocs, id: EntityId, limit: u32) -> TaskLookup<Self> {
        let newest = Self::events(docs, id, limit)?;
        let newest = newest.iter().flat_map(|slice| slice.iter());
        Ok(Self { limit, events: newest.rev().filter_map(wire::show).collect() })
    }

    /// The slice of the log, newest first; `None` when nothing is to be shown.
    pub(super) fn events(
        docs: &TaskDocs,
        id: EntityId,
        limit: u32,
    ) -> TaskLookup<Option<Slice<TaskEvent>>> {
        if limit == 0 {
            return Ok(None);
        }
        let (entity, scope) = match id {
            EntityId::Task(id) => (Some(id.to_string()), None),
            EntityId::Plan(id) => (None, Some(id.to_string())),
        };
        let order = EventOrder::NewestFirst;
        docs.events(&EventQuery { entity, scope, ..EventQuery::of(order, limit) }).map(Some)
    }
}
