//! A server's settings for the runs that it drives.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use muster_core::run::node::{DEFAULT_PROFILE, PermissionsMode, Provider};
use serde::Serialize;

use super::templates::TemplateShelf;

/// Settings of the runs of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsSettings {
    /// The storage folder; files of runs are kept below it.
    pub home: PathBuf,
    /// Default directory of a run.
    pub served_dir: PathBuf,
    /// Templates of the user; below the storage folder by default.
    pub templates_dir: PathBuf,
    /// Limit of concurrent turns of all runs.
    pub max_parallel_turns: u32,
    /// Whether runs that a restart paused resume automatically.
    pub resume_on_start: bool,
    /// For providers that a request does not configure.
    pub default_permissions_mode: PermissionsMode,
    /// Text that comes within this time becomes one event.
    pub delta_flush_ms: u32,
    /// How long files of deleted runs are kept.
    pub trash_days: u32,
    /// Named commands, by family and name. No request can change them.
    pub profiles: BTreeMap<(Provider, String), Profile>,
    /// How agents reach Muster's own tools; they have none without it.
    pub mcp: Option<McpCommand>,
    /// The command that an agent's own hook runs before it makes a call; the socket of the server
    /// is added to it. Without it calls of some agents cannot be changed.
    pub hook: Option<Vec<String>>,
    /// The command that contains a process before it becomes an agent; an order and the agent's own
    /// command are appended. Without it nothing is contained.
    pub launcher: Option<Vec<String>>,
}

/// The command that serves Muster's tools to one agent. Variables that bind it to a node are added
/// when the agent is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpCommand {
    pub command: String,
    pub args: Vec<String>,
    /// Variables that it gets.
    pub env: BTreeMap<String, String>,
}

impl McpCommand {
    /// The same for one node: its variables, and the workspace of its run.
    pub(crate) fn bound(&self, workspace: Option<&str>, env: &BTreeMap<String, String>) -> Self {
        let mut bound = self.clone();
        let workspace = workspace.into_iter().flat_map(|name| ["--workspace", name]);
        bound.args.extend(workspace.map(str::to_owned));
        bound.env.extend(env.clone());
        bound
    }
}

/// The protocol of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// One JSON object per line, both ways; one process for many turns.
    Jsonl,
    /// The prompt on standard input, the answer on standard output; one process per turn.
    Raw,
    /// The protocol of the program's own family: codex's app server, claude's stream of JSON,
    /// gemini's Agent Client Protocol.
    Native,
    Acp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolExecution {
    /// Muster offers commands and files.
    Runtime,
    /// The program has its own.
    Own,
}

/// A named command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Program and arguments; no shell is involved.
    pub command: Vec<String>,
    /// Variables that it gets besides those that every program gets.
    pub env: BTreeMap<String, String>,
    pub protocol: Protocol,
    pub tools: ToolExecution,
    /// How long it may take to start.
    pub start_timeout_seconds: u32,
    /// Whether every turn has its own process.
    pub per_turn_process: bool,
    /// How far a program that does not ask may reach, if it has a sandbox.
    pub sandbox: Sandbox,
    /// What it is kept from.
    pub contain: Contain,
}

/// What a program and its children are kept from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contain {
    /// The storage folder.
    #[default]
    Storage,
    /// The storage folder, and writing outside of its directory, temporary folders and its own
    /// state.
    Worktree,
    /// Nothing.
    Off,
}

/// The sandbox of a program that does not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// It writes in its directory, and nowhere else.
    #[default]
    Workspace,
    /// Everywhere.
    Off,
}

impl Profile {
    /// A program that uses JSON lines.
    pub fn jsonl(command: Vec<String>) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            protocol: Protocol::Jsonl,
            tools: ToolExecution::Runtime,
            start_timeout_seconds: 60,
            per_turn_process: false,
            sandbox: Sandbox::Workspace,
            contain: Contain::Storage,
        }
    }
}

impl Profile {
    /// A known agent with its own protocol; it brings its own tools.
    pub fn native(command: Vec<String>) -> Self {
        let protocol = Protocol::Native;
        let tools = ToolExecution::Own;
        Self { protocol, tools, ..Self::jsonl(command) }
    }

    pub fn acp(command: Vec<String>) -> Self {
        Self { protocol: Protocol::Acp, ..Self::native(command) }
    }
}

/// The profile of opencode, which is not a separate family.
const OPENCODE: &str = "opencode";

/// The known agents by the names under which they install themselves.
fn known_agents() -> BTreeMap<(Provider, String), Profile> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let native = |provider: Provider, command: &[&str]| {
        ((provider, DEFAULT_PROFILE.to_owned()), Profile::native(words(command)))
    };
    let opencode = Profile::acp(words(&["opencode", "acp"]));
    BTreeMap::from([
        native(Provider::Codex, &["codex", "app-server"]),
        native(Provider::Claude, &["claude"]),
        native(Provider::Gemini, &["gemini", "--acp"]),
        ((Provider::Custom, OPENCODE.to_owned()), opencode),
    ])
}

impl RunsSettings {
    /// Settings with everything by default, for a storage folder and a served directory.
    pub fn of(home: PathBuf, served_dir: PathBuf) -> Self {
        Self {
            templates_dir: home.join("templates"),
            home,
            served_dir,
            max_parallel_turns: 8,
            resume_on_start: false,
            default_permissions_mode: PermissionsMode::Gated,
            delta_flush_ms: 50,
            trash_days: 7,
            profiles: known_agents(),
            mcp: None,
            hook: None,
            launcher: None,
        }
    }

    /// The same for another server: its places, and how programs reach it.
    fn placed_like(mut self, other: &Self) -> Self {
        self.home.clone_from(&other.home);
        self.served_dir.clone_from(&other.served_dir);
        self.mcp.clone_from(&other.mcp);
        self.hook.clone_from(&other.hook);
        self.launcher.clone_from(&other.launcher);
        self
    }

    /// Adds the default command of a family.
    #[must_use]
    pub fn with_default(mut self, provider: Provider, profile: Profile) -> Self {
        self.profiles.insert((provider, DEFAULT_PROFILE.to_owned()), profile);
        self
    }

    /// The templates for a run in a directory.
    pub(crate) fn templates(&self, cwd: &Path) -> TemplateShelf {
        TemplateShelf { user: self.templates_dir.clone(), repository: Some(cwd.to_owned()) }
    }

    /// The command that a node names.
    pub fn profile(&self, provider: Provider, name: &str) -> Option<&Profile> {
        self.profiles.get(&(provider, name.to_owned()))
    }
}

/// The settings in force, which may change while the server runs.
pub(crate) struct LiveSettings {
    now: RwLock<Arc<RunsSettings>>,
    /// Why settings that were read again are not in force.
    fault: Mutex<Option<String>>,
}

impl LiveSettings {
    pub(crate) fn of(settings: &RunsSettings) -> Self {
        Self { now: RwLock::new(Arc::new(settings.clone())), fault: Mutex::default() }
    }

    /// The settings as they are now.
    pub(crate) fn now(&self) -> Arc<RunsSettings> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in force, from the next turn or program on. Where things are, and how programs
    /// reach this server, stays.
    pub(crate) fn replace(&self, settings: RunsSettings) {
        let settings = settings.placed_like(&self.now());
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        *self.fault() = None;
    }

    /// Why settings that were read again are not in force.
    pub(crate) fn fault(&self) -> MutexGuard<'_, Option<String>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
