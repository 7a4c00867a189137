//! Operations called in this process, on any store.

use std::{path::Path, sync::Arc};

use muster_api::{App, AppOptions, StoreError, Toolset};
use muster_engine::SystemClock;
use muster_store::{MemoryStore, Numbering};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::{Answer, Invocation, StagedProject, Surface};

/// An application in this process.
pub struct InProcess {
    name: &'static str,
    app: App,
    /// What is not in a store: output and locks of checks.
    _folder: Option<TempDir>,
}

impl InProcess {
    /// Over a store in memory.
    pub fn over_memory() -> Self {
        Self::over_memory_numbered(Numbering::OneLog)
    }

    /// The same for a store that gives events their positions in this way.
    pub fn over_memory_numbered(numbering: Numbering) -> Self {
        let folder = tempfile::tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("make a temporary folder: {error}"));
        let options = AppOptions {
            storage_dir: folder.path().to_owned(),
            toolset: Toolset::Full,
            ..AppOptions::default()
        };
        let app =
            App::over(Arc::new(MemoryStore::numbered(numbering)), Arc::new(SystemClock), options);
        Self { name: "in process over memory", app, _folder: Some(folder) }
    }

    pub fn over_sqlite(directory: &Path) -> Result<Self, String> {
        let options = AppOptions {
            storage_dir: directory.to_owned(),
            toolset: Toolset::Full,
            ..AppOptions::default()
        };
        let app = App::open(options).map_err(|error| error.to_string())?;
        Ok(Self { name: "in process over SQLite", app, _folder: None })
    }

    /// Over a database of PostgreSQL.
    pub fn over_postgres(directory: &Path, address: &str) -> Result<Self, String> {
        let options = AppOptions {
            storage_dir: directory.to_owned(),
            database: address.parse().map_err(|error: StoreError| error.to_string())?,
            toolset: Toolset::Full,
            ..AppOptions::default()
        };
        let app = App::open(options).map_err(|error| error.to_string())?;
        Ok(Self { name: "in process over PostgreSQL", app, _folder: None })
    }

    /// The application.
    pub fn app(&self) -> &App {
        &self.app
    }
}

impl Surface for InProcess {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call(&self, invocation: &Invocation) -> Result<Answer, String> {
        let arguments = match &invocation.arguments {
            Value::Null => Map::new(),
            Value::Object(map) => map.clone(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return Err(format!("arguments are an object, not {other}"));
            }
        };
        Ok(Answer::Envelope(self.app.call(&invocation.tool, arguments).to_json()))
    }

    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String> {
        project.accept(&self.app, workspace)
    }

    fn written(&self) -> Result<Option<u64>, String> {
        let mut snapshot =
            self.app.engine().store().snapshot().map_err(|error| error.to_string())?;
        let streams = snapshot.streams("").map_err(|error| error.to_string())?;
        Ok(Some(streams.iter().map(|stream| stream.seq).sum()))
    }
}
