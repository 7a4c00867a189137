//! Facts about steps and their sub-plans.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Derived;
use crate::tasks::{
    check_gate::CheckState,
    id::{CheckRunId, NodeId, PlanId, StepId, TaskId},
    path::StepPath,
    step::{
        Checkpoint, ConfirmationSource, ItemConfirmation, NodeFields, ProofModes, Step, StepNode,
        Waiver,
    },
    stop::StopReply,
};

/// Steps were added to a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepsAdded {
    /// The step's place.
    pub task: TaskRef,
    /// Step below which they were added; `None` at the task root.
    pub parent_path: Option<StepPath>,
    /// The steps, in path order.
    pub steps: Vec<AddedStep>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A task, its plan, and the task's revision after the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskRef {
    pub task: TaskId,
    pub parent: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
}

/// One new step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AddedStep {
    pub id: StepId,
    pub path: StepPath,
    pub title: String,
    /// Its lists and proof modes.
    pub fields: StepFields,
}

/// The parts of a step that a definition sets; absent means unchanged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepFields {
    /// New criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<String>>,
    /// New tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<String>>,
    /// New blockers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockers: Option<Vec<String>>,
    /// New proof modes, all four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_modes: Option<ProofModes>,
    /// All checks that the step has to pass from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<String>>,
}

/// A step and its task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRef {
    pub task: TaskRef,
    pub step_id: StepId,
    pub path: StepPath,
}

/// Fields of a step changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepDefined {
    pub step: StepRef,
    /// New title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New lists and proof modes.
    pub fields: StepFields,
    /// Names of the fields that were given.
    pub given: Vec<String>,
    /// Confirmations that a changed list cleared (TASKS-STATE-7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<Checkpoint>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A note was written on a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepNoted {
    pub step: StepRef,
    /// Number of the note on this step, from 1.
    pub note_seq: u32,
    /// The whole note.
    pub note: String,
}

/// Checkpoints were confirmed or un-confirmed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepVerified {
    pub step: StepRef,
    /// The checkpoints given and their new value.
    pub confirmations: Vec<(Checkpoint, bool)>,
    /// Single criteria and tests that were confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemConfirmation>,
    /// Who or what confirmed whole checkpoints.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<Checkpoint, ConfirmationSource>,
    /// Checks that passed on the files of the call, with the run that shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proofs: BTreeMap<String, CheckRunId>,
    /// The runs are those of another store and prove nothing here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A step was closed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepDone {
    pub step: StepRef,
    /// Present when gates were skipped by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<Waiver>,
    /// Checks that a person had set aside.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub set_aside: BTreeSet<String>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A step was opened again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepReopened {
    pub step: StepRef,
    /// Its consequences, including the step itself.
    pub derived: Derived,
}

/// A step was blocked or unblocked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepBlockSet {
    pub step: StepRef,
    /// Whether it is blocked now.
    pub blocked: bool,
    /// Why.
    pub reason: Option<String>,
}

/// An agent wanted to stop although checks of the step did not hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StopAnswered {
    pub step: StepRef,
    /// The checks that did not hold.
    pub checks: BTreeMap<String, CheckState>,
    pub reply: StopReply,
    /// Whether the task is listed as waiting for a person; not in events before there was a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// A step and everything below it was deleted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepDeleted {
    pub step: StepRef,
    /// Number of deleted steps, including itself.
    pub deleted_steps: u64,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// A node was added to a step's sub-plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeAdded {
    pub step: StepRef,
    pub node: StepNode,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// Fields of a node changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeDefined {
    pub step: StepRef,
    pub node_id: NodeId,
    /// The node's ordinal.
    pub ordinal: u32,
    /// What changed.
    pub fields: NodeFields,
    /// Names of the fields that were given.
    pub given: Vec<String>,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepNodeDeleted {
    pub step: StepRef,
    pub node_id: NodeId,
    /// The node's ordinal.
    pub ordinal: u32,
}

impl StepFields {
    /// Sets what is given.
    pub fn apply(&self, step: &mut Step) {
        if let Some(criteria) = &self.success_criteria {
            step.success_criteria.clone_from(criteria);
        }
        if let Some(tests) = &self.tests {
            step.tests.clone_from(tests);
        }
        if let Some(blockers) = &self.blockers {
            step.blockers.clone_from(blockers);
        }
        if let Some(modes) = self.proof_modes {
            step.proof_modes = modes;
        }
        if let Some(checks) = &self.checks {
            step.checks.clone_from(checks);
        }
    }
}
