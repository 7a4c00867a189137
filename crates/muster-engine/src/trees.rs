//! The trees of sessions that are being read, kept in memory between reads.
//!
//! ```text
//!   commit ──changed nodes──► waiting line of a kept tree      a writer never waits for a reader
//!                                   │
//!   read at seq n ──────────────────┴─► tree at n ──► view     else it is built from all nodes
//! ```
//!
//! A tree is only ever shown at the moment of the documents that it is shown with. Commits of other
//! processes arrive without their nodes; then the tree is built again.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use muster_core::{
    Aggregate, Documents, ListQuery, WorkRefusal,
    ctree::{ContextTree, TreeNode},
    session::{SessionAggregate, SessionDocument, SessionRejection, lookup::session},
};
use muster_store::{Store, StoreError, StoreSnapshot};

use crate::{
    cache::Cache,
    load::{self, DocumentSource},
};

/// Nodes kept over all trees; about half a kilobyte each.
const NODES_KEPT_MAX: usize = 200_000;
/// Changed nodes that may wait for the next reader of a tree of the same size: building it again
/// then costs about as much.
const NODES_WAITING_MAX: usize = 10_000;
/// At least this many may wait for a smaller tree.
const NODES_WAITING_MIN: usize = 100;

/// The trees of one engine.
#[derive(Default)]
pub(crate) struct Trees(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    trees: HashMap<String, Arc<Kept>>,
    /// Counts reads, to know which tree was read last.
    reads: u64,
}

/// A tree and what has happened to it since it was last read.
struct Kept {
    tree: Mutex<Option<Grown>>,
    waiting: Mutex<Vec<Growth>>,
    /// When it was last read, and how large it was.
    used: Mutex<(u64, usize)>,
}

/// A tree at one moment.
struct Grown {
    seq: u64,
    tree: ContextTree,
}

/// Nodes that changed between two moments.
struct Growth {
    after: u64,
    seq: u64,
    nodes: Vec<TreeNode>,
}

impl Trees {
    /// Records a commit; does nothing for streams without a tree in memory.
    pub(crate) fn note<'d>(
        &self,
        stream: &str,
        (after, seq): (u64, u64),
        changed: impl Iterator<Item = &'d dyn Any>,
    ) {
        let Some(kept) = lock(&self.0).trees.get(stream).cloned() else { return };
        let documents = changed.filter_map(|document| document.downcast_ref::<SessionDocument>());
        let nodes =
            documents.filter_map(SessionDocument::as_node).map(|stored| stored.node.clone());
        let mut nodes: Vec<TreeNode> = nodes.collect();
        // Parents before children: they were numbered first.
        nodes.sort_by(|a, b| {
            let a = a.id.as_str();
            let b = b.id.as_str();
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        });
        let mut waiting = lock(&kept.waiting);
        let held: usize = waiting.iter().map(|growth| growth.nodes.len()).sum();
        let size = lock(&kept.used).1;
        if held + nodes.len() > size.clamp(NODES_WAITING_MIN, NODES_WAITING_MAX) {
            // The tree is no longer read; the next reader rebuilds it once.
            drop(waiting);
            lock(&self.0).trees.remove(stream);
            return;
        }
        waiting.push(Growth { after, seq, nodes });
    }

    /// Runs a view over the tree and the documents of one snapshot.
    pub(crate) fn read<T>(
        &self,
        store: &dyn Store,
        cache: &Cache,
        stream: &str,
        view: impl Fn(
            &Documents<SessionAggregate>,
            &ContextTree,
        ) -> Result<T, WorkRefusal<SessionAggregate>>,
    ) -> Result<Result<T, Box<SessionRejection>>, StoreError> {
        let kept = self.kept(stream);
        let mut tree = lock(&kept.tree);
        let mut snapshot = store.snapshot()?;
        let mut documents = Documents::default();
        let mut source =
            DocumentSource { stream, snapshot: &mut *snapshot, cache, committed: true };
        let known = load::answer(&mut source, &mut documents, |docs| session(docs).map(drop))?;
        if let Err(rejection) = known {
            self.forget(stream);
            return Ok(Err(rejection));
        }
        let head = source.snapshot.head(stream)?.seq;
        let grown = match tree.take().and_then(|grown| kept.advance(grown, head)) {
            Some(grown) => grown,
            None => build(source.snapshot, stream, head)?,
        };
        let outcome = load::answer(&mut source, &mut documents, |docs| view(docs, &grown.tree))?;
        lock(&kept.used).1 = grown.tree.len();
        *tree = Some(grown);
        drop(tree);
        self.make_room();
        Ok(outcome)
    }

    fn kept(&self, stream: &str) -> Arc<Kept> {
        let mut shelf = lock(&self.0);
        shelf.reads += 1;
        let now = shelf.reads;
        let fresh = || {
            let tree = Mutex::new(None);
            let waiting = Mutex::default();
            Arc::new(Kept { tree, waiting, used: Mutex::new((now, 0)) })
        };
        let kept = Arc::clone(shelf.trees.entry(stream.to_owned()).or_insert_with(fresh));
        lock(&kept.used).0 = now;
        kept
    }

    fn forget(&self, stream: &str) {
        lock(&self.0).trees.remove(stream);
    }

    /// Drops the least recently read trees, until the rest is small enough.
    fn make_room(&self) {
        let mut shelf = lock(&self.0);
        loop {
            let sizes = shelf.trees.iter().map(|(name, kept)| (*lock(&kept.used), name));
            let mut total = 0;
            let mut oldest = None;
            for ((read, nodes), name) in sizes {
                total += nodes;
                if oldest.is_none_or(|(earliest, _)| read < earliest) {
                    oldest = Some((read, name));
                }
            }
            let Some(name) =
                oldest.filter(|_| total > NODES_KEPT_MAX).map(|(_, name)| name.clone())
            else {
                return;
            };
            shelf.trees.remove(&name);
        }
    }
}

