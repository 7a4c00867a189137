//! Copies that are kept next to a store before an operation that cannot be undone.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::{backup, link::Link, place, wal};
use crate::StoreError;

/// Prefix of the folders with the files of a store whose log was torn.
const TORN: &str = "damaged-";

/// Prefix of copies with an older layout, before its number.
const OLDER: &str = "muster.db.layout-";

/// Copies a store before its layout is migrated, if there is anything in it.
///
/// Must be called in a turn, so that nothing is written until the migration is done.
pub(super) fn older(link: &Link, database: &Path, layout: u32) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM event)";
    let filled: rusqlite::Result<bool> = link.connection.query_row(sql, [], |row| row.get(0));
    if !filled.map_err(|error| link.failed("looked for events", &error))? {
        return Ok(());
    }
    let directory = database.parent().unwrap_or(Path::new(""));
    let copy = unused(|number| match number {
        1 => directory.join(format!("{OLDER}{layout}")),
        _ => directory.join(format!("{OLDER}{layout}-{number}")),
    });
    backup::write(link, &copy)?;
    tracing::warn!(
        layout,
        kept = %copy.display(),
        "migrating the store layout; a copy of the old store is kept"
    );
    Ok(())
}

/// Copies the database file and its log as they are, into a storage folder named after this moment.
///
/// Must be called in a turn, while a connection is open, so that neither changes.
pub(super) fn torn(database: &Path) -> Result<PathBuf, StoreError> {
    let directory = database.parent().unwrap_or(Path::new(""));
    let folder = unused(|number| directory.join(format!("{TORN}{number}")));
    let copied = copy_into(&folder, &[database, &wal::path(database)]);
    match copied.and_then(|()| File::open(directory)?.sync_all()) {
        Ok(()) => Ok(folder),
        Err(error) => {
            // Half a copy is worse than none; the files themselves are unchanged.
            drop(fs::remove_dir_all(&folder));
            Err(StoreError::of_file(&folder, &error))
        }
    }
}

/// Every copy kept next to a store, by name.
pub(super) fn kept(database: &Path) -> Vec<PathBuf> {
    let Some(entries) = database.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return Vec::new();
    };
    let is_kept = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        [TORN, OLDER].iter().any(|kept| name.starts_with(kept))
    };
    let mut kept: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_kept).collect();
    kept.sort();
    kept
}

fn copy_into(folder: &Path, files: &[&Path]) -> io::Result<()> {
    place::create_private(folder)?;
    for file in files {
        let Some(name) = file.file_name() else { continue };
        let copy = folder.join(name);
        fs::copy(file, &copy)?;
        File::open(&copy)?.sync_all()?;
    }
    File::open(folder)?.sync_all()
}

/// The first free one of some numbered names.
fn unused(name: impl Fn(u32) -> PathBuf) -> PathBuf {
    let mut number = 1;
    while name(number).exists() {
        number += 1;
    }
    name(number)
}
