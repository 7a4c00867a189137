//! Execute, read, follow.

use std::sync::{Arc, mpsc::sync_channel};

use muster_core::{
    Aggregate, CallFacts, Documents, Draft, Env, LogPosition, WorkRefusal,
    ctree::ContextTree,
    session::{SessionAggregate, SessionId},
};
use muster_store::{CatalogueQuery, Store, StoreError, Transaction};
use tokio::sync::oneshot;

use crate::{
    Clock,
    cache::Cache,
    feed::{Encode, Feeds, Follower},
    growth::{GrowthListener, StreamScope},
    large::LargeReads,
    load::{self, DocumentSource},
    multi_stream::{MultiStreamJob, MultiStreamTransaction},
    reply::{PendingOutcome, ReplyTo, await_answer, awaited},
    share::{EngineCaches, Ruled, StreamWrite},
    transfer::{ImportJob, Load, TransferError},
    writer::{EngineWriter, JobClaim, WriterJob, WriterKind},
};

/// Why work had no result.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecuteError<R> {
    /// A rule rejected the command; nothing was written.
    Rejected(Box<R>),
    /// The store failed; nothing of this call was stored.
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
pub type WorkOutcome<A, T> = Result<T, ExecuteError<<A as Aggregate>::Rejection>>;

/// The engine of one process over one store.
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    kept: Arc<EngineCaches>,
    feeds: Arc<Feeds>,
    large: LargeReads,
    writer: EngineWriter,
}

