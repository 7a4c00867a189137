//! The application as the surfaces see it: the registry and what its operations work on.

use serde_json::{Map, Value};

use crate::{Envelope, Registry, Toolset};

/// How an [`App`] is set up.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// Which tools are listed to agents.
    pub toolset: Toolset,
    /// Workspace of portal calls that name none.
    pub default_workspace: Option<String>,
}

/// Everything an operation needs. Cheap to share behind an `Arc`; all calls block.
pub struct App {
    registry: Registry,
    options: AppOptions,
}

impl App {
    /// All operations.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The toolset chosen at start.
    pub fn toolset(&self) -> Toolset {
        self.options.toolset
    }

    /// Calls an operation by name. Blocks until the answer is durable.
    pub fn call(&self, name: &str, arguments: Map<String, Value>) -> Envelope {
        match self.registry.get(name) {
            Some(row) => (row.call)(self, arguments),
            None => unreachable!("written with the first operation"),
        }
    }
}
