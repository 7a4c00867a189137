//! Where the store is, and how it is opened.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use muster_api::{App, AppOptions, Inspection, StoreAccess, StoreError, Toolset, WorkspaceId};

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

/// Opens the store of a folder that must be there already: a mistyped one is not to be made. In an
/// empty folder, such as that of a first session, there is nothing to show yet.
pub(crate) fn open_existing(settings: &Settings) -> anyhow::Result<App> {
    let directory = directory(settings)?;
    if !directory.is_dir() {
        return Err(explained(StoreError::Absent { path: directory }));
    }
    open(settings)
}

/// Opens the store for bringing back what it has lost, if need be the whole of it.
pub(crate) fn open_afresh(settings: &Settings) -> anyhow::Result<App> {
    let access = StoreAccess::Afresh;
    let options = AppOptions { storage_dir: directory(settings)?, access, ..AppOptions::default() };
    Ok(App::open(options)?)
}

/// Opens a store that must be there already, to look at it only.
pub(crate) fn inspect(settings: &Settings) -> anyhow::Result<Result<Inspection, StoreError>> {
    Ok(Inspection::open(&directory(settings)?))
}

/// The error with a word to whoever named a folder without a store.
pub(crate) fn explained(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Absent { .. } => anyhow!("{error}: name its folder with --storage-dir DIR"),
        StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::Displaced { .. }
        | StoreError::Directory { .. }
        | StoreError::TooNew { .. }
        | StoreError::Damaged { .. }
        | StoreError::Engine { .. } => error.into(),
    }
}
