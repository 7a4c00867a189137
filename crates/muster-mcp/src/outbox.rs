//! What waits to be written to the client.
//!
//! Messages are appended to one buffer; a single task writes whatever is there in one go, so a
//! burst of responses costs few system calls and a single one does not wait.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use muster_api::{shorten_value, shorten_words};
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};

use crate::splice;

/// Bytes that may be queued for a slow client before no further request is read from it.
pub(crate) const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Capacity that a buffer keeps between bursts.
const KEPT_CAPACITY_MAX: usize = 256 * 1024;

/// The buffer between the service loop and the writing task.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Vec<u8>>,
    filled: Notify,
    emptied: Notify,
    closing: AtomicBool,
    broken: AtomicBool,
}

impl Outbox {
    /// Appends one message as a line. Errors, including the SDK's own, repeat little of what the
    /// client sent.
    pub(crate) fn push(&self, mut message: ServerJsonRpcMessage) -> io::Result<()> {
        if let JsonRpcMessage::Error(refused) = &mut message {
            shorten_words(refused.error.message.to_mut());
            refused.error.data.iter_mut().for_each(shorten_value);
        }
        if self.broken.load(Ordering::Acquire) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut waiting = self.lock();
        let start = waiting.len();
        if let Err(error) = splice::write(&mut waiting, message) {
            waiting.truncate(start);
            return Err(error);
        }
        waiting.push(b'\n');
        drop(waiting);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits until the client has read enough; false when it cannot be written to any more.
    pub(crate) async fn has_room(&self) -> bool {
        loop {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            if self.lock().len() < WAITING_BYTES_MAX {
                return true;
            }
            self.emptied.notified().await;
        }
    }

    /// Asks the writing task to end once everything is written.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.filled.notify_one();
    }

    /// Writes until closed or broken.
    pub(crate) async fn deliver(self: Arc<Self>, mut sink: impl AsyncWrite + Unpin) {
        let mut batch = Vec::new();
        loop {
            std::mem::swap(&mut batch, &mut *self.lock());
            if batch.is_empty() {
                if self.closing.load(Ordering::Acquire) {
                    return;
                }
                self.filled.notified().await;
                continue;
            }
            if let Err(error) = write(&mut sink, &batch).await {
                tracing::info!(%error, "could not write to the client");
                self.broken.store(true, Ordering::Release);
                self.emptied.notify_one();
                return;
            }
            batch.clear();
            batch.shrink_to(KEPT_CAPACITY_MAX);
            self.emptied.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(sink: &mut (impl AsyncWrite + Unpin), batch: &[u8]) -> io::Result<()> {
    sink.write_all(batch).await?;
    sink.flush().await
}
