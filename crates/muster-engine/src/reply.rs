//! How the outcome of a write reaches its caller: a thread waits for it, or a future completes.

use std::{
    pin::Pin,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender},
    time::{Duration, Instant},
};

use muster_store::StoreError;
use tokio::{sync::oneshot, time::timeout};

use crate::writer::JobClaim;

/// How long a caller waits for its turn to write (TASKS-TX-2).
const WRITE_WAIT_MAX: Duration = Duration::from_secs(30);

/// A write under way. It happens whether or not anyone waits for it. Needs an asynchronous runtime.
pub type PendingOutcome<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Where the outcome is sent.
pub(crate) enum ReplyTo<T> {
    Thread(SyncSender<T>),
    Task(oneshot::Sender<T>),
}

impl<T> ReplyTo<T> {
    /// Sends the outcome. The caller may have given up; then there is no one to reply to.
    pub(crate) fn send(self, outcome: T, stream: &str) {
        let sent = match self {
            Self::Thread(sender) => sender.send(outcome).is_ok(),
            Self::Task(sender) => sender.send(outcome).is_ok(),
        };
        if !sent {
            tracing::debug!(stream, "write finished after its caller had gone");
        }
    }
}

/// Blocks until the outcome is there.
pub(crate) fn await_answer<T>(answer: &Receiver<T>, claim: &JobClaim) -> Result<T, StoreError> {
    let started = Instant::now();
    match answer.recv_timeout(WRITE_WAIT_MAX) {
        Ok(outcome) => Ok(outcome),
        Err(RecvTimeoutError::Timeout) if claim.give_up() => Err(busy(started)),
        // It is running: only its real outcome may be returned.
        Err(RecvTimeoutError::Timeout) => answer.recv().map_err(|_| busy(started)),
        Err(RecvTimeoutError::Disconnected) => Err(ended()),
    }
}

/// The same without blocking.
pub(crate) async fn awaited<T>(
    mut answer: oneshot::Receiver<T>,
    claim: JobClaim,
) -> Result<T, StoreError> {
    let started = Instant::now();
    match timeout(WRITE_WAIT_MAX, &mut answer).await {
        Ok(outcome) => outcome.map_err(|_| ended()),
        Err(_) if claim.give_up() => Err(busy(started)),
        Err(_) => answer.await.map_err(|_| busy(started)),
    }
}

fn busy(started: Instant) -> StoreError {
    let waited_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    StoreError::Busy { waited_ms }
}

fn ended() -> StoreError {
    StoreError::Engine { action: "ran a write", cause: "the writer thread ended".to_owned() }
}
