//! `tasks_close_task`.

use muster_core::{
    WorkRefusal,
    tasks::{
        TaskCommand, TaskDraft, TaskRejection, TaskResult,
        entity::TaskStatus,
        history::{Addressed, HistoryOperation as Entry},
        id::{EntityId, TaskId, WorkspaceId},
        lapsed_gates, lookup, open_gates,
        patch::ResolvedPatch,
        wire::{self, EventView},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    complete::warn_unchanged,
    groups::{Guarded, OneTask, WaitingForChecks},
    patch::{CheckedPatch, PatchInput},
    proof::CheckPolicy,
    work::guarded_task,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    refusals,
    registry::Operation,
};

/// Patches and finishes a task in one transaction. Without apply=true it only shows what would
/// change and which gates would refuse.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksCloseTask {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    /// true writes, false only shows; default false.
    apply: Option<bool>,
    /// Patches to apply first, as in tasks_patch.
    #[schemars(length(max = 200))]
    patches: Option<Vec<ClosedPatch>>,
    #[serde(flatten)]
    waiting: WaitingForChecks,
    #[serde(flatten)]
    guarded: Guarded,
}

/// A patch in a list.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
struct ClosedPatch {
    #[serde(flatten)]
    patch: PatchInput,
}

/// What closing a task changes or would change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClosedTask {
    /// The task.
    task: String,
    /// Its revision now.
    revision: u64,
    /// Whether it was written.
    applied: bool,
    /// Whether nothing refuses.
    ok: bool,
    /// Gates that refuse.
    unmet: Vec<Value>,
    /// Fields that change; in a dry run, those that would if nothing refuses.
    diff: Vec<Difference>,
    /// What happened.
    events: Vec<EventView>,
}

/// One field that changes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    entity: &'static str,
    id: String,
    path: Option<String>,
    field: String,
    before: Value,
    after: Value,
}

impl Operation for TasksCloseTask {
    const NAME: &'static str = "tasks_close_task";
    const TITLE: &'static str = "Patch and finish a task";
    const EFFECT: OperationEffect = OperationEffect::Write;
    const MAY_TAKE_LONG: bool = true;
    type Response = ClosedTask;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let apply = self.apply.unwrap_or(false);
        let patches = self.patches.unwrap_or_default().into_iter();
        let patches: Vec<CheckedPatch> =
            patches.map(|closed| closed.patch.check()).collect::<Result<_, _>>()?;
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        let workspace = self.workspace.clone();
        // A dry run writes nothing, so it stores no response either.
        let key = idempotency_key.filter(|_| apply);
        let checks =
            if apply { self.waiting.policy(&call.scene.caller) } else { CheckPolicy::Look };
        call.write_closing(&self.workspace, key, checks, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, expected_revision)?;
            let current = lookup::revision(draft.documents(), target.id)?;
            let before = lookup::task(draft.documents(), task)?.meta.status;
            let mut changes = Changes::default();
            for patch in &patches {
                changes.apply(draft, task, patch)?;
            }
            let done = before == TaskStatus::Done && patches.is_empty();
            let mut open = if done {
                lapsed_gates(draft.documents(), &draft.env().call, target.id)?
            } else {
                changes.finish(draft, task)?
            };
            if apply && !open.is_empty() {
                return Err(WorkRefusal::rejected(open.swap_remove(0)));
            }
            let unmet: Vec<Value> =
                open.into_iter().map(|rejection| unmet(&workspace, rejection)).collect();
            let events = draft.call_events().iter().filter_map(wire::show);
            let events: Vec<EventView> = events.collect();
            let revision = lookup::revision(draft.documents(), target.id)?;
            if !apply {
                draft.abandon_call();
            }
            let closed = ClosedTask {
                task: task.to_string(),
                revision: if apply { revision } else { current },
                applied: apply,
                ok: unmet.is_empty(),
                unmet,
                diff: changes.in_order(),
                events: if apply { events } else { Vec::new() },
            };
            let mut reply = CallReply::new(&closed).about(target);
            if done && closed.ok {
                warn_unchanged(&mut reply, target.id, TaskStatus::Done);
            }
            Ok(reply)
        })
    }
}

