//! What earlier imports of the same source have made.

use std::collections::BTreeMap;

use muster_core::{
    ListQuery,
    tasks::{TaskDocs, TaskDocument, TaskLookup, entity::Plan, id::EntityId, origin::ItemOrigin},
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
    let plans: Vec<&Plan> = plans.collect();
    let tasks_of =
        |plan: &&Plan| ListQuery { parent: Some(plan.id.to_string()), ..ListQuery::of("task") };
    let queries: Vec<ListQuery> = plans.iter().map(tasks_of).collect();
    docs.have(&queries)?;
    for (plan, query) in plans.iter().zip(&queries) {
        if let Some(origin) = &plan.meta.origin {
            items.insert(origin.id.clone(), EntityId::Plan(plan.id));
        }
        for task in docs.list(query)?.into_iter().filter_map(TaskDocument::as_task) {
            let origin = task.meta.origin.as_deref().filter(|origin| is_ours(origin));
            if let Some(origin) = origin {
                items.insert(origin.id.clone(), EntityId::Task(task.id));
            }
        }
    }
    Ok(items)
}
