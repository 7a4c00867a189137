//! Whether the files of the open connections are the ones in the folder. A file that was removed
//! stays open, takes every write and disappears with the process; so does one that another file has
//! replaced.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::wal;
use crate::StoreError;

/// The identity of a file, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    let known = std::fs::metadata(path).ok()?;
    Some(FileIdentity { device: known.dev(), inode: known.ino() })
}

/// Open files cannot be removed or replaced there.
#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<FileIdentity> {
    Some(FileIdentity { device: 0, inode: 0 })
}

/// The database file of this process.
pub(super) struct OpenedFile {
    path: PathBuf,
    opened: OnceLock<FileIdentity>,
}

impl OpenedFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, opened: OnceLock::new() }
    }

    /// Records the current file.
    pub(super) fn remember(&self) {
        if let Some(now) = identity(&self.path) {
            self.opened.get_or_init(|| now);
        }
    }

    /// Fails when the name refers to another file, or to none.
    pub(super) fn confirm(&self) -> Result<(), StoreError> {
        match self.opened.get() {
            Some(opened) => same(&self.path, *opened),
            None => Ok(()),
        }
    }

    /// The same for the log; every connection knows the one that it writes.
    pub(super) fn confirm_log(&self, log: &mut Option<FileIdentity>) -> Result<(), StoreError> {
        let path = wal::path(&self.path);
        match log {
            Some(opened) => same(&path, *opened),
            None => {
                *log = identity(&path);
                Ok(())
            }
        }
    }
}

fn same(path: &Path, opened: FileIdentity) -> Result<(), StoreError> {
    let finding = match identity(path) {
        Some(now) if now == opened => return Ok(()),
        Some(_) => "was replaced by another file",
        None => "was removed",
    };
    Err(StoreError::Displaced { path: path.to_owned(), finding })
}