/// The changes, in display order (TASKS-CT-1).
#[derive(Default)]
struct Changes {
    patched: Vec<Difference>,
    derived: Vec<Difference>,
    status: Option<Difference>,
}

impl Changes {
    fn in_order(self) -> Vec<Difference> {
        self.patched.into_iter().chain(self.derived).chain(self.status).collect()
    }

    /// Applies a patch in the draft.
    fn apply(
        &mut self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        patch: &CheckedPatch,
    ) -> TaskResult<()> {
        let ResolvedPatch { addressed, intent, command } = patch.plan(draft, task.into())?;
        let before = addressed.fields(draft.documents())?;
        let events = draft.apply(&command)?.to_vec();
        let entry = addressed.operation(draft.documents(), intent, &before, &events)?;
        self.patched.extend(patched(&addressed, &entry));
        self.derived.extend(derived(&entry));
        Ok(())
    }

    /// Finishes the task in the draft; returns the gates that refuse it instead, if there are any.
    /// The change of status is listed in both cases: it is what the caller asks about.
    fn finish(
        &mut self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
    ) -> TaskResult<Vec<TaskRejection>> {
        let id = EntityId::Task(task);
        let before = lookup::task(draft.documents(), task)?.meta.status;
        self.status = (before != TaskStatus::Done).then(|| finished(task, before));
        // Patches may have closed a gate of a task that is already done (TASKS-CT-2).
        let open = open_gates(draft.documents(), &draft.env().call, id)?;
        if !open.is_empty() {
            return Ok(open);
        }
        let events = draft.apply(&TaskCommand::SetStatus { id, to: TaskStatus::Done })?.to_vec();
        if events.is_empty() {
            return Ok(open);
        }
        let addressed = Addressed { entity: id, path: None, node: None };
        let fields = addressed.fields(draft.documents())?;
        let entry = addressed.operation(draft.documents(), "complete", &fields, &events)?;
        self.derived.extend(derived(&entry));
        Ok(open)
    }
}

/// A task becomes DONE.
fn finished(task: TaskId, before: TaskStatus) -> Difference {
    Difference {
        entity: "task",
        id: task.to_string(),
        path: None,
        field: "status".to_owned(),
        before: json!(before),
        after: json!(TaskStatus::Done),
    }
}

/// The fields that a patch itself changes.
fn patched(addressed: &Addressed, entry: &Entry) -> Vec<Difference> {
    let Some(change) = &entry.change else { return Vec::new() };
    let path = addressed.path.as_ref().map(|path| match addressed.node {
        Some(ordinal) => format!("{path}.t:{ordinal}"),
        None => path.to_string(),
    });
    let entity = match (&addressed.path, addressed.node) {
        (Some(_), Some(_)) => "node",
        (Some(_), None) => "step",
        (None, _) => addressed.entity.kind().name(),
    };
    let own = change.after.iter().map(|(field, after)| Difference {
        entity,
        id: addressed.entity.to_string(),
        path: path.clone(),
        field: field.clone(),
        before: change.before.get(field).cloned().unwrap_or(Value::Null),
        after: after.clone(),
    });
    own.collect()
}

/// Side effects elsewhere.
fn derived(entry: &Entry) -> Vec<Difference> {
    let Some(change) = &entry.change else { return Vec::new() };
    let derived = change.derived.iter().map(|derived| Difference {
        entity: if derived.path.is_some() { "step" } else { derived.id.kind().name() },
        id: derived.id.to_string(),
        path: derived.path.as_ref().map(ToString::to_string),
        field: derived.field.clone(),
        before: derived.before.clone(),
        after: derived.after.clone(),
    });
    derived.collect()
}

fn unmet(workspace: &WorkspaceId, rejection: TaskRejection) -> Value {
    let error = refusals::explain(workspace, rejection).error;
    json!({"code": error.code, "details": error.details})
}
