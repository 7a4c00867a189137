//! The store on SQLite: one file in write-ahead mode, shared by any number of processes.
//!
//! ```text
//!   begin ── turn in this process ── queue between processes ── BEGIN IMMEDIATE ── COMMIT (synced)
//!   snapshot ── pooled reader ── BEGIN
//!   glance ── the writer's connection while it has nothing to write, else a pooled reader
//! ```
//!
//! The engine drops what a connection has cached whenever another one commits. Where one caller
//! reads and writes in turn, reading with the connection that wrote finds everything at hand.
//!
//! Connections are opened when first needed, so that opening a store costs about as much as opening
//! a file.

mod check;
mod layout;
mod link;
mod listing;
mod place;
mod pool;
mod queue;
#[cfg(test)]
mod tests;
mod transaction;
mod view;
mod writer;

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, backup::Backup};

use self::{
    layout::Layout, link::Link, pool::Pool, queue::Queue, transaction::SqliteTransaction,
    view::View, writer::Writer,
};
use crate::{Damage, Description, Snapshot, Store, StoreError, Transaction};

pub use layout::SCHEMA_VERSION;

/// Name of the database file in the storage directory.
const DATABASE_FILE: &str = "muster.db";
/// A file with content is at least this long.
const HEADER_BYTES: u64 = 512;
/// How long a caller waits for its turn to write, unless told otherwise.
const WAIT_BOUND: Duration = Duration::from_secs(30);
/// Readers kept open, unless told otherwise.
const READERS: usize = 4;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Name of a registered SQLite file system; the platform's own if `None`.
    pub vfs: Option<String>,
    /// When a commit counts as durable.
    pub synchronous: Synchronous,
    /// How long writers wait for each other before they are told [`StoreError::Busy`].
    pub wait_bound: Duration,
    /// Connections kept for reading.
    pub readers: usize,
    /// Whether one caller reads and writes in turn, so that reading may keep a writer waiting.
    pub one_caller: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            vfs: None,
            synchronous: Synchronous::Full,
            wait_bound: WAIT_BOUND,
            readers: READERS,
            one_caller: false,
        }
    }
}

/// When a commit counts as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Once it is on the disk.
    Full,
    /// Once the operating system has it. Loses writes with the power: only for proving that tests
    /// notice.
    Normal,
}

impl Synchronous {
    fn pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// A store in one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    pool: Pool,
    watch: Mutex<Option<Watch>>,
}

/// The connection that notices other connections' commits.
struct Watch {
    link: Link,
    data_version: i64,
    position: u64,
}

impl SqliteStore {
    /// Opens the store in a directory, creating both if they are not there.
    pub fn open(directory: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        place::prepare(directory)?;
        let path = directory.join(DATABASE_FILE);
        let pool = Pool::new(path.clone(), options.clone());
        let writer = Writer::new(path.clone(), Queue::new(directory), options);
        let store = Self { path, writer, pool, watch: Mutex::new(None) };
        store.prepare()?;
        Ok(store)
    }

    /// Checks the layout, and creates or migrates it where it is not today's.
    fn prepare(&self) -> Result<(), StoreError> {
        self.refuse_emptied()?;
        match self.pool.open() {
            // Not there yet: creating it below says what is wrong if that cannot be done either.
            Err(StoreError::Directory { .. }) => {}
            Err(error) => return Err(error),
            Ok(link) => {
                if self.version(&link)? == Some(SCHEMA_VERSION) {
                    self.pool.adopt(link);
                    return Ok(());
                }
            }
        }
        let mut turn = self.writer.turn()?;
        if self.writer.is_on_disk() {
            place::create_database(&self.path)?;
        }
        let link = turn.link()?;
        let from = self.version(link)?.unwrap_or(0);
        if from == SCHEMA_VERSION {
            return Ok(());
        }
        let migrated = layout::migrate(&mut link.connection, from);
        migrated.map_err(|error| link.failed("migrated the layout", &error))
    }

