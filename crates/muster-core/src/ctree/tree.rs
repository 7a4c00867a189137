//! The whole tree in memory, for reading: scores, pages, and the text that fits a budget.
//!
//! Built once from all nodes and then advanced by each new or changed node, so that a reader of a
//! long session pays for its tree once. Hashes are taken from the nodes; [`ContextTree::computed`]
//! computes them from scratch.

mod collapse;
mod line;
mod page;
mod walk;

use std::{collections::BTreeMap, fmt};

pub use collapse::{Collapsed, Compiled, MAX_CHARS_DEFAULT};
pub use page::{NodeView, Particulars, TreePage, preview};

use super::{
    chain::Chain,
    digest::Digest,
    node::{Kind, NodeId, TreeNode},
    notice::{LastNode, TreeSnapshot},
    score::Score,
};

/// Index of a node in the tree's memory.
type Place = u32;

/// A tree of nodes.
#[derive(Clone, Debug)]
pub struct ContextTree {
    slots: Vec<Slot>,
    places: BTreeMap<NodeId, Place>,
    root: Place,
    /// Number of the newest turn; 0 before the first.
    newest_turn: u64,
    /// How often ids without a node are referenced.
    awaited: BTreeMap<String, u64>,
    /// Characters of all lines, without the line feeds between them.
    chars: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    node: TreeNode,
    parent: Option<Place>,
    /// In the order of their seq.
    children: Vec<Place>,
    /// How many nodes point to it.
    cited: u64,
    /// Characters of its line in the text.
    chars: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misshapen {
    /// No node is without a parent.
    NoRoot,
    /// This node has no parent, and it is not the only one.
    SecondRoot(NodeId),
    /// This id occurs twice.
    Twice(NodeId),
    /// The parent of this node does not exist.
    Orphan(NodeId),
    /// Some nodes are their own ancestors.
    Circle,
    /// This node has moved to another parent.
    Moved(NodeId),
}

impl fmt::Display for Misshapen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => f.write_str("no node is the root"),
            Self::SecondRoot(id) => write!(f, "{id} is a second root"),
            Self::Twice(id) => write!(f, "{id} occurs twice"),
            Self::Orphan(id) => write!(f, "the parent of {id} is missing"),
            Self::Circle => f.write_str("some nodes are their own ancestors"),
            Self::Moved(id) => write!(f, "{id} has moved to another parent"),
        }
    }
}

impl std::error::Error for Misshapen {}

impl ContextTree {
    /// The tree of these nodes, in any order, with their hashes.
    pub fn of(nodes: impl IntoIterator<Item = TreeNode>) -> Result<Self, Misshapen> {
        let (places, awaited) = Default::default();
        let mut tree =
            Self { slots: Vec::new(), places, root: 0, newest_turn: 0, awaited, chars: 0 };
        for node in nodes {
            tree.seat(node)?;
        }
        tree.find_root()?;
        tree.link()?;
        Ok(tree)
    }

    /// The tree of these nodes with every hash computed again, as CH-2 defines it.
    pub fn computed(nodes: impl IntoIterator<Item = TreeNode>) -> Result<Self, Misshapen> {
        let mut tree = Self::of(nodes)?;
        let order: Vec<Place> = tree.walk().collect();
        for place in order.into_iter().rev() {
            let slot = tree.slot(place);
            let children = slot.children.iter().map(|child| tree.slot(*child).node.hash);
            let children = Chain::over(children);
            let node = &mut tree.slot_mut(place).node;
            node.children = children;
            node.rehash();
        }
        Ok(tree)
    }

    /// Takes over a new or changed node. Its ancestors have changed with it and have to be passed,
    /// too.
    pub fn advance(&mut self, node: TreeNode) -> Result<(), Misshapen> {
        if let Some(place) = self.places.get(&node.id).copied() {
            return self.reseat(place, node);
        }
        let Some(parent) = node.parent_id.clone() else {
            return Err(Misshapen::SecondRoot(node.id));
        };
        let Some(parent) = self.places.get(&parent).copied() else {
            return Err(Misshapen::Orphan(node.id));
        };
        let place = self.seat(node)?;
        self.slot_mut(place).parent = Some(parent);
        let at = self.rank_among(parent, place);
        self.slot_mut(parent).children.insert(at, place);
        Ok(())
    }

    pub fn root(&self) -> &TreeNode {
        &self.slot(self.root).node
    }

    pub fn node(&self, id: &NodeId) -> Option<&TreeNode> {
        self.places.get(id).map(|place| &self.slot(*place).node)
    }

    /// Number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Never: there is always a root.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Size and hash (CT-4, CH-3).
    pub fn snapshot(&self) -> TreeSnapshot {
        TreeSnapshot { node_count: self.slots.len() as u64, node_hash: self.root().hash }
    }

