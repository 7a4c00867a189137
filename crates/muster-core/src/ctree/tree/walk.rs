//! Depth-first, parents before children, children in the order of their seq.

use super::{ContextTree, Place};

/// Nodes of a tree, or of what is left of it, in order.
pub(super) struct Walk<'t> {
    tree: &'t ContextTree,
    next: Option<Place>,
    kept: Option<&'t [bool]>,
}

impl ContextTree {
    /// All nodes.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { tree: self, next: Some(self.root), kept: None }
    }

    /// The nodes that are kept; a kept node's ancestors are kept too.
    pub(super) fn walk_kept<'t>(&'t self, kept: &'t [bool]) -> Walk<'t> {
        Walk { tree: self, next: Some(self.root), kept: Some(kept) }
    }
}

impl Walk<'_> {
    /// Continues after a node, wherever the walk is.
    pub(super) fn after(mut self, place: Place) -> Self {
        self.next = self.following(place);
        self
    }

    fn following(&self, place: Place) -> Option<Place> {
        if let Some(child) = self.first_kept(&self.tree.slot(place).children) {
            return Some(child);
        }
        let mut at = place;
        while let Some(parent) = self.tree.slot(at).parent {
            let rank = self.tree.rank_among(parent, at);
            let siblings = self.tree.slot(parent).children.get(rank + 1..).unwrap_or_default();
            if let Some(sibling) = self.first_kept(siblings) {
                return Some(sibling);
            }
            at = parent;
        }
        None
    }

    fn first_kept(&self, places: &[Place]) -> Option<Place> {
        let is_kept = |place: &&Place| self.kept.is_none_or(|kept| kept[**place as usize]);
        places.iter().find(is_kept).copied()
    }
}

impl Iterator for Walk<'_> {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        let place = self.next?;
        self.next = self.following(place);
        Some(place)
    }
}
