//! What earlier imports of the same source have made.

use std::collections::BTreeMap;

use muster_core::{
    ListQuery,
    tasks::{TaskDocs, TaskDocument, TaskLookup, id::EntityId, origin::ItemOrigin},
};

/// Plans and tasks by their ids at the source.
pub(super) fn items(
    docs: &TaskDocs,
    form: &str,
    source: &str,
) -> TaskLookup<BTreeMap<String, EntityId>> {
    let is_ours = |origin: &ItemOrigin| origin.form == form && origin.source == source;
    let mut items = BTreeMap::new();
    let plans = docs.list(&ListQuery::of("plan"))?;
    let plans = plans
        .into_iter()
        .filter_map(TaskDocument::as_plan)
        .filter(|plan| plan.meta.origin.as_deref().is_some_and(is_ours));
    for plan in plans {
        if let Some(origin) = &plan.meta.origin {
            items.insert(origin.id.clone(), EntityId::Plan(plan.id));
        }
    }
    if items.is_empty() {
        return Ok(items);
    }
    // A task may have been moved to any plan since.
    for task in docs.list(&ListQuery::of("task"))?.into_iter().filter_map(TaskDocument::as_task) {
        let origin = task.meta.origin.as_deref().filter(|origin| is_ours(origin));
        if let Some(origin) = origin {
            items.insert(origin.id.clone(), EntityId::Task(task.id));
        }
    }
    Ok(items)
}
