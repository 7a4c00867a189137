//! How a tree changes: each function hashes the changed node and its ancestors, and nothing else
//! (CH-4).
//!
//! ```text
//!   root        ◄─ hash again                reads and writes, whatever the size of the tree:
//!    └ turn     ◄─ hash again, chain + 1       the new node, its ancestors, and the nodes
//!       └ new   ◄─ hash                        that it points to
//! ```
//!
//! Every function returns `None` when its node does not exist; nothing has changed then.

use super::{
    chain::{Amended, Chain},
    digest::Digest,
    node::{Kind, LABEL_CHARS_MAX, NodeId, NodeText, Role, Status, TreeNode},
    node_storage::TreeStorage,
};
use crate::{Timestamp, text};

/// When something happened: the event's number, its time and the turn it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventMoment {
    /// Number of the event.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// Number of the turn; none outside of turns.
    pub turn: Option<u64>,
}

/// A node in the making.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sprout {
    pub kind: Kind,
    /// The author, for messages.
    pub role: Option<Role>,
    /// One line; longer ones are cut.
    pub label: String,
    /// The full text.
    pub body: String,
    /// How far it is.
    pub status: Option<Status>,
    /// What it points to.
    pub refs: Vec<String>,
}

impl Sprout {
    pub fn labelled(kind: Kind, label: String) -> Self {
        Self { kind, role: None, label, body: String::new(), status: None, refs: Vec::new() }
    }

    /// The new node, without children, and its text.
    pub fn into_node(
        self,
        id: NodeId,
        parent_id: Option<NodeId>,
        moment: &EventMoment,
    ) -> (TreeNode, String) {
        let mut node = TreeNode {
            id,
            parent_id,
            kind: self.kind,
            role: self.role,
            label: self.label,
            body_sha256: Digest::of(&self.body),
            body_chars: text::chars(&self.body) as u64,
            status: self.status,
            turn: moment.turn,
            seq: moment.seq,
            created_at_ms: moment.at,
            updated_at_ms: moment.at,
            pinned: false,
            refs: Vec::new(),
            hash: Digest::ZERO,
            cited: 0,
            place: 0,
            size: 1,
            newest: None,
            children: Chain::default(),
        };
        node.rehash();
        (node, self.body)
    }
}

/// Changes of a node's own fields; `None` keeps a field as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restatement {
    /// How far it is now.
    pub status: Option<Option<Status>>,
    pub label: Option<String>,
    /// Its text now.
    pub body: Option<String>,
}

impl Restatement {
    pub fn status(status: Status) -> Self {
        Self { status: Some(Some(status)), ..Self::default() }
    }
}

/// Whether a change had an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthEffect {
    /// Something is different now.
    Changed,
    /// All was so already.
    Nothing,
}

/// Starts a tree with its root.
pub fn plant_root<G: TreeStorage>(
    nodes: &mut G,
    label: String,
    moment: &EventMoment,
) -> Result<NodeId, G::Error> {
    let sprout = Sprout::labelled(Kind::Root, cut(label));
    let outside = EventMoment { turn: None, ..*moment };
    let (node, _) = sprout.into_node(NodeId::root(), None, &outside);
    nodes.add(node, None)?;
    Ok(NodeId::root())
}

/// Adds a node as the last child of a parent; `None` if there is no such parent.
pub fn grow<G: TreeStorage>(
    nodes: &mut G,
    parent: &NodeId,
    mut sprout: Sprout,
    moment: &EventMoment,
) -> Result<Option<NodeId>, G::Error> {
    let Some(root) = nodes.node(&NodeId::root())? else { return Ok(None) };
    let id = NodeId::numbered(root.size);
    let Some(place) = nodes.node(parent)?.map(|parent| parent.children.count()) else {
        return Ok(None);
    };
    let refs = std::mem::take(&mut sprout.refs);
    sprout.label = cut(sprout.label);
    let (mut node, body) = sprout.into_node(id.clone(), Some(parent.clone()), moment);
    node.place = place;
    node.refs = refs_to_add(nodes, &[], refs)?;
    let hash = node.hash;
    let refs = node.refs.clone();
    nodes.add(node, NodeText::of(body))?;
    ripple(nodes, parent.clone(), Step { place, hash, grown: Some(&id) })?;
    count_citations(nodes, &refs)?;
    Ok(Some(id))
}

