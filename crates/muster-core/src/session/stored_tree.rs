//! The tree of a session in its documents: one per node, with a separate one for a long text.

use super::{
    SessionAggregate, SessionDocument, SessionKey,
    entity::{StoredNode, TreeSums},
    limits::INLINE_TEXT_BYTES_MAX,
    lookup,
};
use crate::{
    Documents, Index, ListQuery, Mark, Unloaded,
    ctree::{Anchor, NodeId, NodeText, Score, TreeLookup, TreeNode, TreeStorage},
};

/// Class of the nodes that are never dropped: the root and what is pinned.
pub(super) const KEPT_CLASS: &str = "kept";

/// Classes by the part of the score that does not fade with age, in steps of five hundredths.
pub(super) const CLASSES: [&str; 11] =
    ["s0", "s5", "s10", "s15", "s20", "s25", "s30", "s35", "s40", "s45", "s50"];

/// Hundredths from one class to the next.
pub(super) const CLASS_STEP: u8 = 5;

/// The documents of the growing tree, and the change of its totals.
pub(super) struct StoredTree<'a> {
    pub(super) docs: &'a mut Documents<SessionAggregate>,
    pub(super) sums: TreeSums,
}

impl<'a> StoredTree<'a> {
    pub(super) fn of(docs: &'a mut Documents<SessionAggregate>, sums: TreeSums) -> Self {
        Self { docs, sums }
    }

    fn put(&mut self, stored: StoredNode, before: u64) {
        self.sums.chars = self.sums.chars - before + stored.node.line_chars();
        self.sums.classes |= class_bit(&stored.node);
        self.docs
            .put(SessionKey::Node(stored.node.id.clone()), SessionDocument::Node(Box::new(stored)));
    }

    fn stored(&self, id: &NodeId) -> Result<StoredNode, Unloaded<SessionAggregate>> {
        let stored = lookup::stored_node(self.docs, id)?.cloned();
        Ok(stored.unwrap_or_else(|| unreachable!("{id} is changed, so it was there")))
    }
}

impl TreeLookup for Documents<SessionAggregate> {
    type Error = Unloaded<SessionAggregate>;

    fn node(&self, id: &NodeId) -> Result<Option<&TreeNode>, Self::Error> {
        lookup::node(self, id)
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&TreeNode>, Self::Error> {
        let query = ListQuery { parent: Some(parent.to_string()), ..ListQuery::of("node") };
        let found = self.list(&query)?.into_iter();
        Ok(found.filter_map(|document| document.as_node().map(|stored| &stored.node)).collect())
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Self::Error> {
        match self.get(&SessionKey::anchor(anchor))? {
            Some(SessionDocument::Anchor(id)) => Ok(Some(id.clone())),
            Some(other) => unreachable!("an anchor is kept under its name, not {other:?}"),
            None => Ok(None),
        }
    }
}

impl TreeLookup for StoredTree<'_> {
    type Error = Unloaded<SessionAggregate>;

    fn node(&self, id: &NodeId) -> Result<Option<&TreeNode>, Self::Error> {
        TreeLookup::node(self.docs, id)
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&TreeNode>, Self::Error> {
        self.docs.children(parent)
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Self::Error> {
        self.docs.anchored(anchor)
    }
}

impl TreeStorage for StoredTree<'_> {
    fn add(&mut self, node: TreeNode, body: Option<NodeText>) -> Result<(), Self::Error> {
        let id = node.id.clone();
        let (text, long) = divide(body);
        if let Some(long) = long {
            self.docs.create(SessionKey::Text(id.clone()), SessionDocument::Text(long));
        }
        self.sums.chars += node.line_chars();
        self.sums.classes |= class_bit(&node);
        self.docs.create(
            SessionKey::Node(id),
            SessionDocument::Node(Box::new(StoredNode { node, text })),
        );
        Ok(())
    }

    fn replace(&mut self, node: TreeNode) -> Result<(), Self::Error> {
        let StoredNode { node: before, text } = self.stored(&node.id)?;
        self.put(StoredNode { node, text }, before.line_chars());
        Ok(())
    }

    fn replace_body(&mut self, id: &NodeId, body: Option<NodeText>) -> Result<(), Self::Error> {
        let stored = self.stored(id)?;
        let before = stored.node.line_chars();
        let was_long = stored.text.is_none() && stored.node.body_chars > 0;
        let (text, long) = divide(body);
        match long {
            Some(long) => self.docs.put(SessionKey::Text(id.clone()), SessionDocument::Text(long)),
            None if was_long => self.docs.remove(SessionKey::Text(id.clone())),
            None => {}
        }
        self.put(StoredNode { text, ..stored }, before);
        Ok(())
    }

    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), Self::Error> {
        self.docs.put(SessionKey::anchor(&anchor), SessionDocument::Anchor(id));
        Ok(())
    }
}

/// A text for the node's own document, or one that gets a separate document.
fn divide(body: Option<NodeText>) -> (Option<String>, Option<NodeText>) {
    match body {
        Some(body) if body.text.len() <= INLINE_TEXT_BYTES_MAX => (Some(body.text), None),
        long => (None, long),
    }
}

/// Columns of a node: its siblings by number, its class, and its rank among nodes that do not fade
/// yet. Among these the difference of two scores never changes, whatever turn is the newest one.
pub(super) fn index(node: &TreeNode) -> Index {
    let class = class(node);
    Index {
        ord: node.seq,
        parent: node.parent_id.as_ref().map(NodeId::to_string).unwrap_or_default(),
        status: class.into(),
        rank: (class != KEPT_CLASS).then(|| Score::rank(node)),
        marks: Mark::Listed as u8,
    }
}

fn class(node: &TreeNode) -> &'static str {
    match Score::lasting(node) {
        Some(lasting) => CLASSES[usize::from(lasting / CLASS_STEP)],
        None => KEPT_CLASS,
    }
}

fn class_bit(node: &TreeNode) -> u16 {
    Score::lasting(node).map_or(0, |lasting| 1 << (lasting / CLASS_STEP))
}
