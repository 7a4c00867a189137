//! The writing side: one connection per process, one turn at a time, and the maintenance of the
//! log.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    ops::Deref,
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    in_place::{FileIdentity, OpenedFile},
    layout,
    link::{Link, Role, milliseconds},
    queue::{WriteTicket, WriterQueue},
    wal,
};
use crate::{SqliteOptions, StoreAccess, StoreError};

/// A write-ahead log of this many bytes is checkpointed after a commit.
const CHECKPOINT_BYTES: u64 = 32 * 1024 * 1024;
/// How much further the log must grow before the next attempt, when readers prevented a reset.
const CHECKPOINT_AGAIN_BYTES: u64 = 8 * 1024 * 1024;
/// Beyond this many bytes the writer waits for readers, so that the log can start over.
const RESTART_BYTES: u64 = 128 * 1024 * 1024;
/// How long the writer waits for them.
const RESTART_WAIT_MAX: Duration = Duration::from_millis(100);

/// A log that has grown beyond this, because readers prevented a reset, is truncated at rest.
const LOG_KEPT_BYTES_MAX: u64 = 40 * 1024 * 1024;
/// Space that the log is given at rest: about a hundred writes.
const LOG_ROOM_BYTES: u64 = 4 * 1024 * 1024;

/// The writing side of one store.
pub(super) struct SqliteWriter {
    path: PathBuf,
    file: OpenedFile,
    options: SqliteOptions,
    queue: WriterQueue,
    slot: Mutex<Slot>,
    freed: Condvar,
    /// Whether the store is known to be marked as used.
    marked: AtomicBool,
    checkpoint_failures: AtomicU64,
}

/// Whether this process is writing, and the connection it writes with.
#[derive(Default)]
struct Slot {
    taken: bool,
    /// Callers that wait for it: only then a system call has to wake one.
    waiting: usize,
    link: Option<Link>,
    /// The log that the connection writes.
    log: Option<FileIdentity>,
    next_checkpoint: u64,
    /// Whether the log may contain remains of a failed transaction.
    suspect: bool,
}

/// This process's turn: no one else writes until it is dropped.
pub(super) struct WriteTurn<'a> {
    writer: &'a SqliteWriter,
    link: Option<Link>,
    place: Option<WriteTicket<'a>>,
}

impl SqliteWriter {
    pub(super) fn new(path: PathBuf, queue: WriterQueue, options: SqliteOptions) -> Self {
        Self {
            file: OpenedFile::new(path.clone()),
            path,
            options,
            queue,
            slot: Mutex::default(),
            freed: Condvar::new(),
            marked: AtomicBool::new(false),
            checkpoint_failures: AtomicU64::new(0),
        }
    }