    /// The file's layout version; `None` for a file without content.
    fn version(&self, link: &Link) -> Result<Option<u32>, StoreError> {
        let layout = layout::detect(&link.connection);
        match layout.map_err(|error| link.failed("read the layout", &error))? {
            Layout::Empty => Ok(None),
            Layout::Version(found) if found <= SCHEMA_VERSION => Ok(Some(found)),
            Layout::Version(found) => Err(StoreError::TooNew { found, known: SCHEMA_VERSION }),
            Layout::Foreign => Err(StoreError::Damaged {
                place: self.path.display().to_string(),
                finding: "the database is not a store of muster".to_owned(),
            }),
        }
    }

    /// Refuses a database file that has lost its content: the engine would take it for a new one,
    /// and delete what is left of its log.
    fn refuse_emptied(&self) -> Result<(), StoreError> {
        let bytes = self.bytes("");
        let rest = self.bytes("-wal").unwrap_or(0);
        let emptied = bytes.is_some_and(|bytes| bytes < HEADER_BYTES) && self.writer.was_used();
        let orphaned = bytes.is_none_or(|bytes| bytes < HEADER_BYTES) && rest > 0;
        if !emptied && !orphaned {
            return Ok(());
        }
        Err(StoreError::Damaged {
            place: self.path.display().to_string(),
            finding: format!("the file has lost its content; its log has {rest} bytes"),
        })
    }

    /// Size of the database file or of one that goes with it; `None` if it is not there.
    fn bytes(&self, suffix: &str) -> Option<u64> {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        fs::metadata(name).map(|file| file.len()).ok()
    }

    fn watch(&self) -> Result<Watch, StoreError> {
        Ok(Watch { link: self.pool.open()?, data_version: -1, position: 0 })
    }
}

impl Watch {
    fn position(&mut self) -> Result<u64, StoreError> {
        let connection = &self.link.connection;
        let read =
            || connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0));
        let now: i64 =
            read().map_err(|error| self.link.failed("looked for other commits", &error))?;
        if now != self.data_version {
            self.position = view::newest(&self.link)?;
            self.data_version = now;
        }
        Ok(self.position)
    }
}

impl Store for SqliteStore {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        Ok(Box::new(SqliteTransaction::begin(self.writer.turn()?)?))
    }

    fn is_free(&self) -> bool {
        matches!(self.writer.idle_turn(), Ok(Some(_)))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(self.pool.view()?))
    }

    fn glance(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        let Some(lent) = self.writer.lend() else { return self.snapshot() };
        lent.run("began to read", "BEGIN")?;
        Ok(Box::new(View::new(lent)?))
    }

    fn position(&self) -> Result<u64, StoreError> {
        let mut slot = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut watch = match slot.take() {
            Some(watch) => watch,
            None => self.watch()?,
        };
        // After an error the connection is not put back: the next caller opens another.
        let position = watch.position()?;
        *slot = Some(watch);
        Ok(position)
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.writer.idle_turn()?.map_or(Ok(()), |mut turn| turn.rest())
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        let refuse = |error: &io::Error| StoreError::Directory {
            path: target.to_owned(),
            cause: error.to_string(),
        };
        let reserved = place::private_file().write(true).create_new(true).open(target);
        drop(reserved.map_err(|error| refuse(&error))?);
        let copied = self.copy(target).and_then(|()| synced(target).map_err(|e| refuse(&e)));
        copied.inspect_err(|_| drop(fs::remove_file(target)))
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        // A connection of its own, so that nothing is answered from what a reader has cached.
        match self.pool.open() {
            Ok(link) => Ok(check::damage(&link.connection)),
            Err(StoreError::Damaged { place, finding }) => Ok(vec![Damage { place, finding }]),
            Err(error) => Err(error),
        }
    }

    fn describe(&self) -> Description {
        Description {
            engine: format!("SQLite {}", rusqlite::version()),
            location: Some(self.path.display().to_string()),
            bytes: self.bytes("").map(|main| main + self.bytes("-wal").unwrap_or(0)),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl SqliteStore {
    /// Copies this moment's pages, in one step so that writers cannot make it start over.
    fn copy(&self, target: &Path) -> Result<(), StoreError> {
        let link = self.pool.open()?;
        let run = || {
            let mut copy = Connection::open(target)?;
            Backup::new(&link.connection, &mut copy)?.step(-1)?;
            copy.close().map_err(|(_, error)| error)
        };
        run().map_err(|error| link.failed("copied the store", &error))
    }
}

/// Makes a new file and its name durable.
fn synced(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}
