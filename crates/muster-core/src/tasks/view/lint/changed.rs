//! Steps whose criteria or tests are not what they were first defined as (EASE-DONE-7).
//!
//! A step does not keep its former lists, so the first definition is read from the log.

use std::collections::BTreeMap;

use super::{Code, Issue, task::failing};
use crate::{
    EventOrder, EventQuery,
    tasks::{
        TaskDocs, TaskEvent, TaskLookup,
        entity::Task,
        event::StepFields,
        id::StepId,
        step::{Checkpoint, Step},
    },
};

/// Events that are looked through, from the oldest on: definitions come before the work.
const EVENTS_MAX: u32 = 10_000;

/// The first lists of a step that say something.
#[derive(Default)]
struct FirstLists {
    criteria: Option<Vec<String>>,
    tests: Option<Vec<String>>,
}

impl FirstLists {
    fn learn(&mut self, fields: &StepFields) {
        let said = |list: &Option<Vec<String>>| list.clone().filter(|lines| !lines.is_empty());
        if self.criteria.is_none() {
            self.criteria = said(&fields.success_criteria);
        }
        if self.tests.is_none() {
            self.tests = said(&fields.tests);
        }
    }

    fn differ_from(&self, step: &Step) -> bool {
        let differs = |first: &Option<Vec<String>>, checkpoint| {
            first.as_ref().is_some_and(|lines| lines != step.list_of(checkpoint))
        };
        differs(&self.criteria, Checkpoint::Criteria) || differs(&self.tests, Checkpoint::Tests)
    }
}

pub(super) fn check(docs: &TaskDocs, task: &Task) -> TaskLookup<Option<Issue>> {
    let first = first_lists(docs, task)?;
    let changed = |step: &Step| first.get(&step.id).is_some_and(|first| first.differ_from(step));
    Ok(failing(task, changed).map(|(count, step)| {
        let message = format!("criteria or tests changed in {count} step(s), first {}", step.path);
        Code::CriteriaChanged.issue(message)
    }))
}

fn first_lists(docs: &TaskDocs, task: &Task) -> TaskLookup<BTreeMap<StepId, FirstLists>> {
    let events = docs.events(&EventQuery {
        entity: Some(task.id.to_string()),
        ..EventQuery::of(EventOrder::OldestFirst, EVENTS_MAX)
    })?;
    let mut first: BTreeMap<StepId, FirstLists> = BTreeMap::new();
    for recorded in events.iter() {
        if let TaskEvent::StepsAdded(added) = &recorded.event {
            for step in &added.steps {
                first.entry(step.id).or_default().learn(&step.fields);
            }
        } else if let TaskEvent::StepDefined(defined) = &recorded.event {
            first.entry(defined.step.step_id).or_default().learn(&defined.fields);
        }
    }
    Ok(first)
}
