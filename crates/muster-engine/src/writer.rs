//! One writer at a time in this process, which commits everything waiting as one group.
//!
//! ```text
//!   callers ──► bounded line ──► begin ─ work ─ work ─ work ─ commit ──► answers, wake-ups
//! ```
//!
//! A process that does not keep house has few callers: one that finds nobody writing writes the
//! group itself, so that its answer waits for no other thread. Whatever has come in meanwhile goes
//! to the writer thread, which stays at the desk until the line is empty.
//!
//! In a process that keeps house the thread writes everything. Callers come from a pool there, and
//! the allocator keeps for each thread what its largest write has needed.
//!
//! There is no timer: while one group is being made durable, the next one gathers. Answers go out
//! only after the commit, and all of a group fail together if it fails.

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

/// Work that may wait for the writer; one more is turned away as busy.
const LINE_MAX: usize = 1_024;
/// Work committed together.
const GROUP_MAX: usize = 256;
/// When nobody has written for this long, the store may tidy up.
const IDLE_BEFORE_REST: Duration = Duration::from_secs(1);

/// A piece of work for whoever writes.
pub(crate) trait WriterJob: Send {
    /// Claims the work for running; false when its caller has given up.
    fn claim(&self) -> bool;
    /// Does the work inside the transaction. Rules that say no are an outcome, not an error.
    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError>;
    /// Answers the caller: with the outcome, or with what kept the group from becoming durable.
    fn conclude(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The writing side of the engine.
pub(crate) struct EngineWriter {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

impl EngineWriter {
    /// Starts the thread; `wake` is called after every commit with the number of its calls.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        keeps_house: bool,
        wake: impl Fn(usize) + Send + Sync + 'static,
    ) -> Self {
        let line = Mutex::default();
        let news = Condvar::new();
        let desk = Arc::new(Desk { store, keeps_house, wake: Box::new(wake), line, news });
        let at_desk = Arc::clone(&desk);
        let run = move || at_desk.serve();
        let thread = std::thread::Builder::new().name("muster-writer".to_owned()).spawn(run);
        let thread = thread.inspect_err(|error| {
            tracing::error!(%error, "the writer did not start; writes will be refused");
            desk.line().closed = true;
        });
        Self { desk, thread: thread.ok() }
    }

    /// Whether work that is submitted now is done at once.
    pub(crate) fn is_free(&self) -> bool {
        let line = self.desk.line();
        !line.taken && line.waiting.is_empty()
    }

    /// Gets in line, and writes if nobody else does or will; a full line answers busy at once.
    pub(crate) fn submit(&self, job: Box<dyn WriterJob>) -> Result<(), StoreError> {
        let mut line = self.desk.line();
        if line.closed || line.waiting.len() >= LINE_MAX {
            return Err(StoreError::Busy { waited_ms: 0 });
        }
        line.waiting.push_back(job);
        if self.desk.keeps_house {
            drop(line);
            self.desk.news.notify_one();
        } else if !std::mem::replace(&mut line.taken, true) {
            drop(line);
            Seat(&self.desk).write_group();
        }
        Ok(())
    }
}

impl Drop for EngineWriter {
    fn drop(&mut self) {
        self.desk.line().closed = true;
        self.desk.news.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread had panicked");
        }
    }
}

/// Where writing happens, and the line in front of it.
struct Desk {
    store: Arc<dyn Store>,
    keeps_house: bool,
    wake: Box<dyn Fn(usize) + Send + Sync>,
    line: Mutex<Line>,
    /// The thread is told when work is left for it and when it is over.
    news: Condvar,
}

struct Line {
    waiting: VecDeque<Box<dyn WriterJob>>,
    /// Whether somebody is writing.
    taken: bool,
    /// How much was written, how much of it the thread saw when it last looked, and how much when
    /// the store last tidied up.
    written: u64,
    seen: u64,
    rested: u64,
    /// Whether the thread sleeps until it hears that somebody has written.
    unaware: bool,
    closed: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            taken: false,
            written: 0,
            seen: 0,
            // The first quiet moment is for making the store ready, even if nobody has written.
            rested: u64::MAX,
            unaware: false,
            closed: false,
        }
    }
}

impl Line {
    /// Whether nobody has written since this was last asked, and the store has something to tidy
    /// up.
    fn is_idle(&mut self) -> bool {
        let quiet = std::mem::replace(&mut self.seen, self.written) == self.written;
        quiet && !self.taken && self.rested != self.written
    }
}

impl Desk {
    /// The life of the writer thread.
    fn serve(&self) {
        let mut line = self.line();
        loop {
            if !line.taken && !line.waiting.is_empty() {
                line.taken = true;
                drop(line);
                Seat(self).clear_line();
                line = self.line();
            } else if line.closed {
                return;
            } else {
                line = self.wait(line);
            }
        }
    }

    /// Waits for news; tidies up when there is none for a while.
    fn wait<'a>(&'a self, mut line: MutexGuard<'a, Line>) -> MutexGuard<'a, Line> {
        if !self.keeps_house || line.rested == line.written {
            line.unaware = self.keeps_house;
            return self.news.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self.news.wait_timeout(line, IDLE_BEFORE_REST);
        let (mut line, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && line.is_idle() {
            line.rested = line.written;
            drop(line);
            self.rest();
            line = self.line();
        }
        line
    }

    fn rest(&self) {
        if let Err(error) = self.store.rest() {
            tracing::warn!(%error, "housekeeping of the store failed; it is tried again later");
        }
    }

    fn next(&self) -> Option<Box<dyn WriterJob>> {
        let mut line = self.line();
        line.written += 1;
        line.waiting.pop_front()
    }

    /// Work is moved in and out whole, so a panic elsewhere cannot leave the line half changed.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to write, until it is dropped: then others may, and the thread takes what is left.
struct Seat<'a>(&'a Desk);

impl Seat<'_> {
    /// Writes group after group until nobody waits.
    fn clear_line(&self) {
        loop {
            self.write_group();
            if self.0.line().waiting.is_empty() {
                return;
            }
        }
    }

    /// Commits what waits and answers it.
    fn write_group(&self) {
        let mut done: Vec<Box<dyn WriterJob>> = Vec::new();
        let committed = self.run_group(&mut done);
        match &committed {
            Ok(()) => (self.0.wake)(done.len()),
            Err(error) => {
                tracing::error!(%error, calls = done.len(), "a group of writes was not kept");
            }
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
            let outcome = if job.claim() { run_job(&mut *job, &mut *transaction) } else { Ok(()) };
            done.push(job);
            outcome?;
        }
        transaction.commit()
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.taken = false;
        let news = !line.waiting.is_empty() || std::mem::take(&mut line.unaware);
        drop(line);
        if news {
            self.0.news.notify_one();
        }
    }
}

/// Runs one job; a defect in it fails its group and nothing else.
fn run_job(job: &mut dyn WriterJob, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
    let run = AssertUnwindSafe(|| job.run(transaction));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let cause = "the work panicked; see the log".to_owned();
        Err(StoreError::Engine { action: "ran a write", cause })
    })
}

/// Who may still decide over a piece of work: its caller, by giving up, or the writer, by starting
/// it.
#[derive(Clone, Default)]
pub(crate) struct JobClaim(Arc<AtomicU8>);

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const GIVEN_UP: u8 = 2;

impl JobClaim {
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
