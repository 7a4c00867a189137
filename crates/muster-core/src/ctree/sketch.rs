//! A tree as it would be: changes on top of a grove that stays as it is.
//!
//! Events say how the tree stands after them, so a decision has to know that before anything has
//! changed. It plants in a sketch, reads the notices, and throws the sketch away.

use std::collections::BTreeMap;

use super::{
    grove::{Anchor, Grove, GroveMut},
    node::{Body, Node, NodeId},
};

/// Changes that are kept beside a grove.
#[derive(Debug)]
pub struct Sketch<'a, G> {
    base: &'a G,
    nodes: BTreeMap<NodeId, Node>,
    bodies: BTreeMap<NodeId, Option<Body>>,
    anchors: BTreeMap<Anchor, NodeId>,
}

impl<'a, G: Grove> Sketch<'a, G> {
    /// A grove without changes.
    pub fn over(base: &'a G) -> Self {
        let (nodes, bodies, anchors) = Default::default();
        Self { base, nodes, bodies, anchors }
    }

    /// Nodes that were made or changed, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Texts that were made or changed, by id of their node; `None` where there is none any more.
    pub fn bodies(&self) -> impl Iterator<Item = (&NodeId, Option<&Body>)> {
        self.bodies.iter().map(|(id, body)| (id, body.as_ref()))
    }
}

impl<G: Grove> Grove for Sketch<'_, G> {
    type Error = G::Error;

    fn node(&self, id: &NodeId) -> Result<Option<&Node>, G::Error> {
        match self.nodes.get(id) {
            Some(node) => Ok(Some(node)),
            None => self.base.node(id),
        }
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&Node>, G::Error> {
        let mut children: BTreeMap<u64, &Node> =
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

impl<G: Grove> GroveMut for Sketch<'_, G> {
    fn add(&mut self, node: Node, body: Option<Body>) -> Result<(), G::Error> {
        if body.is_some() {
            self.bodies.insert(node.id.clone(), body);
        }
        self.replace(node)
    }

    fn replace(&mut self, node: Node) -> Result<(), G::Error> {
        self.nodes.insert(node.id.clone(), node);
        Ok(())
    }

    fn replace_body(&mut self, id: &NodeId, body: Option<Body>) -> Result<(), G::Error> {
        self.bodies.insert(id.clone(), body);
        Ok(())
    }

    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), G::Error> {
        self.anchors.insert(anchor, id);
        Ok(())
    }
}
