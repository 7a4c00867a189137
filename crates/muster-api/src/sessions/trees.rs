//! Whole trees in memory, for those who want to see all of one: its pages, and what was dropped.
//!
//! A tree is kept with the number of the last event in it and used as long as the session has not
//! gone on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use muster_core::{
    ListQuery, Refusal,
    ctree::{
        NodeId, Tree,
        tree::{Compiled, NodeView, Page, preview},
    },
    session::{Document, SessionId, lookup},
};
use muster_store::StoreError;

use super::{SessionDesk, Told};

/// Trees kept.
const TREES_MAX: usize = 8;

/// The trees that were looked at lately.
#[derive(Default)]
pub(crate) struct Trees(Mutex<VecDeque<Kept>>);

#[derive(Clone)]
struct Kept {
    session: SessionId,
    seq: u64,
    max_chars: u64,
    tree: Arc<Tree>,
}

/// How much of a tree is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// All of it.
    Raw,
    /// What is left within the session's budget.
    Collapsed,
}

/// Which nodes are wanted.
#[derive(Debug, Clone)]
pub struct TreeRequest {
    /// Of which stage.
    pub stage: Stage,
    /// Behind which node.
    pub behind: Option<NodeId>,
    /// At most so many.
    pub limit: usize,
    /// With the start of each text.
    pub previews: bool,
    /// With each text.
    pub bodies: bool,
}

/// A part of a tree's nodes, with what is known of the whole.
#[derive(Debug, Clone)]
pub struct NodesPage {
    /// The nodes, parents first.
    pub nodes: Vec<NodeView>,
    /// Behind which node the next page begins.
    pub next: Option<NodeId>,
    /// The root.
    pub root: NodeId,
    /// The node made last.
    pub last: Option<NodeId>,
    /// The tree as text, for its hashes.
    pub compiled: Compiled,
    /// The last event in it.
    pub seq: u64,
}

impl Trees {
    pub(super) fn compiled(
        &self,
        desk: SessionDesk<'_>,
        id: &SessionId,
        max_chars: Option<u64>,
    ) -> Told<(Compiled, u64)> {
        let kept = self.current(desk, id)?;
        let collapsed = kept.tree.collapse(max_chars.unwrap_or(kept.max_chars));
        let compiled = collapsed.compile(|node| text(desk, id, &node.id))?;
        Ok((compiled, kept.seq))
    }

    pub(super) fn nodes(
        &self,
        desk: SessionDesk<'_>,
        id: &SessionId,
        request: &TreeRequest,
    ) -> Told<Option<NodesPage>> {
        let kept = self.current(desk, id)?;
        let collapsed = kept.tree.collapse(kept.max_chars);
        let page = match request.stage {
            Stage::Raw => kept.tree.page(request.behind.as_ref(), request.limit),
            Stage::Collapsed => collapsed.page(request.behind.as_ref(), request.limit),
        };
        let Some(Page { mut nodes, next }) = page else { return Ok(None) };
        if request.previews || request.bodies {
            for node in &mut nodes {
                let text = text(desk, id, &node.id)?;
                node.preview = request.previews.then(|| preview(&text));
                node.body = request.bodies.then_some(text);
            }
        }
        let compiled = collapsed.compile(|node| text(desk, id, &node.id))?;
        Ok(Some(NodesPage {
            nodes,
            next,
            root: kept.tree.root().id.clone(),
            last: kept.tree.last_node().map(|last| last.id),
            compiled,
            seq: kept.seq,
        }))
    }

    /// The tree as it stands: the one that is kept, or all of its nodes.
    fn current(&self, desk: SessionDesk<'_>, id: &SessionId) -> Told<Kept> {
        let seq = desk.read(id, |docs| Ok(lookup::session(docs)?.last_seq))?;
        if let Some(kept) = self.find(id, seq) {
            return Ok(kept);
        }
        let (seq, max_chars, nodes) = desk.read(id, |docs| {
            let session = lookup::session(docs)?;
            let found = docs.list(&ListQuery::of("node")).map_err(Refusal::from)?;
            let nodes: Vec<_> = found
                .into_iter()
                .filter_map(Document::as_node)
                .map(|stored| stored.node.clone())
                .collect();
            Ok((session.last_seq, session.tree.max_chars, nodes))
        })?;
        let tree = Tree::of(nodes).map_err(|error| StoreError::Damaged {
            place: id.stream(),
            finding: format!("the tree is misshapen: {error:?}"),
        })?;
        let kept = Kept { session: id.clone(), seq, max_chars, tree: Arc::new(tree) };
        self.keep(kept.clone());
        Ok(kept)
    }

    fn find(&self, id: &SessionId, seq: u64) -> Option<Kept> {
        let trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.iter().find(|kept| kept.session == *id && kept.seq == seq).cloned()
    }

    fn keep(&self, kept: Kept) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|other| other.session != kept.session);
        trees.truncate(TREES_MAX - 1);
        trees.push_front(kept);
    }
}

/// The text of a node.
fn text(desk: SessionDesk<'_>, id: &SessionId, node: &NodeId) -> Told<String> {
    desk.read(id, |docs| match lookup::stored_node(docs, node)? {
        Some(stored) => Ok(lookup::text(docs, stored)?.to_owned()),
        None => Ok(String::new()),
    })
}
