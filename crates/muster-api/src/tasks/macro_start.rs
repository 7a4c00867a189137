//! `tasks_macro_start`.

use muster_core::tasks::{TaskCommand, id::WorkspaceId, lookup, view::Requested};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    groups::Repeatable,
    respond::{MacroEvent, StepName},
    resume_super::{RESUME_CHARS, SuperView},
    setup::{Bootstrapped, EVERYDAY, Parent, ParentChoice, TaskInput, own_frame},
    steps::StepsNeed,
    think::PipelineView,
    undoable::record_creation,
};
use crate::{
    OperationEffect, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    economy::{AnswerSize, SizeLimit},
    registry::Operation,
};

/// Starts work in one call: creates the task with its steps (template basic-task by default),
/// focuses it and shows it. Begin every piece of work with this.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMacroStart {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    parent: ParentChoice,
    #[serde(flatten)]
    task: TaskInput,
    /// Characters of resume; -1: all, events too; default over MCP 500, else all.
    resume_max_chars: Option<SizeLimit>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A task that was started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Started {
    task_id: String,
    /// Left out of a short answer, as it follows from the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_qualified_id: Option<String>,
    plan_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_qualified_id: Option<String>,
    plan_created: bool,
    revision: u64,
    steps: Vec<StepName>,
    events: Vec<MacroEvent>,
    focus: String,
    focus_previous: Option<String>,
    /// The super view of the task.
    resume: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    think_pipeline: Option<Option<PipelineView>>,
}

impl Operation for TasksMacroStart {
    const NAME: &'static str = "tasks_macro_start";
    const TITLE: &'static str = "Start a task";
    const TOOLSET: Toolset = Toolset::Core;
    const EFFECT: OperationEffect = OperationEffect::Write;
    const BRIEF_CHARS: Option<u64> = Some(RESUME_CHARS);
    type Response = Started;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let frames_itself = self.task.frames_itself();
        let otherwise = Parent::FocusOrInbox(call.wanted(&workspace, None));
        let mut setup =
            self.task.setup(self.parent, otherwise, Some(EVERYDAY), StepsNeed::Criteria)?;
        if frames_itself {
            setup.think = own_frame(&setup.title, setup.description.as_deref());
        }
        let size = call.size(self.resume_max_chars);
        let view = SuperView::embedded(call.app, size);
        let scope = workspace.clone();
        let intent = call.scene.intent();
        call.write(&workspace, self.repeatable.idempotency_key, move |draft| {
            let made = setup.make(draft, &scope)?;
            let task = made.task;
            let new_plan = Some(made.plan).filter(|_| made.plan_created);
            let previous = lookup::workspace(draft.documents())?.focus;
            let made = Bootstrapped::of(draft, &scope, made, &setup.think);
            draft.apply(&TaskCommand::MoveFocus { to: Some(task.into()) })?;
            record_creation(draft, intent, (task, new_plan), previous)?;
            let about = (Requested::default(), None);
            let resume = view.show(draft.documents(), &scope, task.into(), about)?;
            let is_whole = size == AnswerSize::Whole;
            let started = Started {
                focus: made.task.id.clone(),
                task_id: made.task.id,
                task_qualified_id: is_whole.then_some(made.task.qualified_id),
                plan_id: made.plan.id,
                plan_qualified_id: is_whole.then_some(made.plan.qualified_id),
                plan_created: made.plan.created,
                revision: made.task.revision,
                steps: made.steps,
                events: MacroEvent::all(made.events, size),
                focus_previous: previous.map(|id| id.to_string()),
                resume: resume.result(),
                think_pipeline: made.think_pipeline,
            };
            let mut reply =
                CallReply::new(&started).with_warnings_of(&resume).moved_focus(previous);
            setup.think.warn(&mut reply);
            Ok(reply)
        })
    }
}
