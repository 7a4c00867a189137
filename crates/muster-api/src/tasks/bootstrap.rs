//! `tasks_bootstrap` and `tasks_scaffold`.

use muster_core::tasks::{
    TaskDraft, TaskResult,
    entity::Checklist,
    id::{EntityId, EntityKind, PlanId, WorkspaceId},
    lookup,
    templates::TaskTemplate,
    wire::EventView,
    wording::{LongText, Title},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Repeatable, TargetName},
    respond::{StepName, public},
    setup::{
        Bootstrapped, Made, MadeTask, Parent, ParentChoice, ReasoningSeed, TaskInput, TaskSetup,
        create_plan, template_steps,
    },
    steps::StepsNeed,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Creates a plan if asked, a task, its steps and its reasoning in one call.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksBootstrap {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    parent: ParentChoice,
    #[serde(flatten)]
    task: TaskInput,
    #[serde(flatten)]
    repeatable: Repeatable,
}

impl Operation for TasksBootstrap {
    const NAME: &'static str = "tasks_bootstrap";
    const TITLE: &'static str = "Set up a task";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Bootstrapped;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let otherwise = Parent::Focus(call.wanted(&self.workspace, None));
        let setup = self.task.setup(self.parent, otherwise, None, StepsNeed::CriteriaAndTests)?;
        let workspace = self.workspace.clone();
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            let made = setup.make(draft, &workspace)?;
            let view = Bootstrapped::of(draft, &workspace, made, &setup.think);
            let mut reply = CallReply::new(&view);
            setup.think.warn(&mut reply);
            Ok(reply)
        })
    }
}

/// Creates a plan with a checklist or a task with steps from a built-in template.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksScaffold {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Template id, see tasks_templates_list.
    template: String,
    /// Title of the plan or task.
    title: Title,
    /// Default: the template's kind.
    kind: Option<EntityKind>,
    /// What it is about.
    description: Option<LongText>,
    /// Task only: existing plan; default the focus.
    parent: Option<EntityId>,
    /// Same as parent.
    target: Option<TargetName>,
    /// Task only: title of a new plan instead.
    plan_title: Option<Title>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// The result of a scaffold.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Scaffolded {
    workspace: String,
    template: TemplateName,
    plan: ScaffoldPlan,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<MadeTask>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checklist: Option<Checklist>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<EventView>,
    events: Vec<EventView>,
}

/// A template in a result.
#[derive(Debug, Serialize, JsonSchema)]
struct TemplateName {
    id: &'static str,
    kind: EntityKind,
}

/// The plan of a scaffold.
#[derive(Debug, Serialize, JsonSchema)]
struct ScaffoldPlan {
    id: String,
    qualified_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
}

impl Operation for TasksScaffold {
    const NAME: &'static str = "tasks_scaffold";
    const TITLE: &'static str = "Create from a template";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Scaffolded;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let choice = ParentChoice {
            plan: None,
            parent: self.parent,
            target: self.target,
            plan_title: self.plan_title,
        };
        let parent = choice.check(None, Parent::Focus(call.wanted(&self.workspace, None)))?;
        let Some(template) = TaskTemplate::named(&self.template) else {
            return Err(crate::refusals::unknown_template(&self.template));
        };
        if self.kind.is_some_and(|kind| kind != template.kind()) {
            let expected = format!("{}, the template's kind", template.kind().name());
            return Err(invalid("kind", Reason::Conflict, &expected));
        }
        let description = self.description.and_then(LongText::stored);
        let workspace = self.workspace.clone();
        let title = self.title.0;
        let key = self.repeatable.idempotency_key;
        if template.kind() == EntityKind::Plan {
            if !matches!(parent, Parent::Focus(_)) {
                return Err(invalid("parent", Reason::Conflict, "no parent for a plan"));
            }
            return call.write(&self.workspace, key, move |draft| {
                let plan = create_plan(draft, &title, description.clone(), Some(template))?;
                Ok(CallReply::new(&Scaffolded::plan(draft, &workspace, template, plan)?))
            });
        }
        let steps = template_steps(template);
        let setup = TaskSetup { parent, title, description, steps, think: ReasoningSeed::Nothing };
        call.write(&self.workspace, key, move |draft| {
            let made = setup.make(draft, &workspace)?;
            Ok(CallReply::new(&Scaffolded::task(draft, &workspace, template, made)))
        })
    }
}

impl Scaffolded {
    fn plan(
        draft: &TaskDraft<'_>,
        workspace: &WorkspaceId,
        template: &TaskTemplate,
        id: PlanId,
    ) -> TaskResult<Self> {
        let plan = lookup::plan(draft.documents(), id)?;
        let events = public(draft.call_events());
        Ok(Self {
            workspace: workspace.to_string(),
            template: TemplateName { id: template.id, kind: template.kind() },
            plan: ScaffoldPlan {
                id: id.to_string(),
                qualified_id: format!("{workspace}:{id}"),
                revision: Some(plan.meta.revision),
                created: None,
            },
            task: None,
            steps: None,
            checklist: Some(plan.checklist.clone()),
            event: events.first().cloned(),
            events,
        })
    }

    fn task(
        draft: &TaskDraft<'_>,
        workspace: &WorkspaceId,
        template: &TaskTemplate,
        made: Made,
    ) -> Self {
        let made = Bootstrapped::of(draft, workspace, made, &ReasoningSeed::Nothing);
        Self {
            workspace: made.workspace,
            template: TemplateName { id: template.id, kind: template.kind() },
            plan: ScaffoldPlan {
                id: made.plan.id,
                qualified_id: made.plan.qualified_id,
                revision: None,
                created: Some(made.plan.created),
            },
            task: Some(made.task),
            steps: Some(made.steps),
            checklist: None,
            event: None,
            events: made.events,
        }
    }
}
