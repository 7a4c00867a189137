//! Where the store is, and how it is opened.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use muster_api::{App, AppOptions, Toolset, WorkspaceId};

use crate::config::{STORAGE_DIR, Settings};

/// The storage directory that was asked for, or the default one.
pub(crate) fn directory(settings: &Settings) -> anyhow::Result<PathBuf> {
    let chosen = settings
        .get(&STORAGE_DIR)?
        .value
        .context("no home folder is known: say where to keep the store with --storage-dir DIR")?;
    // Agents and links are told the path and use it from other folders.
    std::path::absolute(&chosen).with_context(|| format!("cannot use {}", chosen.display()))
}

/// Whether a directory is the one that is used when none is named.
pub(crate) fn is_default(settings: &Settings, directory: &Path) -> bool {
    settings.default_storage().as_deref() == Some(directory)
}

/// Opens the store of the command's storage directory. Such commands name the workspace of every
/// call, so that one which was asked for is never mixed up with one that is set.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<App> {
    open_at(&directory(settings)?, None)
}

/// Opens the store of a directory for calls of which some may name no workspace.
pub(crate) fn open_at(
    directory: &Path,
    default_workspace: Option<WorkspaceId>,
) -> anyhow::Result<App> {
    let options = AppOptions {
        storage_dir: directory.to_owned(),
        default_workspace,
        // The command line lists every tool, so nothing has to stay inside a smaller set.
        toolset: Toolset::Full,
        ..AppOptions::default()
    };
    Ok(App::open(options)?)
}

/// Opens a store that must be there already: a mistyped folder must not be reported as sound or
/// copied.
pub(crate) fn open_existing(settings: &Settings) -> anyhow::Result<App> {
    let directory = directory(settings)?;
    if !directory.is_dir() {
        bail!(
            "there is no store in {}: name its folder with --storage-dir DIR",
            directory.display()
        );
    }
    open(settings)
}
