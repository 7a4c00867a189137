//! Where the store is, and how it is opened.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use muster_api::{
    App, AppOptions, Caller, Inspection, StoreAccess, StoreError, Toolset, person_name,
};
use muster_core::{AuthorKind, AuthorSurface};

use crate::config::{AGENT_NAME, PROOF_LOG_DAYS, STORAGE_DIR, Settings};

/// The storage directory that was asked for, or the default one.
pub(crate) fn directory(settings: &Settings) -> anyhow::Result<PathBuf> {
    let chosen = settings.get(&STORAGE_DIR)?.value.context(
        "the home folder is unknown: set the folder of the store with --storage-dir DIR",
    )?;
    // Agents and links use the path from other folders.
    std::path::absolute(&chosen).with_context(|| format!("cannot use {}", chosen.display()))
}

/// Whether a directory is the default one.
pub(crate) fn is_default(settings: &Settings, directory: &Path) -> bool {
    settings.default_storage().as_deref() == Some(directory)
}

/// Opens the store of the command's storage directory. Such commands name the workspace of every
/// call, so that the requested one is never confused with the default.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<App> {
    open_at(settings, &directory(settings)?, caller(settings)?)
}

/// The same for a command that makes sure itself that a person types it.
pub(crate) fn open_for_person(settings: &Settings) -> anyhow::Result<App> {
    let mut caller = Caller::of(AuthorKind::Person, &person_name(), AuthorSurface::Cli);
    caller.directory = std::env::current_dir().ok();
    open_at(settings, &directory(settings)?, caller)
}

/// Who types the command: a person at a terminal, an agent anywhere else.
pub(crate) fn caller(settings: &Settings) -> anyhow::Result<Caller> {
    let agent = settings.get(&AGENT_NAME)?.value;
    let mut caller = match agent {
        Some(name) => Caller::of(AuthorKind::Agent, &name, AuthorSurface::Cli),
        None if io::stdin().is_terminal() => {
            Caller::of(AuthorKind::Person, &person_name(), AuthorSurface::Cli)
        }
        None => Caller::of(AuthorKind::Agent, "command line", AuthorSurface::Cli),
    };
    caller.directory = std::env::current_dir().ok();
    Ok(caller)
}

/// Opens the store of a directory for calls that may name no workspace.
pub(crate) fn open_at(
    settings: &Settings,
    directory: &Path,
    caller: Caller,
) -> anyhow::Result<App> {
    let options = AppOptions {
        storage_dir: directory.to_owned(),
        // The command line lists every tool, so there is no smaller toolset to respect.
        toolset: Toolset::Full,
        caller,
        proof_log_days: Some(settings.get(&PROOF_LOG_DAYS)?.value),
        ..AppOptions::default()
    };
    Ok(App::open(options)?)
}

/// Opens the store of a folder that must exist: a mistyped one must not be created. In an
/// empty folder, such as that of a first session, there is nothing to show yet.
pub(crate) fn open_existing(settings: &Settings) -> anyhow::Result<App> {
    let directory = directory(settings)?;
    if !directory.is_dir() {
        return Err(explained(StoreError::Absent { path: directory }));
    }
    open(settings)
}

/// Opens the store if there is one, and creates nothing.
pub(crate) fn open_if_there(settings: &Settings) -> anyhow::Result<Option<App>> {
    match inspect(settings)? {
        Ok(_) => open(settings).map(Some),
        Err(StoreError::Absent { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the store to restore what it has lost, if necessary all of it.
pub(crate) fn open_afresh(settings: &Settings) -> anyhow::Result<App> {
    let access = StoreAccess::Afresh;
    let options = AppOptions { storage_dir: directory(settings)?, access, ..AppOptions::default() };
    Ok(App::open(options)?)
}

/// Opens an existing store for reading only.
pub(crate) fn inspect(settings: &Settings) -> anyhow::Result<Result<Inspection, StoreError>> {
    Ok(Inspection::open(&directory(settings)?))
}

/// The error with a hint if the named folder has no store.
pub(crate) fn explained(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Absent { .. } => anyhow!("{error}: set its folder with --storage-dir DIR"),
        StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::Displaced { .. }
        | StoreError::Directory { .. }
        | StoreError::TooNew { .. }
        | StoreError::Damaged { .. }
        | StoreError::Engine { .. } => error.into(),
    }
}
