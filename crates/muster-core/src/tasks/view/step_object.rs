//! A step and a node of its sub-plan in full, for views that leave nothing out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::gate::GateState;
use crate::{
    Author,
    tasks::{
        entity::{TaskStatus, Urgency},
        origin::shown_meta,
        step::{Checkpoint, SKIPPED_BLOCK, ShownConfirmation, Step, StepLook, StepNode, Waiver},
        stop::UnprovenStop,
    },
};

/// A step with everything it holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepObject {
    pub step_id: String,
    pub path: String,
    pub title: String,
    /// Revision of the task at which it was read: `expected_step_revision` of a change.
    pub revision: u64,
    pub success_criteria: Vec<String>,
    pub tests: Vec<String>,
    pub blockers: Vec<String>,
    #[serde(flatten)]
    pub gate: GateState,
    /// By what its criteria and tests were confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<ShownConfirmation>,
    pub completed: bool,
    pub completed_at_ms: Option<i64>,
    /// Who closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Author>,
    /// What backs it, if it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<StepLook>,
    /// Names of the checks that it has to pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    pub forced: bool,
    pub waiver: Option<WaiverObject>,
    pub blocked: bool,
    pub block_reason: Option<String>,
    /// Agents wanted to stop although checks of the step did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven_stop: Option<UnprovenStop>,
    pub notes_count: u32,
    pub evidence_count: u32,
    pub nodes: Vec<NodeObject>,
    /// What the source of an import said of it, and which source that is.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// Why a step was closed although its gate was open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaiverObject {
    /// Reason as given.
    pub reason: Option<String>,
    /// When.
    pub at_ms: i64,
    /// What was skipped.
    pub skipped: Vec<String>,
    /// Whether everything required has been confirmed and proven since.
    pub settled: bool,
}

/// A node of a sub-plan with everything it holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeObject {
    pub node_id: String,
    pub path: String,
    pub title: String,
    pub status: TaskStatus,
    pub status_manual: bool,
    pub priority: Urgency,
    pub blocked: bool,
    pub description: Option<String>,
    pub context: Option<String>,
    pub blockers: Vec<String>,
    pub dependencies: Vec<String>,
    pub next_steps: Vec<String>,
    pub problems: Vec<String>,
    pub risks: Vec<String>,
    pub success_criteria: Vec<String>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

impl StepObject {
    /// The step in full, at a revision of its task.
    pub fn of(step: &Step, revision: u64) -> Self {
        Self {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            revision,
            success_criteria: step.success_criteria.clone(),
            tests: step.tests.clone(),
            blockers: step.blockers.clone(),
            gate: GateState::of(step),
            confirmations: step.confirmations(),
            completed: step.is_closed(),
            completed_at_ms: step.completed_at.map(|at| at.0),
            closed_by: step.closed_by.clone().filter(|_| step.is_closed()),
            look: StepLook::of(step),
            checks: step.checks.clone(),
            forced: step.waiver.is_some(),
            waiver: WaiverObject::of_step(step),
            blocked: step.block.is_some(),
            block_reason: step.block.as_ref().and_then(|block| block.reason.clone()),
            unproven_stop: step.unproven_stop.clone(),
            notes_count: step.notes,
            evidence_count: step.evidence,
            nodes: step.nodes.iter().map(|node| NodeObject::of(step, node)).collect(),
            meta: shown_meta(&step.free, step.origin.as_deref()),
            created_at_ms: step.created_at.0,
            updated_at_ms: step.updated_at.0,
        }
    }
}

impl WaiverObject {
    /// The waiver of a step that was closed by force.
    pub fn of_step(step: &Step) -> Option<Self> {
        let waiver = step.waiver.as_ref()?;
        Some(Self { settled: is_settled(step), ..Self::when_given(waiver) })
    }

    /// A waiver as it was when the step was closed.
    pub fn when_given(waiver: &Waiver) -> Self {
        Self {
            reason: waiver.reason.clone(),
            at_ms: waiver.at.0,
            skipped: waiver.skipped.clone(),
            settled: waiver.skipped.iter().all(|skipped| skipped == SKIPPED_BLOCK),
        }
    }
}

/// Whether every required checkpoint is confirmed and every required proof is present.
pub(super) fn is_settled(step: &Step) -> bool {
    !Checkpoint::ALL.into_iter().any(|cp| step.misses(cp) || step.misses_proof(cp))
}

impl NodeObject {
    /// A node of this step in full.
    pub fn of(step: &Step, node: &StepNode) -> Self {
        let lists = node.lists.clone();
        Self {
            node_id: node.id.to_string(),
            path: step.node_path(node),
            title: node.title.clone(),
            status: node.status,
            status_manual: node.status_manual,
            priority: node.priority,
            blocked: node.blocked,
            description: node.description.clone(),
            context: node.context.clone(),
            blockers: lists.blockers,
            dependencies: lists.dependencies,
            next_steps: lists.next_steps,
            problems: lists.problems,
            risks: lists.risks,
            success_criteria: lists.success_criteria,
            created_at_ms: node.created_at.0,
            updated_at_ms: node.updated_at.0,
        }
    }
}
