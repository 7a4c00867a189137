//! Nodes for others to read, page by page: parents first, children in the order of their seq.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Collapsed, ContextTree, Place, walk::Walk};
use crate::{
    AnyObject, Timestamp,
    ctree::{
        digest::Digest,
        node::{Kind, NodeId, Role, Status, TreeNode},
        score::Score,
    },
};

/// Characters of a preview.
const PREVIEW_CHARS_MAX: usize = 200;

/// A part of a tree's nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct TreePage {
    /// The nodes, in order.
    pub nodes: Vec<NodeView>,
    /// The node after which the next page begins; none after the last page.
    pub next: Option<NodeId>,
}

/// A node with all known fields; the caller fills in its text.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TreeNode")]
pub struct NodeView {
    pub id: NodeId,
    pub parent_id: Option<NodeId>,
    pub kind: Kind,
    pub role: Option<Role>,
    pub label: String,
    /// Digest of its text.
    #[schemars(with = "String")]
    pub body_sha256: Digest,
    /// The text, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The start of the text, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// How far it is.
    pub status: Option<Status>,
    pub turn: Option<u64>,
    /// Number of the event that created it.
    pub seq: u64,
    /// When it was created.
    #[schemars(with = "u64")]
    pub created_at_ms: Timestamp,
    /// When it changed last.
    #[schemars(with = "u64")]
    pub updated_at_ms: Timestamp,
    pub pinned: bool,
    /// What it points to.
    pub refs: Vec<String>,
    /// How much it matters now.
    #[schemars(schema_with = "Score::schema")]
    pub score: Score,
    /// Its hash in this stage.
    #[schemars(with = "String")]
    pub hash: Digest,
    /// More about it.
    #[schemars(with = "AnyObject")]
    pub meta: Particulars,
}

/// Data about a node that is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Particulars {
    /// Characters of the text.
    pub body_chars: u64,
    /// Children in the whole tree.
    pub children: u64,
    /// Nodes that point to it.
    pub cited: u64,
}

/// The start of a node's text: its first 200 characters.
pub fn preview(text: &str) -> String {
    text.chars().take(PREVIEW_CHARS_MAX).collect()
}

impl ContextTree {
    /// A page of the whole tree, after the node that an earlier page named; `None` if that node
    /// does not exist.
    pub fn page(&self, after: Option<&NodeId>, limit: usize) -> Option<TreePage> {
        Some(self.cut_page(self.start(self.walk(), after)?, limit, |place| self.hash_at(place)))
    }

    fn start<'t>(&self, walk: Walk<'t>, after: Option<&NodeId>) -> Option<Walk<'t>> {
        match after {
            None => Some(walk),
            Some(id) => self.places.get(id).map(|place| walk.after(*place)),
        }
    }

    fn cut_page(
        &self,
        mut walk: Walk<'_>,
        limit: usize,
        hash: impl Fn(Place) -> Digest,
    ) -> TreePage {
        let places: Vec<Place> = walk.by_ref().take(limit).collect();
        let nodes: Vec<NodeView> =
            places.into_iter().map(|place| self.view(place, hash(place))).collect();
        let last = nodes.last().map(|node| node.id.clone());
        TreePage { nodes, next: last.filter(|_| walk.next().is_some()) }
    }

    fn view(&self, place: Place, hash: Digest) -> NodeView {
        let slot = self.slot(place);
        let node: &TreeNode = &slot.node;
        NodeView {
            id: node.id.clone(),
            parent_id: node.parent_id.clone(),
            kind: node.kind,
            role: node.role,
            label: node.label.clone(),
            body_sha256: node.body_sha256,
            body: None,
            preview: None,
            status: node.status,
            turn: node.turn,
            seq: node.seq,
            created_at_ms: node.created_at_ms,
            updated_at_ms: node.updated_at_ms,
            pinned: node.pinned,
            refs: node.refs.clone(),
            score: self.score_at(place),
            hash,
            meta: Particulars {
                body_chars: node.body_chars,
                children: slot.children.len() as u64,
                cited: slot.cited,
            },
        }
    }
}

impl Collapsed<'_> {
    /// A page of what is left, like [`ContextTree::page`].
    pub fn page(&self, after: Option<&NodeId>, limit: usize) -> Option<TreePage> {
        let tree = self.tree();
        let walk = tree.start(tree.walk_kept(self.kept()), after)?;
        Some(tree.cut_page(walk, limit, |place| self.hash_at(place)))
    }
}
