//! Picks the nodes that are left when the text has to fit (CC-3), from the greatest one down.
//!
//! Dropping leaves from the least one up leaves the same nodes as taking nodes from the greatest
//! one down, each with its ancestors, until the next one does not fit: a node with a lesser score
//! than something below it comes right after that. So only the greatest nodes are read.
//!
//! ```text
//!   score = lasting part + what age has left of 50     (CS-1)
//!
//!   nodes that still fade   by rank: their order stays the same while the newest turn moves on
//!   nodes that have faded   by class: the lasting part is all they have, then by number
//! ```

use std::collections::{BTreeSet, BinaryHeap};

use super::{Docs, Loaded};
use crate::{
    ListOrder, ListQuery, RankBound,
    ctree::{NodeId, Score},
    session::{
        SessionKey,
        entity::{Session, StoredNode},
        lookup,
        stored_tree::{CLASS_STEP, CLASSES, KEPT_CLASS},
    },
};

/// Fewest nodes looked at.
const NODES_MIN: u64 = 64;

/// The nodes that are left of a tree whose text does not fit.
pub(super) fn pick<'d>(
    docs: &'d Docs,
    session: &Session,
    nodes: u64,
    max_chars: u64,
) -> Loaded<Vec<&'d StoredNode>> {
    let line_chars = session.tree.chars / nodes + 1;
    let expected = max_chars / line_chars;
    let mut picking = Picking {
        docs,
        newest_turn: session.turns.newest,
        classes: session.tree.classes,
        max_chars,
        limit: u32::try_from(expected + expected / 4 + NODES_MIN).unwrap_or(u32::MAX),
        with_crowd: false,
    };
    loop {
        match picking.merge(&picking.rows()?)? {
            Merged::Full(kept) => return Ok(kept),
            Merged::Cut => picking.limit = picking.limit.saturating_mul(2),
            Merged::Dry(kept) if picking.with_crowd => return Ok(kept),
            Merged::Dry(_) => picking.with_crowd = true,
        }
    }
}

/// What is being picked from.
struct Picking<'d> {
    docs: &'d Docs,
    newest_turn: u64,
    classes: u16,
    max_chars: u64,
    /// Limit of nodes read per list.
    limit: u32,
    /// Whether completely faded nodes are read; most of a long tree are.
    with_crowd: bool,
}

/// Nodes of a list, greatest first.
struct Row<'d> {
    nodes: Vec<&'d StoredNode>,
    /// The score of all of them; without one it is computed for each.
    score: Option<i64>,
    /// Whether the list continues after the last one.
    is_cut: bool,
}

/// The result of merging rows.
enum Merged<'d> {
    /// The next node does not fit.
    Full(Vec<&'d StoredNode>),
    /// A row ended too soon.
    Cut,
    /// All rows are exhausted.
    Dry(Vec<&'d StoredNode>),
}

/// What is kept so far.
#[derive(Default)]
struct Kept<'d> {
    nodes: Vec<&'d StoredNode>,
    ids: BTreeSet<&'d NodeId>,
    chars: u64,
}

impl<'d> Picking<'d> {
    /// The lists: nodes that are never dropped, those that still fade, and each class of those that
    /// have faded.
    fn queries(&self) -> Vec<(ListQuery, Option<i64>)> {
        let nodes = || ListQuery { limit: Some(self.limit), ..ListQuery::of("node") };
        let by_number =
            |class| ListQuery { statuses: vec![class], order: ListOrder::Descending, ..nodes() };
        let faded = self.newest_turn.checked_sub(Score::FADING_TURNS).map(Score::rank_of_turn);
        let fading = ListQuery {
            order: ListOrder::RankDescending,
            rank: faded.map(RankBound::Above),
            ..nodes()
        };
        let kept = ListQuery { limit: None, ..by_number(KEPT_CLASS) };
        let mut queries = vec![(kept, Some(i64::MAX)), (fading, None)];
        let Some(faded) = faded else { return queries };
        for (at, class) in (0_u8..).zip(CLASSES) {
            let lasting = at * CLASS_STEP;
            if self.classes & (1 << at) != 0 && (lasting > 0 || self.with_crowd) {
                let rank = Some(RankBound::UpTo(faded.saturating_add(u32::from(lasting))));
                queries.push((ListQuery { rank, ..by_number(class) }, Some(i64::from(lasting))));
            }
        }
        queries
    }

    fn rows(&self) -> Loaded<Vec<Row<'d>>> {
        let queries = self.queries();
        let lists: Vec<ListQuery> = queries.iter().map(|(query, _)| query.clone()).collect();
        self.docs.have(&lists)?;
        let mut rows = Vec::with_capacity(queries.len());
        for (query, score) in queries {
            let found = self.docs.list(&query)?.into_iter();
            let nodes: Vec<&StoredNode> = found.filter_map(|node| node.as_node()).collect();
            let is_cut = query.limit.is_some_and(|limit| nodes.len() as u64 >= u64::from(limit));
            rows.push(Row { nodes, score, is_cut });
        }
        self.have_ancestors(&rows)?;
        Ok(rows)
    }

    /// Loads the ancestors of the rows, a level at a time.
    fn have_ancestors(&self, rows: &[Row<'d>]) -> Loaded<()> {
        let nodes = rows.iter().flat_map(|row| &row.nodes).map(|stored| &stored.node);
        let mut level: BTreeSet<&NodeId> =
            nodes.filter_map(|node| node.parent_id.as_ref()).collect();
        while !level.is_empty() {
            self.docs.have_all(level.iter().map(|id| SessionKey::Node((*id).clone())))?;
            let mut above = BTreeSet::new();
            for id in level {
                above.extend(lookup::node(self.docs, id)?.and_then(|node| node.parent_id.as_ref()));
            }
            level = above;
        }
        Ok(())
    }

    /// Takes nodes in order while they fit.
    fn merge(&self, rows: &[Row<'d>]) -> Loaded<Merged<'d>> {
        let mut kept = Kept::default();
        let mut heads = BinaryHeap::new();
        for (at, row) in rows.iter().enumerate() {
            heads.extend(self.head(row, at, 0));
        }
        while let Some((score, _, at, place)) = heads.pop() {
            for next in self.line(rows[at].nodes[place], &kept.ids)? {
                let chars = kept.chars + next.node.line_chars() + u64::from(!kept.ids.is_empty());
                if chars > self.max_chars && score < i64::MAX {
                    return Ok(Merged::Full(kept.nodes));
                }
                kept.chars = chars;
                kept.ids.insert(&next.node.id);
                kept.nodes.push(next);
            }
            match self.head(&rows[at], at, place + 1) {
                Some(head) => heads.push(head),
                None if rows[at].is_cut => return Ok(Merged::Cut),
                None => {}
            }
        }
        Ok(Merged::Dry(kept.nodes))
    }

    /// A row's node with its sort key.
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
