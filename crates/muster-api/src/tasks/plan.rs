//! `tasks_plan` and `tasks_contract`.

use muster_core::tasks::{
    TaskCommand, TaskDocs, TaskResult,
    command::{SetChecklist, SetContract},
    entity::Checklist,
    id::{EntityId, EntityKind, PlanId, WorkspaceId},
    lookup::{self, Accepts, Target},
    wire::EventView,
    wording::{FreeObject, LongText, Points},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    complete::EntityLine,
    groups::{Guarded, OnePlan},
    respond::{first, shown},
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Updates the checklist of a plan: points, position, or one point further.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksPlan {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OnePlan,
    /// All points from now on, in order; each on one line, none blank.
    steps: Option<Points>,
    /// Points done, from 0 to the number of points.
    current: Option<u64>,
    /// Free text about the checklist.
    doc: Option<LongText>,
    /// true advances a point; not together with current.
    advance: Option<bool>,
    #[serde(flatten)]
    guarded: Guarded,
}

/// A checklist that was updated.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChecklistUpdated {
    /// The plan.
    plan: EntityLine,
    /// Its checklist.
    checklist: Checklist,
    /// What happened.
    event: EventView,
}

impl Operation for TasksPlan {
    const NAME: &'static str = "tasks_plan";
    const TITLE: &'static str = "Update a plan's checklist";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = ChecklistUpdated;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = self.selection.named()?;
        let advance = self.advance.unwrap_or(false);
        if advance && self.current.is_some() {
            return Err(excluded("advance", "current"));
        }
        if self.steps.is_none() && self.current.is_none() && self.doc.is_none() && !advance {
            return Err(nothing_to_do("steps", "steps, current, doc or advance=true"));
        }
        let steps = self.steps.map(|points| points.0);
        // No checklist has `u32::MAX` points.
        let current = self.current.map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        let doc = self.doc.map(LongText::stored);
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, plan) = guarded_plan(draft.documents(), named, expected_revision)?;
            let steps = steps.clone();
            let doc = doc.clone();
            let set = SetChecklist { plan, steps, current, doc, advance };
            let event = shown(first(draft.apply(&TaskCommand::SetChecklist(set))?));
            let planned = ChecklistUpdated {
                plan: EntityLine::of(draft.documents(), target.id)?,
                checklist: lookup::plan(draft.documents(), plan)?.checklist.clone(),
                event,
            };
            Ok(CallReply::new(&planned).about(target))
        })
    }
}

/// Sets or clears what a plan promises, as text and in structured form.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksContract {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OnePlan,
    /// The contract as text.
    current: Option<LongText>,
    /// The contract as an object, free keys.
    contract_data: Option<FreeObject>,
    /// true removes both; not together with the others.
    clear: Option<bool>,
    #[serde(flatten)]
    guarded: Guarded,
}

/// A contract that was set.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Contracted {
    /// The plan.
    plan: EntityLine,
    /// The contract now.
    contract: Option<String>,
    /// The structured contract now.
    contract_data: Option<Map<String, Value>>,
    /// What happened.
    event: EventView,
}

impl Operation for TasksContract {
    const NAME: &'static str = "tasks_contract";
    const TITLE: &'static str = "Set a plan's contract";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = Contracted;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = self.selection.named()?;
        let clear = self.clear.unwrap_or(false);
        let given = self.current.is_some() || self.contract_data.is_some();
        if clear && given {
            return Err(excluded("clear", "current and contract_data"));
        }
        if !clear && !given {
            return Err(nothing_to_do("current", "current, contract_data or clear=true"));
        }
        let contract = self.current.map(LongText::stored);
        let contract_data = self.contract_data.map(|object| object.0);
        let Guarded { expected_revision, idempotency_key } = self.guarded;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, plan) = guarded_plan(draft.documents(), named, expected_revision)?;
            let contract = contract.clone();
            let contract_data = contract_data.clone();
            let set = SetContract { plan, contract, contract_data, clear };
            let event = shown(first(draft.apply(&TaskCommand::SetContract(set))?));
            let mut line = EntityLine::of(draft.documents(), target.id)?;
            line.plan_progress = None;
            let stored = lookup::plan(draft.documents(), plan)?;
            let contracted = Contracted {
                plan: line,
                contract: stored.contract.clone(),
                contract_data: stored.contract_data.clone(),
                event,
            };
            Ok(CallReply::new(&contracted).about(target))
        })
    }
}

fn guarded_plan(
    docs: &TaskDocs,
    named: Option<EntityId>,
    expected_revision: Option<u64>,
) -> TaskResult<(Target, PlanId)> {
    let target = lookup::target(docs, named, Accepts::Only(EntityKind::Plan))?;
    lookup::expect_revision(docs, target.id, expected_revision)?;
    match target.id {
        EntityId::Plan(id) => Ok((target, id)),
        EntityId::Task(id) => unreachable!("{id} was accepted as a plan"),
    }
}

fn excluded(argument: &str, others: &str) -> CallFailure {
    invalid_with(
        argument,
        Reason::Conflict,
        &format!("{argument} without {others}"),
        format!("{argument} excludes {others}"),
        format!("Call again without {argument} or without {others}."),
    )
}

fn nothing_to_do(argument: &str, expected: &str) -> CallFailure {
    invalid_with(
        argument,
        Reason::NoChange,
        expected,
        "the call changes nothing".to_owned(),
        format!("Call again with {expected}."),
    )
}
