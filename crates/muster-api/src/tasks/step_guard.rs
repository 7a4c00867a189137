//! Guards of changes of a step: agents on different steps of a task do not refuse each other
//! (EASE-TEAM-3).

use muster_core::tasks::{
    TaskDocs, TaskResult,
    command::{StepSelector, StepTarget},
    id::EntityId,
    lookup::{self, LookupRequest, Target},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::work::guarded_task;
use crate::{
    arguments::{Reason, invalid_with},
    call::CallFailure,
};

/// Arguments of every change of a step.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StepGuarded {
    /// Refuse at any other revision.
    expected_revision: Option<u64>,
    /// Refuse if the step has changed since this revision of the task.
    expected_step_revision: Option<u64>,
    /// Key that makes a retry safe, 1 to 200 characters.
    #[schemars(length(min = 1, max = 200))]
    idempotency_key: Option<String>,
}

/// The revisions that the caller of a change has read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRevisions {
    pub(crate) entity: Option<u64>,
    pub(crate) step: Option<u64>,
}

impl StepGuarded {
    /// The revisions, and the key; a revision of a step goes only with a selected step.
    pub(crate) fn split(
        self,
        step: Option<&StepSelector>,
    ) -> Result<(ReadRevisions, Option<String>), CallFailure> {
        if self.expected_step_revision.is_some() && step.is_none() {
            return Err(invalid_with(
                "expected_step_revision",
                Reason::Conflict,
                "a selected step",
                "expected_step_revision goes only with a selected step".to_owned(),
                "Name the step with step_id or path, or give expected_revision.".to_owned(),
            ));
        }
        let revisions =
            ReadRevisions { entity: self.expected_revision, step: self.expected_step_revision };
        Ok((revisions, self.idempotency_key))
    }
}

/// Finds the step of a change and checks the revisions of its task and of itself.
pub(crate) fn guarded_step(
    docs: &TaskDocs,
    named: LookupRequest,
    selector: &StepSelector,
    read: ReadRevisions,
) -> TaskResult<(Target, StepTarget)> {
    let (target, task) = guarded_task(docs, named, read.entity)?;
    expect_step_revision(docs, target.id, Some(selector), read)?;
    Ok((target, StepTarget { task, selector: selector.clone() }))
}

/// Checks the revision of a step, if a call selects one.
pub(crate) fn expect_step_revision(
    docs: &TaskDocs,
    id: EntityId,
    selector: Option<&StepSelector>,
    read: ReadRevisions,
) -> TaskResult<()> {
    let (EntityId::Task(task), Some(selector)) = (id, selector) else { return Ok(()) };
    let step = StepTarget { task, selector: selector.clone() };
    lookup::expect_step_revision(docs, &step, read.step)
}
