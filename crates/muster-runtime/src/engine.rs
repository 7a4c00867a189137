//! Execute, read, subscribe.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use muster_core::{Aggregate, Documents, Draft, Env, Head, Refusal};
use muster_store::{Append, DocumentChange, Store, StoreError, Transaction};

use crate::{
    Clock, Subscription,
    cache::Cache,
    feed::{Encode, Feeds, Follower},
    load::{self, Source},
    subscribe::Hub,
    transfer::{Import, Load, TransferError},
    writer::{Claim, Job, Writer},
};

/// How long a caller waits for its turn to write (TASKS-TX-2).
const WRITE_WAIT_MAX: Duration = Duration::from_secs(30);

/// Why a piece of work had no result.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecuteError<R> {
    /// A rule says no; nothing was written.
    Rejected(Box<R>),
    /// The store failed; nothing of this call counts.
    Store(StoreFailure),
}

/// A store failure, comparable for tests.
#[derive(Debug, Clone)]
pub struct StoreFailure(pub StoreError);

impl PartialEq for StoreFailure {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl<R> From<StoreError> for ExecuteError<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(StoreFailure(error))
    }
}

/// Outcome of a piece of work.
pub(crate) type Outcome<A, T> = Result<T, ExecuteError<<A as Aggregate>::Rejection>>;

/// The engine of one process over one store.
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    hub: Arc<Hub>,
    cache: Arc<Cache>,
    feeds: Feeds,
    writer: Writer,
}

impl Engine {
    /// An engine over a store. A process that stays keeps house: it lets the store tidy up in quiet
    /// moments.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, keeps_house: bool) -> Self {
        let hub = Arc::new(Hub::new(Arc::clone(&store)));
        let after_commit = Arc::clone(&hub);
        let wake = move || after_commit.wake();
        let writer = Writer::start(Arc::clone(&store), keeps_house, wake);
        Self { store, clock, hub, cache: Arc::default(), feeds: Feeds::default(), writer }
    }

    /// The store underneath.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The current moment.
    pub fn now(&self) -> muster_core::Timestamp {
        self.clock.now()
    }

    /// Runs pure work inside a write transaction and answers when its events are durable.
    ///
    /// The work may run several times: whenever it asks for something that is not loaded yet, it is
    /// run again from the start with that at hand. It must therefore do nothing but look and draft.
    pub fn execute<A: Aggregate, T: Send + 'static>(
        &self,
        stream: String,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, Refusal<A>> + Send + 'static,
    ) -> Outcome<A, T> {
        let (reply, answer) = sync_channel(1);
        let claim = Claim::default();
        let env = Env { now: self.clock.now() };
        let job = Execution {
            stream,
            env,
            work,
            cache: Arc::clone(&self.cache),
            claim: claim.clone(),
            outcome: None,
            drafted: Drafted::default(),
            reply,
        };
        self.writer.submit(Box::new(job))?;
        await_answer::<A, T>(&answer, &claim)
    }

    /// Whether a write would start at once: nobody else writes, here or in another process.
    pub fn is_free_to_write(&self) -> bool {
        self.writer.is_free() && self.store.is_free()
    }

    /// Runs a pure view over one consistent moment of a stream.
    pub fn read<A: Aggregate, T>(
        &self,
        stream: &str,
        view: impl Fn(&Documents<A>) -> Result<T, Refusal<A>>,
    ) -> Outcome<A, T> {
        self.read_at(stream, view).map(|(value, _)| value)
    }

    /// The same, with the position the view shows: the place to subscribe from.
    pub fn read_at<A: Aggregate, T>(
        &self,
        stream: &str,
        view: impl Fn(&Documents<A>) -> Result<T, Refusal<A>>,
    ) -> Outcome<A, (T, Head)> {
        let mut snapshot = self.store.snapshot()?;
        let head = snapshot.head(stream)?;
        let mut documents = Documents::default();
        let cache = &self.cache;
        let mut source = Source { stream, snapshot: &mut *snapshot, cache, committed: true };
        let answer = load::answer(&mut source, &mut documents, |docs| view(docs))?;
        answer.map(|value| (value, head)).map_err(ExecuteError::Rejected)
    }

    /// Puts lines of [`crate::transfer::export`] into an empty stream, whole or not at all; answers
    /// how many events it then has.
    pub fn import<'a, A: Aggregate>(
        &self,
        stream: String,
        lines: impl Iterator<Item = &'a str>,
    ) -> Result<u64, TransferError> {
        let (reply, answer) = sync_channel(1);
        let (load, claim) = (Load::<A>::parse(lines)?, Claim::default());
        self.writer.submit(Box::new(Import { stream, load, claim, outcome: None, reply }))?;
        let gone = StoreError::Engine {
            action: "imported a stream",
            cause: "the writer thread ended".to_owned(),
        };
        answer.recv().unwrap_or_else(|_| Err(gone.into()))
    }

    /// Follows a stream behind a sequence number; take it from [`Self::read_at`] to miss nothing.
    pub fn subscribe(&self, stream: String, after: u64) -> Subscription {
        Subscription::new(Arc::clone(&self.store), &self.hub, stream, after)
    }

    /// Follows a stream behind a sequence number as one of many: every event is read and written
    /// out once for all of them. All followers of a stream give the same `encode`. Needs an
    /// asynchronous runtime.
    pub fn follow(
        &self,
        stream: String,
        after: u64,
        encode: Encode,
    ) -> Result<Follower, StoreError> {
        self.feeds.follow((&self.store, &self.hub), (stream, after), encode)
    }
}

