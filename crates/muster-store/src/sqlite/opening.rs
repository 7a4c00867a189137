//! Opening a store: its files are checked first, and only then used.
//!
//! ```text
//!   look    check
//!   work    check ── keep a torn log ── keep an older layout ── create or migrate
//! ```

use std::{fs, io};

use super::{
    SqliteStore, StoreAccess, keep,
    layout::{self, FileLayout, SCHEMA_VERSION},
    link::Link,
    place, wal,
};
use crate::StoreError;

/// A file with content is at least this long.
const HEADER_BYTES: u64 = 512;

impl SqliteStore {
    /// Prepares the files; returns the layout they then have.
    pub(super) fn prepare(&self, access: StoreAccess) -> Result<u32, StoreError> {
        // SQLite alone may read files that are not the platform's own.
        if self.writer.is_on_disk() {
            self.refuse_emptied(access)?;
        }
        match access {
            StoreAccess::Work | StoreAccess::Afresh => self.make_ready().map(|()| SCHEMA_VERSION),
            StoreAccess::Look => self.look(),
        }
    }

    /// The layout of an existing store.
    fn look(&self) -> Result<u32, StoreError> {
        if self.bytes("").is_none() {
            let path = self.path.parent().unwrap_or(&self.path).to_owned();
            return Err(StoreError::Absent { path });
        }
        let link = self.pool.open()?;
        let version = self.version(&link)?;
        self.pool.adopt(link);
        version.ok_or_else(|| self.damaged("the file holds no store".to_owned()))
    }

    /// Checks the layout, and creates or migrates it if necessary.
    fn make_ready(&self) -> Result<(), StoreError> {
        match self.pool.guest() {
            // Missing: creating it below reports the error if that fails, too.
            Err(StoreError::Directory { .. }) => {}
            Err(error) => return Err(error),
            Ok(link) => {
                let version = self.version(&link)?;
                self.keep_torn_log(&link)?;
                if version == Some(SCHEMA_VERSION) {
                    link.settle()?;
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
        if from > 0 {
            keep::older(link, &self.path, from)?;
        }
        let migrated = layout::migrate(&mut link.connection, from);
        migrated.map_err(|error| link.failed("migrated the layout", &error))
    }

    /// Copies the files before SQLite overwrites commits that it cannot read any more: it treats
    /// the log as ended where it was damaged.
    fn keep_torn_log(&self, link: &Link) -> Result<(), StoreError> {
        let log = wal::path(&self.path);
        let refuse = |error: io::Error| StoreError::of_file(&log, &error);
        if !self.writer.is_on_disk()
            || !wal::is_suspicious(&self.path, link.known_frames()?).map_err(refuse)?
        {
            return Ok(());
        }
        let mut turn = self.writer.turn()?;
        let Some(tear) = wal::tear(&self.path).map_err(refuse)? else { return Ok(()) };
        let kept = keep::torn(&self.path)?;
        tracing::error!(
            frame = tear.frame,
            commits = tear.commits,
            kept = %kept.display(),
            "write-ahead log was torn; later commits are lost, copies of the files are kept"
        );
        turn.link()?;
        turn.restart_log()
    }

    /// The file's layout version; `None` for a file without content.
    fn version(&self, link: &Link) -> Result<Option<u32>, StoreError> {
        let layout = layout::detect(&link.connection);
        match layout.map_err(|error| link.failed("read the layout", &error))? {
            FileLayout::Empty => Ok(None),
            FileLayout::Version(found) if found <= SCHEMA_VERSION => Ok(Some(found)),
            FileLayout::Version(found) => Err(StoreError::TooNew { found, known: SCHEMA_VERSION }),
            FileLayout::Foreign => {
                Err(self.damaged("the database is not a store of muster".to_owned()))
            }
        }
    }

    /// Rejects a database file that has lost its content: SQLite would treat it as a new one, and
    /// delete what is left of its log.
    fn refuse_emptied(&self, access: StoreAccess) -> Result<(), StoreError> {
        let bytes = self.bytes("");
        let rest = self.bytes("-wal").unwrap_or(0);
        let gone = bytes.is_none() && rest == 0 && access != StoreAccess::Afresh;
        let orphaned = bytes.is_none_or(|bytes| bytes < HEADER_BYTES) && rest > 0;
        let emptied = bytes.is_some_and(|bytes| bytes < HEADER_BYTES);
        if gone && self.writer.was_used() {
            let finding = "the file is gone, but muster.lock says that the store was in use; put a \
                           backup in its place, or remove muster.lock to begin with an empty store";
            return Err(self.damaged(finding.to_owned()));
        }
        if orphaned || emptied && self.writer.was_used() {
            let finding = format!("the file has lost its content; its log has {rest} bytes");
            return Err(self.damaged(finding));
        }
        Ok(())
    }

    fn damaged(&self, finding: String) -> StoreError {
        StoreError::Damaged { place: self.path.display().to_string(), finding }
    }

    /// Size of the database file or of a companion file; `None` if it does not exist.
    pub(super) fn bytes(&self, suffix: &str) -> Option<u64> {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        fs::metadata(name).map(|file| file.len()).ok()
    }
}