impl Kept {
    /// The tree at a later position, if all changes in between are known.
    fn advance(&self, mut grown: Grown, head: u64) -> Option<Grown> {
        let mut waiting = lock(&self.waiting);
        // Changes newer than the reader's snapshot keep waiting.
        let seen = waiting.iter().take_while(|growth| growth.seq <= head).count();
        for growth in waiting.drain(..seen) {
            if growth.seq <= grown.seq {
                continue;
            }
            if growth.after != grown.seq {
                return None;
            }
            for node in growth.nodes {
                grown.tree.advance(node).ok()?;
            }
            grown.seq = growth.seq;
        }
        (grown.seq == head).then_some(grown)
    }
}

/// The tree of all nodes in a stream.
fn build(snapshot: &mut dyn StoreSnapshot, stream: &str, seq: u64) -> Result<Grown, StoreError> {
    let rows = snapshot.list(stream, &ListQuery::of("node"))?;
    let mut nodes = Vec::with_capacity(rows.len());
    for row in &rows {
        let (_, document) = load::decode::<SessionAggregate>(stream, row)?;
        nodes.extend(document.as_node().map(|stored| stored.node.clone()));
    }
    let tree = ContextTree::of(nodes).map_err(|error| StoreError::Damaged {
        place: stream.to_owned(),
        finding: error.to_string(),
    })?;
    Ok(Grown { seq, tree })
}

#[cfg(test)]
impl Trees {
    /// Changed nodes that wait for the next reader of a tree; none if it is not in memory.
    pub(crate) fn waiting(&self, stream: &str) -> Option<usize> {
        let kept = lock(&self.0).trees.get(stream).cloned()?;
        let waiting = lock(&kept.waiting);
        Some(waiting.iter().map(|growth| growth.nodes.len()).sum())
    }
}

/// Values are moved in and out whole, so a panic elsewhere cannot leave them half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A document as `Any`, for code that knows its aggregate.
pub(crate) fn anything<A: Aggregate>(document: &A::Document) -> &dyn Any {
    document
}
