//! A tree as it would be: changes on top of storage that stays unchanged.
//!
//! Events contain the state of the tree after them, so a decision has to know that before anything
//! has changed. It plants in a sketch, reads the notices, and throws the sketch away.

use std::collections::BTreeMap;

use super::{
    node::{NodeId, NodeText, TreeNode},
    node_storage::{Anchor, TreeLookup, TreeStorage},
};

/// Changes on top of tree storage.
#[derive(Debug)]
pub struct Sketch<'a, G> {
    base: &'a G,
    nodes: BTreeMap<NodeId, TreeNode>,
    bodies: BTreeMap<NodeId, Option<NodeText>>,
    anchors: BTreeMap<Anchor, NodeId>,
}

impl<'a, G: TreeLookup> Sketch<'a, G> {
    /// A nodes without changes.
    pub fn over(base: &'a G) -> Self {
        let (nodes, bodies, anchors) = Default::default();
        Self { base, nodes, bodies, anchors }
    }

    /// Nodes that were made or changed, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &TreeNode> {
        self.nodes.values()
    }

    /// Created or changed texts, by id of their node; `None` for a removed one.
    pub fn bodies(&self) -> impl Iterator<Item = (&NodeId, Option<&NodeText>)> {
        self.bodies.iter().map(|(id, body)| (id, body.as_ref()))
    }
}

impl<G: TreeLookup> TreeLookup for Sketch<'_, G> {
    type Error = G::Error;

    fn node(&self, id: &NodeId) -> Result<Option<&TreeNode>, G::Error> {
        match self.nodes.get(id) {
            Some(node) => Ok(Some(node)),
            None => self.base.node(id),
        }
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&TreeNode>, G::Error> {
        let mut children: BTreeMap<u64, &TreeNode> =
            self.base.children(parent)?.into_iter().map(|child| (child.place, child)).collect();
        let drawn = self.nodes.values().filter(|node| node.parent_id.as_ref() == Some(parent));
        children.extend(drawn.map(|child| (child.place, child)));
        Ok(children.into_values().collect())
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, G::Error> {
        match self.anchors.get(anchor) {
            Some(id) => Ok(Some(id.clone())),
            None => self.base.anchored(anchor),
        }
    }
}

impl<G: TreeLookup> TreeStorage for Sketch<'_, G> {
    fn add(&mut self, node: TreeNode, body: Option<NodeText>) -> Result<(), G::Error> {
        if body.is_some() {
            self.bodies.insert(node.id.clone(), body);
        }
        self.replace(node)
    }

    fn replace(&mut self, node: TreeNode) -> Result<(), G::Error> {
        self.nodes.insert(node.id.clone(), node);
        Ok(())
    }

    fn replace_body(&mut self, id: &NodeId, body: Option<NodeText>) -> Result<(), G::Error> {
        self.bodies.insert(id.clone(), body);
        Ok(())
    }

    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), G::Error> {
        self.anchors.insert(anchor, id);
        Ok(())
    }
}
