//! `tasks_create`.

use muster_core::tasks::{
    TaskCommand, TaskDraft, TaskResult,
    command::{AddSteps, CreatePlan, CreateTask, DefineStep, StepSelector, StepTarget},
    id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
    lookup::{self, LookupRequest},
    wire::EventView,
    wording::{FreeObject, LongText, Title},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{ParentPlan, Repeatable},
    respond::{StepName, added_steps, first, shown},
    steps::{CheckNames, ProofModeChanges, StepInput},
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Creates a plan, or a task under a plan with its steps. Use it to put work on record before
/// starting it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksCreate {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Default task when parent or target is given, else plan.
    kind: Option<EntityKind>,
    #[serde(flatten)]
    parent: ParentPlan,
    /// One line, at most 500 characters.
    title: Title,
    /// What it is about.
    description: Option<LongText>,
    /// Plan only: what it promises.
    contract: Option<LongText>,
    /// Plan only: the promise, structured.
    contract_data: Option<FreeObject>,
    /// Task only: its steps, at most 200.
    #[schemars(length(max = 200))]
    steps: Option<Vec<StepInput>>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// What was created.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// Its id.
    id: String,
    /// Id with the workspace in front.
    qualified_id: String,
    /// Plan or task.
    kind: EntityKind,
    /// What the next expected_revision must name.
    revision: u64,
    /// The creation.
    event: EventView,
    /// Steps of a new task, when steps were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepName>>,
    /// All events of the call, when steps were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventView>>,
}

impl Operation for TasksCreate {
    const NAME: &'static str = "tasks_create";
    const TITLE: &'static str = "Create a plan or task";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Created;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let parent = self.parent.named()?;
        let kind = self.kind.unwrap_or(match parent {
            Some(_) => EntityKind::Task,
            None => EntityKind::Plan,
        });
        let workspace = self.workspace.clone();
        let key = self.repeatable.idempotency_key.clone();
        let scope = self.workspace.clone();
        match kind {
            EntityKind::Plan => {
                let create = self.plan(parent)?;
                call.write(&workspace, key, move |draft| create_plan(draft, &scope, &create))
            }
            EntityKind::Task => {
                let wanted = call.wanted(&workspace, None);
                let new = self.task(parent, wanted)?;
                call.write(&workspace, key, move |draft| create_task(draft, &scope, &new))
            }
        }
    }
}

/// A new task and its steps.
struct NewTask {
    parent: Option<PlanId>,
    /// Where it goes without a parent.
    wanted: LookupRequest,
    title: String,
    description: Option<String>,
    steps: Option<Vec<StepInput>>,
}

impl TasksCreate {
    fn plan(self, parent: Option<PlanId>) -> Result<CreatePlan, CallFailure> {
        if self.steps.is_some() {
            return Err(not_for("steps", "plan"));
        }
        if parent.is_some() {
            return Err(not_for("parent", "plan"));
        }
        Ok(CreatePlan {
            title: self.title.0,
            description: self.description.and_then(LongText::stored),
            contract: self.contract.and_then(LongText::stored),
            contract_data: self.contract_data.map(|object| object.0),
        })
    }

    fn task(self, parent: Option<PlanId>, wanted: LookupRequest) -> Result<NewTask, CallFailure> {
        if self.contract.is_some() {
            return Err(not_for("contract", "task"));
        }
        if self.contract_data.is_some() {
            return Err(not_for("contract_data", "task"));
        }
        Ok(NewTask {
            parent,
            wanted,
            title: self.title.0,
            description: self.description.and_then(LongText::stored),
            steps: self.steps,
        })
    }
}

/// TASKS-CREATE-1.
fn not_for(argument: &str, kind: &str) -> CallFailure {
    invalid_with(
        argument,
        Reason::Conflict,
        &format!("no {argument} with kind {kind}"),
        format!("{argument} does not go with kind {kind}"),
        format!("Leave {argument} out, or choose the other kind."),
    )
}

fn create_plan(
    draft: &mut TaskDraft<'_>,
    workspace: &WorkspaceId,
    create: &CreatePlan,
) -> TaskResult<CallReply> {
    let event = shown(first(draft.apply(&TaskCommand::CreatePlan(create.clone()))?));
    let id = EntityId::Plan(PlanId(lookup::workspace(draft.documents())?.last_plan));
    Ok(CallReply::new(&Created::of(workspace, id, event)))
}

fn create_task(
    draft: &mut TaskDraft<'_>,
    workspace: &WorkspaceId,
    new: &NewTask,
) -> TaskResult<CallReply> {
    let parent = lookup::parent_plan(draft.documents(), new.parent, new.wanted)?;
    let title = new.title.clone();
    let description = new.description.clone();
    let create = TaskCommand::CreateTask(CreateTask { parent, title, description });
    let event = shown(first(draft.apply(&create)?));
    let id = TaskId(lookup::workspace(draft.documents())?.last_task);
    let mut created = Created::of(workspace, id.into(), event);
    if let Some(steps) = new.steps.as_ref().filter(|steps| !steps.is_empty()) {
        created.steps = Some(add_steps(draft, id, steps)?);
    } else if new.steps.is_some() {
        created.steps = Some(Vec::new());
    }
    if new.steps.is_some() {
        created.events = Some(draft.call_events().iter().map(shown).collect());
    }
    Ok(CallReply::new(&created))
}

/// Adds the steps and defines what goes beyond title and criteria, one event each.
pub(crate) fn add_steps(
    draft: &mut TaskDraft<'_>,
    task: TaskId,
    steps: &[StepInput],
) -> TaskResult<Vec<StepName>> {
    let bare = steps.iter().map(StepInput::bare).collect();
    let add = AddSteps { task, parent: None, steps: bare };
    let names = added_steps(&first(draft.apply(&TaskCommand::AddSteps(add))?).event);
    for (step, name) in steps.iter().zip(&names).filter(|(step, _)| step.has_more()) {
        let path = name.path.parse();
        let path = path.unwrap_or_else(|_| unreachable!("paths read back: {}", name.path));
        let selector = StepSelector::Path(path);
        draft.apply(&TaskCommand::DefineStep(DefineStep {
            step: StepTarget { task, selector },
            title: None,
            success_criteria: None,
            tests: step.tests.as_ref().map(|lines| lines.0.clone()),
            blockers: step.blockers.as_ref().map(|lines| lines.0.clone()),
            proof_modes: step.proof_modes.map(ProofModeChanges::changes),
            checks: step.checks.as_ref().map(CheckNames::names),
        }))?;
    }
    Ok(names)
}

impl Created {
    fn of(workspace: &WorkspaceId, id: EntityId, event: EventView) -> Self {
        Self {
            id: id.to_string(),
            qualified_id: format!("{workspace}:{id}"),
            kind: id.kind(),
            revision: 0,
            event,
            steps: None,
            events: None,
        }
    }
}
