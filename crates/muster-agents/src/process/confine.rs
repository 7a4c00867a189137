//! What a process of a node is kept from, and how it is started with these limits
//! ([`crate::contained`]).

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use muster_core::run::node::Containment;

use super::{Launch, capture, family::Family};
use crate::{
    checkout,
    contained::{ClosedFolder, LaunchLimits, LaunchOrder, Mechanism},
    settings::{Contain, RunsSettings},
};

/// How long the attempt to contain a process may take.
const TRIAL: Duration = Duration::from_secs(10);
/// Fails when the given folder shows any entry.
const LOOK: &str = r#"test -z "$(ls -A "$1" 2>/dev/null)""#;
/// Folders for temporary files, besides the one that the environment names.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders below the home where agents and their tools keep state.
const STATE: [&str; 12] = [
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/opencode",
    ".local/share/opencode",
    ".local/state/opencode",
    ".cache",
    ".npm",
    ".cargo/registry",
    ".cargo/git",
    "Library/Caches",
];
/// Variables that move such folders.
const STATE_VARIABLES: [&str; 4] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "TMPDIR", "XDG_CACHE_HOME"];

/// How the processes of a server can be contained.
#[derive(Clone, Debug)]
pub(crate) struct Containing {
    launcher: Option<Vec<String>>,
    storage: PathBuf,
    /// What closes the storage folder to them, if available.
    mechanism: Option<Mechanism>,
}

/// What one process is kept from.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    launcher: Vec<String>,
    limits: Option<LaunchLimits>,
    limits_writing: bool,
}

impl Containing {
    /// Finds out which mechanism works on this system.
    pub(crate) async fn tried(settings: &RunsSettings) -> Self {
        let launcher = settings.launcher.clone();
        let storage = settings.home.clone();
        let mut containing = Self { launcher, storage, mechanism: None };
        let mut reasons = Vec::new();
        for &mechanism in Mechanism::CANDIDATES {
            containing.mechanism = Some(mechanism);
            match containing.close_storage().await {
                Ok(()) => {
                    let mechanism = mechanism.name();
                    tracing::info!(mechanism, "agents are kept from the storage folder");
                    return containing;
                }
                Err(reason) => reasons.push(format!("{}: {reason}", mechanism.name())),
            }
        }
        let reason = reasons.join("; ");
        tracing::warn!(reason, "agents cannot be kept from the storage folder on this system");
        Self { mechanism: None, ..containing }
    }

    /// Closes the storage folder to a process that looks into it; returns why that failed.
    async fn close_storage(&self) -> Result<(), String> {
        let storage = self.storage.to_string_lossy().into_owned();
        let command = ["sh", "-c", LOOK, "sh", &storage].map(str::to_owned);
        let family = Family { mark: super::mark(&self.storage), run: None, node: None, tool: None };
        let (confinement, _) = self.confine(Contain::Storage, Path::new("/"));
        let confinement = confinement.ok_or("there is no launcher")?;
        let launch = Launch {
            command: &command,
            workdir: Path::new("/"),
            env: &std::collections::BTreeMap::new(),
            family: &family,
            confinement: Some(&confinement),
        };
        match capture::run(&launch, TRIAL).await {
            Ok(done) if done.code == Some(0) => Ok(()),
            Ok(done) => Err(done.stderr.tail(500).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// How a process in a directory is contained, and a description of it.
    pub(crate) fn confine(
        &self,
        contain: Contain,
        workdir: &Path,
    ) -> (Option<Confinement>, Containment) {
        let Some(launcher) = self.launcher.clone() else { return (None, Containment::None) };
        let (mechanism, containment) = match (contain, self.mechanism) {
            (Contain::Off, _) | (_, None) => (None, Containment::None),
            (Contain::Storage, mechanism) => (mechanism, Containment::Storage),
            (Contain::Worktree, mechanism) => (mechanism, Containment::Worktree),
        };
        let limits = mechanism.map(|mechanism| LaunchLimits {
            mechanism,
            closed: ClosedFolder { folder: self.storage.clone(), open: vec![workdir.to_owned()] },
            writable: None,
        });
        let limits_writing = containment == Containment::Worktree;
        (Some(Confinement { launcher, limits, limits_writing }), containment)
    }
}

impl Confinement {
    /// Whether a process cannot mount anything, as with Landlock.
    pub(crate) fn forbids_mounts(&self) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.mechanism == Mechanism::Landlock)
    }

    /// The same with another path below the storage folder that stays open.
    pub(crate) fn with_open(mut self, path: PathBuf) -> Self {
        if let Some(limits) = &mut self.limits {
            limits.closed.open.push(path);
        }
        self
    }

    /// The command that contains a process and then becomes the requested one.
    pub(super) fn around(&self, launch: &Launch<'_>) -> io::Result<Vec<String>> {
        // Otherwise the launcher would be found, and no one would notice that the program is
        // missing.
        find(launch)?;
        let mut limits = self.limits.clone();
        if let Some(limits) = limits.as_mut().filter(|_| self.limits_writing) {
            limits.writable = Some(writable(launch, &limits.closed));
        }
        let order = LaunchOrder { workdir: launch.workdir.to_owned(), limits };
        let mut words = self.launcher.clone();
        words.push(serde_json::to_string(&order)?);
        words.push("--".to_owned());
        words.extend(launch.command.iter().cloned());
        Ok(words)
    }
}

/// A variable as the process gets it.
fn variable(launch: &Launch<'_>, name: &str) -> Option<OsString> {
    launch.env.get(name).map(OsString::from).or_else(|| std::env::var_os(name))
}

/// Fails like starting the program would if it does not exist.
fn find(launch: &Launch<'_>) -> io::Result<()> {
    let program = &launch.command[0];
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    if program.contains('/') {
        return fs::metadata(launch.workdir.join(program)).map(|_| ());
    }
    let path = variable(launch, "PATH").ok_or_else(missing)?;
    let mut places = std::env::split_paths(&path);
    places.any(|place| place.join(program).is_file()).then_some(()).ok_or_else(missing)
}

/// Writable places of a process that may not write everywhere.
fn writable(launch: &Launch<'_>, closed: &ClosedFolder) -> Vec<PathBuf> {
    let mut paths = vec![launch.workdir.to_owned()];
    paths.extend(closed.open.iter().cloned());
    paths.extend(checkout::git_directory(launch.workdir));
    paths.extend(TEMPORARY.map(PathBuf::from));
    paths.extend(
        STATE_VARIABLES.iter().filter_map(|name| variable(launch, name)).map(PathBuf::from),
    );
    if let Some(home) = variable(launch, "HOME").map(PathBuf::from) {
        paths.extend(STATE.iter().map(|state| home.join(state)));
    }
    paths
}
