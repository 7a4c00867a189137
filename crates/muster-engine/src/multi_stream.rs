//! One transaction over several streams, whatever rooms they belong to.
//!
//! ```text
//!   transact(work)      transaction.on(workspace, ..)   drafted, nothing written
//!                       transaction.on(session, ..)     drafted after it
//!                       Ok   ─► both appended, one commit        Err ─► neither
//! ```
//!
//! Every share is drafted before the first one is written, because a group of calls is one
//! transaction of the store: what one of them has written cannot be taken back alone.

use std::sync::{Arc, mpsc::SyncSender};

use muster_core::{Aggregate, Draft, Env, LogPosition, WorkRefusal};
use muster_store::{Numbering, StoreError, Transaction};

use crate::{
    share::{EngineCaches, Ruled, StreamWrite},
    writer::{JobClaim, WriterJob},
};

/// The streams that one job writes to, in one transaction.
pub struct MultiStreamTransaction<'a> {
    transaction: &'a mut dyn Transaction,
    kept: Arc<EngineCaches>,
    env: Env,
    shares: Vec<Box<dyn AnyShare>>,
}

impl MultiStreamTransaction<'_> {
    /// Drafts pure work on a stream; its result is known before anything is written.
    ///
    /// A rejected share leaves nothing. Each stream can be drafted once.
    pub fn on<A: Aggregate, T>(
        &mut self,
        stream: String,
        work: impl Fn(&mut Draft<'_, A>) -> Result<T, WorkRefusal<A>>,
    ) -> Result<Ruled<A, T>, StoreError> {
        if self.shares.iter().any(|share| share.stream() == stream) {
            let cause = format!("{stream} is in the transaction already");
            return Err(StoreError::Engine { action: "drafted a write", cause });
        }
        let drafted: u64 = match self.transaction.numbering() {
            Numbering::OneLog => self.shares.iter().map(|share| share.events()).sum(),
            // Other streams do not count here.
            Numbering::PerStream => 0,
        };
        let head = self.transaction.head(&stream)?;
        let head = LogPosition { global: head.global + drafted, ..head };
        let mut share = StreamWrite::<A>::of(stream, Arc::clone(&self.kept));
        let outcome = share.draft(self.transaction, head, &self.env, &work)?;
        self.shares.push(Box::new(share));
        Ok(outcome)
    }

    /// The environment of the call.
    pub fn env(&self) -> &Env {
        &self.env
    }
}

/// A share of some room.
trait AnyShare: Send {
    fn stream(&self) -> &str;
    fn events(&self) -> u64;
    fn append(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError>;
    fn keep(&self);
}

impl<A: Aggregate> AnyShare for StreamWrite<A> {
    fn stream(&self) -> &str {
        self.stream()
    }

    fn events(&self) -> u64 {
        self.events()
    }

    fn append(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        self.append(transaction)
    }

    fn keep(&self) {
        self.keep();
    }
}

/// The result of a transaction over several streams: a value, or the caller's own rejection.
pub(crate) type TransactionResult<T, E> = Result<Result<T, E>, StoreError>;

/// One call of [`crate::Engine::transact`] on its way through the writer.
pub(crate) struct MultiStreamJob<T, E, W> {
    env: Env,
    kept: Arc<EngineCaches>,
    work: Option<W>,
    claim: JobClaim,
    shares: Vec<Box<dyn AnyShare>>,
    outcome: Option<Result<T, E>>,
    reply: SyncSender<TransactionResult<T, E>>,
}

impl<T, E, W> MultiStreamJob<T, E, W> {
    pub(crate) fn of(
        env: Env,
        kept: Arc<EngineCaches>,
        work: W,
        claim: JobClaim,
        reply: SyncSender<TransactionResult<T, E>>,
    ) -> Self {
        Self { env, kept, work: Some(work), claim, shares: Vec::new(), outcome: None, reply }
    }
}

impl<T, E, W> WriterJob for MultiStreamJob<T, E, W>
where
    T: Send,
    E: Send,
    W: FnOnce(&mut MultiStreamTransaction<'_>) -> TransactionResult<T, E> + Send,
{
    fn claim(&self) -> bool {
        self.claim.start()
    }

    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let kept = Arc::clone(&self.kept);
        let env = self.env.clone();
        let mut streams = MultiStreamTransaction {
            transaction: &mut *transaction,
            kept,
            env,
            shares: Vec::new(),
        };
        let outcome = work(&mut streams)?;
        let shares = streams.shares;
        if outcome.is_ok() {
            self.shares = shares;
            for share in &mut self.shares {
                share.append(transaction)?;
            }
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    /// The work is used up: its caller has to call again.
    fn reset(&mut self) -> bool {
        false
    }

    fn conclude(self: Box<Self>, committed: Result<(), StoreError>) {
        if committed.is_ok() {
            self.shares.iter().for_each(|share| share.keep());
        }
        let answer = match (committed, self.outcome) {
            (Ok(()), Some(outcome)) => Ok(outcome),
            (Ok(()), None) => return,
            (Err(error), _) => Err(error),
        };
        // The caller may have given up; then there is no one to reply to.
        if self.reply.send(answer).is_err() {
            tracing::debug!("write finished after its caller had gone");
        }
    }
}
