//! The agent of nodes that name none.

use anyhow::bail;
use clap::Args;
use muster_api::runs::{ProviderFamily, answers::ProvidersAnswer};
use muster_core::run::node::{DEFAULT_PROFILE, Provider};

use super::graph::Graph;
use crate::client::Client;

/// Fills in the agent of nodes that name none.
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
    /// The graph with an agent for each of its nodes.
    pub(super) fn staff(&self, client: &Client, mut graph: Graph) -> anyhow::Result<Graph> {
        let mut open = graph.nodes.iter_mut().filter(|node| !node.contains_key("provider"));
        let Some(first) = open.next() else { return Ok(graph) };
        let provider = match (&self.provider, &self.profile) {
            (Some(provider), _) => provider.clone(),
            (None, Some(_)) => "custom".to_owned(),
            (None, None) => ready(&client.get::<ProvidersAnswer>("/api/providers")?.providers)?,
        };
        for node in std::iter::once(first).chain(open) {
            node.insert("provider".to_owned(), provider.clone().into());
            if let Some(profile) = &self.profile {
                node.entry("providerProfile").or_insert_with(|| profile.clone().into());
            }
        }
        Ok(graph)
    }
}

/// The first provider that is installed and not logged out.
fn ready(known: &[ProviderFamily]) -> anyhow::Result<String> {
    let fit =
        |family: &&ProviderFamily| is_installed(family) && family.probe.logged_in != Some(false);
    if let Some(family) = known.iter().find(fit) {
        return Ok(family.name.name().to_owned());
    }
    let missing = |family: &ProviderFamily| match is_installed(family) {
        true => format!("\n  {}: not logged in", family.name),
        false => format!("\n  {}: {}", family.name, family.probe.detail),
    };
    bail!("no agent is ready on this machine:{}", known.iter().map(missing).collect::<String>())
}

/// Whether a node that names no profile can be started.
fn is_installed(family: &ProviderFamily) -> bool {
    match family.name {
        Provider::Custom => {
            family.by_profile.get(DEFAULT_PROFILE).is_some_and(|probe| probe.available)
        }
        Provider::Claude | Provider::Codex | Provider::Gemini => family.probe.available,
    }
}

#[cfg(test)]
mod tests {
    use super::{Provider, ProvidersAnswer, ready};

    #[test]
    fn the_first_agent_that_can_work_is_taken_and_none_says_what_is_missing() {
        let survey = r#"{"providers": [
            {"name": "custom", "profiles": [], "available": true, "detail": "",
             "byProfile": {"opencode": {"available": true, "detail": ""}}},
            {"name": "codex", "profiles": [], "available": true, "loggedIn": false, "detail": "",
             "byProfile": {}},
            {"name": "claude", "profiles": [], "available": true, "loggedIn": null, "detail": "",
             "byProfile": {}},
            {"name": "gemini", "profiles": [], "available": false, "detail": "npm install it",
             "byProfile": {}}]}"#;
        let mut known = serde_json::from_str::<ProvidersAnswer>(survey).unwrap().providers;
        assert_eq!(ready(&known).unwrap(), "claude");
        known.retain(|family| matches!(family.name, Provider::Codex | Provider::Gemini));
        let none = ready(&known).unwrap_err().to_string();
        assert!(none.contains("codex: not logged in"), "{none}");
        assert!(none.contains("gemini: npm install it"), "{none}");
    }
}
