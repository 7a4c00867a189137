//! The steps of a task or of all tasks of a plan in numbers, and the first open step
//! (TASKS-VIEW-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{definition::DefinitionOfDone, gate::GateState, rollup::next_task};
use crate::{
    tasks::{
        TaskDocs, TaskLookup,
        entity::{Plan, Task},
        id::TaskId,
        lookup,
        step::{Checkpoint, Step},
    },
    text,
};

/// Characters of a block reason in the summary.
const REASON_CHARS_MAX: usize = 120;

/// Steps in numbers, as every view of a plan or task shows them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepsView {
    /// Of a task.
    Task(Box<StepsSummary>),
    /// Of a plan.
    Plan(Box<PlanSteps>),
}

/// Counts over the steps of all tasks of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanSteps {
    /// All steps.
    pub total: u64,
    /// Steps not closed.
    pub open: u64,
    /// Steps closed.
    pub completed: u64,
    /// The step to work on: the first open one of the next task.
    pub first_open: Option<PlanFirstOpen>,
}

/// The first open step of a plan's next task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanFirstOpen {
    /// The task.
    pub task: TaskId,
    /// The step and its gate.
    #[serde(flatten)]
    pub step: FirstOpen,
}

impl PlanSteps {
    /// The counts of a plan. They are stored with it; only the next task is read.
    pub fn of(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Self> {
        let next = next_task(docs, plan)?;
        let task = next.map(|next| lookup::find_task(docs, next.id)).transpose()?.flatten();
        let first_open = task.and_then(|task| {
            let step = FirstOpen::of(task, task.steps.first_open()?);
            Some(PlanFirstOpen { task: task.id, step })
        });
        let total = plan.sums.steps_total;
        let completed = plan.sums.steps_completed;
        Ok(Self { total, open: total - completed, completed, first_open })
    }
}

/// Counts over all steps of a task.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepsSummary {
    /// All steps.
    pub total: usize,
    /// Steps not closed.
    pub open: usize,
    /// Steps closed.
    pub completed: usize,
    /// Steps closed by force.
    pub forced: usize,
    /// Open steps that are blocked.
    pub blocked: usize,
    /// Steps that miss this confirmation.
    pub missing_criteria: usize,
    /// Steps that miss this confirmation.
    pub missing_tests: usize,
    /// Steps that miss this confirmation.
    pub missing_security: usize,
    /// Steps that miss this confirmation.
    pub missing_perf: usize,
    /// Steps that miss this confirmation.
    pub missing_docs: usize,
    /// Steps that miss this proof.
    pub missing_proof_tests: usize,
    /// Steps that miss this proof.
    pub missing_proof_security: usize,
    /// Steps that miss this proof.
    pub missing_proof_perf: usize,
    /// Steps that miss this proof.
    pub missing_proof_docs: usize,
    /// The step to work on.
    pub first_open: Option<FirstOpen>,
}

/// The first open step: what makes it done, and its gate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FirstOpen {
    pub step_id: String,
    pub path: String,
    pub title: String,
    /// Revision of the task at which it was read.
    pub revision: u64,
    #[serde(flatten)]
    pub definition: DefinitionOfDone,
    #[serde(flatten)]
    pub gate: GateState,
    pub blocked: bool,
    pub block_reason: Option<String>,
    pub open_children: usize,
    pub open_nodes: usize,
}

impl StepsSummary {
    /// The summary of a task.
    pub fn of(task: &Task) -> Self {
        let mut summary = Self::default();
        for step in task.steps.iter() {
            summary.add(step);
        }
        summary.open = summary.total - summary.completed;
        summary.first_open = task.steps.first_open().map(|step| FirstOpen::of(task, step));
        summary
    }

    fn add(&mut self, step: &Step) {
        let is_closed = step.is_closed();
        self.total += 1;
        self.completed += usize::from(is_closed);
        self.forced += usize::from(step.waiver.is_some());
        self.blocked += usize::from(step.block.is_some() && !is_closed);
        let misses = |checkpoint| usize::from(step.misses(checkpoint));
        self.missing_criteria += misses(Checkpoint::Criteria);
        self.missing_tests += misses(Checkpoint::Tests);
        if !step.asks_for_more() {
            return;
        }
        self.missing_security += misses(Checkpoint::Security);
        self.missing_perf += misses(Checkpoint::Perf);
        self.missing_docs += misses(Checkpoint::Docs);
        let misses_proof = |checkpoint| usize::from(step.misses_proof(checkpoint));
        self.missing_proof_tests += misses_proof(Checkpoint::Tests);
        self.missing_proof_security += misses_proof(Checkpoint::Security);
        self.missing_proof_perf += misses_proof(Checkpoint::Perf);
        self.missing_proof_docs += misses_proof(Checkpoint::Docs);
    }
}

impl FirstOpen {
    fn of(task: &Task, step: &Step) -> Self {
        let reason = step.block.as_ref().and_then(|block| block.reason.as_deref());
        Self {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            revision: task.meta.revision,
            definition: DefinitionOfDone::of(step),
            gate: GateState::of(step),
            blocked: step.block.is_some(),
            block_reason: reason.map(|reason| text::cut(reason, REASON_CHARS_MAX)),
            open_children: task.steps.open_children(&step.path).count(),
            open_nodes: step.open_nodes().count(),
        }
    }
}
