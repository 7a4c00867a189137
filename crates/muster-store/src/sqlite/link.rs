//! One connection with its settings, and the translation of its errors.

use std::{
    cell::OnceCell,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{place, wal};
use crate::{SqliteOptions, StoreAccess, StoreError};

/// Statements kept ready per connection; more than this crate has, so none is ever parsed twice.
const STATEMENTS_CACHED_MAX: usize = 128;
/// Page size of a new store; an older one keeps its own. Every page that a write changes is written
/// twice, to the log and at a checkpoint, and small ones hold less of what has not changed.
pub(super) const PAGE_BYTES: u32 = 2_048;
/// A write-ahead log larger than this is cut back when it is reset.
const WAL_KEPT_BYTES_MAX: u32 = 64 * 1024 * 1024;
/// Page cache of the writer. Every agent has its own process, so memory counts; what is not cached
/// here comes from the system's page cache, which all of them share.
const WRITER_CACHE_KIB: u32 = 512;
/// The same for the one writer of many callers.
const SHARED_WRITER_CACHE_KIB: u32 = 4_096;
/// Page cache of one reader. SQLite drops it whenever another connection commits and fills it again
/// from whatever thread reads next; the allocator keeps the memory for the thread that filled it.
/// So this much is held per thread that reads, not per reader.
const READER_CACHE_KIB: u32 = 512;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Read-only; SQLite rejects anything else.
    Reader,
    /// The same, and leaves the files as they are when it is closed: otherwise the last connection
    /// to close a file folds the log back as far as it is readable, and removes it.
    Guest,
    /// The only connection that writes; creates the file if it is missing.
    Writer,
}

/// A connection to the database file.
pub(super) struct Link {
    pub(super) connection: Connection,
    path: PathBuf,
    wait_bound: Duration,
    wal_pages: Arc<AtomicU32>,
    /// Known after the first commit.
    page_bytes: OnceCell<u32>,
}

impl Link {
    /// Opens the file and sets the connection up for its role.
    pub(super) fn open(
        path: &Path,
        role: Role,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let opened = Self::open_named(path, path.as_os_str(), role, options);
        let looks = options.access == StoreAccess::Look;
        match opened {
            Err(StoreError::Directory { cause, .. }) if looks && has_bytes(&wal::path(path)) => {
                let cause = format!(
                    "{cause}; its log can only be read where files can be written: copy the \
                     folder and look at the copy"
                );
                Err(StoreError::Directory { path: path.to_owned(), cause })
            }
            // Without a log there is no writer, and the file alone is the store.
            Err(StoreError::Directory { .. }) if looks => {
                Self::open_named(path, &unchanging(path), role, options)
            }
            opened => opened,
        }
    }

    fn open_named(
        path: &Path,
        name: &OsStr,
        role: Role,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_URI, name != path.as_os_str());
        if role == Role::Writer {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let opened = match options.vfs.as_deref() {
            Some(vfs) => Connection::open_with_flags_and_vfs(name, flags, vfs),
            None => Connection::open_with_flags(name, flags),
        };
        let wait_bound = options.wait_bound;
        let connection =
            opened.map_err(|error| translate(path, wait_bound, "opened the file", &error))?;
        let wal_pages = Arc::new(AtomicU32::new(0));
        let path = path.to_owned();
        let mut link =
            Self { connection, path, wait_bound, wal_pages, page_bytes: OnceCell::new() };
        match link.configure(role, options) {
            Ok(()) => Ok(link),
            Err(error) => Err(link.failed("configured the connection", &error)),
        }
    }

