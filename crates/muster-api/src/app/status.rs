//! What a server works on: its store and the workspaces in it.

use muster_core::tasks::{TaskAggregate, lookup};
use muster_store::{Description, StoreError};

use super::App;

/// A workspace in the status of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceStatus {
    pub name: String,
    /// How many plans it holds.
    pub plans: u64,
    /// How many tasks it holds.
    pub tasks: u64,
    /// Number of its newest event.
    pub events: u64,
}

/// What a server works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    pub store: Description,
    /// Workspaces by name.
    pub workspaces: Vec<WorkspaceStatus>,
}

impl App {
    /// What this server works on.
    pub fn status(&self) -> Result<ServerStatus, StoreError> {
        let streams = self.engine.store().snapshot()?.streams("workspace/")?;
        let mut workspaces = Vec::with_capacity(streams.len());
        for stream in streams {
            let read = self
                .engine
                .read::<TaskAggregate, _>(&stream.name, |docs| Ok(lookup::workspace(docs)?));
            let workspace = read.unwrap_or_default();
            workspaces.push(WorkspaceStatus {
                name: stream.name.trim_start_matches("workspace/").to_owned(),
                plans: workspace.plans.total(),
                tasks: workspace.tasks.total(),
                events: stream.seq,
            });
        }
        Ok(ServerStatus { store: self.engine.store().describe(), workspaces })
    }
}
