//! Which agent is behind the nodes that name none.

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};

use super::graph::Graph;
use crate::client::Client;

/// The agent of nodes that name none.
#[derive(Args)]
pub(super) struct DefaultAgent {
    /// Provider of nodes that name none: claude, codex, gemini or custom [default: the first that
    /// is ready on the server's machine]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Profile of nodes that name no provider; opencode is one of custom
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

impl DefaultAgent {
    /// The graph with an agent behind each of its nodes.
    pub(super) fn staff(&self, client: &Client, mut graph: Graph) -> anyhow::Result<Graph> {
        let mut open = graph.nodes.iter_mut().filter(|node| !node.contains_key("provider"));
        let Some(first) = open.next() else { return Ok(graph) };
        let provider = match (&self.provider, &self.profile) {
            (Some(provider), _) => provider.clone(),
            (None, Some(_)) => "custom".to_owned(),
            (None, None) => ready(&client.ask("GET", "/api/providers", None)?)?,
        };
        for node in std::iter::once(first).chain(open) {
            node.insert("provider".to_owned(), json!(provider));
            if let Some(profile) = &self.profile {
                node.entry("providerProfile").or_insert_with(|| json!(profile));
            }
        }
        Ok(graph)
    }
}

/// The first provider that is installed and not logged out.
fn ready(survey: &Value) -> anyhow::Result<String> {
    let known: Vec<&Value> = survey["providers"].as_array().into_iter().flatten().collect();
    let fit = |row: &&&Value| installed(row) && row["loggedIn"] != false;
    if let Some(name) = known.iter().find(fit).and_then(|row| row["name"].as_str()) {
        return Ok(name.to_owned());
    }
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let told = |row: &&Value| match installed(row) {
        true => format!("\n  {}: not logged in", word(row, "name")),
        false => format!("\n  {}: {}", word(row, "name"), word(row, "detail")),
    };
    bail!("no agent is ready on this machine:{}", known.iter().map(told).collect::<String>())
}

/// Whether there is a program behind a node that names no profile.
fn installed(row: &Value) -> bool {
    match row["name"] == "custom" {
        true => row["byProfile"]["default"]["available"] == true,
        false => row["available"] == true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ready;

    #[test]
    fn the_first_agent_that_can_work_is_taken_and_none_says_what_is_missing() {
        let codex = json!({"name": "codex", "available": true, "loggedIn": false, "detail": ""});
        let claude = json!({"name": "claude", "available": true, "loggedIn": null});
        let gemini = json!({"name": "gemini", "available": false, "detail": "npm install it"});
        let custom = json!({"name": "custom", "available": true,
            "byProfile": {"opencode": {"available": true}}});
        let survey = json!({"providers": [custom, codex, claude, gemini]});
        assert_eq!(ready(&survey).unwrap(), "claude");
        let none = ready(&json!({"providers": [codex, gemini]})).unwrap_err().to_string();
        assert!(none.contains("codex: not logged in"), "{none}");
        assert!(none.contains("gemini: npm install it"), "{none}");
    }
}
