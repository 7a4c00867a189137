//! Argument groups that many operations share (TASKS section 2.5).

use std::time::Duration;

use muster_core::{
    inline_schema,
    tasks::{
        command::StepSelector,
        id::{EntityId, EntityKind, PlanId, StepId},
        path::StepPath,
        view::{Requested, page::PageQuery},
    },
    text::FormFault,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::proof::{CheckPolicy, PATIENT_WAIT_SECONDS, WAIT_SECONDS_DEFAULT};
use crate::{
    Caller,
    arguments::{Reason, invalid, invalid_with},
    call::CallFailure,
    economy::SizeLimit,
};

/// Rows of a short page.
const SHORT_ROWS_MAX: u64 = 100;

/// A plan or task named by `target`: an id, or an id with the kind it must have (TASKS-TGT-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetName(pub EntityId);

impl TargetName {
    /// Reads a string, or an object with `id` and perhaps `kind`.
    pub(crate) fn read(value: &Value) -> Result<Self, FormFault> {
        let text = value.get("id").unwrap_or(value).as_str().unwrap_or_default();
        let id: EntityId = text.parse().map_err(|bad| FormFault::repeating(text, bad))?;
        let kind = id.kind().name();
        match value.get("kind") {
            Some(given) if given != kind => {
                Err(FormFault { expected: format!("kind {kind} for {id}"), got: None })
            }
            Some(_) | None => Ok(Self(id)),
        }
    }
}

impl<'de> Deserialize<'de> for TargetName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

inline_schema!(TargetName, {"x-form": "TargetName", "anyOf": [
    {"type": "string"},
    {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "kind": {"type": "string", "enum": ["plan", "task"]},
        },
        "required": ["id"],
        "additionalProperties": false,
    },
]});

/// Selects one task.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OneTask {
    /// Task id; default: the focused task.
    task: Option<EntityId>,
    /// Same as task.
    target: Option<TargetName>,
}

impl OneTask {
    pub(crate) fn named(&self) -> Result<Option<EntityId>, CallFailure> {
        agree(&[("task", self.task), ("target", self.target.map(|target| target.0))])
    }
}

/// Selects a plan or a task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct TaskOrPlan {
    /// Task or plan id; default: the focus.
    task: Option<EntityId>,
    /// Plan id.
    plan: Option<EntityId>,
    /// Same as task or plan.
    target: Option<TargetName>,
}

impl TaskOrPlan {
    pub(crate) fn named(&self) -> Result<Option<EntityId>, CallFailure> {
        plan_kind("plan", self.plan)?;
        let target = self.target.map(|target| target.0);
        agree(&[("task", self.task), ("plan", self.plan), ("target", target)])
    }

    /// The target as given, which views repeat.
    pub(crate) fn requested(&self) -> Requested {
        let alias = |kind| self.target.map(|target| target.0).filter(|id| id.kind() == kind);
        Requested {
            task: self.task.or_else(|| alias(EntityKind::Task)),
            plan: self.plan.or_else(|| alias(EntityKind::Plan)),
        }
    }
}

/// Selects one plan.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OnePlan {
    /// Plan id; default: the focused plan.
    plan: Option<EntityId>,
    /// Same as plan.
    target: Option<TargetName>,
}

impl OnePlan {
    pub(crate) fn named(&self) -> Result<Option<EntityId>, CallFailure> {
        agree(&[("plan", self.plan), ("target", self.target.map(|target| target.0))])
    }
}

/// Selects the plan that a new task goes under.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ParentPlan {
    /// Plan of the new task; default: the plan of the focus.
    parent: Option<EntityId>,
    /// Same as parent.
    target: Option<TargetName>,
}

impl ParentPlan {
    pub(crate) fn named(&self) -> Result<Option<PlanId>, CallFailure> {
        let target = self.target.map(|target| target.0);
        let named = agree(&[("parent", self.parent), ("target", target)])?;
        plan_kind("parent", named)
    }
}

/// Refuses a task where a plan is meant.
pub(crate) fn plan_kind(
    argument: &str,
    id: Option<EntityId>,
) -> Result<Option<PlanId>, CallFailure> {
    match id {
        Some(EntityId::Plan(id)) => Ok(Some(id)),
        Some(EntityId::Task(_)) => {
            Err(invalid(argument, Reason::WrongKind, "a plan id such as PLAN-001"))
        }
        None => Ok(None),
    }
}

