//! Creates a task with everything around it: plan, steps, reasoning. Shared by bootstrap,
//! scaffold and macros.

use muster_core::{
    ListQuery, WorkRefusal,
    tasks::{
        TaskCommand, TaskDocument, TaskDraft, TaskRejection, TaskResult,
        command::{CreatePlan, CreateTask, SetChecklist},
        id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
        lookup::{self, LookupRequest},
        step::ProofMode,
        templates::{
            DEFAULT_TASK, PRINCIPAL_TASK, TaskTemplate, TaskTemplateContent, TemplateStep,
        },
        wire::EventView,
        wording::{CleanLines, LongText, Title},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    card::CardInput,
    create::add_steps,
    groups::{TargetName, agree, plan_kind},
    respond::{StepName, public},
    steps::{ProofModeChanges, StepInput, StepsNeed, gate_ready},
    think::{self, Pipeline, PipelineView, ThinkInput},
};
use crate::{
    WarningCode,
    arguments::{Reason, invalid, invalid_with},
    call::{CallFailure, CallReply},
};

/// Title of the plan that tasks without a plan go to.
const INBOX: &str = "Inbox";

/// Where a new task goes.
#[derive(Clone, Debug)]
pub(crate) enum Parent {
    /// Under this plan.
    Plan(PlanId),
    /// Under a new plan, optionally with a checklist.
    New(String, Option<&'static TaskTemplate>),
    /// Under the plan of the task that the caller is bound to, else under the focused plan or the
    /// focused task's plan.
    Focus(LookupRequest),
    /// The same, else under the inbox.
    FocusOrInbox(LookupRequest),
}

/// Selects or creates the plan of a new task.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ParentChoice {
    /// Existing plan; default: the plan of the focus.
    pub(crate) plan: Option<EntityId>,
    /// Same as plan.
    pub(crate) parent: Option<EntityId>,
    /// Same as plan.
    pub(crate) target: Option<TargetName>,
    /// Title of a new plan instead.
    pub(crate) plan_title: Option<Title>,
}

impl ParentChoice {
    /// TASKS-PAR-1, TASKS-PAR-2.
    pub(crate) fn check(
        self,
        plan_template: Option<&str>,
        otherwise: Parent,
    ) -> Result<Parent, CallFailure> {
        let target = self.target.map(|target| target.0);
        let named = agree(&[("plan", self.plan), ("parent", self.parent), ("target", target)])?;
        let named = plan_kind("plan", named)?;
        match (named, self.plan_title, plan_template) {
            (Some(_), Some(_), _) => Err(invalid_with(
                "plan_title",
                Reason::Conflict,
                "an existing plan or plan_title",
                "plan_title creates a plan, so no existing one can be named".to_owned(),
                "Call again with one of them.".to_owned(),
            )),
            (None, Some(title), None) => Ok(Parent::New(title.0, None)),
            (None, Some(title), Some(name)) => {
                let template = template("plan_template", name, EntityKind::Plan)?;
                Ok(Parent::New(title.0, Some(template)))
            }
            (_, None, Some(_)) => {
                let expected = "plan_title, as plan_template only goes with a new plan";
                Err(invalid("plan_template", Reason::Conflict, expected))
            }
            (Some(plan), None, None) => Ok(Parent::Plan(plan)),
            (None, None, None) => Ok(otherwise),
        }
    }
}

/// The template of that name and kind.
pub(crate) fn template(
    argument: &str,
    name: &str,
    kind: EntityKind,
) -> Result<&'static TaskTemplate, CallFailure> {
    match TaskTemplate::named(name) {
        Some(template) if template.kind() == kind => Ok(template),
        Some(_) => {
            let expected = format!("a template for a {}", kind.name());
            Err(invalid(argument, Reason::WrongKind, &expected))
        }
        None => Err(crate::refusals::unknown_template(name)),
    }
}

pub(crate) fn template_steps(template: &TaskTemplate) -> Vec<StepInput> {
    let lines = |items: &[&str]| CleanLines(items.iter().map(|item| (*item).to_owned()).collect());
    let step = |step: &TemplateStep| StepInput {
        title: Title(step.title.to_owned()),
        success_criteria: lines(&step.success_criteria),
        tests: Some(lines(&[step.test])),
        blockers: None,
        proof_modes: (step.proof_tests != ProofMode::Off)
            .then(|| ProofModeChanges::tests(step.proof_tests)),
        checks: None,
    };
    match template.content {
        TaskTemplateContent::Steps(steps) => steps.iter().map(step).collect(),
        TaskTemplateContent::Checklist(_) => Vec::new(),
    }
}

