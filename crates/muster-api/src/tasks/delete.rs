//! `tasks_delete`.

use muster_core::tasks::{
    TaskCommand, TaskDocument, TaskEvent,
    command::StepSelector,
    id::{EntityId, EntityKind, WorkspaceId},
    lookup::{self, LookupRequest, Target},
    wire::EventView,
};
use muster_core::{
    ListQuery,
    tasks::{TaskDocs, TaskDraft, TaskResult},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{OneStep, TaskOrPlan},
    respond::{StepChanged, first, shown},
    step_guard::{ReadRevisions, StepGuarded, guarded_step},
    work::{guarded_target, step_changed},
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Deletes a plan with its tasks, a task, or a step with everything below it. Cannot be undone;
/// events and notes written before stay readable.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDelete {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    step: OneStep,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// What was deleted: a step, or a whole plan or task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Removed {
    /// A step.
    Step {
        #[serde(flatten)]
        changed: StepChanged,
        /// Deleted steps.
        deleted_steps: u64,
    },
    /// A plan or task.
    Root {
        /// Its id.
        id: String,
        /// Plan or task.
        kind: EntityKind,
        /// What was deleted with it.
        deleted: RemovedCounts,
        /// Whether it was the focus.
        focus_cleared: bool,
        /// The deletion itself.
        event: EventView,
        /// All deletions.
        events: Vec<EventView>,
    },
}

/// Counts of what was deleted.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RemovedCounts {
    /// Tasks.
    tasks: usize,
    /// Steps.
    steps: usize,
    /// Nodes.
    nodes: usize,
}

impl Operation for TasksDelete {
    const NAME: &'static str = "tasks_delete";
    const TITLE: &'static str = "Delete a plan, task or step";
    const EFFECT: OperationEffect = OperationEffect::Destroy;
    type Response = Removed;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.optional();
        let (read, idempotency_key) = self.guarded.split(selector.as_ref())?;
        call.write(&self.workspace, idempotency_key, move |draft| match &selector {
            Some(selector) => delete_step(draft, named, selector, read),
            None => {
                let target = guarded_target(draft.documents(), named, read.entity)?;
                delete_root(draft, target)
            }
        })
    }
}

fn delete_step(
    draft: &mut TaskDraft<'_>,
    named: LookupRequest,
    selector: &StepSelector,
    read: ReadRevisions,
) -> TaskResult<CallReply> {
    let (target, step) = guarded_step(draft.documents(), named, selector, read)?;
    let events = draft.apply(&TaskCommand::DeleteStep { step })?;
    let TaskEvent::StepDeleted(deleted) = &first(events).event else {
        unreachable!("deleting a step causes {events:?}")
    };
    let deleted_steps = deleted.deleted_steps;
    let removed = Removed::Step { changed: step_changed(events), deleted_steps };
    Ok(CallReply::new(&removed).about(target))
}

fn delete_root(draft: &mut TaskDraft<'_>, target: Target) -> TaskResult<CallReply> {
    let deleted = count(draft.documents(), target.id)?;
    let before = lookup::workspace(draft.documents())?.focus;
    let events: Vec<EventView> =
        draft.apply(&TaskCommand::Delete { id: target.id })?.iter().map(shown).collect();
    let after = lookup::workspace(draft.documents())?.focus;
    let Some(event) = events.last().cloned() else { unreachable!("a deletion causes an event") };
    let removed = Removed::Root {
        id: target.id.to_string(),
        kind: target.id.kind(),
        deleted,
        focus_cleared: before.is_some() && after.is_none(),
        event,
        events,
    };
    Ok(CallReply::new(&removed).about(target))
}

fn count(docs: &TaskDocs, id: EntityId) -> TaskResult<RemovedCounts> {
    let mut counts = RemovedCounts::default();
    let mut add = |task: &muster_core::tasks::entity::Task| {
        counts.tasks += 1;
        counts.steps += task.steps.len();
        counts.nodes += task.steps.iter().map(|step| step.nodes.len()).sum::<usize>();
    };
    match id {
        EntityId::Task(id) => add(lookup::task(docs, id)?),
        EntityId::Plan(id) => {
            let query = ListQuery { parent: Some(id.to_string()), ..ListQuery::of("task") };
            docs.list(&query)?.into_iter().filter_map(TaskDocument::as_task).for_each(add);
        }
    }
    Ok(counts)
}
