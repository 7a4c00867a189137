//! Where the store is, and how it is opened.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use muster_api::{
    App, AppOptions, Caller, DatabaseUrl, Inspection, StoreAccess, StoreError, Toolset, person_name,
};
use muster_core::{AuthorKind, AuthorSurface};

use crate::config::{
    AGENT_NAME, DATABASE, PROOF_LOG_DAYS, STORAGE_DIR, Settings, Sourced, ValueSource,
    named_database,
};

/// Where the store is: the folder of this installation, and the database.
#[derive(Clone, Debug)]
pub(crate) struct StorePlace {
    pub(crate) folder: PathBuf,
    pub(crate) database: DatabaseUrl,
}

impl StorePlace {
    /// The place with this folder, whatever folder the address of the database names.
    pub(crate) fn of(folder: PathBuf, database: DatabaseUrl) -> Self {
        let database = match database {
            DatabaseUrl::Sqlite(_) => DatabaseUrl::Sqlite(None),
            DatabaseUrl::Postgres(_) => database,
        };
        Self { folder, database }
    }

    /// The place as people know it, without a password.
    pub(crate) fn shown(&self) -> String {
        match &self.database {
            DatabaseUrl::Sqlite(_) => self.folder.display().to_string(),
            DatabaseUrl::Postgres(address) => address.to_string(),
        }
    }

    /// Whether nothing can be there yet.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.database, DatabaseUrl::Sqlite(_)) && !self.folder.is_dir()
    }
}

/// Where the store that was asked for is.
pub(crate) fn place(settings: &Settings) -> anyhow::Result<StorePlace> {
    let database = settings.get(&DATABASE)?.value;
    Ok(StorePlace::of(directory(settings)?, database))
}

/// The storage directory that was asked for, or the default one.
pub(crate) fn directory(settings: &Settings) -> anyhow::Result<PathBuf> {
    let chosen = settings.get(&STORAGE_DIR)?;
    let is_flag = |source: &ValueSource| matches!(source, ValueSource::Flag(_));
    let chosen = match named_database(settings)? {
        Some(Sourced { value: DatabaseUrl::Sqlite(Some(folder)), source })
            if is_flag(&source) || !is_flag(&chosen.source) =>
        {
            Some(folder)
        }
        Some(_) | None => chosen.value,
    };
    let chosen = chosen.context(
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
    open_at(settings, &place(settings)?, caller(settings)?)
}

/// The same for a command that makes sure itself that a person types it.
pub(crate) fn open_for_person(settings: &Settings) -> anyhow::Result<App> {
    let mut caller = Caller::of(AuthorKind::Person, &person_name(), AuthorSurface::Cli);
    caller.directory = std::env::current_dir().ok();
    open_at(settings, &place(settings)?, caller)
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

/// Opens the store of a place for calls that may name no workspace.
pub(crate) fn open_at(
    settings: &Settings,
    place: &StorePlace,
    caller: Caller,
) -> anyhow::Result<App> {
    let options = AppOptions {
        storage_dir: place.folder.clone(),
        database: place.database.clone(),
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
    let place = place(settings)?;
    if place.is_missing() {
        return Err(explained(StoreError::Absent { path: place.folder }));
    }
    if matches!(place.database, DatabaseUrl::Postgres(_)) {
        inspect(settings)?.map_err(explained)?;
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
    let StorePlace { folder, database } = place(settings)?;
    let options = AppOptions { storage_dir: folder, database, access, ..AppOptions::default() };
    Ok(App::open(options)?)
}

/// Opens an existing store for reading only.
pub(crate) fn inspect(settings: &Settings) -> anyhow::Result<Result<Inspection, StoreError>> {
    let StorePlace { folder, database } = place(settings)?;
    Ok(Inspection::open(&database, &folder))
}

/// The error with a hint if the named folder has no store.
pub(crate) fn explained(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Absent { .. } => {
            anyhow!(
                "{error}: set its folder with --storage-dir DIR, or a database with --database URL"
            )
        }
        StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::Displaced { .. }
        | StoreError::Directory { .. }
        | StoreError::TooNew { .. }
        | StoreError::Unavailable { .. }
        | StoreError::Conflict { .. }
        | StoreError::Address { .. }
        | StoreError::Damaged { .. }
        | StoreError::Engine { .. } => error.into(),
    }
}
