//! Dependencies of imported plans and tasks. They are set in an order in which nothing depends yet
//! on what gets its dependencies, so that looking for circles costs nothing.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::{
    field,
    tasks::{
        TaskRejection, TaskResult, fields, history::FieldValues, id::EntityId,
        limits::DEPENDENCIES_MAX, lookup, origin::LEFT_NEEDS, patch,
    },
};
use serde_json::Value;

use super::{
    importer::{Importer, ItemWork, WorkKind},
    merge, tally,
};

/// Keys of `meta` for dependencies that cannot be set.
const NOWHERE: &str = LEFT_NEEDS[0];
const CIRCULAR: &str = LEFT_NEEDS[1];
const MORE: &str = LEFT_NEEDS[2];

impl<'s> Importer<'_, '_, 's> {
    pub(super) fn link_needs(&mut self) -> TaskResult<()> {
        let mut items = std::mem::take(&mut self.items);
        for at in order(&items) {
            self.link_item(&mut items[at])?;
        }
        self.items = items;
        Ok(())
    }

    fn link_item(&mut self, item: &mut ItemWork<'s>) -> TaskResult<()> {
        let mut wanted: Vec<EntityId> = Vec::new();
        let mut left: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for need in needs(item.of) {
            match self.ids.get(need) {
                None => left.entry(NOWHERE).or_default().push(need.clone()),
                Some(id) if wanted.contains(id) => {}
                Some(_) if wanted.len() == DEPENDENCIES_MAX => {
                    left.entry(MORE).or_default().push(need.clone());
                }
                Some(id) => wanted.push(*id),
            }
        }
        let docs = self.draft.documents();
        let current = match item.id {
            EntityId::Plan(id) => fields::of_plan(lookup::plan(docs, id)?),
            EntityId::Task(id) => fields::of_task(lookup::task(docs, id)?),
        };
        let circular = self.set_needs(item, &mut wanted, &current)?;
        if !circular.is_empty() {
            left.insert(CIRCULAR, circular);
        }
        for (key, ids) in left {
            let what = key.replace('_', " ");
            let id = &item.origin.id;
            tally::remark(&mut self.report, format!("{id}: {what}: {}", ids.join(", ")));
            item.meta.insert(key.to_owned(), Value::from(ids));
        }
        Ok(())
    }

    /// Sets dependencies; returns those that would lead back, by their ids at the source.
    fn set_needs(
        &mut self,
        item: &mut ItemWork<'s>,
        wanted: &mut Vec<EntityId>,
        current: &FieldValues,
    ) -> TaskResult<Vec<String>> {
        let mut circular = Vec::new();
        loop {
            let values = FieldValues::from([field("depends_on", &wanted)]);
            let mut seen = item.origin.seen.clone();
            let merged = merge::merge(&values, current, &mut seen);
            for (name, here, source) in &merged.conflicts {
                let place = (item.id, item.origin.id.as_str());
                tally::conflict(&mut self.report, place, (name, here, source));
            }
            if merged.write.is_empty() {
                item.origin.seen = seen;
                return Ok(circular);
            }
            let rejection = match self.attempt(&patch::edit_of(item.id, &merged.write))? {
                Ok(()) => {
                    item.touch();
                    item.origin.seen = seen;
                    return Ok(circular);
                }
                Err(rejection) => rejection,
            };
            let through = if let TaskRejection::DependencyCircle { through } = *rejection {
                Some(through)
            } else if let TaskRejection::DependsOnItself { id } = *rejection {
                Some(id)
            } else {
                None
            };
            let Some(at) = through.and_then(|id| wanted.iter().position(|one| *one == id)) else {
                return Err(muster_core::WorkRefusal::Rejected(rejection));
            };
            let id = wanted.remove(at);
            let names = self.ids.iter().filter(|(_, known)| **known == id);
            circular.extend(names.map(|(name, _)| name.clone()));
        }
    }
}

fn needs<'s>(of: WorkKind<'s>) -> &'s [String] {
    match of {
        WorkKind::Plan(plan) => &plan.item.needs,
        WorkKind::Task(task) => &task.item.needs,
    }
}

/// The items so that each comes after those it depends on, as far as there are no circles.
fn order(items: &[ItemWork<'_>]) -> Vec<usize> {
    let places: BTreeMap<&str, usize> =
        items.iter().enumerate().map(|(at, item)| (item.origin.id.as_str(), at)).collect();
    let mut order = Vec::with_capacity(items.len());
    let mut entered = BTreeSet::new();
    for start in 0..items.len() {
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            if next == 0 && !entered.insert(at) {
                continue;
            }
            match needs(items[at].of).get(next) {
                Some(need) => {
                    stack.push((at, next + 1));
                    let place = places.get(need.as_str());
                    stack.extend(place.filter(|at| !entered.contains(*at)).map(|at| (*at, 0)));
                }
                None => order.push(at),
            }
        }
    }
    order
}