    /// Waits until neither this process nor another one writes.
    pub(super) fn turn(&self) -> Result<WriteTurn<'_>, StoreError> {
        self.refuse_looking()?;
        let started = Instant::now();
        let bound = self.options.wait_bound;
        let mut slot = self.slot();
        slot.waiting += 1;
        let (mut slot, _) = self
            .freed
            .wait_timeout_while(slot, bound, |slot| slot.taken)
            .unwrap_or_else(PoisonError::into_inner);
        slot.waiting -= 1;
        if slot.taken {
            return Err(StoreError::Busy { waited_ms: milliseconds(started.elapsed()) });
        }
        slot.taken = true;
        let mut turn = WriteTurn { writer: self, link: slot.link.take(), place: None };
        drop(slot);
        turn.place = Some(self.queue.wait(bound.saturating_sub(started.elapsed()))?);
        Ok(turn)
    }

    /// The turn, if it is available without waiting.
    pub(super) fn idle_turn(&self) -> Result<Option<WriteTurn<'_>>, StoreError> {
        self.refuse_looking()?;
        let mut slot = self.slot();
        if slot.taken {
            return Ok(None);
        }
        slot.taken = true;
        let mut turn = WriteTurn { writer: self, link: slot.link.take(), place: None };
        drop(slot);
        turn.place = self.queue.try_enter()?;
        Ok(turn.place.is_some().then_some(turn))
    }

    /// The connection for a short read, if it is open and idle. No one else in this process writes
    /// until it is dropped; other processes may.
    pub(super) fn lend(&self) -> Option<WriteTurn<'_>> {
        let mut slot = self.slot();
        if !self.options.one_caller || slot.taken || slot.suspect {
            return None;
        }
        let link = slot.link.take()?;
        slot.taken = true;
        Some(WriteTurn { writer: self, link: Some(link), place: None })
    }

    fn refuse_looking(&self) -> Result<(), StoreError> {
        match self.options.access {
            StoreAccess::Work | StoreAccess::Afresh => Ok(()),
            StoreAccess::Look => {
                let cause = "it was opened to be looked at only".to_owned();
                Err(StoreError::Directory { path: self.path.clone(), cause })
            }
        }
    }

    /// Whether the files are the platform's own, which can be read without SQLite.
    pub(super) fn is_on_disk(&self) -> bool {
        self.options.vfs.is_none()
    }

    /// Records the current file as the store's.
    pub(super) fn remember_file(&self) {
        if self.is_on_disk() {
            self.file.remember();
        }
    }

    /// Fails when that file was removed or replaced.
    pub(super) fn confirm_file(&self) -> Result<(), StoreError> {
        self.file.confirm()
    }

    /// Whether anything was ever written to the store.
    pub(super) fn was_used(&self) -> bool {
        self.queue.was_used()
    }

    /// A link is moved in and out whole, so a panic elsewhere cannot leave the slot half changed.
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriteTurn<'_> {
    /// The connection, opened if need be.
    pub(super) fn link(&mut self) -> Result<&mut Link, StoreError> {
        if self.link.is_none() {
            let writer = self.writer;
            // SQLite would create an empty store in place of a missing one.
            writer.confirm_file()?;
            let link = Link::open(&writer.path, Role::Writer, &writer.options)?;
            layout::ensure_wal(&link)?;
            self.link = Some(link);
            writer.slot().log = None;
            self.clear_suspicion()?;
        }
        Ok(self.link.as_mut().unwrap_or_else(|| unreachable!("opened above")))
    }

    /// Refuses to write to files that are no longer reachable by name. Must be called in a
    /// transaction, so that the log exists.
    pub(super) fn confirm_files(&self) -> Result<(), StoreError> {
        if !self.writer.is_on_disk() {
            return Ok(());
        }
        self.writer.confirm_file()?;
        self.writer.file.confirm_log(&mut self.writer.slot().log)
    }

    /// Closes the connection after an error; the next turn opens another.
    pub(super) fn discard(&mut self) {
        self.link = None;
        self.writer.slot().suspect = true;
    }

    /// Restarts the log after a failure. What a failed sync left in it may look whole in memory and
    /// never reach the disk; a recovery that took it for committed would put later commits on top
    /// of a hole.
    fn clear_suspicion(&mut self) -> Result<(), StoreError> {
        if self.writer.slot().suspect {
            self.checkpoint("TRUNCATE", Duration::ZERO).inspect_err(|_| self.link = None)?;
            self.writer.slot().suspect = false;
        }
        Ok(())
    }

    /// Marks the store as used, if this process has not done so.
    pub(super) fn mark_used(&self) -> Result<(), StoreError> {
        if !self.writer.marked.load(Ordering::Relaxed) {
            self.place.as_ref().map_or(Ok(()), WriteTicket::mark_used)?;
            self.writer.marked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Runs a statement without parameters.
    pub(super) fn run(&self, action: &'static str, sql: &str) -> Result<(), StoreError> {
        let ran = self.connection.prepare_cached(sql).and_then(|mut s| s.execute([]));
        ran.map(drop).map_err(|error| self.failed(action, &error))
    }

    /// Checkpoints the log once it has grown; a failure does not affect committed data.
    pub(super) fn checkpoint_if_grown(&mut self) {
        let bytes = self.wal_bytes();
        let mut slot = self.writer.slot();
        if bytes < CHECKPOINT_BYTES {
            slot.next_checkpoint = CHECKPOINT_BYTES;
            return;
        }
        if bytes < slot.next_checkpoint {
            return;
        }
        slot.next_checkpoint = bytes + CHECKPOINT_AGAIN_BYTES;
        drop(slot);
        let folded = if bytes < RESTART_BYTES {
            self.checkpoint("PASSIVE", Duration::ZERO)
        } else {
            self.checkpoint("RESTART", RESTART_WAIT_MAX)
        };
        if let Err(error) = folded {
            self.discard();
            let failures = self.writer.checkpoint_failures.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(%error, failures, bytes, "could not checkpoint the write-ahead log");
        }
    }

    /// Checkpoints the log and prepares the file for the next writes.
    pub(super) fn rest(&mut self) -> Result<(), StoreError> {
        self.link()?;
        let log = wal::path(&self.writer.path);
        let bytes = fs::metadata(&log).map_or(0, |file| file.len());
        let mode = if bytes > LOG_KEPT_BYTES_MAX { "TRUNCATE" } else { "RESTART" };
        self.checkpoint(mode, Duration::ZERO).inspect_err(|_| self.discard())?;
        if self.writer.is_on_disk() {
            // Only a matter of speed: without space the log grows as it is written.
            if let Err(error) = make_room(&log) {
                tracing::debug!(%error, "could not extend the write-ahead log");
            }
        }
        Ok(())
    }

    /// Rewrites the file without its free pages.
    pub(super) fn compact(&mut self) -> Result<(), StoreError> {
        self.link()?;
        self.writer.confirm_file()?;
        let compacted = self.connection.execute_batch("VACUUM");
        let compacted = compacted.map_err(|error| self.failed("compacted the store", &error));
        compacted.inspect_err(|_| self.discard())?;
        // All of it stays in the log until no one reads the older state.
        match self.restart_log() {
            Err(StoreError::Busy { .. }) => Ok(()),
            folded => folded,
        }
    }

    /// Checkpoints what is readable of the log and empties its file, so that its remains are never
    /// read again.
    pub(super) fn restart_log(&self) -> Result<(), StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        match self.connection.query_row(sql, [], |row| row.get(0)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(StoreError::Busy { waited_ms: milliseconds(self.wait_bound()) }),
            Err(error) => Err(self.failed("restarted the log", &error)),
        }
    }

    /// Copies the log into the database file as far as readers allow.
    fn checkpoint(&self, mode: &str, wait: Duration) -> Result<(), StoreError> {
        let connection = &self.connection;
        let run = || {
            connection.busy_timeout(wait)?;
            connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))?;
            connection.busy_timeout(self.wait_bound())
        };
        run().map_err(|error| self.failed("folded the write-ahead log back", &error))
    }
}

impl Deref for WriteTurn<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("a transaction has opened its link"))
    }
}

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        let link = self.link.take();
        // An uncommitted transaction is rolled back before the next one begins.
        let undo = |link: &Link| link.connection.prepare_cached("ROLLBACK")?.execute([]);
        let link = link.filter(|link| link.connection.is_autocommit() || undo(link).is_ok());
        self.place = None;
        let mut slot = self.writer.slot();
        slot.link = link;
        slot.taken = false;
        if slot.waiting > 0 {
            self.writer.freed.notify_one();
        }
    }
}

/// Fills the log's file with zeros. Syncing writes that overwrite a file costs little more than
/// half of syncing writes that extend it, since the file system has no metadata to write. SQLite
/// treats zeros as the end of the log.
///
/// Must be called in a turn, when nothing is being written.
fn make_room(log: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(log)?;
    let missing = LOG_ROOM_BYTES.saturating_sub(file.metadata()?.len());
    if missing > 0 {
        io::copy(&mut io::repeat(0).take(missing), &mut file)?;
        file.sync_data()?;
    }
    Ok(())
}
