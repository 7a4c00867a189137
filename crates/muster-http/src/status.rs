//! What the page and the health check show about the store.

use muster_api::App;
use schemars::JsonSchema;
use serde::Serialize;

/// The store at one moment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreStatus {
    /// Engine and version.
    pub(crate) engine: String,
    /// Place on disk.
    pub(crate) location: Option<String>,
    /// Size on disk in bytes.
    pub(crate) bytes: Option<u64>,
    /// Version of the layout.
    pub(crate) schema_version: u32,
    /// Workspaces by name.
    pub(crate) workspaces: Vec<WorkspaceStatusView>,
}

/// One workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceStatus")]
pub(crate) struct WorkspaceStatusView {
    /// Its name.
    pub(crate) name: String,
    /// Plans in it.
    pub(crate) plans: u64,
    /// Tasks in it.
    pub(crate) tasks: u64,
}

/// Reads the store; blocks.
pub(crate) fn read(app: &App) -> Result<StoreStatus, String> {
    let status = app.status().map_err(|error| error.to_string())?;
    let workspaces = status.workspaces.into_iter().map(|workspace| WorkspaceStatusView {
        name: workspace.name,
        plans: workspace.plans,
        tasks: workspace.tasks,
    });
    Ok(StoreStatus {
        engine: status.store.engine,
        location: status.store.location,
        bytes: status.store.bytes,
        schema_version: status.store.schema_version,
        workspaces: workspaces.collect(),
    })
}