impl Engine {
    /// An engine over a store. A long-running process does the housekeeping: it lets the store
    /// clean up in idle moments.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, housekeeping: bool) -> Self {
        let kind = if housekeeping { WriterKind::ManyCallers } else { WriterKind::Brief };
        Self::with(store, clock, kind)
    }

    /// The same for a long-running process with one caller, on whose thread writes are done.
    pub fn for_one_caller(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self::with(store, clock, WriterKind::OneCaller)
    }

    fn with(store: Arc<dyn Store>, clock: Arc<dyn Clock>, kind: WriterKind) -> Self {
        let writer = EngineWriter::start(Arc::clone(&store), kind);
        let cache = match kind {
            WriterKind::Brief | WriterKind::OneCaller => Cache::default(),
            WriterKind::ManyCallers => Cache::for_many_callers(),
        };
        let kept = Arc::new(EngineCaches { cache, ..EngineCaches::default() });
        let feeds = Feeds::of(Arc::clone(&store), Arc::clone(&kept.hub));
        let large = LargeReads::default();
        Self { store, clock, kept, feeds, large, writer }
    }

    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub fn now(&self) -> muster_core::Timestamp {
        self.clock.now()
    }

    /// Runs pure work inside a write transaction and returns once its events are durable.
    ///
    /// The work may run several times: whenever it needs something that is not loaded yet, that is
    /// loaded and the work starts over. It must therefore have no side effects.
    pub fn execute<A: Aggregate, T: Send + 'static>(
        &self,
        stream: String,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>> + Send + 'static,
    ) -> WorkOutcome<A, T> {
        self.execute_for(CallFacts::default(), stream, work)
    }

    /// The same for a known caller, whom its events name.
    pub fn execute_for<A: Aggregate, T: Send + 'static>(
        &self,
        call: CallFacts,
        stream: String,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>> + Send + 'static,
    ) -> WorkOutcome<A, T> {
        let (reply, answer) = sync_channel(1);
        let claim = JobClaim::default();
        self.submit((call, stream, work), claim.clone(), ReplyTo::Thread(reply))?;
        await_answer(&answer, &claim).unwrap_or_else(|error| Err(error.into()))
    }

    /// The same without a thread that waits. The work is queued before this returns.
    pub fn begin_for<A: Aggregate, T: Send + 'static>(
        &self,
        call: CallFacts,
        stream: String,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>> + Send + 'static,
    ) -> PendingOutcome<WorkOutcome<A, T>> {
        let (reply, answer) = oneshot::channel();
        let claim = JobClaim::default();
        let queued = self.submit((call, stream, work), claim.clone(), ReplyTo::Task(reply));
        Box::pin(async move {
            queued?;
            awaited(answer, claim).await.unwrap_or_else(|error| Err(error.into()))
        })
    }

    fn submit<A: Aggregate, T: Send + 'static>(
        &self,
        (call, stream, work): (
            CallFacts,
            String,
            impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>> + Send + 'static,
        ),
        claim: JobClaim,
        reply: ReplyTo<WorkOutcome<A, T>>,
    ) -> Result<(), StoreError> {
        let env = Env { now: self.clock.now(), call };
        let share = StreamWrite::of(stream, Arc::clone(&self.kept));
        self.writer.submit(Box::new(Execution { share, env, work, claim, outcome: None, reply }))
    }

    /// Runs work that writes to several streams, of the same room or of others, in one transaction.
    ///
    /// Whatever the work drafts on its [`MultiStreamTransaction`] is written when it returns
    /// `Ok(Ok(..))`, all of it or nothing.
    pub fn transact<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&mut MultiStreamTransaction<'_>) -> Result<Result<T, E>, StoreError>
        + Send
        + 'static,
    ) -> Result<Result<T, E>, StoreError> {
        self.transact_for(CallFacts::default(), work)
    }

    /// The same for a known caller.
    pub fn transact_for<T: Send + 'static, E: Send + 'static>(
        &self,
        call: CallFacts,
        work: impl FnOnce(&mut MultiStreamTransaction<'_>) -> Result<Result<T, E>, StoreError>
        + Send
        + 'static,
    ) -> Result<Result<T, E>, StoreError> {
        let (reply, answer) = sync_channel(1);
        let claim = JobClaim::default();
        let env = Env { now: self.clock.now(), call };
        let job = MultiStreamJob::of(env, Arc::clone(&self.kept), work, claim.clone(), reply);
        self.writer.submit(Box::new(job))?;
        await_answer(&answer, &claim)?
    }

    /// Whether a write would start immediately: no other writer is active, in this process or
    /// another.
    pub fn is_free_to_write(&self) -> bool {
        self.writer.is_free() && self.store.is_free()
    }

    /// Runs a pure view over one consistent snapshot of a stream.
    pub fn read<A: Aggregate, T>(
        &self,
        stream: &str,
        view: impl Fn(&Documents<A>) -> Result<T, WorkRefusal<A>>,
    ) -> WorkOutcome<A, T> {
        self.read_at(stream, view).map(|(value, _)| value)
    }

    /// The same, with the position the view shows: the place to follow from.
    pub fn read_at<A: Aggregate, T>(
        &self,
        stream: &str,
        view: impl Fn(&Documents<A>) -> Result<T, WorkRefusal<A>>,
    ) -> WorkOutcome<A, (T, LogPosition)> {
        let mut snapshot = self.store.glance()?;
        let head = snapshot.head(stream)?;
        let mut documents = Documents::default();
        let cache = &self.kept.cache;
        let mut source =
            DocumentSource { stream, snapshot: &mut *snapshot, cache, committed: true };
        let answer = load::answer(&mut source, &mut documents, |docs| view(docs))?;
        answer.map(|value| (value, head)).map_err(ExecuteError::Rejected)
    }

    /// Runs a pure view over the whole tree of a session and its documents, both from one snapshot.
    pub fn read_tree<T>(
        &self,
        session: &SessionId,
        view: impl Fn(
            &Documents<SessionAggregate>,
            &ContextTree,
        ) -> Result<T, WorkRefusal<SessionAggregate>>,
    ) -> WorkOutcome<SessionAggregate, T> {
        let EngineCaches { cache, trees, .. } = &*self.kept;
        let outcome = trees.read(&*self.store, cache, &session.stream(), view)?;
        outcome.map_err(ExecuteError::Rejected)
    }

    /// Runs a read whose result may be megabytes. Such reads take turns on one thread, so that
    /// their memory is needed once.
    pub async fn read_large<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.large.run(read).await
    }

    /// Documents of one kind over all streams of a room, each with its stream; the highest sort
    /// number first.
    pub fn catalogue<A: Aggregate>(
        &self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, A::Document)>, StoreError> {
        load::catalogue::<A>(&mut *self.store.snapshot()?, query)
    }

    /// Imports lines of [`crate::transfer::export`] into an empty stream, all or nothing; returns
    /// how many events the stream then has.
    pub fn import<'a, A: Aggregate>(
        &self,
        stream: String,
        lines: impl Iterator<Item = &'a str>,
    ) -> Result<u64, TransferError> {
        self.load(stream, Load::<A>::parse(lines)?.marked_as_imported())
    }

    /// Imports into a stream that already has the first `after` of these events; the caller has
    /// compared them.
    pub fn import_after<'a, A: Aggregate>(
        &self,
        stream: String,
        lines: impl Iterator<Item = &'a str>,
        after: u64,
    ) -> Result<u64, TransferError> {
        self.load(stream, Load::<A>::parse(lines)?.after(after))
    }

    fn load<A: Aggregate>(&self, stream: String, load: Load<A>) -> Result<u64, TransferError> {
        let (reply, answer) = sync_channel(1);
        let claim = JobClaim::default();
        self.writer.submit(Box::new(ImportJob { stream, load, claim, outcome: None, reply }))?;
        let gone = StoreError::Engine {
            action: "imported a stream",
            cause: "the writer thread ended".to_owned(),
        };
        answer.recv().unwrap_or_else(|_| Err(gone.into()))
    }

    /// Hears of every commit of this process to a stream with this prefix, except imports.
    pub fn grown(&self, prefix: &'static str) -> GrowthListener {
        self.kept.hub.listen(StreamScope::Prefix(prefix))
    }

    /// Follows a stream after a sequence number; take it from [`Self::read_at`] to miss nothing.
    /// Every event is read and encoded once for all followers of the stream, which all pass the
    /// same `encode`. Needs an asynchronous runtime.
    pub fn follow(
        &self,
        stream: String,
        after: u64,
        encode: Encode,
    ) -> Result<Follower, StoreError> {
        self.feeds.follow((stream, after), encode)
    }

    /// Follows every stream with this prefix, from now on. Order holds inside each stream; numbers
    /// count what this feed has seen. Needs an asynchronous runtime.
    pub fn follow_all(&self, prefix: &'static str, encode: Encode) -> Result<Follower, StoreError> {
        self.feeds.follow_all(prefix, encode)
    }
}