fn await_answer<A: Aggregate, T>(answer: &Receiver<Outcome<A, T>>, claim: &Claim) -> Outcome<A, T> {
    let started = Instant::now();
    let waited = || StoreError::Busy {
        waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    match answer.recv_timeout(WRITE_WAIT_MAX) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) if claim.give_up() => Err(waited().into()),
        // It is running: only its real outcome may be told.
        Err(RecvTimeoutError::Timeout) => answer.recv().unwrap_or_else(|_| Err(waited().into())),
        Err(RecvTimeoutError::Disconnected) => Err(StoreError::Engine {
            action: "ran a write",
            cause: "the writer thread ended".to_owned(),
        }
        .into()),
    }
}

/// One call of [`Engine::execute`] on its way through the writer.
struct Execution<A: Aggregate, T, W> {
    stream: String,
    env: Env,
    work: W,
    cache: Arc<Cache>,
    claim: Claim,
    outcome: Option<Result<T, Box<A::Rejection>>>,
    drafted: Drafted<A>,
    reply: SyncSender<Outcome<A, T>>,
}

/// What a draft came to, until it is committed.
struct Drafted<A: Aggregate> {
    documents: Documents<A>,
    changes: Vec<DocumentChange>,
}

impl<A: Aggregate> Default for Drafted<A> {
    fn default() -> Self {
        Self { documents: Documents::default(), changes: Vec::new() }
    }
}

impl<A, T, W> Job for Execution<A, T, W>
where
    A: Aggregate,
    T: Send,
    W: Fn(&mut Draft<'_, A>) -> Result<T, Refusal<A>> + Send,
{
    fn claim(&self) -> bool {
        self.claim.start()
    }

    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        let head = transaction.head(&self.stream)?;
        let Drafted { documents, changes } = &mut self.drafted;
        let (stream, cache) = (self.stream.as_str(), &*self.cache);
        let mut events = Vec::new();
        let mut source = Source { stream, snapshot: transaction, cache, committed: false };
        let outcome = load::answer(&mut source, documents, |docs| {
            let mut draft = Draft::new(docs, head, self.env);
            let value = (self.work)(&mut draft)?;
            events = draft.into_events();
            Ok(value)
        })?;
        if let (Ok(_), Some(last)) = (&outcome, events.last()) {
            *changes = load::document_changes(documents, last.global);
            let events = &load::event_rows::<A>(&events);
            transaction.append(&Append { stream, events, documents: changes })?;
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    fn conclude(self: Box<Self>, committed: Result<(), StoreError>) {
        if committed.is_ok() {
            let Drafted { documents, changes } = &self.drafted;
            load::keep_changes(&self.stream, documents, changes, &self.cache);
        }
        let answer = match (committed, self.outcome) {
            (Ok(()), Some(outcome)) => outcome.map_err(ExecuteError::Rejected),
            (Ok(()), None) => return,
            (Err(error), _) => Err(error.into()),
        };
        // The caller may have given up; then nobody is left to tell.
        if self.reply.send(answer).is_err() {
            tracing::debug!(stream = self.stream, "the caller of a write was gone");
        }
    }
}
