//! Which database a command uses. A storage folder remembers the one that a server used with it, so
//! that commands and agents on the same machine never work on another one by accident.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use muster_api::DatabaseUrl;

use super::{
    BadValue, Settings, Sourced, ValueSource,
    entries::{DATABASE, STORAGE_DIR},
};

/// The file in the storage folder, which only its owner can read: it may have a password in it.
const FILE: &str = "database";

/// Flag, environment, settings, then what the storage folder remembers.
pub(super) fn find(settings: &Settings) -> Result<Sourced<DatabaseUrl>, BadValue> {
    let folder = settings.get(&STORAGE_DIR)?.value;
    find_with(settings, folder.as_deref())
}

/// The same for a storage folder that is not that of the settings.
pub(crate) fn database_of(settings: &Settings, folder: &Path) -> Result<DatabaseUrl, BadValue> {
    find_with(settings, Some(folder)).map(|found| found.value)
}

/// The database that a flag, the environment or the settings name.
pub(crate) fn named_database(
    settings: &Settings,
) -> Result<Option<Sourced<DatabaseUrl>>, BadValue> {
    let row = &DATABASE.row;
    if let (Some(value), Some(flag)) = (settings.shared.database.clone(), row.flag) {
        return Ok(Some(Sourced { value, source: ValueSource::Flag(flag) }));
    }
    let Some((text, source)) = settings.text_of(row)? else { return Ok(None) };
    parsed(&text.to_string_lossy(), source).map(Some)
}

fn find_with(settings: &Settings, folder: Option<&Path>) -> Result<Sourced<DatabaseUrl>, BadValue> {
    if let Some(named) = named_database(settings)? {
        return Ok(named);
    }
    let Some(file) = folder.map(|folder| folder.join(FILE)) else {
        return Ok(Sourced::default(DatabaseUrl::default()));
    };
    match fs::read_to_string(&file) {
        Ok(text) => parsed(text.trim(), ValueSource::LocalServer(file)),
        Err(error) if is_absent(&error) => Ok(Sourced::default(DatabaseUrl::default())),
        // Working on another database would be worse than not working.
        Err(error) => {
            Err(BadValue::unreadable(&DATABASE.row, ValueSource::LocalServer(file), &error))
        }
    }
}

/// Whether there is no such file, or cannot be one with this name.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}

fn parsed(text: &str, source: ValueSource) -> Result<Sourced<DatabaseUrl>, BadValue> {
    match text.parse() {
        Ok(value) => Ok(Sourced { value, source }),
        Err(_) => Err(BadValue::new(&DATABASE.row, source, text)),
    }
}

/// Lets later commands with this storage folder use the database of a server.
pub(crate) fn remember_database(folder: &Path, address: &str) -> io::Result<()> {
    let part = PathBuf::from(folder).join("database.part");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    writeln!(file, "{address}")?;
    file.sync_all()?;
    fs::rename(part, folder.join(FILE))
}

/// The same for a server that uses the folder's own file.
pub(crate) fn forget_database(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(FILE)) {
        Err(error) if !is_absent(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
