//! Edges: which nodes may send to each other, and what a handoff along an edge is.

pub(crate) mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{EdgeId, NodeId},
    moment::Moment,
    shape::words,
};

words! {
    /// What an edge carries by default.
    EdgeType {
        /// Work.
        Handoff = "handoff",
        /// Results.
        Report = "report",
    }
    /// What an envelope is to its receiver.
    Direction {
        /// Something to do.
        Task = "task",
        /// Something done.
        Report = "report",
    }
    /// Who did something.
    ActorKind {
        /// A person.
        User = "user",
        /// An agent.
        Agent = "agent",
        /// Muster itself.
        Runtime = "runtime",
    }
}

impl EdgeType {
    /// Default label of an edge (RUNS-EDGE-1).
    pub fn default_label(self) -> &'static str {
        match self {
            Self::Handoff => "task",
            Self::Report => "report",
        }
    }
}

/// Who did something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The kind.
    pub kind: ActorKind,
    /// The agent's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

impl Actor {
    /// A person.
    pub const USER: Self = Self { kind: ActorKind::User, node_id: None };
    /// Muster itself.
    pub const RUNTIME: Self = Self { kind: ActorKind::Runtime, node_id: None };

    pub fn agent(node: NodeId) -> Self {
        Self { kind: ActorKind::Agent, node_id: Some(node) }
    }
}

/// A connection between two nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Its id.
    pub id: EdgeId,
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// Whether it may be used in both directions.
    pub bidirectional: bool,
    /// What it carries by default.
    #[serde(rename = "type")]
    pub kind: EdgeType,
    /// Its name.
    pub label: String,
    /// Whether the end of a turn is sent along automatically.
    pub auto_deliver: bool,
    /// Who created it.
    pub created_by: Actor,
    /// When.
    pub created_at: Moment,
    /// Which edge of the run it is, counted from one.
    pub number: u64,
}

impl Edge {
    /// Whether it ends at this node.
    pub fn touches(&self, node: NodeId) -> bool {
        self.from == node || self.to == node
    }

    pub fn other_end(&self, node: NodeId) -> NodeId {
        if self.from == node { self.to } else { self.from }
    }

    /// Whether `from` may send to `to` along it (RUNS-HAND-1).
    pub fn permits(&self, from: NodeId, to: NodeId) -> bool {
        let along = self.from == from && self.to == to;
        let against = self.bidirectional && self.from == to && self.to == from;
        along || against
    }

    /// The direction of an envelope from `from` when both ends lead or neither does.
    fn direction(&self, from: NodeId) -> Direction {
        match self.kind {
            EdgeType::Handoff if self.from == from => Direction::Task,
            EdgeType::Handoff | EdgeType::Report => Direction::Report,
        }
    }
}

/// An end of a handoff: who it is and whether it leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandoffEnd {
    pub id: NodeId,
    /// Whether it is an orchestrator.
    pub leads: bool,
}

/// The route of a handoff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The oldest edge that permits it.
    pub edge: EdgeId,
    /// What it is to its receiver.
    pub direction: Direction,
}

/// Finds the route from one node to another; `None` when no edge permits it (RUNS-HAND-1).
///
/// `edges` are in the order of their creation.
pub fn way<'a>(
    edges: impl IntoIterator<Item = &'a Edge>,
    from: HandoffEnd,
    to: HandoffEnd,
) -> Option<Way> {
    let permitting: Vec<&Edge> =
        edges.into_iter().filter(|edge| edge.permits(from.id, to.id)).collect();
    let oldest = permitting.first()?;
    let is_task = |edge: &&Edge| edge.direction(from.id) == Direction::Task;
    let direction = match (from.leads, to.leads) {
        (true, false) => Direction::Task,
        (false, true) => Direction::Report,
        (true, true) | (false, false) if permitting.iter().any(is_task) => Direction::Task,
        (true, true) | (false, false) => Direction::Report,
    };
    Some(Way { edge: oldest.id, direction })
}
