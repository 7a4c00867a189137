//! Large reads, run one after the other on one thread.
//!
//! The allocator keeps the peak memory of every thread. On a thread pool, a read of some megabytes
//! would in time cost that much for each thread, and concurrent reads would add up.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        OnceLock,
        mpsc::{Sender, channel},
    },
    thread,
};

use muster_store::StoreError;
use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// The thread for large reads of one engine, which starts with the first of them.
#[derive(Default)]
pub(crate) struct LargeReads(OnceLock<Option<Sender<Work>>>);

impl LargeReads {
    /// Runs a read after the queued ones. A panic in it fails this read only.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work = move || {
            if !reply.is_closed() && reply.send(read()).is_err() {
                tracing::debug!("large read finished after its caller had gone");
            }
        };
        let queue = self.0.get_or_init(start).as_ref();
        if queue.is_none_or(|queue| queue.send(Box::new(work)).is_err()) {
            return Err(failed("its thread did not start"));
        }
        answer.await.map_err(|_| failed("it panicked; see the log"))
    }
}

fn start() -> Option<Sender<Work>> {
    let (queue, waiting) = channel::<Work>();
    let serve = move || {
        for work in waiting {
            if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
                tracing::error!("large read panicked");
            }
        }
    };
    let started = thread::Builder::new().name("muster-large".to_owned()).spawn(serve);
    match started {
        Ok(_) => Some(queue),
        Err(error) => {
            tracing::error!(%error, "could not start the thread for large reads");
            None
        }
    }
}

fn failed(cause: &str) -> StoreError {
    StoreError::Engine { action: "ran a large read", cause: cause.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::LargeReads;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn large_reads_share_one_thread_and_a_panic_fails_only_its_own() {
        let reads = std::sync::Arc::new(LargeReads::default());
        let asked: Vec<_> = (0..8)
            .map(|number| {
                let reads = std::sync::Arc::clone(&reads);
                tokio::spawn(async move {
                    let read = move || {
                        assert_ne!(number, 3, "this read is broken");
                        thread::current().id()
                    };
                    reads.run(read).await
                })
            })
            .collect();
        let mut threads = Vec::new();
        let mut failed = 0;
        for one in asked {
            match one.await.unwrap() {
                Ok(thread) => threads.push(thread),
                Err(_) => failed += 1,
            }
        }
        threads.dedup();
        assert_eq!((threads.len(), failed), (1, 1));
    }
}
