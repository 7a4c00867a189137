//! The session's own text, made from as much of the tree as fits it (CC-3, CC-5).
//!
//! The cost is proportional to the budget, not to the tree, because every turn compiles it.

mod pick;

use std::collections::BTreeMap;

use super::{
    SessionAggregate, SessionKey,
    entity::{Session, StoredNode, TextHashes},
    lookup,
};
use crate::{
    Documents, ListQuery, Unloaded,
    ctree::{
        self, Collapse, Compiler, Digest, NodeId, Sections, TreeNode, TreeSnapshot, chain::Chain,
        tree::Compiled,
    },
};

type Docs = Documents<SessionAggregate>;
type Loaded<T> = Result<T, Unloaded<SessionAggregate>>;

/// All five sections of the summary (HB-13).
pub(super) fn sections(docs: &Docs, session: &Session) -> Loaded<Sections> {
    let root = root(docs)?;
    let (compiler, collapse) = match session.tree.text {
        Some(TextHashes { z2, z3, dropped }) => {
            (Compiler { z1: root.node.hash, z2, z3 }, Collapse::dropped(dropped))
        }
        None => {
            let compiled = compile(docs, session, session.tree.max_chars)?;
            (compiled.compiler, compiled.collapse)
        }
    };
    Ok(Sections {
        snapshot: Some(TreeSnapshot::of(&root.node)),
        compiler: Some(compiler),
        collapse: Some(collapse),
        runner: Some(session.runner()),
        last_node: ctree::last_node(docs, &root.node)?,
    })
}

/// The tree as text within a budget. Nodes that were left out are counted, not named.
pub(super) fn compile(docs: &Docs, session: &Session, max_chars: u64) -> Loaded<Compiled> {
    let root = root(docs)?;
    let size = root.node.size;
    let kept = if session.tree.chars + size - 1 <= max_chars {
        all(docs)?
    } else {
        pick::pick(docs, session, size, max_chars)?
    };
    let long = kept.iter().filter(|stored| stored.text.is_none() && stored.node.body_chars > 0);
    docs.have_all(long.map(|stored| SessionKey::Text(stored.node.id.clone())))?;
    let dropped = size - kept.len() as u64;
    let chars = kept.iter().map(|stored| stored.node.line_chars() + 1).sum::<u64>() - 1;
    let outline = Outline::of(&kept);
    let order = outline.walk(root);
    let z1 = root.node.hash;
    let z2 = if dropped == 0 { z1 } else { outline.hash(&order) };
    let text = write(docs, &order, max_chars)?;
    Ok(Compiled {
        max_chars,
        used_chars: chars.min(max_chars),
        truncated: chars > max_chars,
        compiler: Compiler { z1, z2, z3: Digest::of(&text) },
        collapse: Collapse::dropped(dropped),
        text,
        dropped: Vec::new(),
    })
}

fn root(docs: &Docs) -> Loaded<&StoredNode> {
    let root = lookup::stored_node(docs, &NodeId::root())?;
    Ok(root.unwrap_or_else(|| unreachable!("every session has a root")))
}

fn all(docs: &Docs) -> Loaded<Vec<&StoredNode>> {
    let found = docs.list(&ListQuery::of("node"))?;
    Ok(found.into_iter().filter_map(|document| document.as_node()).collect())
}

/// The nodes in order, a line each, cut where the budget ends.
fn write(docs: &Docs, order: &[&StoredNode], max_chars: u64) -> Loaded<String> {
    let mut text = String::new();
    let mut begun: u64 = 0;
    for stored in order {
        if begun > max_chars {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        stored.node.push_line(&mut text, lookup::text(docs, stored)?);
        begun += stored.node.line_chars() + 1;
    }
    let max = usize::try_from(max_chars).unwrap_or(usize::MAX);
    if let Some((end, _)) = text.char_indices().nth(max).filter(|_| begun > max_chars) {
        text.truncate(end);
    }
    Ok(text)
}

/// The remaining tree: children by parent, in their order.
struct Outline<'d>(BTreeMap<&'d NodeId, Vec<&'d StoredNode>>);

impl<'d> Outline<'d> {
    fn of(kept: &[&'d StoredNode]) -> Self {
        let mut children: BTreeMap<&NodeId, Vec<&StoredNode>> = BTreeMap::new();
        for stored in kept {
            if let Some(parent) = &stored.node.parent_id {
                children.entry(parent).or_default().push(stored);
            }
        }
        for siblings in children.values_mut() {
            siblings.sort_unstable_by_key(|stored| stored.node.place);
        }
        Self(children)
    }

    fn below(&self, node: &TreeNode) -> &[&'d StoredNode] {
        self.0.get(&node.id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Depth-first, parents before children.
    fn walk(&self, root: &'d StoredNode) -> Vec<&'d StoredNode> {
        let mut order = Vec::new();
        let mut waiting = vec![root];
        while let Some(stored) = waiting.pop() {
            order.push(stored);
            waiting.extend(self.below(&stored.node).iter().rev());
        }
        order
    }

    /// Hash of the whole. A node with a complete subtree keeps its hash.
    fn hash(&self, order: &[&'d StoredNode]) -> Digest {
        let mut changed: BTreeMap<&NodeId, Digest> = BTreeMap::new();
        let mut top = Digest::ZERO;
        for node in order.iter().map(|stored| &stored.node).rev() {
            top = node.hash;
            let below = self.below(node);
            let is_whole = below.len() as u64 == node.children.count()
                && !below.iter().any(|child| changed.contains_key(&child.node.id));
            if !is_whole {
                let hash = |child: &&StoredNode| {
                    changed.get(&child.node.id).copied().unwrap_or(child.node.hash)
                };
                top = node.hash_over(Chain::value_over(below.iter().map(hash)));
                changed.insert(&node.id, top);
            }
        }
        top
    }
}
