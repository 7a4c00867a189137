//! A slice of the event stream, oldest first (view of `tasks_delta`).

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    EventOrder, EventQuery, Json,
    tasks::{
        TaskDocs, TaskResult,
        id::{EntityId, WorkspaceId},
        lookup,
        wire::{self, EventView},
    },
};

/// Which events to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeltaQuery {
    /// Only events after this position.
    pub since: Option<u64>,
    /// At most this many.
    pub limit: u32,
    /// Only events of this entity; a plan's include its tasks'.
    pub entity: Option<EntityId>,
    /// Characters that the view may have; events far beyond them are not read.
    pub chars: Option<u64>,
}

/// The slice and where to continue.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct DeltaView {
    /// The workspace.
    pub workspace: String,
    /// Events, oldest first.
    #[schemars(with = "Vec<EventView>")]
    pub events: Vec<Json>,
    /// What to pass as `since` next.
    pub cursor: Option<String>,
    /// Whether more follow.
    pub has_more: bool,
}

impl DeltaView {
    /// Reads the slice.
    pub fn of(docs: &TaskDocs, workspace: &WorkspaceId, query: &DeltaQuery) -> TaskResult<Self> {
        if let Some(id) = query.entity {
            lookup::revision(docs, id)?;
        }
        let (entity, scope) = match query.entity {
            Some(EntityId::Task(id)) => (Some(id.to_string()), None),
            Some(EntityId::Plan(id)) => (None, Some(id.to_string())),
            None => (None, None),
        };
        let slice = docs.shown(&EventQuery {
            entity,
            scope,
            after: Some(query.since.unwrap_or(0)),
            ..EventQuery::of(EventOrder::OldestFirst, query.limit + 1)
        })?;
        let shown = &slice[..slice.len().min(query.limit as usize)];
        let last = shown.last().map(|shown| shown.global).or(query.since);
        let texts = shown.iter().map(|shown| shown.event.text());
        let readable = readable(texts, query.chars);
        Ok(Self {
            workspace: workspace.to_string(),
            events: shown.iter().take(readable).map(|shown| shown.event.clone()).collect(),
            cursor: last.map(wire::event_id),
            has_more: slice.len() > shown.len(),
        })
    }
}

/// How many events are worth reading: those that fit, and enough more for the budget to see that
/// not all of them do. The budget then cuts the page as if it had seen the rest.
fn readable<'a>(events: impl Iterator<Item = &'a str>, chars: Option<u64>) -> usize {
    let Some(max) = chars else { return usize::MAX };
    let mut used = 0;
    let fitting = events.take_while(|event| {
        used += event.chars().count() as u64;
        used <= max
    });
    fitting.count().max(1) + 1
}
