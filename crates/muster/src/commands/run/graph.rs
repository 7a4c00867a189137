//! The file of a graph: fields of the run, nodes and edges, with the names that the server takes.
//!
//! Nodes are named in edges by their alias or label. `role` and `profile` are short for
//! `roleTemplate` and `providerProfile`. What is wrong with a value, the server says.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Graph {
    pub(super) run: Fields,
    /// Its nodes; those without a provider get one before the run is made.
    pub(super) nodes: Vec<Fields>,
    edges: Vec<Fields>,
}

/// Short names of fields of a node.
const SHORT: [(&str, &str); 2] = [("role", "roleTemplate"), ("profile", "providerProfile")];

/// A run of one orchestrator.
pub(super) fn single() -> Graph {
    let node = json!({"label": "lead", "roleTemplate": "orchestrator"});
    let nodes = node.as_object().cloned().into_iter().collect();
    Graph { run: Fields::new(), nodes, edges: Vec::new() }
}

pub(super) fn read(file: &Path) -> anyhow::Result<Graph> {
    let text = fs::read_to_string(file).with_context(|| format!("no file {}", file.display()))?;
    parse(&text).with_context(|| format!("in {}", file.display()))
}

/// Reads the text of one.
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
    /// The edges with the ids that the nodes have got.
    pub(super) fn edges(&self, nodes: &Value) -> anyhow::Result<Vec<Fields>> {
        let id = |name: &Value| {
            let mut known = nodes.as_object().into_iter().flatten();
            let found = known.find(|(_, node)| node["alias"] == *name || node["label"] == *name);
            found.map(|(id, _)| json!(id)).with_context(|| format!("no node is called {name}"))
        };
        let connected = |edge: &Fields| {
            let mut edge = edge.clone();
            for end in ["from", "to"] {
                let name = edge.get(end).with_context(|| format!("an edge needs {end}"))?;
                edge.insert(end.to_owned(), id(name)?);
            }
            Ok(edge)
        };
        self.edges.iter().map(connected).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

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
        let nodes = json!({"1": {"alias": "lead", "label": "Lead"}, "2": {"label": "Worker"}});
        let edges = graph.edges(&nodes).unwrap();
        assert_eq!((&edges[0]["from"], &edges[0]["to"]), (&json!("1"), &json!("2")));
        assert!(graph.edges(&json!({})).is_err());
        assert!(parse("nodes = 7").is_err());
        assert!(parse("").is_err());
    }
}