#[cfg(test)]
impl Engine {
    /// Changed nodes that wait for the next reader of a session's tree; none if it is not in
    /// memory.
    pub(crate) fn nodes_waiting(&self, session: &SessionId) -> Option<usize> {
        self.kept.trees.waiting(&session.stream())
    }
}

/// One call of [`Engine::execute`] on its way through the writer.
struct Execution<A: Aggregate, T, W> {
    share: StreamWrite<A>,
    env: Env,
    work: W,
    claim: JobClaim,
    outcome: Option<Ruled<A, T>>,
    reply: ReplyTo<WorkOutcome<A, T>>,
}

impl<A, T, W> WriterJob for Execution<A, T, W>
where
    A: Aggregate,
    T: Send,
    W: Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>> + Send,
{
    fn claim(&self) -> bool {
        self.claim.start()
    }

    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        let head = transaction.head(self.share.stream())?;
        let outcome = self.share.draft(transaction, head, &self.env, &self.work)?;
        if outcome.is_ok() {
            self.share.append(transaction)?;
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    fn reset(&mut self) -> bool {
        self.share.reset();
        self.outcome = None;
        true
    }

    fn conclude(self: Box<Self>, committed: Result<(), StoreError>) {
        if committed.is_ok() {
            self.share.keep();
        }
        let answer = match (committed, self.outcome) {
            (Ok(()), Some(outcome)) => outcome.map_err(ExecuteError::Rejected),
            (Ok(()), None) => return,
            (Err(error), _) => Err(error.into()),
        };
        self.reply.send(answer, self.share.stream());
    }
}
