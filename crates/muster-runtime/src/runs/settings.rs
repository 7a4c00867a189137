//! What a server says about the runs that it drives.

use std::{collections::BTreeMap, path::PathBuf};

use muster_core::run::node::{DEFAULT_PROFILE, PermissionsMode, Provider};

/// Settings of the runs of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsSettings {
    /// The storage folder; files of runs are kept below it.
    pub home: PathBuf,
    /// Directory of a run whose creator names none.
    pub served_dir: PathBuf,
    /// Templates of the user; below the storage folder by default.
    pub templates_dir: PathBuf,
    /// Turns of all runs at once.
    pub max_parallel_turns: u32,
    /// Whether runs that a restart paused go on by themselves.
    pub resume_on_start: bool,
    /// What providers do that a body says nothing about.
    pub default_permissions_mode: PermissionsMode,
    /// Text that comes within this time becomes one event.
    pub delta_flush_ms: u32,
    /// How long files of deleted runs are kept.
    pub trash_days: u32,
    /// Named commands, by family and name. No request can change them.
    pub profiles: BTreeMap<(Provider, String), Profile>,
}

/// How a program is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// One JSON object per line, both ways; one process for many turns.
    Jsonl,
    /// The prompt on standard input, the answer on standard output; one process per turn.
    Raw,
}

/// Who executes the tools of a program.
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
    /// Program and arguments; no shell reads them.
    pub command: Vec<String>,
    /// Variables that it gets besides those that every program gets.
    pub env: BTreeMap<String, String>,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Who executes its tools.
    pub tools: ToolExecution,
    /// How long it may take to start.
    pub start_timeout_seconds: u32,
    /// Whether every turn has a process of its own.
    pub per_turn_process: bool,
}

impl Profile {
    /// A program that speaks JSON lines.
    pub fn jsonl(command: Vec<String>) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            protocol: Protocol::Jsonl,
            tools: ToolExecution::Runtime,
            start_timeout_seconds: 60,
            per_turn_process: false,
        }
    }
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
            default_permissions_mode: PermissionsMode::Skip,
            delta_flush_ms: 50,
            trash_days: 7,
            profiles: BTreeMap::new(),
        }
    }

    /// Adds the command that nodes of a family use unless they name another.
    #[must_use]
    pub fn with_default(mut self, provider: Provider, profile: Profile) -> Self {
        self.profiles.insert((provider, DEFAULT_PROFILE.to_owned()), profile);
        self
    }

    /// The command that a node names.
    pub fn profile(&self, provider: Provider, name: &str) -> Option<&Profile> {
        self.profiles.get(&(provider, name.to_owned()))
    }
}
