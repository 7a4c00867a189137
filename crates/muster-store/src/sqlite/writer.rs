//! Writing: one connection per process, one transaction at a time.
//!
//! After any error of the engine the connection is closed and the next transaction opens a new one:
//! what a failed write or sync left in memory is not trusted, and a COMMIT is never tried twice.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use muster_core::Address;
use rusqlite::{Params, params};

use super::{
    layout,
    link::{Link, Role, milliseconds},
    queue::{Place, Queue},
    view::View,
};
use crate::{
    Append, DocumentChange, DocumentRow, EventRow, Snapshot as _, SqliteOptions, StoreError,
    Transaction, position,
};

/// A write-ahead log of this many pages (32 MiB) is folded back after a commit.
const CHECKPOINT_PAGES: u32 = 8_000;
/// How much further the log must grow before folding is tried again, when readers kept it from a
/// reset.
const CHECKPOINT_AGAIN_PAGES: u32 = 2_000;
/// Beyond this many pages (128 MiB) the writer waits for readers, so that the log can start over.
const RESTART_PAGES: u32 = 32_000;
/// How long it waits for them.
const RESTART_WAIT_MAX: Duration = Duration::from_millis(100);

/// The writing side of one store.
pub(super) struct Writer {
    path: PathBuf,
    options: SqliteOptions,
    queue: Queue,
    slot: Mutex<Slot>,
    freed: Condvar,
    /// Whether the store is known to carry the mark of use.
    marked: AtomicBool,
    checkpoint_failures: AtomicU64,
}

/// Whether this process is writing, and the connection it writes with.
#[derive(Default)]
struct Slot {
    taken: bool,
    link: Option<Link>,
    next_checkpoint: u32,
    /// Whether the log may hold remains of a transaction that failed.
    suspect: bool,
}

/// This process's turn: nobody else writes until it is dropped.
pub(super) struct Turn<'a> {
    writer: &'a Writer,
    link: Option<Link>,
    place: Option<Place<'a>>,
}

