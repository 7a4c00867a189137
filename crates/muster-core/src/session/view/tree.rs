//! The summary of the tree, correct at any moment (HB-13), its nodes in pages (HB-14), and its text
//! within a budget (HB-15).
//!
//! The summary is made from a few documents. Pages, and texts that name what they leave out, come
//! from the whole tree, which the caller keeps in memory.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Docs, Shown};
use crate::{
    ctree::{
        ContextTree, NodeId, Sections, TreeNode,
        tree::{Collapsed, Compiled, NodeView, TreePage, preview},
    },
    session::{SessionKey, compile, lookup},
};

/// What the summary always has.
const SUMMARY: [&str; 6] = ["snapshot", "compiler", "collapse", "runner", "last_node", "seq"];

/// The five sections, all there.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TreeSummary", extend("required" = SUMMARY))]
pub struct Ctrees {
    #[serde(flatten)]
    pub sections: Sections,
    /// The last event included.
    pub seq: u64,
}

/// Which nodes are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeStage {
    Raw,
    /// Those within the session's budget.
    Collapsed,
}

/// Which part of a tree is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeRequest {
    pub stage: TreeStage,
    pub after: Option<NodeId>,
    pub limit: usize,
    /// With the start of each text.
    pub previews: bool,
    /// With each text.
    pub bodies: bool,
}

/// A page of a tree's nodes, with totals of the whole.
#[derive(Clone, PartialEq, Debug)]
pub struct NodesPage {
    /// The nodes, parents first.
    pub nodes: Vec<NodeView>,
    /// The node after which the next page begins.
    pub next: Option<NodeId>,
    pub root: NodeId,
    /// The node created last.
    pub last: Option<NodeId>,
    /// The tree as text, for its hashes.
    pub compiled: Compiled,
    /// The last event in it.
    pub seq: u64,
}

/// The requested page of the nodes that the compiled text leaves out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedRequest {
    /// Budget of the text, if not the session's own.
    pub max_chars: Option<u64>,
    pub after: Option<NodeId>,
    pub limit: usize,
}

/// Some of the nodes that the compiled text leaves out, in the order in which they are dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedPage {
    /// Budget of the text.
    pub max_chars: u64,
    /// How many nodes it leaves out.
    pub dropped: usize,
    /// Those of this page.
    pub nodes: Vec<NodeId>,
    /// The node after which the next page begins.
    pub next: Option<NodeId>,
    /// The last event in it.
    pub seq: u64,
}

/// The summary, with the session's own text compiled for it.
pub fn ctrees(docs: &Docs) -> Shown<Ctrees> {
    let session = lookup::session(docs)?;
    let sections = compile::sections(docs, session)?;
    Ok(Ctrees { sections, seq: session.last_seq })
}

/// The tree as text; left-out nodes are counted, not named. Its cost is proportional to the budget,
/// whatever the size of the tree.
pub fn compiled(docs: &Docs, max_chars: Option<u64>) -> Shown<Compiled> {
    let session = lookup::session(docs)?;
    Ok(compile::compile(docs, session, max_chars.unwrap_or(session.tree.max_chars))?)
}

/// A page of the nodes that the compiled text leaves out; `None` if it should begin after a node
/// that the text has.
pub fn dropped_page(
    docs: &Docs,
    tree: &ContextTree,
    request: &DroppedRequest,
) -> Shown<Option<DroppedPage>> {
    let session = lookup::session(docs)?;
    let max_chars = request.max_chars.unwrap_or(session.tree.max_chars);
    let collapsed = tree.collapse(max_chars);
    let mut dropped = collapsed.dropped();
    let count = dropped.len();
    if let Some(after) = &request.after
        && !dropped.any(|id| id == after)
    {
        return Ok(None);
    }
    let nodes: Vec<NodeId> = dropped.by_ref().take(request.limit).cloned().collect();
    let next = nodes.last().filter(|_| dropped.len() > 0).cloned();
    Ok(Some(DroppedPage { max_chars, dropped: count, nodes, next, seq: session.last_seq }))
}

/// The tree of these documents as text, and the last event in it. It reads the whole tree and names
/// what it leaves out, where [`compiled`] only counts.
pub fn tree_text(
    docs: &Docs,
    tree: &ContextTree,
    max_chars: Option<u64>,
) -> Shown<(Compiled, u64)> {
    let session = lookup::session(docs)?;
    let collapsed = tree.collapse(max_chars.unwrap_or(session.tree.max_chars));
    Ok((written(docs, &collapsed)?, session.last_seq))
}

/// A page of the tree of these documents; `None` if it should begin after a node that does not
/// exist.
pub fn tree_page(
    docs: &Docs,
    tree: &ContextTree,
    request: &TreeRequest,
) -> Shown<Option<NodesPage>> {
    let session = lookup::session(docs)?;
    let collapsed = tree.collapse(session.tree.max_chars);
    let after = request.after.as_ref();
    let page = match request.stage {
        TreeStage::Raw => tree.page(after, request.limit),
        TreeStage::Collapsed => collapsed.page(after, request.limit),
    };
    let Some(mut page) = page else { return Ok(None) };
    if request.previews || request.bodies {
        fill_texts(docs, tree, &mut page, request)?;
    }
    Ok(Some(NodesPage {
        nodes: page.nodes,
        next: page.next,
        root: tree.root().id.clone(),
        last: Some(tree.root().newest().clone()),
        compiled: written(docs, &collapsed)?,
        seq: session.last_seq,
    }))
}

fn written(docs: &Docs, collapsed: &Collapsed<'_>) -> Shown<Compiled> {
    have_texts(docs, collapsed.kept_nodes())?;
    collapsed.compile(|node| text_of(docs, node))
}

fn fill_texts(
    docs: &Docs,
    tree: &ContextTree,
    page: &mut TreePage,
    request: &TreeRequest,
) -> Shown<()> {
    have_texts(docs, page.nodes.iter().filter_map(|view| tree.node(&view.id)))?;
    for view in &mut page.nodes {
        let Some(node) = tree.node(&view.id) else { continue };
        let text = text_of(docs, node)?;
        view.preview = request.previews.then(|| preview(text));
        view.body = request.bodies.then(|| text.to_owned());
    }
    Ok(())
}

/// Requests the texts of nodes up front: short ones are in the nodes, long ones in separate
/// documents.
fn have_texts<'t>(docs: &Docs, nodes: impl Iterator<Item = &'t TreeNode>) -> Shown<()> {
    let ids: Vec<&NodeId> = nodes.filter(|node| node.body_chars > 0).map(|node| &node.id).collect();
    docs.have_all(ids.iter().map(|id| SessionKey::Node((*id).clone())))?;
    let mut long = Vec::new();
    for id in ids {
        let stored = lookup::stored_node(docs, id)?;
        long.extend(
            stored.filter(|stored| stored.text.is_none()).map(|_| SessionKey::Text(id.clone())),
        );
    }
    Ok(docs.have_all(long.into_iter())?)
}

fn text_of<'d>(docs: &'d Docs, node: &TreeNode) -> Shown<&'d str> {
    if node.body_chars == 0 {
        return Ok("");
    }
    match lookup::stored_node(docs, &node.id)? {
        Some(stored) => Ok(lookup::text(docs, stored)?),
        None => unreachable!("{} is in the tree of these documents", node.id),
    }
}
