//! Following a stream. The log is the truth; a wake-up is only a hint to look.
//!
//! A subscriber pulls from the log, so nothing is buffered for it: a slow one merely lags, and one
//! that lags too far has to take a new snapshot.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use muster_store::{EventRow, Store, StoreError};
use tokio::sync::watch;

/// How often other processes' commits are polled while there is a subscriber.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
const PAGE_EVENTS: u32 = 512;
/// A subscriber that lags by more than this has to resynchronize.
pub const LAG_EVENTS_MAX: u64 = 10_000;

#[derive(Debug, Clone, PartialEq)]
pub enum StreamUpdate {
    /// The next events, in order, without gap.
    Events(Vec<EventRow>),
    /// The subscriber lagged too far: it continues after `seq` and has to read the state again.
    Resync {
        /// Where it continues.
        seq: u64,
    },
}

/// Wakes subscribers when the log may have grown.
pub(crate) struct Hub {
    store: Arc<dyn Store>,
    hints: watch::Sender<u64>,
    poller: Once,
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, hints: watch::Sender::new(0), poller: Once::new() }
    }

    pub(crate) fn wake(&self, calls: usize) {
        self.hints.send_modify(|count| *count = count.wrapping_add(calls as u64));
    }

    /// Subscribes to commits, including those of other processes.
    pub(crate) fn listen(self: &Arc<Self>) -> watch::Receiver<u64> {
        let hints = self.hints.subscribe();
        self.watch_others();
        hints
    }

    /// Starts polling for commits of other processes; stops when the engine is dropped.
    fn watch_others(self: &Arc<Self>) {
        self.poller.call_once(|| {
            let hub = Arc::downgrade(self);
            let run = move || {
                let mut seen = 0;
                while let Some(hub) = hub.upgrade() {
                    hub.poll(&mut seen);
                    drop(hub);
                    std::thread::sleep(POLL_INTERVAL);
                }
            };
            let thread = std::thread::Builder::new().name("muster-poller".to_owned()).spawn(run);
            if let Err(error) = thread {
                tracing::error!(
                    %error,
                    "could not start the poller; other processes' commits will be seen late"
                );
            }
        });
    }

    fn poll(&self, seen: &mut u64) {
        if self.hints.receiver_count() == 0 {
            return;
        }
        match self.store.position() {
            Ok(position) if position != *seen => {
                *seen = position;
                self.wake(1);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not poll for new events"),
        }
    }
}

/// A place in a stream that moves forward.
pub struct Subscription {
    store: Arc<dyn Store>,
    hints: watch::Receiver<u64>,
    stream: String,
    after: u64,
}

impl Subscription {
    pub(crate) fn new(store: Arc<dyn Store>, hub: &Arc<Hub>, stream: String, after: u64) -> Self {
        Self { store, hints: hub.listen(), stream, after }
    }

    /// The sequence number of the last delivered event.
    pub fn position(&self) -> u64 {
        self.after
    }

    pub async fn next(&mut self) -> Result<StreamUpdate, StoreError> {
        loop {
            // Marked before the log is read, so that a commit in between still wakes this
            // subscriber.
            self.hints.mark_unchanged();
            if let Some(update) = self.look().await? {
                return Ok(update);
            }
            if self.hints.changed().await.is_err() {
                return Err(StoreError::Engine {
                    action: "followed a stream",
                    cause: "the engine was closed".to_owned(),
                });
            }
        }
    }

    async fn look(&mut self) -> Result<Option<StreamUpdate>, StoreError> {
        let store = Arc::clone(&self.store);
        let stream = self.stream.clone();
        let after = self.after;
        let read = move || -> Result<Option<StreamUpdate>, StoreError> {
            let mut snapshot = store.snapshot()?;
            let head = snapshot.head(&stream)?.seq;
            if head.saturating_sub(after) > LAG_EVENTS_MAX {
                return Ok(Some(StreamUpdate::Resync { seq: head }));
            }
            let events = snapshot.tail(&stream, after, PAGE_EVENTS)?;
            Ok((!events.is_empty()).then_some(StreamUpdate::Events(events)))
        };
        let update = tokio::task::spawn_blocking(read).await.map_err(|error| {
            StoreError::Engine { action: "read a stream", cause: error.to_string() }
        })??;
        match &update {
            Some(StreamUpdate::Events(events)) => {
                self.after = events.last().map_or(self.after, |event| event.seq);
            }
            Some(StreamUpdate::Resync { seq }) => self.after = *seq,
            None => {}
        }
        Ok(update)
    }
}