/// All that are given must name the same entity (TASKS-TGT-2).
pub(crate) fn agree(
    given: &[(&'static str, Option<EntityId>)],
) -> Result<Option<EntityId>, CallFailure> {
    let mut named = given.iter().filter_map(|(name, id)| id.map(|id| (*name, id)));
    let Some((first_name, first)) = named.next() else { return Ok(None) };
    match named.find(|(_, id)| *id != first) {
        Some((name, id)) => Err(invalid_with(
            name,
            Reason::Conflict,
            "arguments that name the same plan or task",
            format!("{first_name} is {first} but {name} is {id}"),
            format!("Call again with one of {first_name} and {name}."),
        )),
        None => Ok(Some(first)),
    }
}

/// Selects one step of a task.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct OneStep {
    /// Step id; safer than path.
    step_id: Option<StepId>,
    /// Step path such as s:0.s:2.
    path: Option<StepPath>,
}

impl OneStep {
    /// The selector; one of the two is required.
    pub(crate) fn selector(self) -> Result<StepSelector, CallFailure> {
        let expected = "a step id, or path as a step path";
        self.optional().ok_or_else(|| invalid("step_id", Reason::Missing, expected))
    }

    /// The selector, if one was given.
    pub(crate) fn optional(self) -> Option<StepSelector> {
        match (self.path, self.step_id) {
            (Some(path), Some(id)) => Some(StepSelector::Both(path, id)),
            (Some(path), None) => Some(StepSelector::Path(path)),
            (None, Some(id)) => Some(StepSelector::Id(id)),
            (None, None) => None,
        }
    }
}

/// Arguments of every change of an existing plan or task.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Guarded {
    /// Refuse at any other revision.
    pub(crate) expected_revision: Option<u64>,
    /// Key that makes a retry safe, 1 to 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) idempotency_key: Option<String>,
}

/// Arguments of a call that runs the checks it needs.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WaitingForChecks {
    /// Seconds to wait for checks, 0 to 50; default 25.
    #[schemars(range(max = 50))]
    wait_seconds: Option<u64>,
}

impl WaitingForChecks {
    pub(crate) fn policy(&self, caller: &Caller) -> CheckPolicy {
        CheckPolicy::Run { wait: self.time(caller) }
    }

    /// How long the call may wait. A caller with a handle does not have to call again.
    pub(crate) fn time(&self, caller: &Caller) -> Duration {
        let patient = caller.is_patient.then_some(PATIENT_WAIT_SECONDS);
        let seconds = self.wait_seconds.or(patient).unwrap_or(WAIT_SECONDS_DEFAULT);
        Duration::from_secs(seconds)
    }
}

/// Arguments of a change that has nothing to guard.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Repeatable {
    /// Key that makes a retry safe, 1 to 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) idempotency_key: Option<String>,
}

/// Arguments of a view that can be cut to a size.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Budgeted {
    /// Largest size of the result in characters; -1: all; default all.
    pub(crate) max_chars: Option<SizeLimit>,
}

/// The same for a view that is short for models by default.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BudgetedView {
    /// Characters of the result; -1: all; default over MCP 3700, else all.
    pub(crate) max_chars: Option<SizeLimit>,
}

/// The default of [`BudgetedView`].
pub(crate) const VIEW_CHARS: u64 = 3_700;

/// Whether a limit is absent or small: the result is then read quickly.
pub(crate) fn is_short(arguments: &Map<String, Value>, limit: &str) -> bool {
    let rows = arguments.get(limit);
    rows.is_none_or(|rows| rows.as_u64().is_some_and(|rows| rows <= SHORT_ROWS_MAX))
}

/// Reads the arguments of a page inside one plan or task.
pub(crate) fn page(
    argument: &'static str,
    cursor: Option<&str>,
    limit: u32,
) -> Result<PageQuery, CallFailure> {
    let cursor = cursor.map(str::parse).transpose();
    let cursor =
        cursor.map_err(|()| invalid(argument, Reason::BadFormat, "a next_cursor of this tool"))?;
    Ok(PageQuery { argument, cursor, limit })
}
