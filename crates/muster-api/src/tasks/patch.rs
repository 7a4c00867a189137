//! `tasks_patch`, and the patches of `tasks_close_task`.

use muster_core::{
    Recorded,
    tasks::{
        TaskCommand, TaskDraft, TaskEvent, TaskResult,
        command::{NodeTarget, StepSelector, StepTarget},
        id::{EntityId, EntityKind, NodeId, StepId, TaskId, WorkspaceId},
        lookup::{self, Accepts},
        patch::{PatchStep, PatchTarget, ResolvedPatch, Verb},
        path::{NodePath, StepPath},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    edit::EditView,
    groups::TaskOrPlan,
    node::{NodeChanged, node_changed},
    respond::{StepChanged, first},
    step_guard::{StepGuarded, expect_step_revision},
    undoable::undoable,
    work::step_changed,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// What a patch is applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum PatchKind {
    /// The plan or task itself.
    #[default]
    TaskDetail,
    /// A step.
    Step,
    /// A node of a step's sub-plan.
    Task,
}

/// One operation of a patch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct PatchOp {
    /// set, unset, append or remove.
    op: PatchVerb,
    /// Field by its stored name.
    field: String,
    /// New value, or items of a list.
    #[serde(default)]
    #[schemars(schema_with = "any_value")]
    value: Option<Value>,
}

fn any_value(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({})
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PatchVerb {
    Set,
    Unset,
    Append,
    Remove,
}

impl PatchOp {
    fn step(self) -> PatchStep {
        let verb = match self.op {
            PatchVerb::Set => Verb::Set,
            PatchVerb::Unset => Verb::Unset,
            PatchVerb::Append => Verb::Append,
            PatchVerb::Remove => Verb::Remove,
        };
        PatchStep { verb, field: self.field, value: self.value }
    }
}

/// A patch: what it addresses and what it does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct PatchInput {
    /// task means a node; default task_detail.
    kind: Option<PatchKind>,
    /// Step path, or node path such as s:0.t:1.
    path: Option<String>,
    /// Step id.
    step_id: Option<StepId>,
    /// Node id.
    task_node_id: Option<NodeId>,
    /// Operations, 1 to 200, done in order or not at all.
    #[schemars(length(min = 1, max = 200))]
    ops: Vec<PatchOp>,
}

/// A patch whose selectors fit its kind.
#[derive(Clone, Debug)]
pub(crate) struct CheckedPatch {
    place: Place,
    steps: Vec<PatchStep>,
}

#[derive(Clone, Debug)]
enum Place {
    Detail,
    Step(StepSelector),
    Node(Option<NodePath>, Option<NodeId>),
}

impl PatchInput {
    /// TASKS-PATCH-3: a selector that the kind does not use is refused.
    pub(crate) fn check(self) -> Result<CheckedPatch, CallFailure> {
        let place = match self.kind.unwrap_or_default() {
            PatchKind::TaskDetail => {
                unused("path", self.path.is_some())?;
                unused("step_id", self.step_id.is_some())?;
                unused("task_node_id", self.task_node_id.is_some())?;
                Place::Detail
            }
            PatchKind::Step => {
                unused("task_node_id", self.task_node_id.is_some())?;
                let path = self.path.map(|path| read_path(&path)).transpose()?;
                Place::Step(match (path, self.step_id) {
                    (Some(path), Some(id)) => StepSelector::Both(path, id),
                    (Some(path), None) => StepSelector::Path(path),
                    (None, Some(id)) => StepSelector::Id(id),
                    (None, None) => {
                        let expected = "a step id, or path as a step path";
                        return Err(invalid("step_id", Reason::Missing, expected));
                    }
                })
            }
            PatchKind::Task => {
                unused("step_id", self.step_id.is_some())?;
                let path = self.path.map(|path| read_node_path(&path)).transpose()?;
                if path.is_none() && self.task_node_id.is_none() {
                    let expected = "a node path such as s:0.t:1, or task_node_id";
                    return Err(invalid("path", Reason::Missing, expected));
                }
                Place::Node(path, self.task_node_id)
            }
        };
        Ok(CheckedPatch { place, steps: self.ops.into_iter().map(PatchOp::step).collect() })
    }
}

fn unused(argument: &str, given: bool) -> Result<(), CallFailure> {
    if given {
        let expected = format!("no {argument} with this kind");
        return Err(invalid(argument, Reason::Conflict, &expected));
    }
    Ok(())
}

fn read_path(path: &str) -> Result<StepPath, CallFailure> {
    let expected = "a step path such as s:0";
    path.parse().map_err(|_| invalid("path", Reason::BadFormat, expected))
}

fn read_node_path(path: &str) -> Result<NodePath, CallFailure> {
    let expected = "a node path such as s:0.t:1";
    path.parse().map_err(|_| invalid("path", Reason::BadFormat, expected))
}

impl CheckedPatch {
    /// The kinds of target this patch takes.
    pub(crate) fn accepts(&self) -> Accepts {
        match self.place {
            Place::Detail => Accepts::Any,
            Place::Step(_) | Place::Node(..) => Accepts::Only(EntityKind::Task),
        }
    }

    /// The step that it is applied to.
    fn step(&self) -> Option<&StepSelector> {
        match &self.place {
            Place::Step(selector) => Some(selector),
            Place::Detail | Place::Node(..) => None,
        }
    }

    /// The patch worked out for one plan or task.
    pub(crate) fn plan(&self, draft: &TaskDraft<'_>, id: EntityId) -> TaskResult<ResolvedPatch> {
        let task = match id {
            EntityId::Task(id) => id,
            EntityId::Plan(_) => TaskId(0),
        };
        let target = match &self.place {
            Place::Detail => PatchTarget::Detail(id),
            Place::Step(selector) => {
                PatchTarget::Step(StepTarget { task, selector: selector.clone() })
            }
            Place::Node(path, id) => {
                PatchTarget::Node(NodeTarget { task, path: path.clone(), id: *id })
            }
        };
        ResolvedPatch::plan(draft.documents(), &target, &self.steps)
    }
}

/// Updates fields one by one: set, unset, append to or remove from lists. Statuses, closing and
/// confirmations are not fields, and only a person removes a check. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksPatch {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    patch: PatchInput,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// What was patched, by kind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Patched {
    /// The plan or task itself.
    Detail(EditView),
    /// A step.
    Step(StepChanged),
    /// A node.
    Node(NodeChanged),
}

impl Operation for TasksPatch {
    const NAME: &'static str = "tasks_patch";
    const TITLE: &'static str = "Patch fields";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Patched;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let patch = self.patch.check()?;
        let (read, idempotency_key) = self.guarded.split(patch.step())?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let target = lookup::target(draft.documents(), named, patch.accepts())?;
            lookup::expect_revision(draft.documents(), target.id, read.entity)?;
            expect_step_revision(draft.documents(), target.id, patch.step(), read)?;
            let ResolvedPatch { addressed, intent, command } = patch.plan(draft, target.id)?;
            let events = undoable(draft, &addressed, intent, &command)?;
            Ok(CallReply::new(&patched(&command, &events)).about(target))
        })
    }
}

fn patched(command: &TaskCommand, events: &[Recorded<TaskEvent>]) -> Patched {
    if matches!(command, TaskCommand::DefineStep(_)) {
        Patched::Step(step_changed(events))
    } else if matches!(command, TaskCommand::DefineNode { .. }) {
        Patched::Node(node_changed(events))
    } else {
        Patched::Detail(EditView::of(first(events)))
    }
}
