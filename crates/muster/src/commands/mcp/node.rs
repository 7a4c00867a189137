//! The connection from the MCP server of one agent to the server that drives its run.

use std::time::Duration;

use muster_mcp::{RunServerClient, RunTool};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::client::Client;

/// Timeout of a call: long enough for a person to answer an approval.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);

/// The tools as the server lists them.
#[derive(Deserialize)]
struct Listing {
    tools: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    description: String,
    schema: Map<String, Value>,
}

/// A server that identifies the agent's node by its token.
pub(super) struct NodeServer(Client);

impl NodeServer {
    /// The server of a client that presents the token.
    pub(super) fn of(client: Client) -> Self {
        Self(client.patient(ANSWER_TIMEOUT))
    }

    fn post(&self, folder: &str, name: &str, body: &Map<String, Value>) -> Result<Value, String> {
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(format!("unknown tool {name:?}"));
        }
        let path = format!("/api/agent/{folder}/{name}");
        self.0.post(&path, body).map_err(|error| format!("{error:#}"))
    }

    fn listed(&self) -> anyhow::Result<Vec<RunTool>> {
        let listing: Listing = self.0.get("/api/agent/tools")?;
        let tool = |Listed { name, description, schema }| RunTool { name, description, schema };
        Ok(listing.tools.into_iter().map(tool).collect())
    }
}

impl RunServerClient for NodeServer {
    fn tools(&self) -> Result<Vec<RunTool>, String> {
        self.listed().map_err(|error| format!("{error:#}"))
    }

    fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, String> {
        self.post("tools", name, &arguments)
    }

    fn read(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, String> {
        self.post("reads", name, &arguments)
    }
}
