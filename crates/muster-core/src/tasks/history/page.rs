//! Pages of the history: operations with a document of their own, and those that an event heads.

use std::{borrow::Cow, cmp::Reverse};

use super::HistoryOperation;
use crate::{
    EventChoice, EventOrder, EventQuery, ListOrder, ListQuery,
    tasks::{TaskDocs, TaskDocument, TaskLookup, id::EntityId},
};

/// Which operations to list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationsQuery {
    /// Only those of this plan or task.
    pub entity: Option<EntityId>,
    /// Only older ones than this position.
    pub before: Option<u64>,
    /// Only newer ones than this position.
    pub above: u64,
    /// At most this many.
    pub limit: u32,
}

/// A page of operations, newest first.
pub fn newest_first<'a>(
    docs: &'a TaskDocs,
    query: &OperationsQuery,
) -> TaskLookup<Vec<Cow<'a, HistoryOperation>>> {
    let before = Some(query.before.unwrap_or(i64::MAX.unsigned_abs()));
    let entity = query.entity.map(|id| id.to_string());
    let stored = docs.list(&ListQuery {
        parent: entity.clone(),
        order: ListOrder::Descending,
        after: before,
        limit: Some(query.limit),
        ..ListQuery::of("operation")
    })?;
    let mut page: Vec<Cow<'a, HistoryOperation>> = Vec::new();
    for document in stored {
        if let TaskDocument::Operation(operation) = document
            && operation.seq > query.above
        {
            page.push(Cow::Borrowed(operation));
        }
    }
    // A full page of documents leaves no room for events before the last of them. Most events head
    // no operation, so that the search for those that do must end there.
    let is_full = page.len() == query.limit as usize;
    let last = page.last().filter(|_| is_full).map_or(0, |operation| operation.seq);
    let heads = docs.events(&EventQuery {
        entity,
        choice: EventChoice::Intended,
        after: before,
        above: query.above.max(last),
        ..EventQuery::of(EventOrder::NewestFirst, query.limit)
    })?;
    page.extend(heads.iter().filter_map(HistoryOperation::headed_by).map(Cow::Owned));
    page.sort_by_key(|operation| Reverse(operation.seq));
    page.truncate(query.limit as usize);
    Ok(page)
}
