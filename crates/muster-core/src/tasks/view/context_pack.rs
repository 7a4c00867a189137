//! Radar and the latest events in one result (view 4.4).

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ReasoningRef, Requested, Rollup, StepsView, TargetView,
    radar::{Radar, RadarView},
    timeline::Timeline,
};
use crate::{
    Documents, WorkRefusal,
    tasks::{
        TaskAggregate,
        id::{EntityId, WorkspaceId},
    },
};

/// The view.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ContextPack {
    /// The workspace.
    pub workspace: String,
    /// The plan or task.
    pub target: TargetView,
    /// Where its reasoning memory is.
    pub reasoning_ref: ReasoningRef,
    /// One screen of state.
    pub radar: Radar,
    /// Its steps in numbers.
    pub steps: StepsView,
    /// Of a plan: its tasks in numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
    /// Its newest events.
    pub delta: Timeline,
}

impl ContextPack {
    /// The pack of a plan or task.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        workspace: &WorkspaceId,
        id: EntityId,
        delta_limit: u32,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let radar = RadarView::of(docs, workspace, id, Requested::default())?;
        Ok(Self {
            workspace: radar.workspace,
            target: radar.target,
            reasoning_ref: radar.reasoning_ref,
            radar: radar.radar,
            steps: radar.steps,
            rollup: radar.rollup,
            delta: Timeline::of(docs, id, delta_limit)?,
        })
    }
}
