//! `tasks_step`: one listed door to the operations on a step (EASE-TOOLS-1).
//!
//! It does nothing of its own: each action is the call of an operation that exists, with the same
//! checks, events, history and refusals.

use muster_core::{
    inline_schema,
    tasks::{
        id::{EntityId, WorkspaceId},
        wording::{CleanLines, LongText, Remark, Title},
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    block::TasksBlock, decompose::TasksDecompose, define::TasksDefine,
    evidence::TasksEvidenceCapture, groups::OneStep, next::TasksNext, note::TasksNote,
    progress::TasksProgress, step_guard::StepGuarded, undo::TasksUndo, verify::TasksVerify,
};
use crate::{
    OperationEffect, Toolset,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CheckedCall},
    registry::{Operation, PrepareFn},
    request,
};

/// Works on one step: note {note}, evidence {checks, items, checkpoint}, confirm {checkpoints},
/// block {reason}, unblock, define {title, success_criteria, tests, blockers}, split {steps} into
/// steps below it, reopen. release {task} ends your claim. undo {task} reverts the newest
/// operation that can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksStep {
    action: StepAction,
    /// Passed on unchanged: the operation of the action checks them.
    #[serde(flatten)]
    #[schemars(with = "StepArguments")]
    arguments: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum StepAction {
    Note,
    Evidence,
    Confirm,
    Block,
    Unblock,
    Define,
    Split,
    Reopen,
    Release,
    Undo,
}

/// One checkpoint or several; only for the schema.
struct NamesOfCheckpoints;

inline_schema!(NamesOfCheckpoints, {"anyOf": [
    {"type": "string"},
    {"type": "array", "items": {"type": "string"}},
]});

/// What is confirmed; only for the schema.
struct ConfirmationWords;

inline_schema!(ConfirmationWords, {"anyOf": [{"type": "string"}, {"type": "object"}]});

/// The arguments of all actions.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the fields describe arguments; nothing reads them here")]
struct StepArguments {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Task id; default: the focused task.
    task: Option<EntityId>,
    #[serde(flatten)]
    step: OneStep,
    note: Option<Remark>,
    /// CMD: and LINK: receipts; for define, names of checks.
    checks: Option<Vec<String>>,
    /// Artifacts.
    items: Option<Vec<Map<String, Value>>>,
    /// Checkpoint that the evidence proves, or a list.
    checkpoint: Option<NamesOfCheckpoints>,
    /// "gate", "all" or {criteria, tests, security, perf, docs: true|false}.
    checkpoints: Option<ConfirmationWords>,
    reason: Option<LongText>,
    title: Option<Title>,
    success_criteria: Option<CleanLines>,
    tests: Option<CleanLines>,
    blockers: Option<CleanLines>,
    /// Each with title, success_criteria, tests.
    steps: Option<Vec<Map<String, Value>>>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

impl Operation for TasksStep {
    const NAME: &'static str = "tasks_step";
    const TITLE: &'static str = "Work on a step";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Map<String, Value>;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let Self { action, mut arguments } = self;
        let prepare: PrepareFn = match action {
            StepAction::Note => request::prepare::<TasksNote>,
            StepAction::Evidence => request::prepare::<TasksEvidenceCapture>,
            StepAction::Confirm => request::prepare::<TasksVerify>,
            StepAction::Block | StepAction::Unblock => {
                arguments.insert("blocked".to_owned(), (action == StepAction::Block).into());
                request::prepare::<TasksBlock>
            }
            StepAction::Define => request::prepare::<TasksDefine>,
            StepAction::Split => {
                name_parent(&mut arguments)?;
                request::prepare::<TasksDecompose>
            }
            StepAction::Reopen => {
                arguments.insert("completed".to_owned(), false.into());
                request::prepare::<TasksProgress>
            }
            StepAction::Release => {
                name_released(&mut arguments)?;
                request::prepare::<TasksNext>
            }
            StepAction::Undo => request::prepare::<TasksUndo>,
        };
        let inner = prepare(call.app, &call.scene.caller, arguments)?;
        Ok(CallAction::Through(Box::new(inner)))
    }
}

/// A claim is of a task; the answer lists what is free then.
fn name_released(arguments: &mut Map<String, Value>) -> Result<(), CallFailure> {
    let Some(task) = arguments.shift_remove("task") else {
        return Err(invalid("task", Reason::Missing, "the task to release"));
    };
    arguments.insert("release".to_owned(), task);
    Ok(())
}

/// The step that is split is the parent of the new ones.
fn name_parent(arguments: &mut Map<String, Value>) -> Result<(), CallFailure> {
    let named = [arguments.shift_remove("step_id"), arguments.shift_remove("path")];
    match named {
        [Some(parent), None] | [None, Some(parent)] => {
            arguments.insert("parent".to_owned(), parent);
            Ok(())
        }
        [Some(_), Some(_)] => Err(invalid("path", Reason::Conflict, "left out beside step_id")),
        [None, None] => {
            let expected = "a step id, or path as a step path";
            Err(invalid("step_id", Reason::Missing, expected))
        }
    }
}
