//! The newest events of a plan or task, shown oldest first (TASKS-VIEW-5).

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Documents, EventOrder, EventQuery, Unloaded,
    tasks::{
        Tasks,
        id::EntityId,
        wire::{self, EventView},
    },
};

/// A slice of events and how long it could be.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Timeline {
    /// Events at most.
    pub limit: u32,
    /// Events, oldest first.
    pub events: Vec<EventView>,
}

impl Timeline {
    /// The newest events of an entity; a plan's include its tasks'.
    pub fn of(docs: &Documents<Tasks>, id: EntityId, limit: u32) -> Result<Self, Unloaded<Tasks>> {
        if limit == 0 {
            return Ok(Self { limit, events: Vec::new() });
        }
        let (entity, scope) = match id {
            EntityId::Task(id) => (Some(id.to_string()), None),
            EntityId::Plan(id) => (None, Some(id.to_string())),
        };
        let order = EventOrder::NewestFirst;
        let newest = docs.events(&EventQuery { entity, scope, after: None, order, limit })?;
        Ok(Self { limit, events: newest.iter().rev().filter_map(wire::show).collect() })
    }
}
