//! `tasks_note`.

use muster_core::tasks::{TaskCommand, TaskEvent, id::WorkspaceId, wording::Remark};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{OneStep, OneTask},
    respond::{StepChanged, first},
    step_guard::{StepGuarded, guarded_step},
    work::step_changed,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Adds a progress note to a step: what was found, tried or decided, for the next person.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksNote {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// The note, not blank, at most 65536 characters.
    note: Remark,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A note that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Noted {
    #[serde(flatten)]
    changed: StepChanged,
    /// Number of the note on this step.
    note_seq: u32,
}

impl Operation for TasksNote {
    const NAME: &'static str = "tasks_note";
    const TITLE: &'static str = "Note progress on a step";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Noted;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let note = self.note.0;
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let events = draft.apply(&TaskCommand::NoteStep { step, note: note.clone() })?;
            let TaskEvent::StepNoted(noted) = &first(events).event else {
                unreachable!("a note causes {events:?}")
            };
            let note_seq = noted.note_seq;
            Ok(CallReply::new(&Noted { changed: step_changed(events), note_seq }).about(target))
        })
    }
}
