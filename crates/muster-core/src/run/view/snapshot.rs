//! The run as it is served (1.1 of the rules): its own document joined with its nodes, edges,
//! artifacts and pending approvals, as text that is written once.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Documents, ListOrder, ListQuery,
    json::Json,
    run::{
        RunAggregate, RunDocument,
        approval::Approval,
        artifact::Artifact,
        edge::Edge,
        id::{ApprovalId, ArtifactId, EdgeId, NodeId},
        layout::{GraphLayout, Point, Viewport},
        limits::RECENT_ARTIFACTS_MAX,
        lookup::{self, Found},
        moment::Moment,
        node::{Node, NodeConfig, NodePatch},
        record::{Run, RunPatch},
        shape::words,
    },
};

type Docs = Documents<RunAggregate>;

words! {
    /// How much of a run is shown.
    Extent {
        /// Numbers instead of nodes, edges and artifacts.
        Summary = "summary",
        /// Nodes and edges whole, no artifacts.
        List = "list",
        /// Everything.
        Full = "full",
    }
    /// Which artifacts are shown.
    ArtifactExtent {
        /// The newest ones.
        Recent = "recent",
        /// Every one.
        All = "all",
        /// None.
        None = "none",
    }
}

/// Numbers of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Counts")]
pub struct RunCounts {
    /// Nodes.
    pub nodes: usize,
    /// Nodes that run.
    pub running: usize,
    /// Nodes that are blocked.
    pub blocked: usize,
    /// Nodes that failed.
    pub failed: usize,
    /// Edges.
    pub edges: usize,
    /// Artifacts.
    pub artifacts: u64,
    /// Pending approvals.
    pub approvals: usize,
}

/// Positions on the screen. An unchanged layout shows the graph's origin at
/// its natural size.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Layout")]
pub struct LayoutView<'a> {
    /// Nodes that were placed.
    positions: Cow<'a, BTreeMap<NodeId, Point>>,
    /// What is seen.
    viewport: Viewport,
    /// When it changed last; `None` before the first change.
    updated_at: Option<Moment>,
}

impl<'a> From<&'a GraphLayout> for LayoutView<'a> {
    fn from(layout: &'a GraphLayout) -> Self {
        Self {
            positions: Cow::Borrowed(&layout.positions),
            viewport: layout.viewport.unwrap_or_default(),
            updated_at: layout.updated_at,
        }
    }
}

/// A run as it is served.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Run")]
pub struct RunSnapshot<'a> {
    /// Its own fields; every one that is served is there.
    #[serde(flatten)]
    #[schemars(with = "Run")]
    pub run: RunPatch,
    #[schemars(with = "BTreeMap<NodeId, Node>")]
    pub nodes: BTreeMap<NodeId, NodePatch>,
    edges: BTreeMap<EdgeId, Cow<'a, Edge>>,
    artifacts: BTreeMap<ArtifactId, Cow<'a, Artifact>>,
    node_configs: BTreeMap<NodeId, NodeConfig>,
    /// Those that wait for an answer.
    approvals: BTreeMap<ApprovalId, Cow<'a, Approval>>,
    active_turns: u32,
    artifact_count: u64,
    artifacts_truncated: bool,
    pub last_seq: u64,
    layout: LayoutView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<RunCounts>,
}

/// What is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotRequest {
    /// How much.
    pub extent: Extent,
    pub artifacts: ArtifactExtent,
}

impl SnapshotRequest {
    /// What `GET run` shows by default (RUNS-SNAP-1).
    pub const DEFAULT: Self = Self { extent: Extent::Full, artifacts: ArtifactExtent::Recent };
}

/// The run as text. Its layout is kept elsewhere and comes along.
pub fn snapshot(docs: &Docs, wanted: SnapshotRequest, layout: &GraphLayout) -> Found<Json> {
    let run = lookup::run(docs)?;
    let pulse = lookup::pulse(docs)?;
    let nodes = lookup::nodes(docs)?;
    let edges = lookup::edges(docs)?;
    let approvals = lookup::pending_approvals(docs)?;
    let counts = counts(&nodes, edges.len(), approvals.len(), pulse.artifacts);
    let shows = wanted.extent != Extent::Summary;
    let artifacts = artifacts(docs, wanted)?;
    let shown = artifacts.len() as u64;
    let snapshot = RunSnapshot {
        run: RunPatch { updated_at: Some(pulse.updated_at), ..run.served() },
        node_configs: nodes.iter().filter(|_| shows).map(|node| (node.id, node.config())).collect(),
        nodes: nodes.into_iter().filter(|_| shows).map(|node| (node.id, node.served())).collect(),
        edges: edges
            .into_iter()
            .filter(|_| shows)
            .map(|edge| (edge.id, Cow::Borrowed(edge)))
            .collect(),
        artifacts: artifacts
            .into_iter()
            .map(|artifact| (artifact.id, Cow::Borrowed(artifact)))
            .collect(),
        approvals: approvals
            .into_iter()
            .map(|asked| (asked.approval_id, Cow::Borrowed(asked)))
            .collect(),
        active_turns: pulse.active_turns,
        artifact_count: pulse.artifacts,
        artifacts_truncated: shown < pulse.artifacts,
        last_seq: pulse.last_seq,
        layout: layout.into(),
        counts: (!shows).then_some(counts),
    };
    Ok(Json::of(&snapshot))
}

fn artifacts(docs: &Docs, wanted: SnapshotRequest) -> Found<Vec<&Artifact>> {
    let limit = match (wanted.extent, wanted.artifacts) {
        (Extent::Summary | Extent::List, _) | (_, ArtifactExtent::None) => return Ok(Vec::new()),
        (Extent::Full, ArtifactExtent::Recent) => Some(RECENT_ARTIFACTS_MAX),
        (Extent::Full, ArtifactExtent::All) => None,
    };
    let order = ListOrder::Descending;
    let query = ListQuery { order, limit, ..ListQuery::of("artifact") };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_artifact).collect())
}

fn counts(nodes: &[&Node], edges: usize, approvals: usize, artifacts: u64) -> RunCounts {
    use crate::run::node::NodeStatus::{Blocked, Failed, Running};
    let with = |status| nodes.iter().filter(|node| node.status == status).count();
    let running = with(Running);
    let blocked = with(Blocked);
    let failed = with(Failed);
    RunCounts { nodes: nodes.len(), running, blocked, failed, edges, artifacts, approvals }
}

/// When a run last changed, for lists of runs.
pub fn updated_at(docs: &Docs) -> Found<Moment> {
    let run: &Run = lookup::run(docs)?;
    Ok(lookup::pulse(docs)?.updated_at.max(run.updated_at))
}
