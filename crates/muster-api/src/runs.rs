//! Runs for the surfaces: request bodies in, serialized responses out, streams to follow.
//!
//! The rules are the room's ([`muster_core::run`]). Here a request becomes commands, a run is
//! changed in one transaction that also makes the response, and a rejection becomes a code. What
//! runs need of the machine (processes, files of artifacts) is done by the runtime.

mod agent;
mod allow;
mod answer;
pub mod answers;
mod approvals;
mod change;
mod edges;
pub mod ending;
mod fault;
mod files;
pub mod folders;
mod history;
mod list;
pub mod net;
mod original;
mod references;
mod removal;
pub mod request;
pub mod rights;
mod scope;
mod search;
pub(crate) mod shape;
mod stream;
pub mod templates;
pub mod worktrees;

pub(crate) use agent::agent_operations;
pub use agent::witnessed;
pub use approvals::ApprovalsRequest;
pub use change::RunChangeRequest;
pub use fault::{RunCode, RunFault};
pub use files::{PIECE_BYTES, PIECE_BYTES_MAX, providers};
pub(crate) use history::line as logged;
pub use history::{ArtifactsRequest, EventsRequest, ListEnd, TurnsRequest};
pub use list::{RunCursor, RunsRequest};
pub use muster_agents::contained::{LaunchError, LaunchOrder, launch};
pub use muster_agents::{
    AgentWish, Bearer, Contain, Discarded, HookAnswer, HookQuestion, McpCommand, Profile, Protocol,
    Rebuilt, Runs as RunDriver, RunsSettings, Sandbox, StartError, ToolExecution, ask_hook,
    discarded, make_repository,
};
pub use muster_agents::{
    IgnoredFiles, Merged, Probe, ProviderFamily, Worktree, WorktreeState, survey,
};
pub use search::{SearchAnswer, SearchRequest};
pub use stream::{StreamWord, event_text};

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use muster_core::{
    Documents, Json, Timestamp, WorkRefusal,
    run::{
        RunAggregate,
        id::{IdSeed, NodeId, RunId},
        layout::{GraphLayout, Layouts},
        lookup,
        node::{PermissionsMode, Provider},
        view::{self, snapshot::SnapshotRequest},
    },
};
use muster_engine::Engine;
use muster_store::StoreError;
use serde_json::{Value, json};

use self::answers::InboxAnswer;
use crate::App;

/// Result of a request about runs.
pub type RunTold<T> = Result<T, RunFault>;

/// The settings of a server's runs.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Default directory of a run.
    pub served_dir: Option<PathBuf>,
    /// Templates of the user; below the storage folder by default.
    pub templates_dir: Option<PathBuf>,
    /// Folders below which runs may work, and which people may browse to choose one. Without any,
    /// runs may work anywhere.
    pub roots: Vec<PathBuf>,
    /// Default permissions of providers.
    pub permissions_mode: Option<PermissionsMode>,
    /// Named commands besides the default ones.
    pub profiles: Vec<(Provider, String)>,
}

impl RunOptions {
    /// Options that agree with the settings of the engine of runs.
    pub fn of(settings: &RunsSettings, roots: Vec<PathBuf>) -> Self {
        Self {
            served_dir: Some(settings.served_dir.clone()),
            templates_dir: Some(settings.templates_dir.clone()),
            roots,
            permissions_mode: Some(settings.default_permissions_mode),
            profiles: settings.profiles.keys().cloned().collect(),
        }
    }
}

/// The settings of a server's runs, which may change while it runs; all clones are the same.
#[derive(Clone, Debug, Default)]
pub struct LiveRunOptions(Arc<RwLock<Arc<RunOptions>>>);

impl LiveRunOptions {
    /// The settings in force.
    #[must_use]
    pub fn now(&self) -> Arc<RunOptions> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in force.
    pub fn replace(&self, options: RunOptions) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
    }
}

impl From<RunOptions> for LiveRunOptions {
    fn from(options: RunOptions) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(options))))
    }
}

