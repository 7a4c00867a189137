//! Notifies subscribers in this process which streams have grown, right after the commit.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A stream that has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    pub stream: String,
    /// Number of its first event that is new.
    pub from: u64,
}

/// Subscribers, each with the prefix of the stream names it wants.
#[derive(Default)]
pub(crate) struct StreamNotifier(Mutex<Vec<(&'static str, UnboundedSender<Grown>)>>);

impl StreamNotifier {
    /// Subscribes to every stream whose name starts with `prefix`.
    pub(crate) fn listen(&self, prefix: &'static str) -> UnboundedReceiver<Grown> {
        let (sender, receiver) = unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((prefix, sender));
        receiver
    }

    /// Reports that a stream has grown. Closed subscribers are removed.
    pub(crate) fn notify(&self, stream: &str, from: u64) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|(prefix, listener)| {
            let grown = || Grown { stream: stream.to_owned(), from };
            !stream.starts_with(prefix) || listener.send(grown()).is_ok()
        });
    }
}
