//! Collapse to a budget and compile into text (CC-1 to CC-4).
//!
//! ```text
//!   raw tree ──drop leaves, lowest score first──► collapsed tree ──bodies──► text
//!      z1                                              z2                     z3
//! ```
//!
//! Dropping works on lengths alone, so bodies are only read when they are shown. The order of
//! dropping does not depend on the budget: a larger one never shows less.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{ContextTree, Place, line};
use crate::ctree::{
    chain::Chain,
    digest::Digest,
    node::{NodeId, TreeNode},
    notice::{Collapse, Compiler},
};

/// Budget of the session's own text, in characters (CC-5).
pub const MAX_CHARS_DEFAULT: u64 = 32_000;

/// What is left of a tree that had to fit a budget.
#[derive(Debug)]
pub struct Collapsed<'t> {
    tree: &'t ContextTree,
    max_chars: u64,
    /// Characters of the text before it is cut.
    chars: u64,
    dropped: Vec<Place>,
    kept: Vec<bool>,
    /// Hashes of kept nodes that have lost something below them.
    rehashed: Vec<Option<Digest>>,
}

/// A tree as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The budget.
    pub max_chars: u64,
    /// Characters of the text; never more than the budget.
    pub used_chars: u64,
    /// Whether the text was cut because no node could be dropped any more.
    pub truncated: bool,
    pub text: String,
    /// Hashes of the stages.
    pub compiler: Compiler,
    /// What was left out.
    pub collapse: Collapse,
    /// Nodes that were left out, in the order of dropping.
    pub dropped: Vec<NodeId>,
}

/// A leaf that may be dropped; the least one first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'t> {
    /// Score in the high bits, seq in the low ones: one comparison instead of two.
    rank: u128,
    id: &'t NodeId,
    place: Place,
}

impl ContextTree {
    /// Drops the least leaves until the text has at most `max_chars` characters, or none can go.
    pub fn collapse(&self, max_chars: u64) -> Collapsed<'_> {
        let mut collapsed = Collapsed {
            tree: self,
            max_chars,
            chars: self.chars + self.slots.len() as u64 - 1,
            dropped: Vec::new(),
            kept: vec![true; self.slots.len()],
            rehashed: Vec::new(),
        };
        if collapsed.chars > max_chars {
            collapsed.drop_leaves();
            collapsed.rehash();
        }
        collapsed
    }

    fn candidate(&self, place: Place) -> Option<Candidate<'_>> {
        let node = &self.slot(place).node;
        if place == self.root || node.pinned {
            return None;
        }
        let score = self.score_at(place).hundredths();
        let rank = u128::from(score) << 64 | u128::from(node.seq);
        Some(Candidate { rank, id: &node.id, place })
    }
}

/// Leaves in the order of dropping. Most are leaves from the start and are sorted once; only nodes
/// that have lost their last child go through a heap.
struct Leaves<'t> {
    /// The least one last.
    first: Vec<Candidate<'t>>,
    bared: BinaryHeap<Reverse<Candidate<'t>>>,
}

impl<'t> Leaves<'t> {
    fn of(tree: &'t ContextTree) -> Self {
        let leaves = (0..).zip(&tree.slots).filter(|(_, slot)| slot.children.is_empty());
        let mut first: Vec<_> = leaves.filter_map(|(place, _)| tree.candidate(place)).collect();
        first.sort_unstable_by(|a, b| b.cmp(a));
        Self { first, bared: BinaryHeap::new() }
    }

    fn pop(&mut self) -> Option<Place> {
        let is_bared = match (self.first.last(), self.bared.peek()) {
            (Some(first), Some(Reverse(bared))) => bared < first,
            (first, _) => first.is_none(),
        };
        if is_bared {
            return self.bared.pop().map(|Reverse(leaf)| leaf.place);
        }
        self.first.pop().map(|leaf| leaf.place)
    }
}

impl<'t> Collapsed<'t> {
    fn drop_leaves(&mut self) {
        let tree = self.tree;
        let mut leaves = Leaves::of(tree);
        let mut children: Vec<usize> = tree.slots.iter().map(|slot| slot.children.len()).collect();
        while self.chars > self.max_chars {
            let Some(place) = leaves.pop() else { return };
            let slot = tree.slot(place);
            self.kept[place as usize] = false;
            self.dropped.push(place);
            // The line and the line feed before it.
            self.chars -= slot.chars + 1;
            let Some(parent) = slot.parent else { continue };
            let left = &mut children[parent as usize];
            *left -= 1;
            if *left == 0 {
                leaves.bared.extend(tree.candidate(parent).map(Reverse));
            }
        }
    }

