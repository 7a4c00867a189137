//! Failures below the domain.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A failure of the store itself; bad input never ends up here.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process held the write lock for longer than the bound.
    #[error("the store's write lock was not free for {waited_ms} ms")]
    Busy { waited_ms: u64 },
    /// The disk is full; nothing of the transaction was kept.
    #[error("no space left for the store at {location}")]
    Full {
        /// Where the store is.
        location: String,
    },
    /// The storage directory cannot be used.
    #[error("cannot use {path}: {cause}")]
    Directory {
        path: PathBuf,
        /// The operating system's message.
        cause: String,
    },
    /// There is no store.
    #[error("there is no store in {path}")]
    Absent { path: PathBuf },
    /// A file of the store was removed or replaced while it was in use.
    #[error(
        "{path} {finding} while this process had it open, so nothing is written: stop it, put the \
         file or a backup back, and start it again"
    )]
    Displaced {
        path: PathBuf,
        /// What happened to it.
        finding: &'static str,
    },
    /// The store was written by a newer Muster.
    #[error(
        "the store has layout version {found}, this program knows up to {known}: use a newer muster"
    )]
    TooNew {
        /// Version of the store.
        found: u32,
        /// Newest version this program knows.
        known: u32,
    },
    /// The database server cannot be reached, or the connection to it was lost.
    #[error("the database cannot be reached: {cause}")]
    Unavailable {
        /// What the server or the operating system says.
        cause: String,
    },
    /// A write of another server got in the way. Nothing was kept, and the same may work now.
    #[error("another server wrote to the same places in another order: {cause}")]
    Conflict {
        /// What the server says.
        cause: String,
    },
    /// The address of a database is not one.
    #[error("this is not the address of a database: {finding}")]
    Address {
        /// What is wrong with it; never the address, which may have a password in it.
        finding: String,
    },
    /// The content contradicts itself.
    #[error("the store is damaged at {place}: {finding}")]
    Damaged { place: String, finding: String },
    /// The database engine failed.
    #[error("the database failed while it {action}: {cause}")]
    Engine {
        /// What was being done.
        action: &'static str,
        /// Its message.
        cause: String,
    },
}

impl StoreError {
    /// The meaning of a failure with a file next to SQLite's own.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&error.kind()) {
            return Self::Full { location: path.display().to_string() };
        }
        Self::Directory { path: path.to_owned(), cause: error.to_string() }
    }
}
