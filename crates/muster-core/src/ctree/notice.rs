//! The bodies of C-Tree events and of the summary (CE-1 to CE-3).
//!
//! Bodies of nodes are never in them. How a reader merges them is in [`super::merge`].

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    digest::Digest,
    node::{Kind, NodeId, Status, TreeNode},
    node_storage::{Anchor, TreeLookup},
    planting::newest_turn,
    score::Score,
};

/// Bytes of JSON that a label may have in a notice. An event contains its body twice and has to
/// stay below 1 kB; labels of plain letters are never cut by this.
const NOTICE_LABEL_BYTES_MAX: usize = 120;

/// Size and hash of a tree, or of a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TreeSnapshot {
    /// All nodes, the top one included.
    pub node_count: u64,
    /// Hash of the top one.
    #[schemars(with = "String")]
    pub node_hash: Digest,
}

impl TreeSnapshot {
    /// The part of the tree from this node down.
    pub fn of(node: &TreeNode) -> Self {
        Self { node_count: node.size, node_hash: node.hash }
    }
}

/// The node created last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LastNode {
    pub id: NodeId,
    /// How much it matters now.
    #[schemars(schema_with = "Score::schema")]
    pub score: Score,
}

/// Hashes of the three stages (CC-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Compiler {
    /// The whole tree.
    #[schemars(with = "String")]
    pub z1: Digest,
    /// What is left of it after dropping nodes.
    #[schemars(with = "String")]
    pub z2: Digest,
    /// The text.
    #[schemars(with = "String")]
    pub z3: Digest,
}

/// What was left out (CC-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Collapse {
    pub policy: CollapsePolicy,
    /// How many were.
    pub dropped: u64,
}

impl Collapse {
    /// This many nodes were dropped by the only rule.
    pub fn dropped(dropped: u64) -> Self {
        Self { policy: CollapsePolicy::DropLowScore, dropped }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum CollapsePolicy {
    /// Leaves with the lowest score first.
    DropLowScore,
}

/// Phase and status of the session's driver, in its own words (CC-6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Runner {
    /// What it is busy with.
    pub phase: String,
    pub status: String,
}

/// The summary's five sections. Left out: did not change; the whole summary has all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Sections {
    /// Size and hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub snapshot: Option<TreeSnapshot>,
    /// Hashes of the stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub compiler: Option<Compiler>,
    /// What was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub collapse: Option<Collapse>,
    /// What drives the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub runner: Option<Runner>,
    /// The node created last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub last_node: Option<LastNode>,
}

/// Body of a `ctree_node` event: a node was created (CE-1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NodeNotice {
    /// The tree right after that.
    pub snapshot: TreeSnapshot,
    pub node: NoticedNode,
}

/// A node without its text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NoticedNode {
    pub id: NodeId,
    /// How much it matters now.
    pub score: Score,
    pub parent_id: Option<NodeId>,
    pub kind: Kind,
    /// Its label, shortened where it is long in bytes.
    pub label: String,
    pub turn: Option<u64>,
    /// How far it is.
    pub status: Option<Status>,
}

impl NodeNotice {
    /// The notice for a new node; `None` if it does not exist.
    pub fn of<G: TreeLookup>(nodes: &G, id: &NodeId) -> Result<Option<Self>, G::Error> {
        let (Some(root), Some(node)) = (nodes.node(&NodeId::root())?, nodes.node(id)?) else {
            return Ok(None);
        };
        let node = NoticedNode {
            id: id.clone(),
            score: score(nodes, node)?,
            parent_id: node.parent_id.clone(),
            kind: node.kind,
            label: shortened(&node.label).to_owned(),
            turn: node.turn,
            status: node.status,
        };
        Ok(Some(Self { snapshot: TreeSnapshot::of(root), node }))
    }
}

fn shortened(label: &str) -> &str {
    let mut bytes = 0;
    let cut = label.char_indices().find(|(_, character)| {
        bytes += match character {
            '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
            '\0'..='\u{1f}' => 6,
            plain => plain.len_utf8(),
        };
        bytes > NOTICE_LABEL_BYTES_MAX
    });
    cut.map_or(label, |(at, _)| &label[..at])
}

/// The part of the tree in a `task_event` (CE-3). Size and hash appear twice, because the contract
/// can be read both ways.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TaskSnapshot {
    /// Size and hash of the task's part.
    pub snapshot: TreeSnapshot,
    /// The node made last in it.
    pub last_node: LastNode,
    /// Size and hash once more.
    #[serde(flatten)]
    pub flat: TreeSnapshot,
}

/// The node of a task and the state of its part of the tree; `None` for a task without a node.
pub fn task_snapshot<G: TreeLookup>(
    nodes: &G,
    task_id: &str,
) -> Result<Option<(NodeId, TaskSnapshot)>, G::Error> {
    let Some(id) = nodes.anchored(&Anchor::Task(task_id.to_owned()))? else { return Ok(None) };
    let Some(node) = nodes.node(&id)? else { return Ok(None) };
    let Some(last_node) = last_node(nodes, node)? else { return Ok(None) };
    let snapshot = TreeSnapshot::of(node);
    Ok(Some((id, TaskSnapshot { snapshot, last_node, flat: snapshot })))
}

/// Size and hash of the whole tree; `None` before it has a root.
pub fn snapshot<G: TreeLookup>(nodes: &G) -> Result<Option<TreeSnapshot>, G::Error> {
    Ok(nodes.node(&NodeId::root())?.map(TreeSnapshot::of))
}

/// The node made last below a node, or itself.
pub fn last_node<G: TreeLookup>(nodes: &G, node: &TreeNode) -> Result<Option<LastNode>, G::Error> {
    let Some(newest) = nodes.node(node.newest())? else { return Ok(None) };
    Ok(Some(LastNode { id: newest.id.clone(), score: score(nodes, newest)? }))
}

fn score<G: TreeLookup>(nodes: &G, node: &TreeNode) -> Result<Score, G::Error> {
    Ok(Score::of(node, newest_turn(nodes)?.unwrap_or(0), node.cited))
}
