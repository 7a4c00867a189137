//! The one writer of this process: a thread that commits everything waiting as one group.
//!
//! ```text
//!   callers ──► bounded queue ──► begin ─ work ─ work ─ work ─ commit ──► answers, wake-ups
//! ```
//!
//! There is no timer: while one group is being made durable, the next one gathers. Answers go out
//! only after the commit, and all of a group fail together if it fails.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use muster_store::{Store, StoreError, Transaction};

/// Work that may wait for the writer; one more is turned away as busy.
const QUEUE_MAX: usize = 1_024;
/// Work committed together.
const GROUP_MAX: usize = 256;
/// A writer with nothing to do for this long lets the store tidy up.
const IDLE_BEFORE_REST: Duration = Duration::from_secs(1);

/// A piece of work for the writer thread.
pub(crate) trait Job: Send {
    /// Claims the work for running; false when its caller has given up.
    fn claim(&self) -> bool;
    /// Does the work inside the transaction. Rules that say no are an outcome, not an error.
    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError>;
    /// Answers the caller: with the outcome, or with what kept the group from becoming durable.
    fn conclude(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Handle of the writer thread.
pub(crate) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread; `wake` is called after every commit.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        keeps_house: bool,
        wake: impl Fn() + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let run = move || Loop { store, receiver, keeps_house, wake }.run();
        let thread = std::thread::Builder::new().name("muster-writer".to_owned()).spawn(run);
        match thread {
            Ok(thread) => Self { queue: Some(sender), thread: Some(thread) },
            Err(error) => {
                tracing::error!(%error, "the writer did not start; writes will be refused");
                Self { queue: None, thread: None }
            }
        }
    }

    /// Queues work; a full queue answers busy at once.
    pub(crate) fn submit(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let busy = StoreError::Busy { waited_ms: 0 };
        let Some(queue) = &self.queue else { return Err(busy) };
        match queue.try_send(job) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(busy),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread had panicked");
        }
    }
}

struct Loop<W> {
    store: Arc<dyn Store>,
    receiver: Receiver<Box<dyn Job>>,
    keeps_house: bool,
    wake: W,
}

impl<W: Fn()> Loop<W> {
    fn run(&self) {
        let mut rested = true;
        loop {
            match self.receiver.recv_timeout(IDLE_BEFORE_REST) {
                Ok(job) => {
                    self.commit_group(job);
                    rested = false;
                }
                Err(RecvTimeoutError::Timeout) if self.keeps_house && !rested => {
                    self.rest();
                    rested = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.keeps_house && !rested {
            self.rest();
        }
    }

    fn rest(&self) {
        if let Err(error) = self.store.rest() {
            tracing::warn!(%error, "housekeeping of the store failed; it is tried again later");
        }
    }

    fn commit_group(&self, first: Box<dyn Job>) {
        let mut done: Vec<Box<dyn Job>> = Vec::new();
        let committed = self.run_group(first, &mut done);
        if let Err(error) = &committed {
            tracing::error!(%error, calls = done.len(), "a group of writes was not kept");
        } else {
            (self.wake)();
        }
        for job in done {
            job.conclude(committed.clone());
        }
    }

    fn run_group(
        &self,
        first: Box<dyn Job>,
        done: &mut Vec<Box<dyn Job>>,
    ) -> Result<(), StoreError> {
        let mut next = Some(first);
        let mut transaction = match self.store.begin() {
            Ok(transaction) => transaction,
            Err(error) => {
                done.extend(next);
                return Err(error);
            }
        };
        while let Some(mut job) = next.take() {
            let outcome = if job.claim() { run_job(&mut *job, &mut *transaction) } else { Ok(()) };
            done.push(job);
            outcome?;
            if done.len() < GROUP_MAX {
                next = self.receiver.try_recv().ok();
            }
        }
        transaction.commit()
    }
}

/// Runs one job; a defect in it fails its group and nothing else.
fn run_job(job: &mut dyn Job, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
    let run = AssertUnwindSafe(|| job.run(transaction));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let cause = "the work panicked; see the log".to_owned();
        Err(StoreError::Engine { action: "ran a write", cause })
    })
}

/// Who may still decide over a piece of work: its caller, by giving up, or the writer, by starting
/// it.
#[derive(Clone, Default)]
pub(crate) struct Claim(Arc<AtomicU8>);

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Claim {
    /// The writer starts the work; false when the caller was faster to give up.
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