impl Writer {
    pub(super) fn new(path: PathBuf, queue: Queue, options: SqliteOptions) -> Self {
        Self {
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
    pub(super) fn turn(&self) -> Result<Turn<'_>, StoreError> {
        let started = Instant::now();
        let bound = self.options.wait_bound;
        let (mut slot, _) = self
            .freed
            .wait_timeout_while(self.slot(), bound, |slot| slot.taken)
            .unwrap_or_else(PoisonError::into_inner);
        if slot.taken {
            return Err(StoreError::Busy { waited_ms: milliseconds(started.elapsed()) });
        }
        slot.taken = true;
        let mut turn = Turn { writer: self, link: slot.link.take(), place: None };
        drop(slot);
        turn.place = Some(self.queue.wait(bound.saturating_sub(started.elapsed()))?);
        Ok(turn)
    }

    /// The turn, if it can be had without waiting.
    pub(super) fn idle_turn(&self) -> Result<Option<Turn<'_>>, StoreError> {
        let mut slot = self.slot();
        if slot.taken {
            return Ok(None);
        }
        slot.taken = true;
        let mut turn = Turn { writer: self, link: slot.link.take(), place: None };
        drop(slot);
        turn.place = self.queue.try_enter()?;
        Ok(turn.place.is_some().then_some(turn))
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

impl Turn<'_> {
    /// The connection, opened if need be.
    pub(super) fn link(&mut self) -> Result<&mut Link, StoreError> {
        if self.link.is_none() {
            let writer = self.writer;
            let link = Link::open(&writer.path, Role::Writer, &writer.options)?;
            layout::ensure_wal(&link)?;
            self.link = Some(link);
            self.clear_suspicion()?;
        }
        Ok(self.link.as_mut().unwrap_or_else(|| unreachable!("opened above")))
    }

    /// Closes the connection after an error; the next turn opens another.
    pub(super) fn discard(&mut self) {
        self.link = None;
        self.writer.slot().suspect = true;
    }

    /// Starts the log anew after a failure. What a failed sync left in it may look whole in memory
    /// and never reach the disk; a recovery that took it for committed would put later commits on
    /// top of a hole.
    fn clear_suspicion(&mut self) -> Result<(), StoreError> {
        if self.writer.slot().suspect {
            self.checkpoint("TRUNCATE", Duration::ZERO).inspect_err(|_| self.link = None)?;
            self.writer.slot().suspect = false;
        }
        Ok(())
    }

    fn mark_used(&self) -> Result<(), StoreError> {
        if !self.writer.marked.load(Ordering::Relaxed) {
            self.place.as_ref().map_or(Ok(()), Place::mark_used)?;
            self.writer.marked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn run(&self, action: &'static str, sql: &str) -> Result<(), StoreError> {
        let ran = self.connection.prepare_cached(sql).and_then(|mut s| s.execute([]));
        ran.map(drop).map_err(|error| self.failed(action, &error))
    }

    /// Folds the log back once it has grown; a failure does not touch what was committed.
    fn checkpoint_if_grown(&mut self) {
        let pages = self.wal_pages();
        let mut slot = self.writer.slot();
        if pages < CHECKPOINT_PAGES {
            slot.next_checkpoint = CHECKPOINT_PAGES;
            return;
        }
        if pages < slot.next_checkpoint {
            return;
        }
        slot.next_checkpoint = pages + CHECKPOINT_AGAIN_PAGES;
        drop(slot);
        let folded = if pages < RESTART_PAGES {
            self.checkpoint("PASSIVE", Duration::ZERO)
        } else {
            self.checkpoint("RESTART", RESTART_WAIT_MAX)
        };
        if let Err(error) = folded {
            self.discard();
            let failures = self.writer.checkpoint_failures.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(%error, failures, pages, "the write-ahead log could not be folded back");
        }
    }

    /// Copies the log into the database file as far as readers allow.
    pub(super) fn checkpoint(&self, mode: &str, wait: Duration) -> Result<(), StoreError> {
        let connection = &self.connection;
        let run = || {
            connection.busy_timeout(wait)?;
            connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))?;
            connection.busy_timeout(self.wait_bound())
        };
        run().map_err(|error| self.failed("folded the write-ahead log back", &error))
    }
}

impl Deref for Turn<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("a transaction has opened its link"))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let link = self.link.take();
        // A transaction that was not committed is undone before anybody else's begins.
        let link = link.filter(|link| {
            link.connection.is_autocommit() || link.connection.execute_batch("ROLLBACK").is_ok()
        });
        self.place = None;
        let mut slot = self.writer.slot();
        slot.link = link;
        slot.taken = false;
        self.writer.freed.notify_one();
    }
}

/// A write transaction.
pub(super) struct SqliteTransaction<'a> {
    view: View<Turn<'a>>,
    /// The error after which the transaction no longer counts.
    broken: Option<StoreError>,
}

