//! Where the store is, and how it is opened.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_api::{App, AppOptions, Toolset, WorkspaceId};

use crate::arguments::Shared;

/// Variables that name the default workspace, in the order they are looked at (TASKS-WS-2).
pub(crate) const WORKSPACE_VARIABLES: [&str; 2] = ["MUSTER_WORKSPACE", "BRANCHMIND_WORKSPACE"];

/// The storage directory that was asked for, or the default one.
pub(crate) fn directory(shared: &Shared) -> anyhow::Result<PathBuf> {
    let chosen = match &shared.storage_dir {
        Some(directory) => directory.clone(),
        None => default_directory(&|name| env::var_os(name)).context(
            "no home folder is known: say where to keep the store with --storage-dir DIR",
        )?,
    };
    // Agents and links are told the path and use it from other folders.
    std::path::absolute(&chosen).with_context(|| format!("cannot use {}", chosen.display()))
}

/// Whether a directory is the one that is used when none is named.
pub(crate) fn is_default(directory: &Path) -> bool {
    default_directory(&|name| env::var_os(name)).as_deref() == Some(directory)
}

/// The platform's folder for data of applications.
fn default_directory(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let parent = if cfg!(target_os = "windows") {
        folder("APPDATA")?
    } else if cfg!(target_os = "macos") {
        folder("HOME")?.join("Library/Application Support")
    } else {
        // The base directory specification has relative values ignored.
        folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?
    };
    Some(parent.join("muster"))
}

/// Opens the store of the command's storage directory for one call, with the environment's
/// workspace.
pub(crate) fn open(shared: &Shared) -> anyhow::Result<App> {
    let options = AppOptions {
        storage_dir: directory(shared)?,
        default_workspace: default_workspace(None)?,
        // The command line lists every tool, so nothing has to stay inside a smaller set.
        toolset: Toolset::Full,
        ..AppOptions::default()
    };
    Ok(App::open(options)?)
}

/// Opens a store that must be there already: a mistyped folder must not be reported as sound or
/// copied.
pub(crate) fn open_existing(shared: &Shared) -> anyhow::Result<App> {
    let directory = directory(shared)?;
    if !directory.is_dir() {
        bail!(
            "there is no store in {}: name its folder with --storage-dir DIR",
            directory.display()
        );
    }
    open(shared)
}

/// The workspace that was asked for, or the one the environment names.
pub(crate) fn default_workspace(asked: Option<String>) -> anyhow::Result<Option<WorkspaceId>> {
    let named = asked.map(|name| ("--workspace", name)).or_else(|| {
        WORKSPACE_VARIABLES
            .into_iter()
            .find_map(|variable| Some((variable, env::var(variable).ok()?)))
    });
    let Some((place, name)) = named else { return Ok(None) };
    let Ok(workspace) = name.parse() else {
        bail!(
            "{place}: {name:?} is no workspace id: use 1 to 128 letters, digits and . / - \
             that start with a letter or digit, for example my-project"
        );
    };
    Ok(Some(workspace))
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::PathBuf};

    use super::default_directory;

    fn found(variables: &[(&str, &str)]) -> Option<PathBuf> {
        default_directory(&|name| {
            let value = variables.iter().find(|(known, _)| *known == name)?.1;
            Some(OsString::from(value))
        })
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_data_folder_follows_the_base_directory_specification() {
        let home = ("HOME", "/home/ada");
        let expected = PathBuf::from("/home/ada/.local/share/muster");
        assert_eq!(found(&[home]), Some(expected.clone()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "/srv/data")]), Some("/srv/data/muster".into()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "relative")]), Some(expected.clone()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "")]), Some(expected));
        assert_eq!(found(&[]), None);
    }
}
