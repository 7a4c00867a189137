//! The session's own text, made from as much of the tree as fits it (CC-3, CC-5).
//!
//! Dropping leaves from the least one up leaves the same nodes as taking nodes from the greatest
//! one down, each with its ancestors, until the next one does not fit: a node with a lesser score
//! than something below it goes right behind that. So only the greatest nodes are looked at, and
//! the cost is of the order of the budget, not of the tree.
//!
//! ```text
//!   score = lasting part + what age has left of 50     (CS-1)
//!
//!   nodes that still fade    by rank: their order never changes while the newest turn moves on
//!   nodes that have faded    by class: the lasting part is all they have, then by number
//! ```
//!
//! Every node is in both lists with at most its score, and in one of them with exactly that.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{
    Key, Sessions,
    entity::{Session, StoredNode},
    grounds::{CLASS_STEP, CLASSES, KEPT_CLASS},
    lookup,
};
use crate::{
    Documents, ListOrder, ListQuery, Unloaded,
    ctree::{
        self, Collapse, Compiler, Digest, Node, NodeId, Score, Sections, Snapshot, Tree,
        chain::Chain, tree::Compiled,
    },
};

type Docs = Documents<Sessions>;
type Loaded<T> = Result<T, Unloaded<Sessions>>;

/// Nodes looked at first; doubled until the text is full.
const NODES_AT_FIRST: u32 = 128;

/// All five sections of the summary (HB-13).
pub(super) fn sections(docs: &Docs, session: &Session) -> Loaded<Sections> {
    let root = root(docs)?;
    let compiled = compile(docs, session, session.tree.max_chars)?;
    Ok(Sections {
        snapshot: Some(Snapshot::of(root)),
        compiler: Some(compiled.compiler),
        collapse: Some(compiled.collapse),
        runner: Some(session.runner()),
        last_node: ctree::last_node(docs, root)?,
    })
}

/// The tree as text within a budget. Nodes that were left out are counted, not named.
pub(super) fn compile(docs: &Docs, session: &Session, max_chars: u64) -> Loaded<Compiled> {
    let root = root(docs)?;
    let kept = if session.tree.chars + root.size - 1 <= max_chars {
        all(docs)?
    } else {
        Picking { docs, newest_turn: session.turns.newest, max_chars }.pick(session.tree.classes)?
    };
    let long = kept.iter().filter(|stored| stored.text.is_none() && stored.node.body_chars > 0);
    docs.have_all(long.map(|stored| Key::Text(stored.node.id.clone())))?;
    let dropped = root.size - kept.len() as u64;
    let z2 = if dropped == 0 { root.hash } else { hash_of_rest(root, &kept) };
    let nodes = kept.into_iter().map(|stored| stored.node.clone());
    let tree =
        Tree::of(nodes).unwrap_or_else(|error| unreachable!("stored nodes are a tree: {error}"));
    let text = |node: &Node| match lookup::stored_node(docs, &node.id)? {
        Some(stored) => lookup::text(docs, stored),
        None => unreachable!("{} was found before", node.id),
    };
    let compiled = tree.collapse(max_chars).compile(text)?;
    let compiler = Compiler { z1: root.hash, z2, ..compiled.compiler };
    Ok(Compiled { compiler, collapse: Collapse::dropped(dropped), ..compiled })
}

/// Hash of what is left of the tree. Where nothing is missing below a node, it keeps its hash.
fn hash_of_rest(root: &Node, kept: &[&StoredNode]) -> Digest {
    let mut children: BTreeMap<&NodeId, Vec<&Node>> = BTreeMap::new();
    for node in kept.iter().map(|stored| &stored.node) {
        if let Some(parent) = &node.parent_id {
            children.entry(parent).or_default().push(node);
        }
    }
    children.values_mut().for_each(|siblings| siblings.sort_unstable_by_key(|node| node.place));
    let below = |node: &Node| children.get(&node.id).map(Vec::as_slice).unwrap_or_default();
    let mut order = vec![root];
    let mut at = 0;
    while let Some(node) = order.get(at) {
        order.extend(below(node));
        at += 1;
    }
    let mut changed: BTreeMap<&NodeId, Digest> = BTreeMap::new();
    for node in order.into_iter().rev() {
        let below = below(node);
        let is_whole = below.len() as u64 == node.children.count()
            && !below.iter().any(|child| changed.contains_key(&child.id));
        if !is_whole {
            let hash = |child: &&Node| changed.get(&child.id).copied().unwrap_or(child.hash);
            let chain = Chain::value_over(below.iter().map(hash));
            changed.insert(&node.id, node.hash_over(chain));
        }
    }
    changed.get(&root.id).copied().unwrap_or(root.hash)
}

fn root(docs: &Docs) -> Loaded<&Node> {
    let root = lookup::node(docs, &NodeId::root())?;
    Ok(root.unwrap_or_else(|| unreachable!("every session has a root")))
}

fn all(docs: &Docs) -> Loaded<Vec<&StoredNode>> {
    let found = docs.list(&ListQuery::of("node"))?;
    Ok(found.into_iter().filter_map(|document| document.as_node()).collect())
}

/// Picks the nodes that are left when the text has to fit.
struct Picking<'d> {
    docs: &'d Docs,
    newest_turn: u64,
    max_chars: u64,
}