crate::delegate::reads!(SqliteTransaction<'_>, view);

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(mut turn: Turn<'a>) -> Result<Self, StoreError> {
        turn.link()?;
        turn.mark_used()?;
        if let Err(error) = turn.run("began to write", "BEGIN IMMEDIATE") {
            turn.discard();
            return Err(error);
        }
        Ok(Self { view: View::new(turn)?, broken: None })
    }

    fn write(&mut self, append: &Append<'_>, seq: u64) -> Result<(), StoreError> {
        let stream = match self.view.stream(append.stream)? {
            Some(stream) => {
                if !append.events.is_empty() {
                    self.run("moved a head", UPDATE_STREAM, params![stream, seq])?;
                }
                stream
            }
            None => {
                self.run("added a stream", INSERT_STREAM, params![append.stream, seq])?;
                self.view.link().connection.last_insert_rowid()
            }
        };
        for event in append.events {
            self.insert_event(stream, event)?;
        }
        for change in append.documents {
            match change {
                DocumentChange::Put(row) => self.put(stream, row)?,
                DocumentChange::Remove(address) => self.remove(stream, address)?,
            }
        }
        Ok(())
    }

    fn insert_event(&self, stream: i64, event: &EventRow) -> Result<(), StoreError> {
        let entity = event.subject.as_ref().map(|subject| &subject.entity);
        let scope = event.subject.as_ref().map(|subject| &subject.scope);
        let parameters = params![
            event.global,
            stream,
            event.seq,
            event.at.0,
            event.kind,
            entity,
            scope,
            event.body
        ];
        self.run("appended an event", INSERT_EVENT, parameters).map(drop)
    }

    fn put(&self, stream: i64, row: &DocumentRow) -> Result<(), StoreError> {
        let index = &row.index;
        let parameters = params![
            stream,
            row.address.kind,
            row.address.name,
            row.version,
            index.ord,
            index.parent,
            index.status,
            index.rank,
            index.marks,
            row.body
        ];
        // Most changes leave the listed columns alone; then no index has to be touched.
        if self.run("changed a document", UPDATE_BODY, parameters)? == 0 {
            self.run("wrote a document", PUT_DOCUMENT, parameters)?;
        }
        Ok(())
    }

    fn remove(&self, stream: i64, address: &Address) -> Result<(), StoreError> {
        let parameters = params![stream, address.kind, address.name];
        self.run("removed a document", REMOVE_DOCUMENT, parameters).map(drop)
    }

    fn run(
        &self,
        action: &'static str,
        sql: &str,
        parameters: impl Params,
    ) -> Result<usize, StoreError> {
        let link = self.view.link();
        let ran = link.connection.prepare_cached(sql).and_then(|mut s| s.execute(parameters));
        ran.map_err(|error| link.failed(action, &error))
    }
}

const UPDATE_STREAM: &str = "UPDATE stream SET seq = ?2 WHERE id = ?1";
const INSERT_STREAM: &str = "INSERT INTO stream (name, seq) VALUES (?1, ?2)";
const INSERT_EVENT: &str = "\
    INSERT INTO event (global, stream, seq, at, kind, entity, scope, body) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const UPDATE_BODY: &str = "\
    UPDATE document INDEXED BY document_by_name SET version = ?4, body = ?10 \
    WHERE stream = ?1 AND kind = ?2 AND name = ?3 \
    AND ord = ?5 AND parent = ?6 AND status = ?7 AND rank IS ?8 AND marks = ?9";
const PUT_DOCUMENT: &str = "\
    INSERT INTO document (stream, kind, name, version, ord, parent, status, rank, marks, body) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
    ON CONFLICT (stream, kind, name) DO UPDATE SET version = excluded.version, \
    ord = excluded.ord, parent = excluded.parent, status = excluded.status, \
    rank = excluded.rank, marks = excluded.marks, body = excluded.body";
const REMOVE_DOCUMENT: &str = "DELETE FROM document WHERE stream = ?1 AND kind = ?2 AND name = ?3";

impl Transaction for SqliteTransaction<'_> {
    fn append(&mut self, append: &Append<'_>) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let head = self.view.head(append.stream)?;
        let head = position::advance(head, append.stream, append.events)?;
        self.write(append, head.seq).inspect_err(|error| self.broken = Some(error.clone()))?;
        self.view.advance(head.global);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let committed = self.view.source().run("committed", "COMMIT");
        match &committed {
            Ok(()) => self.view.source().checkpoint_if_grown(),
            Err(error) => self.broken = Some(error.clone()),
        }
        committed
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if self.broken.is_some() {
            let turn = self.view.source();
            turn.discard();
            // At once, so that no other process ever has to judge what is left in the log.
            if let Err(error) = turn.link() {
                tracing::warn!(%error, "the write-ahead log could not be started anew");
            }
        }
    }
}
