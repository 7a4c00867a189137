//! The page's information about this server: version, store, workspaces, operations, and how to
//! connect agents. Only for signed-in callers, because it names folders.

use std::sync::Arc;

use axum::extract::State;
use muster_core::AnyObject;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    connect::Recipe,
    fault::Fault,
    openapi::{self as document, effect_name},
    reply::Reply,
    server_state::ServerState,
    status::{self, StoreStatus},
};

/// This server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    /// Version of this program.
    version: &'static str,
    /// How long the server has been running.
    uptime_seconds: u64,
    /// Its address.
    base_url: String,
    /// Whether clients need the token.
    token_needed: bool,
    /// The token's file.
    token_file: String,
    /// The toolset listed to agents.
    toolset: String,
    /// Every operation.
    operations: Vec<OperationEntry>,
    /// The store, if it can be read.
    store: Option<StoreStatus>,
    /// Why the store cannot be read.
    store_fault: Option<String>,
    /// How to connect agents.
    recipes: Vec<Recipe>,
    /// Which parts of C-Trees the page shows.
    ctrees: CtreeDisplay,
}

/// Which parts of C-Trees a user interface shows; none unless this server's settings enable them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CtreeDisplay {
    /// The summary line.
    pub summary: bool,
    /// The node of a task.
    pub task_node: bool,
}

/// An operation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OperationEntry {
    /// Its name.
    name: String,
    /// A short title.
    title: String,
    /// What it does to the store: `read`, `write`, `set` or `destroy`.
    effect: &'static str,
}

/// `GET /api/about`.
pub(crate) async fn show(State(site): State<Arc<ServerState>>) -> Result<Reply<About>, Fault> {
    let app = Arc::clone(&site.app);
    let (store, store_fault) = match site.run_blocking(move || status::read(&app)).await? {
        Ok(store) => (Some(store), None),
        Err(cause) => (None, Some(cause)),
    };
    let token_needed = site.gate.keys.is_some();
    let rows = site.app.registry().rows().iter();
    Ok(Reply::of(&About {
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: site.started.elapsed().as_secs(),
        base_url: site.base_url.clone(),
        token_needed,
        token_file: site.installation.token_file(),
        toolset: site.app.toolset().to_string(),
        operations: rows
            .map(|row| OperationEntry {
                name: row.name.to_owned(),
                title: row.title.to_owned(),
                effect: effect_name(row.effect),
            })
            .collect(),
        store,
        store_fault,
        recipes: site.installation.recipes(&site.base_url, token_needed),
        ctrees: site.ctrees,
    }))
}

/// The OpenAPI document.
pub(crate) async fn openapi() -> Reply<AnyObject> {
    Reply::encoded(document::text())
}
