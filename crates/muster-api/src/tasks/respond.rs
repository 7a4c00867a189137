//! Result types that several operations share.

use std::borrow::Cow;

use muster_core::{
    Recorded,
    tasks::{
        TaskEvent,
        event::StepRef,
        wire::{self, EventView},
    },
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::economy::AnswerSize;

/// A step in a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepName {
    /// Stable id.
    pub(crate) step_id: String,
    /// Path.
    pub(crate) path: String,
}

impl StepName {
    pub(crate) fn of(step: &StepRef) -> Self {
        Self { step_id: step.step_id.to_string(), path: step.path.to_string() }
    }
}

pub(crate) fn added_steps(event: &TaskEvent) -> Vec<StepName> {
    let TaskEvent::StepsAdded(added) = event else { return Vec::new() };
    let name = |step: &muster_core::tasks::event::AddedStep| StepName {
        step_id: step.id.to_string(),
        path: step.path.to_string(),
    };
    added.steps.iter().map(name).collect()
}

/// Result of a change of one step.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepChanged {
    /// The task.
    pub(crate) task: String,
    /// Its revision now.
    pub(crate) revision: u64,
    /// The step.
    pub(crate) step: StepName,
    /// What happened.
    pub(crate) event: EventView,
}

impl StepChanged {
    pub(crate) fn of(step: &StepRef, event: EventView) -> Self {
        Self {
            task: step.task.task.to_string(),
            revision: step.task.revision,
            step: StepName::of(step),
            event,
        }
    }
}

/// The event as callers see it. Commands that reach this cause public events only.
pub(crate) fn shown(recorded: &Recorded<TaskEvent>) -> EventView {
    wire::show(recorded).unwrap_or_else(|| unreachable!("{:?} has no public form", recorded.event))
}

/// An event of a macro: in full when the whole answer was asked for, else where to find it
/// (EASE-COST-1).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum MacroEvent {
    Whole(Box<EventView>),
    Reference(EventReference),
}

/// Which event it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventReference {
    /// Its id.
    event_id: String,
    /// What happened.
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
}

impl MacroEvent {
    /// The event as an answer of that size shows it.
    pub(crate) fn of(event: EventView, size: AnswerSize) -> Self {
        match size {
            AnswerSize::Whole => Self::Whole(Box::new(event)),
            AnswerSize::AtMost(_) | AnswerSize::Brief(_) => {
                let EventView { event_id, fact, .. } = event;
                Self::Reference(EventReference { event_id, kind: fact.kind })
            }
        }
    }

    /// The same for several.
    pub(crate) fn all(events: Vec<EventView>, size: AnswerSize) -> Vec<Self> {
        events.into_iter().map(|event| Self::of(event, size)).collect()
    }
}

/// The first event of a list that commands never leave empty.
pub(crate) fn first(events: &[Recorded<TaskEvent>]) -> &Recorded<TaskEvent> {
    events.first().unwrap_or_else(|| unreachable!("an accepted command causes an event"))
}

/// The public ones among events, as callers see them.
pub(crate) fn public(events: &[Recorded<TaskEvent>]) -> Vec<EventView> {
    events.iter().filter_map(wire::show).collect()
}
