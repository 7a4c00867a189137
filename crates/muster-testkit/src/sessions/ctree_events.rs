//! Vectors of `muster-ctree-events/1`: the summary that a reader of a session ends up with, and the
//! hashes, scores and texts of a whole tree.

use std::{collections::BTreeMap, convert::Infallible};

use muster_core::{
    Timestamp,
    ctree::{
        ContextTree, Digest, EventMoment, Kind, NodeId, Role, Score, Sprout, Status, TreeNode,
        merge::{CtreeReader, MergedLine, PanelTaskRow},
    },
    todo::Incoming,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Key of a step that represents the answer of the REST endpoint.
const HYDRATE: &str = "$hydrate";

/// A vector of either kind.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Vector {
    Merge { steps: Vec<Value> },
    Tree { nodes: Vec<Outline>, max_chars: Vec<u64> },
}

/// A node as a vector has it.
#[derive(Deserialize)]
struct Outline {
    id: String,
    parent_id: Option<String>,
    kind: Kind,
    role: Option<Role>,
    label: String,
    body: String,
    status: Option<Status>,
    turn: Option<u64>,
    seq: u64,
    pinned: bool,
    refs: Vec<String>,
}

/// What came out of a merge vector.
#[derive(Serialize)]
struct Merged {
    summary: Value,
    summary_line: Option<String>,
    tasks: Vec<TaskOutcome>,
}

#[derive(Serialize)]
struct TaskOutcome {
    id: String,
    status: String,
    ctree_node_id: Option<String>,
    ctree: Option<Value>,
    footer: Option<String>,
}

/// What came out of a tree vector.
#[derive(Serialize)]
struct Grown {
    node_count: u64,
    node_hash: Digest,
    scores: BTreeMap<String, Score>,
    compiled: Vec<CompiledOutcome>,
}

#[derive(Serialize)]
struct CompiledOutcome {
    max_chars: u64,
    dropped: Vec<NodeId>,
    z1: Digest,
    z2: Digest,
    z3: Digest,
    text: String,
    truncated: bool,
}

pub fn run(vector: &Value) -> Result<Value, String> {
    let vector = Vector::deserialize(vector).map_err(|error| error.to_string())?;
    let actual = match vector {
        Vector::Merge { steps } => serde_json::to_value(merged(&steps)),
        Vector::Tree { nodes, max_chars } => serde_json::to_value(grown(nodes, &max_chars)?),
    };
    actual.map_err(|error| error.to_string())
}

fn merged(steps: &[Value]) -> Merged {
    let mut reader = CtreeReader::default();
    for step in steps {
        if let Some(body) = step.get(HYDRATE) {
            reader.hydrate(body);
        } else if let Some(event) = Incoming::of(step) {
            reader.handle(&event);
        }
    }
    let text = |line: MergedLine| line.to_string();
    Merged {
        summary: reader.summary().to_json(),
        summary_line: reader.summary().line().map(text),
        tasks: reader.tasks().iter().map(|row| task(row, reader.footer(row).map(text))).collect(),
    }
}

fn task(row: &PanelTaskRow<'_>, footer: Option<String>) -> TaskOutcome {
    TaskOutcome {
        id: row.id.to_owned(),
        status: row.status.to_owned(),
        ctree_node_id: row.node_id.map(str::to_owned),
        ctree: (!row.summary.is_empty()).then(|| row.summary.to_json()),
        footer,
    }
}

fn grown(outlines: Vec<Outline>, budgets: &[u64]) -> Result<Grown, String> {
    let (nodes, bodies): (Vec<TreeNode>, BTreeMap<NodeId, String>) = outlines
        .into_iter()
        .map(|outline| {
            let (node, body) = outline.into_node();
            let id = node.id.clone();
            (node, (id, body))
        })
        .unzip();
    let tree = ContextTree::computed(nodes).map_err(|fault| fault.to_string())?;
    let snapshot = tree.snapshot();
    let scores = tree.ids().filter_map(|id| Some((id.to_string(), tree.score(id)?)));
    let compiled = budgets.iter().map(|max_chars| compiled(&tree, *max_chars, &bodies));
    Ok(Grown {
        node_count: snapshot.node_count,
        node_hash: snapshot.node_hash,
        scores: scores.collect(),
        compiled: compiled.collect(),
    })
}

fn compiled(
    tree: &ContextTree,
    max_chars: u64,
    bodies: &BTreeMap<NodeId, String>,
) -> CompiledOutcome {
    let body =
        |node: &TreeNode| Ok::<_, Infallible>(bodies.get(&node.id).map_or("", String::as_str));
    let Ok(compiled) = tree.collapse(max_chars).compile(body);
    CompiledOutcome {
        max_chars: compiled.max_chars,
        dropped: compiled.dropped,
        z1: compiled.compiler.z1,
        z2: compiled.compiler.z2,
        z3: compiled.compiler.z3,
        text: compiled.text,
        truncated: compiled.truncated,
    }
}

impl Outline {
    fn into_node(self) -> (TreeNode, String) {
        let sprout = Sprout {
            kind: self.kind,
            role: self.role,
            label: self.label,
            body: self.body,
            status: self.status,
            refs: Vec::new(),
        };
        let moment = EventMoment { seq: self.seq, at: Timestamp::default(), turn: self.turn };
        let parent = self.parent_id.as_deref().map(NodeId::given);
        let (node, body) = sprout.into_node(NodeId::given(&self.id), parent, &moment);
        (TreeNode { pinned: self.pinned, refs: self.refs, ..node }, body)
    }
}