    /// Hashes nodes again that have lost something below them; complete subtrees keep their hash.
    fn rehash(&mut self) {
        let tree = self.tree;
        let mut touched = vec![false; tree.slots.len()];
        for place in &self.dropped {
            let mut above = tree.slot(*place).parent;
            while let Some(parent) = above.filter(|parent| !touched[*parent as usize]) {
                touched[parent as usize] = true;
                above = tree.slot(parent).parent;
            }
        }
        let mut order = Vec::new();
        let mut waiting = vec![tree.root];
        while let Some(place) = waiting.pop().filter(|place| touched[*place as usize]) {
            order.push(place);
            let damaged = |child: &&Place| self.kept[**child as usize] && touched[**child as usize];
            waiting.extend(tree.slot(place).children.iter().filter(damaged));
        }
        self.rehashed = vec![None; tree.slots.len()];
        for place in order.into_iter().rev() {
            let slot = tree.slot(place);
            let kept = slot.children.iter().filter(|child| self.kept[**child as usize]);
            let chain = Chain::value_over(kept.map(|child| self.hash_at(*child)));
            self.rehashed[place as usize] = Some(slot.node.hash_over(chain));
        }
    }

    pub(super) fn hash_at(&self, place: Place) -> Digest {
        let rehashed = self.rehashed.get(place as usize).copied().flatten();
        rehashed.unwrap_or_else(|| self.tree.hash_at(place))
    }

    pub(super) fn tree(&self) -> &'t ContextTree {
        self.tree
    }

    pub(super) fn kept(&self) -> &[bool] {
        &self.kept
    }

    /// Hash of the whole tree.
    pub fn z1(&self) -> Digest {
        self.tree.root().hash
    }

    /// Hash of what is left.
    pub fn z2(&self) -> Digest {
        self.hash_at(self.tree.root)
    }

    /// Nodes that were left out, in the order of dropping.
    pub fn dropped(&self) -> impl ExactSizeIterator<Item = &'t NodeId> {
        let tree = self.tree;
        self.dropped.iter().map(move |place| &tree.slot(*place).node.id)
    }

    /// Remaining nodes, in the order of the text; those after its end are excluded.
    pub fn kept_nodes(&self) -> impl Iterator<Item = &'t TreeNode> {
        let tree = self.tree;
        let mut begun = 0;
        tree.walk_kept(&self.kept).map_while(move |place| {
            let slot = tree.slot(place);
            let is_shown = begun <= self.max_chars;
            begun += slot.chars + 1;
            is_shown.then_some(&slot.node)
        })
    }

    /// Whether the text has to be cut.
    pub fn is_truncated(&self) -> bool {
        self.chars > self.max_chars
    }

    /// Writes the text. Bodies are read in order, only those that are shown, and none after the end
    /// of the text if it is cut.
    pub fn compile<B: AsRef<str>, E>(
        &self,
        mut body: impl FnMut(&TreeNode) -> Result<B, E>,
    ) -> Result<Compiled, E> {
        let mut text = Writing::within(self.max_chars);
        for place in self.tree.walk_kept(&self.kept) {
            let node = &self.tree.slot(place).node;
            if !text.begin_line(node) {
                break;
            }
            if line::shows_body(node) {
                text.push(body(node)?.as_ref());
            } else {
                text.push(&node.label);
            }
        }
        let text = text.text;
        let compiler = Compiler { z1: self.z1(), z2: self.z2(), z3: Digest::of(&text) };
        Ok(Compiled {
            max_chars: self.max_chars,
            used_chars: self.chars.min(self.max_chars),
            truncated: self.is_truncated(),
            text,
            compiler,
            collapse: Collapse::dropped(self.dropped.len() as u64),
            dropped: self.dropped().cloned().collect(),
        })
    }
}

/// A text that grows up to a number of characters.
struct Writing {
    text: String,
    left: u64,
}

impl Writing {
    fn within(max_chars: u64) -> Self {
        Self { text: String::new(), left: max_chars }
    }

    /// Starts a node's line; false if there is no room left.
    fn begin_line(&mut self, node: &TreeNode) -> bool {
        if !self.text.is_empty() {
            self.push("\n");
        }
        let mut lead = String::new();
        line::push_lead(&mut lead, node);
        self.push(&lead);
        self.left > 0
    }

    fn push(&mut self, part: &str) {
        // A string has at most as many characters as bytes.
        let taken = if part.len() as u64 <= self.left {
            part
        } else {
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            part.char_indices().nth(left).map_or(part, |(end, _)| &part[..end])
        };
        self.text.push_str(taken);
        self.left -= crate::text::chars(taken) as u64;
    }
}
