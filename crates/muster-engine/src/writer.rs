//! One writer at a time in this process, which commits everything waiting as one group.
//!
//! ```text
//!   callers ──► bounded queue ──► begin ─ work ─ work ─ work ─ commit ──► replies, wake-ups
//! ```
//!
//! Where callers are few, one that finds no writer active writes the group itself, so that its
//! reply waits for no other thread. Work that arrives meanwhile goes to the writer thread, which
//! runs until the queue is empty.
//!
//! Where callers come from a pool, the thread writes everything: the allocator keeps the peak
//! memory of every thread that writes.
//!
//! There is no timer: while one group is being made durable, the next one gathers. Replies go out
//! only after the commit, and if it fails the whole group fails.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use muster_store::{Store, StoreError, Transaction};

use crate::log_index;

/// Work that may wait for the writer; one more is rejected as busy.
const QUEUE_MAX: usize = 1_024;
/// Work committed together.
const GROUP_MAX: usize = 256;
/// How often a group runs again that another server's writes got in the way of.
const CONFLICT_TRIES: u32 = 5;
/// After this long without a write, the store may do its housekeeping.
const IDLE_BEFORE_REST: Duration = Duration::from_secs(1);

/// Which thread writes, and whether the store is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterKind {
    /// The process ends soon: callers write, and nothing is done in idle moments.
    Brief,
    /// The process keeps running for one caller, which writes; its thread does the housekeeping.
    OneCaller,
    /// The process keeps running for many callers; its thread writes, too.
    ManyCallers,
}

pub(crate) trait WriterJob: Send {
    /// Claims the job for running; false when its caller has given up.
    fn claim(&self) -> bool;
    /// Does the work inside the transaction. A rejection is an outcome, not an error.
    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError>;
    /// Forgets what a run did that was not kept; false if the work cannot run again.
    fn reset(&mut self) -> bool;
    /// Replies to the caller with the outcome, or with the error that kept the group from becoming
    /// durable.
    fn conclude(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The writing side of the engine.
pub(crate) struct EngineWriter {
    shared: Arc<WriterShared>,
    thread: Option<JoinHandle<()>>,
}

impl EngineWriter {
    pub(crate) fn start(store: Arc<dyn Store>, kind: WriterKind) -> Self {
        let queue = Mutex::default();
        let wake_thread = Condvar::new();
        let shared = Arc::new(WriterShared { store, kind, queue, wake_thread });
        let thread_shared = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("muster-writer".to_owned())
            .spawn(move || thread_shared.serve());
        let thread = thread.inspect_err(|error| {
            tracing::error!(%error, "could not start the writer thread; writes will be rejected");
            shared.queue().closed = true;
        });
        Self { shared, thread: thread.ok() }
    }

    /// Whether work that is submitted now starts immediately.
    pub(crate) fn is_free(&self) -> bool {
        let queue = self.shared.queue();
        !queue.writing && queue.waiting.is_empty()
    }

    /// Queues the job and writes if no other writer is active; a full queue returns busy
    /// immediately.
    pub(crate) fn submit(&self, job: Box<dyn WriterJob>) -> Result<(), StoreError> {
        let mut queue = self.shared.queue();
        if queue.closed || queue.waiting.len() >= QUEUE_MAX {
            return Err(StoreError::Busy { waited_ms: 0 });
        }
        queue.waiting.push_back(job);
        if self.shared.kind == WriterKind::ManyCallers {
            drop(queue);
            self.shared.wake_thread.notify_one();
        } else if !std::mem::replace(&mut queue.writing, true) {
            drop(queue);
            WriterGuard(&self.shared).write_group();
        }
        Ok(())
    }
}

impl Drop for EngineWriter {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.wake_thread.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("writer thread panicked");
        }
    }
}

/// What callers and the writer thread share.
struct WriterShared {
    store: Arc<dyn Store>,
    kind: WriterKind,
    queue: Mutex<JobQueue>,
    /// Wakes the thread when work is left for it and on shutdown.
    wake_thread: Condvar,
}

struct JobQueue {
    waiting: VecDeque<Box<dyn WriterJob>>,
    /// Whether a writer is active.
    writing: bool,
    /// How much was written in total, how much of it the thread has seen, and how much at the last
    /// housekeeping.
    written: u64,
    seen: u64,
    rested: u64,
    /// Whether the thread sleeps until it is notified of a write.
    asleep: bool,
    closed: bool,
}

impl Default for JobQueue {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            writing: false,
            written: 0,
            seen: 0,
            // The first idle moment prepares the store, even if nothing was written.
            rested: u64::MAX,
            asleep: false,
            closed: false,
        }
    }
}

impl JobQueue {
    /// Whether nothing waits for the writer.
    fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && !self.closed
    }

    /// Whether nothing was written since the last call, and the store needs housekeeping.
    fn is_idle(&mut self) -> bool {
        let quiet = std::mem::replace(&mut self.seen, self.written) == self.written;
        quiet && !self.writing && self.rested != self.written
    }
}

