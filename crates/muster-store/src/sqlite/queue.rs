//! The queue of writers across processes.
//!
//! SQLite's own busy handler polls, so under load luck decides and some writers starve. Here a
//! writer blocks in the kernel instead. With one lock file, the process that just wrote could take
//! the lock again before the waiting one has woken up, so there are two:
//!
//! ```text
//! door   held while being next in line      a returning writer finds the door taken
//! desk   held while writing                 only the holder of the door can take the desk
//! ```

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, SendError, Sender, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{link::milliseconds, place::private_file};
use crate::StoreError;

/// Content of a used store's lock file.
const USED: &[u8] = b"muster.db is in use\n";

/// The queue of one storage directory.
pub(super) struct WriterQueue {
    door: PathBuf,
    desk: PathBuf,
    idle: Mutex<Option<Locks>>,
    /// The thread that waits in the kernel, which cannot be cancelled. It starts with the first
    /// wait and stays: in a busy store every write waits.
    waiter: Mutex<Option<Sender<QueuedWait>>>,
}

/// A wait that the thread takes over.
struct QueuedWait {
    locks: Locks,
    at_door: bool,
    /// Without a receiver, the bound is over: the locks are released as soon as they are taken.
    reply: SyncSender<io::Result<Locks>>,
}

/// The two open lock files; closing a file releases its lock.
struct Locks {
    door: File,
    desk: File,
}

/// The right to write, until it is dropped.
pub(super) struct WriteTicket<'a> {
    queue: &'a WriterQueue,
    locks: Option<Locks>,
}

impl WriterQueue {
    /// The queue for a directory; nothing is opened yet.
    pub(super) fn new(directory: &Path) -> Self {
        let door = directory.join("muster.door");
        let desk = directory.join("muster.lock");
        Self { door, desk, idle: Mutex::new(None), waiter: Mutex::new(None) }
    }

    /// Waits for the right to write, at most until the bound is over.
    pub(super) fn wait(&self, bound: Duration) -> Result<WriteTicket<'_>, StoreError> {
        let started = Instant::now();
        let locks = self.locks()?;
        let at_door = attempt(&locks.door).map_err(|error| self.failed(&error))?;
        if at_door && attempt(&locks.desk).map_err(|error| self.failed(&error))? {
            locks.door.unlock().map_err(|error| self.failed(&error))?;
            return Ok(WriteTicket { queue: self, locks: Some(locks) });
        }
        let (reply, receiver) = mpsc::sync_channel(1);
        self.take_over(QueuedWait { locks, at_door, reply })?;
        match receiver.recv_timeout(bound.saturating_sub(started.elapsed())) {
            Ok(Ok(locks)) => Ok(WriteTicket { queue: self, locks: Some(locks) }),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => Err(StoreError::Busy { waited_ms: milliseconds(started.elapsed()) }),
        }
    }

    /// Lets the thread wait; after an earlier wait whose bound is over, it waits for that first.
    fn take_over(&self, wait: QueuedWait) -> Result<(), StoreError> {
        let mut waiter = self.waiter.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wait = wait;
        if let Some(thread) = &*waiter {
            match thread.send(wait) {
                Ok(()) => return Ok(()),
                Err(SendError(returned)) => wait = returned,
            }
        }
        let (queue, waits) = mpsc::channel();
        let serve = move || waits.into_iter().for_each(QueuedWait::serve);
        let spawned = thread::Builder::new().name("muster-queue".to_owned()).spawn(serve);
        spawned.map_err(|error| self.failed(&error))?;
        if queue.send(wait).is_err() {
            return Err(self.failed(&io::Error::other("the waiting thread ended")));
        }
        *waiter = Some(queue);
        Ok(())
    }

    /// Takes the right to write if it is free.
    pub(super) fn try_enter(&self) -> Result<Option<WriteTicket<'_>>, StoreError> {
        let locks = self.locks()?;
        if attempt(&locks.desk).map_err(|error| self.failed(&error))? {
            return Ok(Some(WriteTicket { queue: self, locks: Some(locks) }));
        }
        self.keep(locks);
        Ok(None)
    }

    /// Keeps files that have no lock for the next caller.
    fn keep(&self, locks: Locks) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(locks);
    }

    /// Whether anything was ever written to the store of this directory.
    pub(super) fn was_used(&self) -> bool {
        fs::metadata(&self.desk).is_ok_and(|file| file.len() > 0)
    }

    fn locks(&self) -> Result<Locks, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        match idle {
            Some(locks) => Ok(locks),
            None => {
                let open = |path| private_file().create(true).append(true).open(path);
                let door = open(&self.door).map_err(|error| self.failed(&error))?;
                let desk = open(&self.desk).map_err(|error| self.failed(&error))?;
                Ok(Locks { door, desk })
            }
        }
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError::of_file(&self.desk, error)
    }
}

impl WriteTicket<'_> {
    /// Marks the store as used, so that a database file that lost its content differs from one
    /// that was never filled.
    pub(super) fn mark_used(&self) -> Result<(), StoreError> {
        let Some(Locks { desk, .. }) = &self.locks else { return Ok(()) };
        let marked = desk.metadata().and_then(|file| match file.len() {
            0 => (&*desk).write_all(USED),
            _ => Ok(()),
        });
        marked.map_err(|error| self.queue.failed(&error))
    }
}

impl QueuedWait {
    fn serve(self) {
        let Self { locks, at_door, reply } = self;
        drop(reply.send(locks.acquire(at_door)));
    }
}

impl Locks {
    fn acquire(self, at_door: bool) -> io::Result<Self> {
        if !at_door {
            self.door.lock()?;
        }
        self.desk.lock()?;
        self.door.unlock()?;
        Ok(self)
    }
}

/// Takes a lock if it is free.
fn attempt(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Drop for WriteTicket<'_> {
    fn drop(&mut self) {
        let Some(locks) = self.locks.take() else { return };
        // A file that could not be unlocked is closed here, which releases it too.
        if locks.desk.unlock().is_ok() {
            self.queue.keep(locks);
        }
    }
}