/// Changes a node's status, label or text.
pub fn restate<G: TreeStorage>(
    nodes: &mut G,
    id: &NodeId,
    change: Restatement,
    moment: &EventMoment,
) -> Result<Option<GrowthEffect>, G::Error> {
    let Some(found) = nodes.node(id)? else { return Ok(None) };
    let mut node = found.clone();
    if let Some(status) = change.status {
        node.status = status;
    }
    if let Some(label) = change.label {
        node.label = cut(label);
    }
    if let Some(body) = &change.body {
        node.describe(body);
    }
    node.rehash();
    if node.hash == found.hash {
        return Ok(Some(GrowthEffect::Nothing));
    }
    if node.body_sha256 != found.body_sha256 {
        nodes.replace_body(id, change.body.and_then(NodeText::of))?;
    }
    node.updated_at_ms = moment.at;
    let parent = node.parent_id.clone();
    let place = node.place;
    let hash = node.hash;
    nodes.replace(node)?;
    if let Some(parent) = parent {
        ripple(nodes, parent, Step { place, hash, grown: None })?;
    }
    Ok(Some(GrowthEffect::Changed))
}

/// Adds references to a node. References are not hashed, so no ancestor changes.
pub fn cite<G: TreeStorage>(
    nodes: &mut G,
    id: &NodeId,
    refs: Vec<String>,
    moment: &EventMoment,
) -> Result<Option<GrowthEffect>, G::Error> {
    let Some(found) = nodes.node(id)? else { return Ok(None) };
    let mut node = found.clone();
    let added = refs_to_add(nodes, &node.refs, refs)?;
    if added.is_empty() {
        return Ok(Some(GrowthEffect::Nothing));
    }
    node.refs.extend(added.iter().cloned());
    node.updated_at_ms = moment.at;
    nodes.replace(node)?;
    count_citations(nodes, &added)?;
    Ok(Some(GrowthEffect::Changed))
}

/// Pins or unpins a node. Pins are not hashed, so no ancestor changes.
pub fn pin<G: TreeStorage>(
    nodes: &mut G,
    id: &NodeId,
    pinned: bool,
    moment: &EventMoment,
) -> Result<Option<GrowthEffect>, G::Error> {
    let Some(found) = nodes.node(id)? else { return Ok(None) };
    if found.pinned == pinned {
        return Ok(Some(GrowthEffect::Nothing));
    }
    let node = TreeNode { pinned, updated_at_ms: moment.at, ..found.clone() };
    nodes.replace(node)?;
    Ok(Some(GrowthEffect::Changed))
}

/// No label is longer than [`LABEL_CHARS_MAX`].
fn cut(mut label: String) -> String {
    if let Some((end, _)) = label.char_indices().nth(LABEL_CHARS_MAX) {
        label.truncate(end);
    }
    label
}

/// The new references, each once. The id of a node that does not exist is left out: a node that
/// gets the id later is not the one that was meant.
fn refs_to_add<G: TreeStorage>(
    nodes: &G,
    present: &[String],
    refs: Vec<String>,
) -> Result<Vec<String>, G::Error> {
    let mut added: Vec<String> = Vec::new();
    for reference in refs {
        let known = present.contains(&reference) || added.contains(&reference);
        let dangling =
            NodeId::is_form_of(&reference) && nodes.node(&NodeId::given(&reference))?.is_none();
        if !known && !dangling {
            added.push(reference);
        }
    }
    Ok(added)
}

fn count_citations<G: TreeStorage>(nodes: &mut G, refs: &[String]) -> Result<(), G::Error> {
    for reference in refs.iter().filter(|reference| NodeId::is_form_of(reference)) {
        let Some(cited) = nodes.node(&NodeId::given(reference))?.cloned() else { continue };
        nodes.replace(TreeNode { cited: cited.cited + 1, ..cited })?;
    }
    Ok(())
}

/// What a parent needs of a changed child.
#[derive(Clone, Copy)]
struct Step<'a> {
    place: u64,
    hash: Digest,
    grown: Option<&'a NodeId>,
}

/// Propagates a change from a child up to the root.
fn ripple<G: TreeStorage>(nodes: &mut G, from: NodeId, change: Step<'_>) -> Result<(), G::Error> {
    let Step { mut place, mut hash, grown } = change;
    let mut above = Some(from);
    while let Some(id) = above {
        let Some(mut node) = nodes.node(&id)?.cloned() else { return Ok(()) };
        if place == node.children.count() {
            node.children.push(hash);
        } else if node.children.amend(place, hash) == Amended::TooOld {
            node.children = Chain::over(nodes.children(&id)?.iter().map(|child| child.hash));
        }
        if let Some(newest) = grown {
            node.size += 1;
            node.newest = Some(newest.clone());
        }
        node.rehash();
        (place, hash, above) = (node.place, node.hash, node.parent_id.clone());
        nodes.replace(node)?;
    }
    Ok(())
}