/// A task to create with everything around it.
#[derive(Clone, Debug)]
pub(crate) struct TaskSetup {
    pub(crate) parent: Parent,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) steps: Vec<StepInput>,
    pub(crate) think: ReasoningSeed,
}

/// Reasoning to seed with a task.
#[derive(Clone, Debug)]
pub(crate) enum ReasoningSeed {
    /// None.
    Nothing,
    Pipeline(Pipeline),
    /// Invalid content, with the reason.
    Unusable(String),
}

impl ReasoningSeed {
    /// TASKS-BOOT-2: invalid content is a warning, not an error.
    pub(crate) fn of(think: Option<ThinkInput>) -> Self {
        if think.as_ref().is_some_and(ThinkInput::names_cards) {
            return Self::Unusable("a new task has no cards to update".to_owned());
        }
        match think.map(ThinkInput::check) {
            None => Self::Nothing,
            Some(Ok(pipeline)) => Self::Pipeline(pipeline),
            Some(Err(failure)) => Self::Unusable(failure.error.message),
        }
    }

    /// Warns when the seed could not be used.
    pub(crate) fn warn(&self, reply: &mut CallReply) {
        if let Self::Unusable(why) = self {
            let message = format!("the task was created without its reasoning: {why}");
            let recovery = "Commit it with think_pipeline.";
            reply.warn(WarningCode::ThinkPipelineFailed, message, recovery);
        }
    }
}

/// What a setup created.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) plan: PlanId,
    pub(crate) plan_created: bool,
    pub(crate) task: TaskId,
    pub(crate) steps: Vec<StepName>,
    pub(crate) think: Option<PipelineView>,
}

impl TaskSetup {
    /// Creates plan, task, steps and reasoning as one call of the draft.
    pub(crate) fn make(
        &self,
        draft: &mut TaskDraft<'_>,
        workspace: &WorkspaceId,
    ) -> TaskResult<Made> {
        let (plan, plan_created) = self.parent.resolve(draft)?;
        let title = self.title.clone();
        let description = self.description.clone();
        let create = CreateTask { parent: plan, title, description };
        draft.apply(&TaskCommand::CreateTask(create))?;
        let task = TaskId(lookup::workspace(draft.documents())?.last_task);
        let steps = add_steps(draft, task, &self.steps)?;
        let think = match &self.think {
            ReasoningSeed::Pipeline(pipeline) => {
                Some(think::commit(draft, workspace, task.into(), pipeline)?)
            }
            ReasoningSeed::Nothing | ReasoningSeed::Unusable(_) => None,
        };
        Ok(Made { plan, plan_created, task, steps, think })
    }
}

impl Parent {
    fn resolve(&self, draft: &mut TaskDraft<'_>) -> TaskResult<(PlanId, bool)> {
        match self {
            Self::Plan(id) => {
                let wanted = LookupRequest::default();
                Ok((lookup::parent_plan(draft.documents(), Some(*id), wanted)?, false))
            }
            Self::New(title, template) => Ok((create_plan(draft, title, None, *template)?, true)),
            Self::Focus(wanted) => {
                Ok((lookup::parent_plan(draft.documents(), None, *wanted)?, false))
            }
            Self::FocusOrInbox(wanted) => {
                match lookup::parent_plan(draft.documents(), None, *wanted) {
                    Ok(id) => Ok((id, false)),
                    Err(WorkRefusal::Rejected(rejection))
                        if *rejection == TaskRejection::ParentMissing =>
                    {
                        inbox(draft)
                    }
                    Err(refusal) => Err(refusal),
                }
            }
        }
    }
}

/// The lowest-numbered plan called Inbox, or a new one.
fn inbox(draft: &mut TaskDraft<'_>) -> TaskResult<(PlanId, bool)> {
    let plans = draft.documents().list(&ListQuery::of("plan"))?;
    let mut plans = plans.into_iter().filter_map(TaskDocument::as_plan);
    match plans.find(|plan| plan.meta.title == INBOX).map(|plan| plan.id) {
        Some(id) => Ok((id, false)),
        None => Ok((create_plan(draft, INBOX, None, None)?, true)),
    }
}

