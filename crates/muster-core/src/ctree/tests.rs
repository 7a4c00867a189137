//! Rules of the C-Tree room, one test each, and trees in memory to test them on.

mod arbitrary;
mod growing;
mod merging;
mod planting;
mod reading;

use std::{cell::Cell, collections::BTreeMap, convert::Infallible};

use serde_json::{Value, json};

use super::{
    Anchor, EventMoment, NodeId, NodeText, Occurrence, Planted, TodoChange, TreeLookup, TreeNode,
    TreeStorage, growth::plant_root, plant, root_label,
};
use crate::{Timestamp, todo};

/// Tree storage in memory that counts reads and writes.
#[derive(Clone, Debug, Default)]
struct Wood {
    nodes: BTreeMap<NodeId, TreeNode>,
    bodies: BTreeMap<NodeId, NodeText>,
    anchors: BTreeMap<Anchor, NodeId>,
    reads: Cell<u64>,
    lists: Cell<u64>,
    writes: u64,
}

impl Wood {
    fn planted() -> Self {
        let mut wood = Self::default();
        plant_root(&mut wood, root_label("Demo"), &moment(1, None)).unwrap();
        wood
    }

    fn plant(&mut self, occurrence: Occurrence, seq: u64, turn: Option<u64>) -> Planted {
        plant(self, Some(occurrence), None, &moment(seq, turn)).unwrap()
    }

    /// Plants an event as it is in a log.
    fn event(&mut self, seq: u64, turn: Option<u64>, event: (&str, Value)) -> Planted {
        let (event_type, body) = event;
        let occurrence = Occurrence::read(event_type, body.as_object().unwrap());
        plant(self, occurrence, None, &moment(seq, turn)).unwrap()
    }

    fn get(&self, id: &NodeId) -> &TreeNode {
        &self.nodes[id]
    }

    fn body(&self, id: &NodeId) -> &str {
        self.bodies.get(id).map_or("", |body| &body.text)
    }

    fn root(&self) -> &TreeNode {
        self.get(&NodeId::root())
    }

    fn touched(&self) -> (u64, u64, u64) {
        (self.reads.get(), self.lists.get(), self.writes)
    }

    fn forget_counts(&mut self) {
        self.reads.set(0);
        self.lists.set(0);
        self.writes = 0;
    }

    /// Ids and labels from the root down to a node.
    fn line_of(&self, id: &NodeId) -> Vec<&str> {
        let mut line = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.get(id);
            line.insert(0, node.kind.word());
            at = node.parent_id.as_ref();
        }
        line
    }
}

impl TreeLookup for Wood {
    type Error = Infallible;

    fn node(&self, id: &NodeId) -> Result<Option<&TreeNode>, Infallible> {
        self.reads.set(self.reads.get() + 1);
        Ok(self.nodes.get(id))
    }

    fn children(&self, parent: &NodeId) -> Result<Vec<&TreeNode>, Infallible> {
        self.lists.set(self.lists.get() + 1);
        let mut children: Vec<&TreeNode> =
            self.nodes.values().filter(|node| node.parent_id.as_ref() == Some(parent)).collect();
        children.sort_by_key(|child| child.place);
        Ok(children)
    }

    fn anchored(&self, anchor: &Anchor) -> Result<Option<NodeId>, Infallible> {
        Ok(self.anchors.get(anchor).cloned())
    }
}

impl TreeStorage for Wood {
    fn add(&mut self, node: TreeNode, body: Option<NodeText>) -> Result<(), Infallible> {
        assert!(!self.nodes.contains_key(&node.id), "{} is made twice", node.id);
        let id = node.id.clone();
        self.replace_body(&id, body)?;
        self.writes -= 1;
        self.replace(node)
    }

    fn replace(&mut self, node: TreeNode) -> Result<(), Infallible> {
        self.writes += 1;
        self.nodes.insert(node.id.clone(), node);
        Ok(())
    }

    fn replace_body(&mut self, id: &NodeId, body: Option<NodeText>) -> Result<(), Infallible> {
        self.writes += 1;
        match body {
            Some(body) => self.bodies.insert(id.clone(), body),
            None => self.bodies.remove(id),
        };
        Ok(())
    }

    fn anchor(&mut self, anchor: Anchor, id: NodeId) -> Result<(), Infallible> {
        self.anchors.insert(anchor, id);
        Ok(())
    }
}

fn moment(seq: u64, turn: Option<u64>) -> EventMoment {
    EventMoment { seq, at: Timestamp(i64::try_from(seq).unwrap() * 10), turn }
}

fn id(number: u64) -> NodeId {
    NodeId::numbered(number)
}

/// A list with one item per status given.
fn todo(scope: &str, revision: i64, statuses: &[todo::TodoStatus]) -> TodoChange {
    let item = |(number, status): (usize, &todo::TodoStatus)| todo::TodoItem {
        id: todo::ItemId::of(number.to_string()).unwrap(),
        title: format!("Item {number}"),
        status: *status,
        raw_status: None,
        priority: None,
        metadata: None,
    };
    let items = statuses.iter().enumerate().map(item).collect();
    let key = todo::ScopeKey::of(scope).unwrap();
    TodoChange::of(&todo::TodoScope { revision, items, ..todo::TodoScope::unwritten(key, 0) })
}

/// The hash of a subtree exactly as CH-2 defines it.
fn plain_hash(wood: &Wood, id: &NodeId) -> String {
    use sha2::{Digest as _, Sha256};
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut children: Vec<&TreeNode> =
        wood.nodes.values().filter(|node| node.parent_id.as_ref() == Some(id)).collect();
    children.sort_by_key(|child| child.seq);
    let mut chain = vec![0_u8; 32];
    for child in children {
        let child = plain_hash(wood, &child.id);
        let bytes = (0..32).map(|at| u8::from_str_radix(&child[2 * at..2 * at + 2], 16).unwrap());
        chain.extend(bytes);
        chain = Sha256::digest(&chain).to_vec();
    }
    let node = wood.get(id);
    let fields: BTreeMap<&str, Value> = BTreeMap::from([
        ("v", json!(1)),
        ("kind", json!(node.kind)),
        ("role", json!(node.role)),
        ("label", json!(node.label)),
        ("body_sha256", json!(hex(&Sha256::digest(wood.body(id))))),
        ("status", json!(node.status)),
        ("turn", json!(node.turn)),
        ("children", json!(hex(&chain))),
    ]);
    hex(&Sha256::digest(serde_json::to_string(&fields).unwrap()))
}