impl WriterShared {
    /// The loop of the writer thread.
    fn serve(&self) {
        let mut queue = self.queue();
        loop {
            if !queue.writing && !queue.waiting.is_empty() {
                queue.writing = true;
                drop(queue);
                WriterGuard(self).drain();
                queue = self.queue();
            } else if queue.closed {
                return;
            } else {
                queue = self.wait(queue);
            }
        }
    }

    /// Waits for work; does the housekeeping of the store when there is none for a while.
    fn wait<'a>(&'a self, mut queue: MutexGuard<'a, JobQueue>) -> MutexGuard<'a, JobQueue> {
        let housekeeping = self.kind != WriterKind::Brief;
        if !housekeeping || queue.rested == queue.written {
            queue.asleep = housekeeping;
            return self.wake_thread.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self.wake_thread.wait_timeout(queue, IDLE_BEFORE_REST);
        let (mut queue, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && queue.is_idle() {
            queue.rested = queue.written;
            drop(queue);
            self.rest();
            queue = self.queue();
        }
        queue
    }

    /// Indexes what was written, as long as nothing else is to do, and lets the store clean up.
    fn rest(&self) {
        if let Err(error) = self.index() {
            tracing::warn!(%error, "could not index events; searches read them until it works");
        }
        if let Err(error) = self.store.rest() {
            tracing::warn!(%error, "store housekeeping failed; it will be retried later");
        }
    }

    fn index(&self) -> Result<(), StoreError> {
        if !log_index::is_worthwhile(&*self.store)? {
            return Ok(());
        }
        while self.queue().is_quiet() && log_index::advance(&*self.store)? > 0 {}
        Ok(())
    }

    fn next(&self) -> Option<Box<dyn WriterJob>> {
        let mut queue = self.queue();
        queue.written += 1;
        queue.waiting.pop_front()
    }

    /// Work is moved in and out whole, so a panic elsewhere cannot leave the queue half changed.
    fn queue(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to write. When it is dropped others may write, and the thread takes what is left.
struct WriterGuard<'a>(&'a WriterShared);

impl WriterGuard<'_> {
    /// Writes group after group until the queue is empty.
    fn drain(&self) {
        loop {
            self.write_group();
            if self.0.queue().waiting.is_empty() {
                return;
            }
        }
    }

    fn write_group(&self) {
        let mut done: Vec<Box<dyn WriterJob>> = Vec::new();
        let mut committed = self.run_group(&mut done);
        for again in 1..=CONFLICT_TRIES {
            let Err(StoreError::Conflict { .. }) = &committed else { break };
            let lost = done.extract_if(.., |job| !job.reset());
            lost.for_each(|job| job.conclude(committed.clone()));
            std::thread::sleep(conflict_pause(again));
            committed = self.run_again(&mut done);
        }
        if let Err(error) = &committed {
            tracing::error!(
                %error,
                calls = done.len(),
                "group commit failed; none of its writes were stored"
            );
        }
        for job in done {
            job.conclude(committed.clone());
        }
    }

    fn run_group(&self, done: &mut Vec<Box<dyn WriterJob>>) -> Result<(), StoreError> {
        let mut transaction = match self.0.store.begin() {
            Ok(transaction) => transaction,
            Err(error) => {
                done.extend(self.0.next());
                return Err(error);
            }
        };
        while done.len() < GROUP_MAX
            && let Some(mut job) = self.0.next()
        {
            // One whose caller has given up needs no conclusion.
            if job.claim() {
                let outcome = run_job(&mut *job, &mut *transaction);
                done.push(job);
                outcome?;
            }
        }
        transaction.commit()
    }

    fn run_again(&self, jobs: &mut [Box<dyn WriterJob>]) -> Result<(), StoreError> {
        let mut transaction = self.0.store.begin()?;
        for job in jobs {
            run_job(&mut **job, &mut *transaction)?;
        }
        transaction.commit()
    }
}

impl Drop for WriterGuard<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.writing = false;
        let notify = !queue.waiting.is_empty() || std::mem::take(&mut queue.asleep);
        drop(queue);
        if notify {
            self.0.wake_thread.notify_one();
        }
    }
}

/// The pause before a group runs again; servers on one machine do not wait equally long.
fn conflict_pause(tried: u32) -> Duration {
    Duration::from_millis(u64::from(tried) * u64::from(3 + std::process::id() % 17))
}

/// Runs one job; a panic in it fails its group and nothing else.
fn run_job(job: &mut dyn WriterJob, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
    let run = AssertUnwindSafe(|| job.run(transaction));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let cause = "the work panicked; see the log".to_owned();
        Err(StoreError::Engine { action: "ran a write", cause })
    })
}

/// Decides a race over a job: the caller may give up, or the writer may start it.
#[derive(Clone, Default)]
pub(crate) struct JobClaim(Arc<AtomicU8>);

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const GIVEN_UP: u8 = 2;

impl JobClaim {
    /// The writer starts the job; false when the caller has given up before.
    pub(crate) fn start(&self) -> bool {
        self.swap(RUNNING)
    }

    /// The caller gives up; false when the work is running and its outcome has to be awaited.
    pub(crate) fn give_up(&self) -> bool {
        self.swap(GIVEN_UP)
    }

    fn swap(&self, to: u8) -> bool {
        self.0.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