    /// The newest node, according to the root.
    pub fn last_node(&self) -> Option<LastNode> {
        let id = self.root().newest().clone();
        let score = self.score(&id)?;
        Some(LastNode { id, score })
    }

    /// The relevance of a node now.
    pub fn score(&self, id: &NodeId) -> Option<Score> {
        self.places.get(id).map(|place| self.score_at(*place))
    }

    /// All ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &NodeId> {
        self.places.keys()
    }

    fn score_at(&self, place: Place) -> Score {
        let slot = self.slot(place);
        Score::of(&slot.node, self.newest_turn, slot.cited)
    }

    fn slot(&self, place: Place) -> &Slot {
        &self.slots[place as usize]
    }

    fn slot_mut(&mut self, place: Place) -> &mut Slot {
        &mut self.slots[place as usize]
    }

    fn hash_at(&self, place: Place) -> Digest {
        self.slot(place).node.hash
    }

    /// Allocates a slot for a node, not yet linked to its parent.
    fn seat(&mut self, node: TreeNode) -> Result<Place, Misshapen> {
        let id = node.id.clone();
        let place = Place::try_from(self.slots.len()).unwrap_or(Place::MAX);
        if self.places.insert(id.clone(), place).is_some() {
            return Err(Misshapen::Twice(id));
        }
        let cited = self.awaited.remove(id.as_str()).unwrap_or(0);
        let chars = line::chars(&node);
        let refs = node.refs.clone();
        self.note_turn(&node);
        self.chars += chars;
        self.slots.push(Slot { node, parent: None, children: Vec::new(), cited, chars });
        self.count_refs(&refs, |count| count + 1);
        Ok(place)
    }

    /// Replaces a node in its slot.
    fn reseat(&mut self, place: Place, node: TreeNode) -> Result<(), Misshapen> {
        if self.slot(place).node.parent_id != node.parent_id {
            return Err(Misshapen::Moved(node.id));
        }
        let chars = line::chars(&node);
        let refs = node.refs.clone();
        self.note_turn(&node);
        let slot = self.slot_mut(place);
        let before = std::mem::replace(&mut slot.node, node);
        let chars_before = std::mem::replace(&mut slot.chars, chars);
        self.chars = self.chars - chars_before + chars;
        self.count_refs(&before.refs, |count| count.saturating_sub(1));
        self.count_refs(&refs, |count| count + 1);
        Ok(())
    }

    fn note_turn(&mut self, node: &TreeNode) {
        if node.kind == Kind::Turn {
            self.newest_turn = self.newest_turn.max(node.turn.unwrap_or(0));
        }
    }

    fn count_refs(&mut self, refs: &[String], change: impl Fn(u64) -> u64) {
        for (at, reference) in refs.iter().enumerate() {
            if refs[..at].contains(reference) {
                continue;
            }
            let count = match self.places.get(&NodeId::given(reference)) {
                Some(place) => &mut self.slots[*place as usize].cited,
                None => self.awaited.entry(reference.clone()).or_default(),
            };
            *count = change(*count);
        }
    }

    fn find_root(&mut self) -> Result<(), Misshapen> {
        let mut roots = (0..).zip(&self.slots).filter(|(_, slot)| slot.node.parent_id.is_none());
        let Some((root, _)) = roots.next() else { return Err(Misshapen::NoRoot) };
        if let Some((_, second)) = roots.next() {
            return Err(Misshapen::SecondRoot(second.node.id.clone()));
        }
        self.root = root;
        Ok(())
    }

    /// Links all nodes to their parents.
    fn link(&mut self) -> Result<(), Misshapen> {
        for at in 0..self.slots.len() {
            let Some(parent) = self.slots[at].node.parent_id.as_ref() else { continue };
            let Some(parent) = self.places.get(parent).copied() else {
                return Err(Misshapen::Orphan(self.slots[at].node.id.clone()));
            };
            self.slots[at].parent = Some(parent);
            let place = Place::try_from(at).unwrap_or(Place::MAX);
            self.slot_mut(parent).children.push(place);
        }
        for at in 0..self.slots.len() {
            let mut children = std::mem::take(&mut self.slots[at].children);
            children.sort_by(|a, b| self.sibling_key(*a).cmp(&self.sibling_key(*b)));
            self.slots[at].children = children;
        }
        // Nodes in a cycle are not reachable from the root.
        if self.walk().count() < self.slots.len() { Err(Misshapen::Circle) } else { Ok(()) }
    }

    /// The index of a node among the children of a parent.
    fn rank_among(&self, parent: Place, place: Place) -> usize {
        let key = self.sibling_key(place);
        self.slot(parent).children.partition_point(|sibling| self.sibling_key(*sibling) < key)
    }

    fn sibling_key(&self, place: Place) -> (u64, &NodeId) {
        let node = &self.slot(place).node;
        (node.seq, &node.id)
    }
}
