//! `tasks_macro_finish` and `tasks_macro_create_done`.

use muster_core::{
    WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskRejection,
        command::{StepSelector, StepTarget},
        entity::TaskStatus,
        id::{EntityId, WorkspaceId},
        lookup,
        step::Checkpoint,
        view::{overview::HandoffView, proof::ProofNotes, shed},
        wire::EventView,
        wording::{LongText, Title},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    close_step::StepClosedView,
    complete::{StatusChanged, set_status, warn_unchanged},
    groups::{Guarded, Repeatable, TaskOrPlan, VIEW_CHARS, WaitingForChecks},
    respond::public,
    setup::{Bootstrapped, Parent, ParentChoice, ReasoningSeed, TaskSetup},
    steps::{StepInput, StepsNeed, gate_ready},
    work::{guarded_target, record_operations, step_changed, weak_proof},
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    economy::SizeLimit,
    registry::Operation,
};

/// Lines of a handoff list.
const HANDOFF_LINES: u32 = 10;

/// Finishes a plan or task and writes its shift report in one call.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMacroFinish {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// TODO, ACTIVE or DONE; default DONE.
    status: Option<TaskStatus>,
    /// Characters of handoff; -1: all; default over MCP 3700, else all.
    handoff_max_chars: Option<SizeLimit>,
    #[serde(flatten)]
    waiting: WaitingForChecks,
    #[serde(flatten)]
    guarded: Guarded,
}

/// A plan or task that was finished.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Finished {
    task: String,
    status: TaskStatus,
    revision: u64,
    /// The handoff view.
    handoff: Value,
    event: Option<EventView>,
}

impl Operation for TasksMacroFinish {
    const NAME: &'static str = "tasks_macro_finish";
    const TITLE: &'static str = "Finish and hand over";
    const EFFECT: OperationEffect = OperationEffect::Set;
    const MAY_TAKE_LONG: bool = true;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = Finished;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let named = call.wanted(&workspace, self.selection.named()?);
        let to = self.status.unwrap_or(TaskStatus::Done);
        let size = call.size(self.handoff_max_chars);
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        let scope = workspace.clone();
        let checks = self.waiting.policy(&call.scene.caller);
        call.write_closing(&workspace, idempotency_key, checks, move |draft| {
            let target = guarded_target(draft.documents(), named, expected_revision)?;
            let (changed, unchanged) = set_status(draft, target.id, to)?;
            let view = HandoffView::of(
                draft.documents(),
                &scope,
                target.id,
                HANDOFF_LINES,
                &ProofNotes::default(),
            )?;
            let handoff = CallReply::view(&view, size, shed::handoff);
            let finished = Finished {
                task: target.id.to_string(),
                status: to,
                revision: lookup::revision(draft.documents(), target.id)?,
                handoff: handoff.result(),
                event: changed.event,
            };
            let mut reply = CallReply::new(&finished).with_warnings_of(&handoff).about(target);
            if unchanged {
                warn_unchanged(&mut reply, target.id, to);
            }
            Ok(reply)
        })
    }
}

/// Creates a task of one step, closes the step and finishes the task in one call, for work that is
/// already done.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMacroCreateDone {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    parent: ParentChoice,
    /// Title of the task.
    task_title: Title,
    /// What it was about.
    description: Option<LongText>,
    /// Exactly one step with criteria and tests.
    #[schemars(length(min = 1, max = 1))]
    steps: Vec<StepInput>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// The three parts of the call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CreatedDone {
    workspace: String,
    bootstrap: Bootstrapped,
    close: StepClosedView,
    complete: StatusChanged,
}

impl Operation for TasksMacroCreateDone {
    const NAME: &'static str = "tasks_macro_create_done";
    const TITLE: &'static str = "Record finished work";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = CreatedDone;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        gate_ready(&self.steps, StepsNeed::CriteriaAndTests)?;
        let setup = TaskSetup {
            parent: self.parent.check(None, Parent::Focus(call.wanted(&workspace, None)))?,
            title: self.task_title.0,
            description: self.description.and_then(LongText::stored),
            steps: self.steps,
            think: ReasoningSeed::Nothing,
        };
        let scope = workspace.clone();
        let intent = call.scene.intent();
        call.write(&workspace, self.repeatable.idempotency_key, move |draft| {
            let made = setup.make(draft, &scope)?;
            let task = made.task;
            let bootstrap = Bootstrapped::of(draft, &scope, made, &setup.think);
            record_operations(draft, intent)?;
            // The closing part counts as a call of its own (TASKS-REV-2).
            draft.next_call();
            let path = "s:0".parse();
            let path = path.unwrap_or_else(|_| unreachable!("s:0 is a path"));
            let step = StepTarget { task, selector: StepSelector::Path(path) };
            let confirmations = Checkpoint::GATE.map(|checkpoint| (checkpoint, true)).to_vec();
            draft.apply(&TaskCommand::VerifyStep { step: step.clone(), confirmations })?;
            let named = Checkpoint::GATE.into_iter().collect();
            let close = TaskCommand::CloseStep { step: step.clone(), named, force: None };
            let changed = step_changed(draft.apply(&close).map_err(undone)?);
            let close = StepClosedView {
                task: changed.task,
                revision: changed.revision,
                step: changed.step,
                events: public(draft.call_events()),
            };
            let (complete, _) = set_status(draft, EntityId::Task(task), TaskStatus::Done)?;
            let workspace = scope.to_string();
            let mut reply = CallReply::new(&CreatedDone { workspace, bootstrap, close, complete });
            weak_proof(draft.documents(), &step, &mut reply)?;
            Ok(reply)
        })
    }
}

/// A gate refuses the task together with its creation.
fn undone(mut refusal: WorkRefusal<TaskAggregate>) -> WorkRefusal<TaskAggregate> {
    if let WorkRefusal::Rejected(rejection) = &mut refusal
        && let TaskRejection::GateOpen { report, .. } = rejection.as_mut()
    {
        report.is_undone = true;
    }
    refusal
}
