//! Where nodes are read and written while a tree grows.
//!
//! The tree's functions never hold a tree. They read single documents, so that an implementation
//! may load only what is needed: a new node in a tree of 100,000 needs its ancestors and no others.

use super::node::{NodeId, NodeText, TreeNode};
use crate::todo::ScopeKey;

/// Looks nodes up.
pub trait TreeLookup {
    /// Why a look-up failed, for example that the document must be loaded first.
    type Error;

    /// The node with this id, if there is one.
    fn node(&self, id: &NodeId) -> Result<Option<&TreeNode>, Self::Error>;

    /// All children of a node in order. Only needed when a child far back changes (see
    /// [`super::chain`]).
    fn children(&self, parent: &NodeId) -> Result<Vec<&TreeNode>, Self::Error>;

    /// The last node that was anchored under this name.
    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Self::Error>;
}

/// Keeps nodes.
pub trait TreeStorage: TreeLookup {
    /// Stores a new node, and its text if it has any.
    fn add(&mut self, node: TreeNode, body: Option<NodeText>) -> Result<(), Self::Error>;

    /// Stores the changed form of a node.
    fn replace(&mut self, node: TreeNode) -> Result<(), Self::Error>;

    /// Stores the changed text of a node, or none.
    fn replace_body(&mut self, id: &NodeId, body: Option<NodeText>) -> Result<(), Self::Error>;

    /// Anchors a node under a name; it replaces an earlier one.
    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), Self::Error>;
}

/// The name under which a later event finds the node of an earlier one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Anchor {
    /// The turn with the highest number.
    NewestTurn,
    /// A turn, by its number.
    Turn(u64),
    /// A tool call, by the id that call and result share.
    Call(String),
    /// A task, by its id.
    Task(String),
    /// The newest list of a todo scope.
    Scope(ScopeKey),
}
