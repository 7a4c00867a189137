//! The store on SQLite: one file in write-ahead mode, shared by any number of processes.
//!
//! ```text
//!   begin ── turn in this process ── queue between processes ── BEGIN IMMEDIATE ── COMMIT (synced)
//!   snapshot ── pooled reader ── BEGIN
//!   glance ── the writer's connection while it has nothing to write, else a pooled reader
//! ```
//!
//! The engine drops what a connection has cached whenever another one commits. Where one caller
//! reads and writes in turn, reading with the connection that wrote finds everything cached.
//!
//! Connections are opened when first needed, so that opening a store costs about as much as opening
//! a file.

mod backup;
mod check;
mod event_bounds;
mod event_search;
mod in_place;
mod keep;
mod layout;
mod link;
mod listing;
mod opening;
mod pieces;
mod place;
mod pool;
mod queue;
mod row;
mod search;
#[cfg(test)]
mod tests;
mod transaction;
mod view;
mod wal;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use self::{
    link::Link, pool::Pool, queue::WriterQueue, transaction::SqliteTransaction, view::View,
    writer::SqliteWriter,
};
use crate::{Damage, Description, Store, StoreError, StoreSnapshot, Transaction};

pub use layout::SCHEMA_VERSION;
pub(crate) use place::prepare_folder;

/// Name of the database file in the storage directory.
const DATABASE_FILE: &str = "muster.db";
/// How long a caller waits for its turn to write, by default.
const WAIT_BOUND: Duration = Duration::from_secs(30);
/// Readers kept open, by default.
const READERS: usize = 4;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// What it is opened for.
    pub access: StoreAccess,
    /// Name of a registered SQLite file system; the platform's own if `None`.
    pub vfs: Option<String>,
    /// When a commit counts as durable.
    pub synchronous: Synchronous,
    /// How long writers wait for each other before they get [`StoreError::Busy`].
    pub wait_bound: Duration,
    /// Connections kept for reading.
    pub readers: usize,
    /// Whether one caller reads and writes in turn, so that reading may delay a writer.
    pub one_caller: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            access: StoreAccess::Work,
            vfs: None,
            synchronous: Synchronous::Full,
            wait_bound: WAIT_BOUND,
            readers: READERS,
            one_caller: false,
        }
    }
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreAccess {
    /// Work: it is created if it is missing, and an older layout is migrated.
    #[default]
    Work,
    /// The same, even if the file of a used store is missing: the store starts empty.
    Afresh,
    /// Look: nothing is created, migrated, checkpointed or written.
    Look,
}

/// When a commit counts as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Once it is on the disk.
    Full,
    /// Once the operating system has it. A power cut loses writes: only for proving that tests
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
    writer: SqliteWriter,
    pool: Pool,
    watch: Mutex<Option<Watch>>,
    layout: u32,
}

/// The connection that notices other connections' commits.
struct Watch {
    link: Link,
    data_version: i64,
    position: u64,
}

impl SqliteStore {
    pub fn open(directory: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let access = options.access;
        if access != StoreAccess::Look {
            place::prepare(directory)?;
        }
        let path = directory.join(DATABASE_FILE);
        let pool = Pool::new(path.clone(), options.clone());
        let writer = SqliteWriter::new(path.clone(), WriterQueue::new(directory), options);
        let store = Self { path, writer, pool, watch: Mutex::new(None), layout: SCHEMA_VERSION };
        let layout = store.prepare(access)?;
        store.writer.remember_file();
        Ok(Self { layout, ..store })
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

    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        Ok(Box::new(self.pool.view()?))
    }

    fn glance(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
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
        // After an error the connection is not returned: the next caller opens another.
        let position = watch.position()?;
        *slot = Some(watch);
        Ok(position)
    }

    fn confirm_in_place(&self) -> Result<(), StoreError> {
        self.writer.confirm_file()
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.writer.idle_turn()?.map_or(Ok(()), |mut turn| turn.rest())
    }

    fn spare_bytes(&self) -> Result<u64, StoreError> {
        let link = self.pool.open()?;
        let number = |sql: &str| link.connection.query_row(sql, [], |row| row.get::<_, u64>(0));
        let spare = || Ok(number("PRAGMA freelist_count")? * number("PRAGMA page_size")?);
        spare().map_err(|error| link.failed("counted spare pages", &error))
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.writer.turn()?.compact()
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        if let Some(Damage { place, finding }) = self.log_damage() {
            let finding = format!("{finding}; copy the whole storage folder instead");
            return Err(StoreError::Damaged { place, finding });
        }
        backup::write_checked(&self.pool.open()?, target, self.layout)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        // A separate connection, so that nothing comes from a reader's cache.
        match self.pool.open() {
            Ok(link) => {
                let mut found = Vec::from_iter(self.log_damage());
                found.extend(check::damage(&link.connection, self.layout));
                Ok(found)
            }
            Err(StoreError::Damaged { place, finding }) => Ok(vec![Damage { place, finding }]),
            Err(error) => Err(error),
        }
    }

    fn describe(&self) -> Description {
        Description {
            engine: format!("SQLite {}", rusqlite::version()),
            location: Some(self.path.display().to_string()),
            bytes: self.bytes("").map(|main| main + self.bytes("-wal").unwrap_or(0)),
            schema_version: self.layout,
            is_older: self.layout < SCHEMA_VERSION,
            kept: keep::kept(&self.path),
        }
    }
}

impl SqliteStore {
    /// Damage of the log's file. Only a finding that is seen twice counts: a writer in the middle
    /// of its work looks like damage for a moment.
    fn log_damage(&self) -> Option<Damage> {
        let log = wal::path(&self.path);
        let look = || match wal::tear(&self.path) {
            Ok(tear) => tear.map(|tear| tear.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let finding = look().filter(|finding| look().as_ref() == Some(finding))?;
        Some(Damage { place: log.display().to_string(), finding })
    }
}
