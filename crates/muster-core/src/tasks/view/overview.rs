//! The sections that every view of one plan or task has, and the views of little else: the radar
//! (view 4.2), the shift report (view 4.3) and the radar with the latest events (view 4.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    PlanSteps, ReasoningRef, Requested, Rollup, StepsSummary, StepsView, TargetView, gather,
    handoff::{self, Handoff},
    proof::ProofNotes,
    radar::Radar,
    timeline::Timeline,
};
use crate::tasks::{
    TaskDocs, TaskLookup, TaskResult,
    id::{EntityId, WorkspaceId},
    lookup,
};

/// Where a view was asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ViewPlace {
    /// The workspace.
    pub workspace: String,
    /// Which target the caller named.
    pub requested: Requested,
    /// The workspace's focus after the call.
    pub focus: Option<EntityId>,
}

impl ViewPlace {
    pub(super) fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        requested: Requested,
    ) -> TaskLookup<Self> {
        let focus = lookup::workspace(docs)?.focus;
        Ok(Self { workspace: workspace.to_string(), requested, focus })
    }
}

/// A plan or task and one screen about it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TargetStanding {
    /// The plan or task.
    pub target: TargetView,
    /// Where its reasoning memory is.
    pub reasoning_ref: ReasoningRef,
    /// One screen of state.
    pub radar: Radar,
}

impl TargetStanding {
    /// The same with what the files say about it.
    fn with(mut self, notes: &ProofNotes) -> Self {
        self.radar.verify.extend_from_slice(&notes.verify);
        self
    }
}

/// How far a plan or task is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TargetProgress {
    /// Its steps in numbers.
    pub steps: StepsView,
    /// Of a plan: its tasks in numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
}

/// The two sections of a plan or task.
pub(super) fn overview(
    docs: &TaskDocs,
    workspace: &WorkspaceId,
    id: EntityId,
) -> TaskResult<(TargetStanding, TargetProgress)> {
    let reasoning_ref = ReasoningRef::of(id);
    Ok(match id {
        EntityId::Task(id) => {
            let task = lookup::task(docs, id)?;
            let steps = StepsSummary::of(task);
            let radar = Radar::of_task(docs, task, &steps)?;
            let target = TargetView::task(workspace, task);
            let steps = StepsView::Task(Box::new(steps));
            (
                TargetStanding { target, reasoning_ref, radar },
                TargetProgress { steps, rollup: None },
            )
        }
        EntityId::Plan(id) => {
            let plan = lookup::plan(docs, id)?;
            let radar = Radar::of_plan(docs, plan)?;
            let target = TargetView::plan(workspace, plan);
            let rollup = Some(Rollup::of(docs, plan)?);
            let steps = StepsView::Plan(Box::new(PlanSteps::of(docs, plan)?));
            (TargetStanding { target, reasoning_ref, radar }, TargetProgress { steps, rollup })
        }
    })
}

/// The radar view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RadarView {
    #[serde(flatten)]
    pub place: ViewPlace,
    #[serde(flatten)]
    pub standing: TargetStanding,
    #[serde(flatten)]
    pub progress: TargetProgress,
}

impl RadarView {
    /// The radar of a plan or task.
    pub fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: EntityId,
        requested: Requested,
        notes: &ProofNotes,
    ) -> TaskResult<Self> {
        let place = ViewPlace::of(docs, workspace, requested)?;
        let (standing, progress) = overview(docs, workspace, id)?;
        Ok(Self { place, standing: standing.with(notes), progress })
    }
}

/// The handoff view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandoffView {
    /// The workspace.
    pub workspace: String,
    #[serde(flatten)]
    pub standing: TargetStanding,
    /// The report.
    pub handoff: Handoff,
    #[serde(flatten)]
    pub progress: TargetProgress,
}

impl HandoffView {
    /// The report about a plan or task, each list at most `limit` lines.
    pub fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: EntityId,
        limit: u32,
        notes: &ProofNotes,
    ) -> TaskResult<Self> {
        gather::surroundings(docs, id)?;
        handoff::gather_lists(docs, id, limit as usize)?;
        let (standing, progress) = overview(docs, workspace, id)?;
        let handoff = Handoff::with_risks(docs, id, limit as usize, &notes.risks)?;
        let handoff = handoff.with_notes(docs, id)?;
        let standing = standing.with(notes);
        Ok(Self { workspace: workspace.to_string(), standing, handoff, progress })
    }
}

/// The radar and the newest events.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ContextPack {
    /// The workspace.
    pub workspace: String,
    #[serde(flatten)]
    pub standing: TargetStanding,
    #[serde(flatten)]
    pub progress: TargetProgress,
    /// Its newest events.
    pub delta: Timeline,
}

impl ContextPack {
    /// The pack of a plan or task.
    pub fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: EntityId,
        delta_limit: u32,
        notes: &ProofNotes,
    ) -> TaskResult<Self> {
        let (standing, progress) = overview(docs, workspace, id)?;
        let delta = Timeline::of(docs, id, delta_limit)?;
        let standing = standing.with(notes);
        Ok(Self { workspace: workspace.to_string(), standing, progress, delta })
    }
}
