//! `tasks_undo` and `tasks_redo`.

use muster_core::{
    CallFacts, ListOrder, ListQuery, WorkRefusal,
    tasks::{
        TaskCommand, TaskDocs, TaskEvent, TaskKey, TaskRejection, TaskResult,
        event::Restored,
        history::{self, HistoryOperation as Entry, OperationState, OperationsQuery},
        id::{EntityId, WorkspaceId},
        lookup::{self, Target, TargetSource},
        wire::EventView,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Guarded, TaskOrPlan},
    history::{OperationView, as_operation, operations},
    respond::{first, shown},
};
use crate::{
    OperationEffect, WarningCode,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Operations read at once in search of the caller's newest one.
const SEARCHED_AT_ONCE: u32 = 50;
/// Newest operations among which skipped ones are looked for.
const NEWER_MAX: u32 = 200;
/// Skipped operations that a response lists.
const SKIPPED_MAX: usize = 10;

/// What was undone or redone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoredView {
    /// The workspace.
    workspace: String,
    /// The operation in its current state.
    operation: OperationView,
    /// The plan or task.
    id: String,
    /// Its revision now.
    revision: u64,
    /// What happened.
    event: EventView,
    /// Newer operations that stay as they are, newest first, at most 10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedOperation>,
}

/// An operation that an undo leaves as it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkippedOperation {
    seq: u64,
    op: String,
}

/// Reverts the newest operation that can be undone: of a plan or task if one is named, else your
/// own newest one. Refused when what it would overwrite changed since.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksUndo {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Without a plan or task: whether operations of others count too.
    anyone: Option<bool>,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksUndo {
    const NAME: &'static str = "tasks_undo";
    const TITLE: &'static str = "Undo an operation";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = RestoredView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let chosen = (&self.selection, self.anyone);
        restore(call, &self.workspace, chosen, self.guarded, true)
    }
}

/// Replays the operation that was undone last: of a plan or task if one is named, else the last of
/// your own. New work on it makes this impossible.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksRedo {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Without a plan or task: whether operations of others count too.
    anyone: Option<bool>,
    #[serde(flatten)]
    guarded: Guarded,
}

impl Operation for TasksRedo {
    const NAME: &'static str = "tasks_redo";
    const TITLE: &'static str = "Redo an operation";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = RestoredView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let chosen = (&self.selection, self.anyone);
        restore(call, &self.workspace, chosen, self.guarded, false)
    }
}

fn restore(
    call: &CheckedCall<'_>,
    workspace: &WorkspaceId,
    (selection, anyone): (&TaskOrPlan, Option<bool>),
    guarded: Guarded,
    undo: bool,
) -> Result<CallAction, CallFailure> {
    let named = selection.named()?;
    let Guarded { expected_revision, idempotency_key } = guarded;
    if expected_revision.is_some() && named.is_none() {
        let expected = "a task or plan whenever expected_revision is given";
        return Err(invalid("task", Reason::Missing, expected));
    }
    let name = workspace.to_string();
    call.write(workspace, idempotency_key, move |draft| {
        if let Some(id) = named {
            lookup::expect_revision(draft.documents(), id, expected_revision)?;
        }
        let scope = match named {
            Some(id) => Scope::Entity(id),
            None if anyone.unwrap_or_default() => Scope::Everything,
            None => Scope::Own(draft.env().call.clone()),
        };
        let op_seq = newest(draft.documents(), &scope, undo)?;
        let skipped = if undo { newer(draft.documents(), named, op_seq)? } else { Vec::new() };
        let recorded = first(draft.apply(&TaskCommand::Restore { op_seq, undo })?).clone();
        let event = shown(&recorded);
        let TaskEvent::Restored(Restored { subject, .. }) = recorded.event else {
            unreachable!("an undo causes {recorded:?}")
        };
        let entry = operation(draft.documents(), op_seq, undo)?;
        let restored = RestoredView {
            workspace: name.clone(),
            id: entry.entity.to_string(),
            revision: subject.revision,
            operation: OperationView::of(entry),
            event,
            skipped,
        };
        let mut reply = CallReply::new(&restored);
        warn_skipped(&mut reply, &restored.skipped);
        Ok(match named {
            Some(id) => reply.about(Target { id, source: TargetSource::Explicit }),
            None => reply,
        })
    })
}

/// Whose operations count.
enum Scope {
    Entity(EntityId),
    /// Those of the caller.
    Own(CallFacts),
    Everything,
}

/// The operation on top of the stack: newest to undo, undone last to redo (TASKS-UNDO-1,
/// TASKS-REDO-1).
fn newest(docs: &TaskDocs, scope: &Scope, undo: bool) -> TaskResult<u64> {
    let (state, order) = if undo {
        (OperationState::Undoable, ListOrder::Descending)
    } else {
        (OperationState::Redoable, ListOrder::Rank)
    };
    let (named, own) = match scope {
        Scope::Entity(id) => (Some(*id), None),
        Scope::Own(caller) => (None, Some(caller)),
        Scope::Everything => (None, None),
    };
    let mut limit = if own.is_some() { SEARCHED_AT_ONCE } else { 1 };
    loop {
        let limited = Some(limit);
        let query =
            ListQuery { statuses: vec![state.name()], order, limit: limited, ..operations(named) };
        let stack = docs.list(&query)?;
        let read_all = stack.len() < limit as usize;
        let mut stack = stack.into_iter().filter_map(as_operation);
        let top = stack.find(|entry| own.is_none_or(|caller| entry.is_of(caller)));
        match top {
            Some(entry) => return Ok(entry.seq),
            None if read_all => {
                return Err(WorkRefusal::rejected(TaskRejection::NothingToRestore { undo }));
            }
            None => limit = limit.saturating_mul(4),
        }
    }
}

/// Operations after this one that have effect, newest first.
fn newer(docs: &TaskDocs, named: Option<EntityId>, seq: u64) -> TaskResult<Vec<SkippedOperation>> {
    let query = OperationsQuery { entity: named, before: None, above: seq, limit: NEWER_MAX };
    let newer = history::newest_first(docs, &query)?;
    let skipped = newer.iter().filter(|entry| entry.is_in_effect()).take(SKIPPED_MAX);
    Ok(skipped.map(|entry| SkippedOperation { seq: entry.seq, op: entry.intent.clone() }).collect())
}

fn warn_skipped(reply: &mut CallReply, skipped: &[SkippedOperation]) {
    let Some(newest) = skipped.first() else { return };
    let message = format!("newer operations stay, the newest of them {}", newest.op);
    let recovery = "Name a task to undo its newest operation, or send anyone=true.";
    reply.warn(WarningCode::UndoSkipped, message, recovery);
}

fn operation(docs: &TaskDocs, seq: u64, undo: bool) -> TaskResult<&Entry> {
    let document = docs.get(&TaskKey::Operation(seq))?;
    document
        .and_then(as_operation)
        .ok_or_else(|| WorkRefusal::rejected(TaskRejection::NothingToRestore { undo }))
}