/// The runs of an application.
#[derive(Clone, Copy)]
pub struct RunDesk<'a>(&'a App);

impl App {
    /// The runs of the store.
    pub fn runs(&self) -> RunDesk<'_> {
        RunDesk(self)
    }
}

impl RunDesk<'_> {
    fn engine(&self) -> &Engine {
        self.0.engine()
    }

    /// Runs a view over a snapshot of a run.
    pub fn read<T>(
        self,
        run: RunId,
        view: impl Fn(&Documents<RunAggregate>) -> Result<T, WorkRefusal<RunAggregate>>,
    ) -> RunTold<T> {
        Ok(self.0.engine().read::<RunAggregate, T>(&run.stream(), view)?)
    }

    /// The run as it is served.
    pub fn show(self, run: RunId, wanted: SnapshotRequest) -> RunTold<Json> {
        let layout = self.layout(run)?;
        self.read(run, |docs| view::snapshot::snapshot(docs, wanted, &layout))
    }

    pub fn exists(self, run: RunId) -> RunTold<()> {
        self.read(run, |docs| lookup::run(docs).map(|_| ()))
    }

    /// A node as it is served.
    pub fn node(self, run: RunId, node: NodeId) -> RunTold<request::JsonFields> {
        let node = self.read(run, |docs| {
            lookup::run(docs)?;
            Ok(json!(lookup::node(docs, node)?.served()))
        })?;
        Ok(if let Value::Object(fields) = node { fields } else { request::JsonFields::new() })
    }

    /// The inputs of a node that are queued, or failed and wait for a person.
    pub fn inbox(self, run: RunId, node: NodeId) -> RunTold<Json> {
        self.read(run, |docs| Ok(Json::of(&InboxAnswer { inbox: view::turns::inbox(docs, node)? })))
    }

    /// The positions of a run's nodes on the screen.
    fn layout(self, run: RunId) -> RunTold<GraphLayout> {
        let view = |docs: &Documents<Layouts>| Ok(docs.get(&())?.cloned().unwrap_or_default());
        self.engine().read::<Layouts, GraphLayout>(&run.layout_stream(), view).map_err(|error| {
            match error {
                muster_engine::ExecuteError::Rejected(_) => {
                    unreachable!("reading a layout refuses nothing")
                }
                muster_engine::ExecuteError::Store(failure) => failure.0.into(),
            }
        })
    }

    fn fresh_id(self) -> RunTold<RunId> {
        Ok(RunId(seed()?.mint(self.now()).fresh()))
    }

    fn now(self) -> Timestamp {
        self.engine().now()
    }

    /// Templates for a run in a directory.
    pub fn templates(self, cwd: Option<PathBuf>) -> templates::Shelf {
        let options = self.0.options().runs.now();
        let below = || self.0.storage_dir().join("templates");
        templates::Shelf::new(options.templates_dir.clone().unwrap_or_else(below), cwd)
    }

    /// Folders that a run can work in.
    pub fn folders(self, path: Option<PathBuf>) -> RunTold<folders::FolderList> {
        let options = self.0.options().runs.now();
        let missing = || RunFault::bad_value("path", "path is required");
        let path = path.or_else(|| options.served_dir.clone()).ok_or_else(missing)?;
        folders::list(&options.roots, &path)
    }

    /// A directory whose templates are requested.
    pub fn repository(self, cwd: Option<PathBuf>) -> RunTold<Option<PathBuf>> {
        let options = self.0.options().runs.now();
        match cwd {
            None => Ok(options.served_dir.clone()),
            Some(cwd) if folders::is_allowed(&options.roots, &cwd) => Ok(Some(cwd)),
            Some(_) => {
                let detail = "this folder is not below an allowed folder";
                Err(RunFault::new(RunCode::ForbiddenPath, detail).at("cwd"))
            }
        }
    }
}

/// New randomness for a command.
fn seed() -> Result<IdSeed, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Engine { action: "made an id", cause: error.to_string() })?;
    Ok(IdSeed(u128::from_le_bytes(bytes)))
}
