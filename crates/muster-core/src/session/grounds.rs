//! The tree of a session in its documents: one per node, its text beside it where it is long.

use super::{
    Document, Key, Sessions,
    entity::{StoredNode, TreeSums},
    limits::INLINE_TEXT_BYTES_MAX,
    lookup,
};
use crate::{
    Documents, Index, ListQuery, Mark, Unloaded,
    ctree::{Anchor, Body, Grove, GroveMut, Node, NodeId, Score},
};

/// Class of the nodes that are never dropped: the root and what is pinned.
pub(super) const KEPT_CLASS: &str = "kept";

/// Classes by the part of the score that does not fade with age, in steps of five hundredths.
pub(super) const CLASSES: [&str; 11] =
    ["s0", "s5", "s10", "s15", "s20", "s25", "s30", "s35", "s40", "s45", "s50"];

/// Hundredths from one class to the next.
pub(super) const CLASS_STEP: u8 = 5;

/// Where documents of the tree are grown, and by how much its numbers have changed.
pub(super) struct Grounds<'a> {
    pub(super) docs: &'a mut Documents<Sessions>,
    pub(super) sums: TreeSums,
}

impl<'a> Grounds<'a> {
    pub(super) fn of(docs: &'a mut Documents<Sessions>, sums: TreeSums) -> Self {
        Self { docs, sums }
    }

    fn put(&mut self, stored: StoredNode, before: u64) {
        self.sums.chars = self.sums.chars - before + stored.node.line_chars();
        self.sums.classes |= class_bit(&stored.node);
        self.docs.put(Key::Node(stored.node.id.clone()), Document::Node(Box::new(stored)));
    }

    fn stored(&self, id: &NodeId) -> Result<StoredNode, Unloaded<Sessions>> {
        let stored = lookup::stored_node(self.docs, id)?.cloned();
        Ok(stored.unwrap_or_else(|| unreachable!("{id} is changed, so it was there")))
    }
}

impl Grove for Documents<Sessions> {
    type Error = Unloaded<Sessions>;

    fn node(&self, id: &NodeId) -> Result<Option<&Node>, Self::Error> {
        lookup::node(self, id)
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&Node>, Self::Error> {
        let query = ListQuery { parent: Some(parent.to_string()), ..ListQuery::of("node") };
        let found = self.list(&query)?.into_iter();
        Ok(found.filter_map(|document| document.as_node().map(|stored| &stored.node)).collect())
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Self::Error> {
        match self.get(&Key::anchor(anchor))? {
            Some(Document::Anchor(id)) => Ok(Some(id.clone())),
            Some(other) => unreachable!("an anchor is kept under its name, not {other:?}"),
            None => Ok(None),
        }
    }
}

impl Grove for Grounds<'_> {
    type Error = Unloaded<Sessions>;

    fn node(&self, id: &NodeId) -> Result<Option<&Node>, Self::Error> {
        Grove::node(self.docs, id)
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&Node>, Self::Error> {
        self.docs.children(parent)
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Self::Error> {
        self.docs.anchored(anchor)
    }
}

impl GroveMut for Grounds<'_> {
    fn add(&mut self, node: Node, body: Option<Body>) -> Result<(), Self::Error> {
        let id = node.id.clone();
        let (text, long) = divide(body);
        if let Some(long) = long {
            self.docs.create(Key::Text(id.clone()), Document::Text(long));
        }
        self.sums.chars += node.line_chars();
        self.sums.classes |= class_bit(&node);
        self.docs.create(Key::Node(id), Document::Node(Box::new(StoredNode { node, text })));
        Ok(())
    }

    fn replace(&mut self, node: Node) -> Result<(), Self::Error> {
        let StoredNode { node: before, text } = self.stored(&node.id)?;
        self.put(StoredNode { node, text }, before.line_chars());
        Ok(())
    }

    fn replace_body(&mut self, id: &NodeId, body: Option<Body>) -> Result<(), Self::Error> {
        let stored = self.stored(id)?;
        let before = stored.node.line_chars();
        let was_long = stored.text.is_none() && stored.node.body_chars > 0;
        let (text, long) = divide(body);
        match long {
            Some(long) => self.docs.put(Key::Text(id.clone()), Document::Text(long)),
            None if was_long => self.docs.remove(Key::Text(id.clone())),
            None => {}
        }
        self.put(StoredNode { text, ..stored }, before);
        Ok(())
    }

    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), Self::Error> {
        self.docs.put(Key::anchor(&anchor), Document::Anchor(id));
        Ok(())
    }
}

/// A text for the node's own document, or one that gets its own.
fn divide(body: Option<Body>) -> (Option<String>, Option<Body>) {
    match body {
        Some(body) if body.text.len() <= INLINE_TEXT_BYTES_MAX => (Some(body.text), None),
        long => (None, long),
    }
}

/// Columns of a node: its siblings by number, its class, and its rank among nodes that do not fade
/// yet. Among these the difference of two scores never changes, whatever turn is the newest one.
pub(super) fn index(node: &Node) -> Index {
    let class = class(node);
    Index {
        ord: node.seq,
        parent: node.parent_id.as_ref().map(NodeId::to_string).unwrap_or_default(),
        status: class.into(),
        rank: (class != KEPT_CLASS).then(|| Score::rank(node)),
        marks: Mark::Listed as u8,
    }
}

fn class(node: &Node) -> &'static str {
    match Score::lasting(node) {
        Some(lasting) => CLASSES[usize::from(lasting / CLASS_STEP)],
        None => KEPT_CLASS,
    }
}

fn class_bit(node: &Node) -> u16 {
    Score::lasting(node).map_or(0, |lasting| 1 << (lasting / CLASS_STEP))
}