/// Creates a plan, with a template's checklist if one is given.
pub(crate) fn create_plan(
    draft: &mut TaskDraft<'_>,
    title: &str,
    description: Option<String>,
    template: Option<&TaskTemplate>,
) -> TaskResult<PlanId> {
    let title = title.to_owned();
    let create = CreatePlan { title, description, contract: None, contract_data: None };
    draft.apply(&TaskCommand::CreatePlan(create))?;
    let plan = PlanId(lookup::workspace(draft.documents())?.last_plan);
    if let Some(TaskTemplate { content: TaskTemplateContent::Checklist(points), .. }) = template {
        let steps = Some(points.iter().map(|point| (*point).to_owned()).collect());
        let set = SetChecklist { plan, steps, current: None, doc: None, advance: false };
        draft.apply(&TaskCommand::SetChecklist(set))?;
    }
    Ok(plan)
}

/// A plan in a result of creation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadePlan {
    pub(crate) id: String,
    pub(crate) qualified_id: String,
    pub(crate) created: bool,
}

/// A task in a result of creation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadeTask {
    pub(crate) id: String,
    pub(crate) qualified_id: String,
    pub(crate) revision: u64,
}

/// What a bootstrap created.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Bootstrapped {
    pub(crate) workspace: String,
    pub(crate) plan: MadePlan,
    pub(crate) task: MadeTask,
    pub(crate) steps: Vec<StepName>,
    pub(crate) events: Vec<EventView>,
    /// Present when reasoning was given; null when it could not be seeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) think_pipeline: Option<Option<PipelineView>>,
}

impl Bootstrapped {
    /// The reply about a setup whose events are those of the current call.
    pub(crate) fn of(
        draft: &TaskDraft<'_>,
        workspace: &WorkspaceId,
        made: Made,
        seed: &ReasoningSeed,
    ) -> Self {
        let plan_id = made.plan.to_string();
        let task_id = made.task.to_string();
        Self {
            workspace: workspace.to_string(),
            plan: MadePlan {
                qualified_id: format!("{workspace}:{plan_id}"),
                id: plan_id,
                created: made.plan_created,
            },
            task: MadeTask {
                qualified_id: format!("{workspace}:{task_id}"),
                id: task_id,
                revision: 0,
            },
            steps: made.steps,
            events: public(draft.call_events()),
            think_pipeline: (!matches!(seed, ReasoningSeed::Nothing)).then_some(made.think),
        }
    }
}

/// Task and steps for a bootstrap.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct TaskInput {
    /// Title of the task.
    pub(crate) task_title: Title,
    /// What it is about.
    pub(crate) description: Option<LongText>,
    /// Task template instead of steps, see tasks_templates_list.
    pub(crate) template: Option<String>,
    /// Steps, 1 to 200, each with criteria.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) steps: Option<Vec<StepInput>>,
    /// Checklist template of a new plan.
    pub(crate) plan_template: Option<String>,
    /// Reasoning to seed; a stage: string or card (id, type, title, text, status, tags, meta).
    pub(crate) think: Option<ThinkInput>,
}

impl TaskInput {
    /// The setup; without steps and template, `default_template` decides.
    pub(crate) fn setup(
        self,
        parent: ParentChoice,
        otherwise: Parent,
        default_template: Option<&'static str>,
        need: StepsNeed,
    ) -> Result<TaskSetup, CallFailure> {
        if self.steps.is_some() && self.template.is_some() {
            let expected = "steps or template, not both";
            return Err(invalid("template", Reason::Conflict, expected));
        }
        let name = self.template.as_deref().or(default_template);
        if self.steps.is_none() && name.is_none() {
            return Err(invalid("steps", Reason::Missing, "steps or a template"));
        }
        gate_ready(self.steps.as_deref().unwrap_or_default(), need)?;
        let parent = parent.check(self.plan_template.as_deref(), otherwise)?;
        let steps = match (self.steps, name) {
            (None, Some(name)) => template_steps(template("template", name, EntityKind::Task)?),
            (steps, _) => steps.unwrap_or_default(),
        };
        Ok(TaskSetup {
            parent,
            title: self.task_title.0,
            description: self.description.and_then(LongText::stored),
            steps,
            think: ReasoningSeed::of(self.think),
        })
    }

    /// Whether a frame card is seeded automatically (TASKS-MS-1).
    pub(crate) fn frames_itself(&self) -> bool {
        self.think.is_none() && self.template.as_deref() == Some(PRINCIPAL_TASK)
    }
}

/// The frame card of a demanding task.
pub(crate) fn own_frame(title: &str, description: Option<&str>) -> ReasoningSeed {
    ReasoningSeed::Pipeline(Pipeline::frame(CardInput::titled(title, description)))
}

/// The template of everyday tasks.
pub(crate) const EVERYDAY: &str = DEFAULT_TASK;