/// Nodes from a list, greatest first, and where the next one is.
struct Row<'d> {
    nodes: Vec<&'d StoredNode>,
    /// The score that all of them have here; without one it is worked out from the rank.
    score: Option<i64>,
    /// Whether the list goes on behind the last one.
    is_cut: bool,
}

/// What is kept so far.
#[derive(Default)]
struct Kept<'d> {
    nodes: Vec<&'d StoredNode>,
    ids: BTreeSet<&'d NodeId>,
    chars: u64,
}

impl<'d> Picking<'d> {
    fn pick(&self, classes: u16) -> Loaded<Vec<&'d StoredNode>> {
        let mut limit = NODES_AT_FIRST;
        loop {
            let rows = self.rows(classes, limit)?;
            if let Some(kept) = self.merge(&rows)? {
                return Ok(kept);
            }
            limit = limit.saturating_mul(2);
        }
    }

    /// The nodes that are never dropped, those that fade by rank, and each class.
    fn rows(&self, classes: u16, limit: u32) -> Loaded<Vec<Row<'d>>> {
        let of_class = |class: &'static str| ListQuery {
            statuses: vec![class],
            order: ListOrder::Descending,
            ..ListQuery::of("node")
        };
        let used = (0..).zip(CLASSES).filter(|(at, _)| classes & (1 << at) != 0);
        let mut queries = vec![(of_class(KEPT_CLASS), Some(i64::MAX))];
        let fading = ListQuery { order: ListOrder::RankDescending, ..ListQuery::of("node") };
        queries.push((ListQuery { limit: Some(limit), ..fading }, None));
        queries.extend(used.map(|(at, class): (u8, _)| {
            let query = ListQuery { limit: Some(limit), ..of_class(class) };
            (query, Some(i64::from(at * CLASS_STEP)))
        }));
        let lists: Vec<ListQuery> = queries.iter().map(|(query, _)| query.clone()).collect();
        self.docs.have(&lists)?;
        let row = |(query, score): (ListQuery, Option<i64>)| {
            let nodes: Vec<&StoredNode> =
                self.docs.list(&query)?.into_iter().filter_map(|node| node.as_node()).collect();
            let is_cut = query.limit.is_some_and(|limit| nodes.len() as u64 >= u64::from(limit));
            Ok(Row { nodes, score, is_cut })
        };
        let rows = queries.into_iter().map(row).collect::<Loaded<Vec<Row<'d>>>>()?;
        self.have_ancestors(&rows)?;
        Ok(rows)
    }

    /// Loads what hangs above the rows, a level at a time.
    fn have_ancestors(&self, rows: &[Row<'d>]) -> Loaded<()> {
        let nodes = rows.iter().flat_map(|row| &row.nodes).map(|stored| &stored.node);
        let mut level: BTreeSet<&NodeId> =
            nodes.filter_map(|node| node.parent_id.as_ref()).collect();
        while !level.is_empty() {
            self.docs.have_all(level.iter().map(|id| Key::Node((*id).clone())))?;
            let mut above = BTreeSet::new();
            for id in level {
                above.extend(lookup::node(self.docs, id)?.and_then(|node| node.parent_id.as_ref()));
            }
            level = above;
        }
        Ok(())
    }

    /// Takes nodes in order while they fit; none if a row was too short to know.
    fn merge(&self, rows: &[Row<'d>]) -> Loaded<Option<Vec<&'d StoredNode>>> {
        let mut kept = Kept::default();
        let mut heads = BinaryHeap::new();
        for (at, row) in rows.iter().enumerate() {
            heads.extend(self.head(row, at, 0));
        }
        while let Some((score, _, at, place)) = heads.pop() {
            let stored = rows[at].nodes[place];
            for next in self.line(stored, &kept.ids)? {
                let chars = kept.chars + next.node.line_chars() + u64::from(!kept.ids.is_empty());
                if chars > self.max_chars && score < i64::MAX {
                    return Ok(Some(kept.nodes));
                }
                kept.chars = chars;
                kept.ids.insert(&next.node.id);
                kept.nodes.push(next);
            }
            match self.head(&rows[at], at, place + 1) {
                Some(head) => heads.push(head),
                None if rows[at].is_cut => return Ok(None),
                None => {}
            }
        }
        Ok(Some(kept.nodes))
    }

    /// A row's node with what it is compared by.
    fn head(&self, row: &Row<'d>, at: usize, place: usize) -> Option<(i64, u64, usize, usize)> {
        let node = &row.nodes.get(place)?.node;
        let score = row.score.unwrap_or_else(|| Score::faded(node, self.newest_turn));
        Some((score, node.seq, at, place))
    }

    /// The node and its ancestors that are not kept yet, the highest first.
    fn line(
        &self,
        stored: &'d StoredNode,
        kept: &BTreeSet<&'d NodeId>,
    ) -> Loaded<Vec<&'d StoredNode>> {
        let mut line = Vec::new();
        let mut next = Some(stored);
        while let Some(stored) = next.filter(|stored| !kept.contains(&stored.node.id)) {
            line.push(stored);
            next = match &stored.node.parent_id {
                Some(parent) => lookup::stored_node(self.docs, parent)?,
                None => None,
            };
        }
        line.reverse();
        Ok(line)
    }
}
