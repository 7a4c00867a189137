//! `tasks_decompose`.

use std::str::FromStr;

use muster_core::{
    inline_schema,
    tasks::{
        TaskCommand,
        command::{AddSteps, StepSelector},
        id::WorkspaceId,
        lookup,
        wire::EventView,
    },
    text::BadForm,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    groups::OneTask,
    respond::{StepName, added_steps, first, shown},
    step_guard::{StepGuarded, expect_step_revision},
    steps::StepInput,
    undoable::{undoable, whole},
    work::guarded_task,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Adds steps to a task, at its root or below a step. Adding to a finished task or closed step
/// reopens it. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDecompose {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    /// Steps to add, 1 to 200.
    #[schemars(length(min = 1, max = 200))]
    steps: Vec<StepInput>,
    /// Step below which they go, as path or step id; default: the task itself.
    parent: Option<StepWord>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A step named by its path or its id.
#[derive(Clone, Debug)]
pub(crate) struct StepWord(pub(crate) StepSelector);

impl FromStr for StepWord {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let id = text.parse().map(StepSelector::Id);
        let selector = id.or_else(|_| text.parse().map(StepSelector::Path));
        let expected = "a step path such as s:0 or a step id such as STEP-0000000A";
        selector.map(Self).map_err(|_: BadForm| BadForm { expected })
    }
}

impl<'de> Deserialize<'de> for StepWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

inline_schema!(StepWord, {"type": "string", "x-form": "StepWord"});

/// The steps that were added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Decomposed {
    /// The task.
    task: String,
    /// Its revision now.
    revision: u64,
    /// The new steps.
    steps: Vec<StepName>,
    /// What happened.
    event: EventView,
}

impl Operation for TasksDecompose {
    const NAME: &'static str = "tasks_decompose";
    const TITLE: &'static str = "Add steps to a task";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Decomposed;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let parent = self.parent.map(|word| word.0);
        let steps: Vec<_> = self.steps.into_iter().map(StepInput::whole).collect();
        let (read, idempotency_key) = self.guarded.split(parent.as_ref())?;
        let intent = call.scene.intent();
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, read.entity)?;
            expect_step_revision(draft.documents(), target.id, parent.as_ref(), read)?;
            let add = AddSteps { task, parent: parent.clone(), steps: steps.clone() };
            let command = TaskCommand::AddSteps(add);
            let events = undoable(draft, &whole(task.into()), intent, &command)?;
            let recorded = first(&events);
            let decomposed = Decomposed {
                task: task.to_string(),
                revision: lookup::revision(draft.documents(), task.into())?,
                steps: added_steps(&recorded.event),
                event: shown(recorded),
            };
            Ok(CallReply::new(&decomposed).about(target))
        })
    }
}