    fn configure(&mut self, role: Role, options: &SqliteOptions) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED_MAX);
        connection.busy_timeout(options.wait_bound)?;
        // SQLite creates an empty log for reading, and removes it again.
        let keeps_log = role == Role::Guest && has_bytes(&wal::path(&self.path));
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log)?;
        // Every query names its index; without this SQLite would plan it again for each parameter.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let synchronous = options.synchronous.pragma();
        // We run checkpoints ourselves: the automatic one would swallow its errors.
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous}; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
        ))?;
        match role {
            Role::Reader | Role::Guest => connection.execute_batch(&format!(
                "PRAGMA query_only = ON; PRAGMA cache_size = -{READER_CACHE_KIB};"
            )),
            Role::Writer => {
                let cache_kib = match options.one_caller {
                    true => WRITER_CACHE_KIB,
                    false => SHARED_WRITER_CACHE_KIB,
                };
                connection.execute_batch(&format!(
                    "PRAGMA page_size = {PAGE_BYTES}; PRAGMA cache_size = -{cache_kib}; \
                     PRAGMA journal_size_limit = {WAL_KEPT_BYTES_MAX};"
                ))?;
                let pages = Arc::clone(&self.wal_pages);
                connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
                    pages.store(u32::try_from(count).unwrap_or(0), Ordering::Relaxed);
                    Ok(())
                }))
            }
        }
    }

    /// Makes a guest a reader.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        let config = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let settled = self.connection.set_db_config(config, false).map(drop);
        settled.map_err(|error| self.failed("configured the connection", &error))
    }

    /// Frames of the write-ahead log that SQLite considers committed.
    pub(super) fn known_frames(&self) -> Result<u64, StoreError> {
        let frames = |row: &rusqlite::Row<'_>| row.get(1);
        let sql = "PRAGMA wal_checkpoint(NOOP)";
        let frames: rusqlite::Result<i64> = self.connection.query_row(sql, [], frames);
        match frames {
            // Minus one if there is no log.
            Ok(frames) => Ok(u64::try_from(frames).unwrap_or(0)),
            Err(error) => Err(self.failed("counted the frames of the log", &error)),
        }
    }

    /// Bytes of pages in the write-ahead log after this connection's newest commit.
    pub(super) fn wal_bytes(&self) -> u64 {
        let page_bytes = self.page_bytes.get_or_init(|| {
            let sql = "PRAGMA page_size";
            self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or(PAGE_BYTES)
        });
        u64::from(self.wal_pages.load(Ordering::Relaxed)) * u64::from(*page_bytes)
    }

    /// The limit of busy waits of this connection.
    pub(super) fn wait_bound(&self) -> Duration {
        self.wait_bound
    }

    /// Translates an error of this connection.
    pub(super) fn failed(&self, action: &'static str, error: &rusqlite::Error) -> StoreError {
        translate(&self.path, self.wait_bound, action, error)
    }
}

/// Translates an SQLite error.
pub(super) fn translate(
    path: &Path,
    wait_bound: Duration,
    action: &'static str,
    error: &rusqlite::Error,
) -> StoreError {
    let location = || path.display().to_string();
    let cause = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { location: location() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { waited_ms: milliseconds(wait_bound) }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { place: location(), finding: cause }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            StoreError::Directory { path: path.to_owned(), cause }
        }
        // SQLite reports nothing more when it cannot create a file that it needs.
        Some(ErrorCode::SystemIoFailure) if place::is_full(path) => {
            StoreError::Full { location: location() }
        }
        Some(ErrorCode::SystemIoFailure) => {
            StoreError::Engine { action, cause: format!("{cause} at {}", location()) }
        }
        Some(_) => StoreError::Engine { action, cause },
        None if misread(error) => StoreError::Damaged { place: location(), finding: cause },
        None => StoreError::Engine { action, cause },
    }
}

/// The name by which SQLite opens a file that does not change, without creating other files.
pub(super) fn unchanging(path: &Path) -> OsString {
    let mut name = OsString::from("file:");
    name.push(path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23"));
    name.push("?immutable=1");
    name
}

fn has_bytes(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.len() > 0)
}

/// Whether a column held an invalid value.
fn misread(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
    )
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
