//! The graph file: fields of the run, nodes and edges, with the names that the server uses.
//!
//! Nodes are named in edges by their alias or label. `role` and `profile` are short for
//! `roleTemplate` and `providerProfile`. The server checks the values.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, bail};
use muster_core::run::{id::NodeId, node::NodePatch};
use serde_json::{Map, Value};

/// Fields as in the file; the server checks them.
pub(super) type Fields = Map<String, Value>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Graph {
    pub(super) run: Fields,
    /// Its nodes; those without a provider get one before the run is created.
    pub(super) nodes: Vec<Fields>,
    edges: Vec<Fields>,
}

/// Short names of fields of a node.
const SHORT: [(&str, &str); 2] = [("role", "roleTemplate"), ("profile", "providerProfile")];

/// A run of one orchestrator.
pub(super) fn single() -> Graph {
    let node = [("label", "lead"), ("roleTemplate", "orchestrator")];
    let node = node.map(|(name, value)| (name.to_owned(), value.into()));
    Graph { run: Fields::new(), nodes: vec![node.into_iter().collect()], edges: Vec::new() }
}

pub(super) fn read(file: &Path) -> anyhow::Result<Graph> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| format!("in {}", file.display()))
}

pub(crate) fn parse(text: &str) -> anyhow::Result<Graph> {
    let mut run: Fields = toml::from_str(text)?;
    let mut nodes = tables(&mut run, "nodes")?;
    let edges = tables(&mut run, "edges")?;
    if nodes.is_empty() {
        bail!("a graph needs at least one [[nodes]]");
    }
    for node in &mut nodes {
        for (short, name) in SHORT {
            if let Some(value) = node.shift_remove(short) {
                node.insert(name.to_owned(), value);
            }
        }
    }
    Ok(Graph { run, nodes, edges })
}

/// Takes a list of tables out of the file.
fn tables(run: &mut Fields, name: &str) -> anyhow::Result<Vec<Fields>> {
    let Some(value) = run.shift_remove(name) else { return Ok(Vec::new()) };
    serde_json::from_value(value).with_context(|| format!("write them as [[{name}]]"))
}

impl Graph {
    /// Lets nodes work without asking, unless they say otherwise.
    pub(super) fn ask_nothing(&mut self) {
        for node in &mut self.nodes {
            let permissions = node.entry("permissions").or_insert_with(|| Fields::new().into());
            if let Value::Object(permissions) = permissions {
                permissions.entry("cliPermissionsMode").or_insert_with(|| "skip".into());
            }
        }
    }

    /// The edges with the ids of the created nodes.
    pub(super) fn edges(&self, nodes: &BTreeMap<NodeId, NodePatch>) -> anyhow::Result<Vec<Fields>> {
        let is_called = |node: &NodePatch, name: &str| {
            node.label.as_deref() == Some(name)
                || node.alias.as_ref().is_some_and(|alias| alias.as_deref() == Some(name))
        };
        let id = |name: &Value| {
            let named = |word| nodes.iter().find(|(_, node)| is_called(node, word));
            let found = name.as_str().and_then(named).map(|(id, _)| id.to_string());
            found.with_context(|| format!("no node has the alias or label {name}"))
        };
        let connected = |edge: &Fields| {
            let mut edge = edge.clone();
            for end in ["from", "to"] {
                let name = edge.get(end).with_context(|| format!("an edge has no `{end}`"))?;
                let id = id(name)?;
                edge.insert(end.to_owned(), id.into());
            }
            Ok(edge)
        };
        self.edges.iter().map(connected).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{NodeId, NodePatch, parse};

    const FILE: &str = r#"
        mode = "INTERACTIVE"
        [[checks]]
        name = "tests"
        command = "true"
        [[nodes]]
        label = "Lead"
        alias = "lead"
        role = "orchestrator"
        provider = "custom"
        [[nodes]]
        label = "Worker"
        provider = "custom"
        profile = "small"
        [[edges]]
        from = "lead"
        to = "Worker"
    "#;

    #[test]
    fn a_graph_has_nodes_edges_and_fields_of_the_run() {
        let graph = parse(FILE).unwrap();
        assert_eq!(graph.run["mode"], "INTERACTIVE");
        assert_eq!(graph.run["checks"][0]["command"], "true");
        assert_eq!(graph.nodes[0]["roleTemplate"], "orchestrator");
        assert_eq!(graph.nodes[1]["providerProfile"], "small");
        let node = |label: &str, alias: &str| NodePatch {
            label: Some(label.to_owned()),
            alias: Some(Some(alias.to_owned())),
            ..NodePatch::default()
        };
        let nodes = [(NodeId(1), node("Lead", "lead")), (NodeId(2), node("Worker", ""))];
        let edges = graph.edges(&nodes.into_iter().collect()).unwrap();
        assert_eq!(edges[0]["from"], NodeId(1).to_string());
        assert_eq!(edges[0]["to"], NodeId(2).to_string());
        assert!(graph.edges(&BTreeMap::new()).is_err());
        assert!(parse("nodes = 7").is_err());
        assert!(parse("").is_err());
    }
}
