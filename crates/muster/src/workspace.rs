//! Which workspace a command, a hook or `muster mcp` works in, and why (HOST-INIT-2).
//!
//! ```text
//!   --workspace ─► MUSTER_WORKSPACE ─► muster.toml here or above ─► settings file ─► MCP roots
//!                                      as a person accepted it                        │
//!                                                                      repository  ◄──┘
//! ```
//!
//! The first that says something counts. The roots of an MCP client are known once it has called
//! something; only `muster mcp` has them.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use muster_api::{App, WorkspaceId, WorkspaceStatus, checkout, checks};
use serde::Serialize;

use crate::config::{Settings, Sourced, ValueSource};

/// Workspaces listed in an error.
const NAMED_MAX: usize = 10;

/// A workspace and the reason why it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedWorkspace {
    pub(crate) name: WorkspaceId,
    pub(crate) reason: WorkspaceReason,
}

/// Why a workspace was chosen.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum WorkspaceReason {
    /// It was set by a flag, a variable or the settings file.
    Set { by: ValueSource },
    /// A project file declares it.
    Declared { file: PathBuf, accepted_by: Option<String> },
    /// It has the name of the repository.
    Repository { root: PathBuf },
    /// The store has no other.
    Only,
}

impl fmt::Display for WorkspaceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { by } => write!(formatter, "set by {by}"),
            Self::Declared { file, accepted_by: Some(person) } => {
                write!(formatter, "declared in {}, accepted by {person}", file.display())
            }
            Self::Declared { file, accepted_by: None } => {
                write!(formatter, "declared in {}, not accepted yet", file.display())
            }
            Self::Repository { root } => {
                write!(formatter, "named after the repository {}", root.display())
            }
            Self::Only => formatter.write_str("the only one in the store"),
        }
    }
}

/// What a workspace is derived from when none is named.
pub(crate) struct Surroundings<'a> {
    pub(crate) directory: PathBuf,
    /// The store that knows what a person accepted, if there is one.
    pub(crate) app: Option<&'a App>,
}

impl<'a> Surroundings<'a> {
    /// Those of this process.
    pub(crate) fn of_process(app: Option<&'a App>) -> anyhow::Result<Self> {
        let directory = env::current_dir().context("the working directory is gone")?;
        Ok(Self { directory, app })
    }
}

/// No workspace was named, and it cannot be derived.
#[derive(Debug)]
pub(crate) struct Undecided(String);

impl fmt::Display for Undecided {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Undecided {}

/// Finds the workspace; `None` if nothing names one.
pub(crate) fn find(
    settings: &Settings,
    asked: Option<&str>,
    here: &Surroundings<'_>,
) -> anyhow::Result<Option<ResolvedWorkspace>> {
    let set = settings.workspace(asked)?;
    let is_near =
        |source: &ValueSource| matches!(source, ValueSource::Flag(_) | ValueSource::Environment(_));
    let of_setting = |Sourced { value, source }| ResolvedWorkspace {
        name: value,
        reason: WorkspaceReason::Set { by: source },
    };
    // The settings file is for all projects of a person, so what a project declares is stronger.
    match set {
        Some(set) if is_near(&set.source) => Ok(Some(of_setting(set))),
        set => Ok(match declared(here)? {
            Some(found) => Some(found),
            None => set.map(of_setting).or_else(|| named_after_repository(&here.directory)),
        }),
    }
}

/// Whether something stronger than the roots of an MCP client has decided.
pub(crate) fn is_stronger_than_roots(found: Option<&ResolvedWorkspace>) -> bool {
    found.is_some_and(|found| match found.reason {
        WorkspaceReason::Set { .. } | WorkspaceReason::Declared { .. } => true,
        WorkspaceReason::Repository { .. } | WorkspaceReason::Only => false,
    })
}

/// The workspace of the first root that has one, and that root.
pub(crate) fn of_roots(app: &App, roots: &[PathBuf]) -> Option<(ResolvedWorkspace, PathBuf)> {
    roots.iter().find_map(|root| {
        let here = Surroundings { directory: root.clone(), app: Some(app) };
        let declared = declared(&here).unwrap_or_else(|error| {
            tracing::warn!(%error, root = %root.display(), "cannot read the project of a root");
            None
        });
        let found = declared.or_else(|| named_after_repository(root))?;
        Some((found, root.clone()))
    })
}

/// Whether a call could do without naming its workspace, as far as that shows without the store.
pub(crate) fn may_be_found(settings: &Settings) -> anyhow::Result<bool> {
    let here = Surroundings::of_process(None)?;
    let is_set = !matches!(settings.workspace(None), Ok(None));
    Ok(is_set
        || checks::find(&here.directory).is_some()
        || checkout::root(&here.directory).is_some())
}

/// The only workspace of a store.
pub(crate) fn only(app: &App) -> anyhow::Result<ResolvedWorkspace> {
    let workspaces = app.status()?.workspaces;
    let complaint = match &workspaces[..] {
        [] => "no workspace exists yet: the first write creates one, for example\n  \
               muster add 'First task' --workspace my-project"
            .to_owned(),
        [only] => {
            let name = only.name.parse();
            let name = name.map_err(|_| anyhow!("{:?} is not a valid workspace id", only.name))?;
            return Ok(ResolvedWorkspace { name, reason: WorkspaceReason::Only });
        }
        several => format!(
            "which workspace? name one with --workspace or MUSTER_WORKSPACE{}",
            among(several)
        ),
    };
    Err(Undecided(complaint).into())
}

/// The existing names, after a colon.
pub(crate) fn among(workspaces: &[WorkspaceStatus]) -> String {
    let names = workspaces.iter().take(NAMED_MAX).map(|workspace| workspace.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    match workspaces.len() {
        0 => String::new(),
        1..=NAMED_MAX => format!(": {names}"),
        _ => format!(": {names}, …"),
    }
}

/// The workspace of the nearest project, here or above. What a person accepted for a directory
/// counts instead of the file in it: an agent that edits or removes the file moves nothing.
fn declared(here: &Surroundings<'_>) -> anyhow::Result<Option<ResolvedWorkspace>> {
    for folder in here.directory.ancestors() {
        let file = folder.join(checks::PROJECT_FILE);
        let trust = match (here.app, folder.to_str()) {
            (Some(app), Some(root)) => app.project_trust(root)?,
            (_, _) => Default::default(),
        };
        let (workspace, accepted_by) = match trust.accepted {
            Some(accepted) => (accepted.definition.workspace, Some(accepted.by)),
            None if file.is_file() => (read(&file)?, None),
            None => continue,
        };
        let reason = WorkspaceReason::Declared { file, accepted_by };
        return Ok(workspace.map(|name| ResolvedWorkspace { name, reason }));
    }
    Ok(None)
}

fn read(file: &Path) -> anyhow::Result<Option<WorkspaceId>> {
    let project = checks::read(file).map_err(|error| {
        Undecided(format!("{error}\n  correct the file, or name a workspace with --workspace"))
    })?;
    Ok(project.definition.workspace)
}

fn named_after_repository(directory: &Path) -> Option<ResolvedWorkspace> {
    let root = checkout::main_root(directory)?;
    let name = WorkspaceId::named_after(&root.to_string_lossy())?;
    Some(ResolvedWorkspace { name, reason: WorkspaceReason::Repository { root } })
}
