//! How an agent is kept from the storage folder: what a process does to itself before it becomes
//! the agent ([0020](../../../docs/adr/0020-how-agents-are-contained.md)).
//!
//! ```text
//!   server ── spawn ──► launcher (`muster contained SPEC -- PROGRAM ...`)
//!                          │  1. becomes the reaper of its orphans
//!                          │  2. restricts itself
//!                          ▼  3. exec: same process, same pipes, same group
//!                       agent
//! ```
//!
//! A launcher that cannot carry out its order does not start the program.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, Serialize};

/// What a launcher does to itself before it becomes the program.
///
/// A field that the launcher does not know could be a limit, so it rejects such an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchOrder {
    pub workdir: PathBuf,
    /// What it is kept from; nothing for one that is not contained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LaunchLimits>,
}

/// What a program is kept from, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchLimits {
    pub mechanism: Mechanism,
    pub closed: ClosedFolder,
    /// The only writable places; `None` means anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable: Option<Vec<PathBuf>>,
}

/// The mechanism of the operating system that keeps a process from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Linux: mounts that cover files, in a namespace of the process.
    Namespace,
    /// Linux: rules that grant files, where namespaces are refused.
    Landlock,
    /// macOS: a profile.
    Seatbelt,
}

impl Mechanism {
    /// The mechanisms of this system, best first. Which of them works has to be tried: a launcher
    /// that failed half-way into a namespace could not continue with another.
    pub(crate) const CANDIDATES: &[Self] = if cfg!(target_os = "linux") {
        &[Self::Namespace, Self::Landlock]
    } else if cfg!(target_os = "macos") {
        &[Self::Seatbelt]
    } else {
        &[]
    };

    /// Its name in log lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }
}

/// A folder that a program can neither read nor write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedFolder {
    pub folder: PathBuf,
    /// What stays open below it: the worktree of the node, the socket of its hook.
    #[serde(default)]
    pub open: Vec<PathBuf>,
}

impl ClosedFolder {
    /// What stays open, without anything that would open the folder itself.
    fn kept_open(&self) -> impl Iterator<Item = &Path> {
        let below = |path: &&PathBuf| path.starts_with(&self.folder) && **path != self.folder;
        self.open.iter().filter(below).map(PathBuf::as_path)
    }
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Containing it failed.
    #[error("the agent cannot be contained: {action}: {cause}")]
    Containment { action: String, cause: io::Error },
    /// Executing it failed.
    #[error("cannot start {program}: {cause}")]
    Program { program: String, cause: io::Error },
}

/// Adds the failed action to an error.
fn tried(action: impl Into<String>) -> impl FnOnce(io::Error) -> LaunchError {
    move |cause| LaunchError::Containment { action: action.into(), cause }
}

/// Restricts this process as ordered and becomes the program. Returns only if that failed. The
/// process must have no other threads.
pub fn launch(order: &LaunchOrder, program: &OsStr, arguments: &[OsString]) -> LaunchError {
    match prepare(order, program, arguments) {
        Ok(mut command) => {
            let cause = command.exec();
            let program = program.to_string_lossy().into_owned();
            LaunchError::Program { program, cause }
        }
        Err(error) => error,
    }
}

/// The limits cannot be enforced here.
fn unsupported() -> LaunchError {
    tried("this system has no way to do so")(io::Error::from(io::ErrorKind::Unsupported))
}

/// Whether a process was kept from a folder in a visible way, as namespaces do. Neither it nor its
/// children can undo that.
#[cfg(target_os = "linux")]
pub(crate) fn is_kept_from(process: u32, folder: &Path) -> bool {
    linux::is_covered(process, folder)
}

/// Not visible on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_kept_from(_process: u32, _folder: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn prepare(
    order: &LaunchOrder,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Command, LaunchError> {
    linux::contain(order)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

#[cfg(target_os = "macos")]
fn prepare(
    order: &LaunchOrder,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Command, LaunchError> {
    macos::contain(order, program, arguments)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn prepare(
    order: &LaunchOrder,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Command, LaunchError> {
    if order.limits.is_some() {
        return Err(unsupported());
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}
