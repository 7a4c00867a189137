//! What events of the work are found by. Plans and tasks are found by their documents.

use super::{TaskEvent, event::StepFields, step::Step, wire};
use crate::{EventStrings, SearchTopic};

/// Whether events of this name may have strings that they are found by.
pub(super) fn has_strings(kind: &str) -> bool {
    matches!(
        kind,
        "steps_added"
            | "step_defined"
            | "task_node_added"
            | "task_node_defined"
            | "note_kept"
            | wire::STEP_NOTED
    )
}

/// The strings that an event is found by.
pub(super) fn strings(event: &TaskEvent) -> Option<EventStrings<'_>> {
    let mut fields: Vec<&str> = Vec::new();
    if let TaskEvent::StepNoted(noted) = event {
        return EventStrings::of(SearchTopic::Note, [noted.note.as_str()]);
    }
    if let TaskEvent::NoteKept(kept) = event {
        let note = &kept.note;
        let strings = note.title.as_deref().into_iter().chain([note.content.as_str()]);
        return EventStrings::of(SearchTopic::Note, strings);
    }
    if let TaskEvent::StepsAdded(added) = event {
        for step in &added.steps {
            fields.push(&step.title);
            fields.extend(lists(&step.fields));
        }
    }
    if let TaskEvent::StepDefined(defined) = event {
        fields.extend(defined.title.as_deref());
        fields.extend(lists(&defined.fields));
    }
    if let TaskEvent::NodeAdded(added) = event {
        fields.push(&added.node.title);
    }
    if let TaskEvent::NodeDefined(defined) = event {
        fields.extend(defined.fields.title.as_deref());
    }
    EventStrings::of(SearchTopic::Step, fields)
}

/// What a step is found by besides its title.
pub fn of_step(step: &Step) -> Vec<&str> {
    let lists = [&step.success_criteria, &step.tests, &step.blockers];
    let items = lists.into_iter().flatten().map(String::as_str);
    items.chain(step.nodes.iter().map(|node| node.title.as_str())).collect()
}

fn lists(fields: &StepFields) -> impl Iterator<Item = &str> {
    let StepFields { success_criteria, tests, blockers, .. } = fields;
    [success_criteria, tests, blockers].into_iter().flatten().flatten().map(String::as_str)
}
