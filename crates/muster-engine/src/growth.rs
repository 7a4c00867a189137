//! Which streams have grown. A notice is only a hint to look: the log is the truth.
//!
//! Notices are merged until they are taken, so a slow listener costs one entry for each stream.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::watch;

/// What has grown since a listener last looked.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// How many commits that was.
    commits: u64,
    /// Each stream with the number of its first new event.
    streams: BTreeMap<String, u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum StreamScope {
    One(String),
    /// Every stream whose name starts with this.
    Prefix(&'static str),
}

impl StreamScope {
    fn includes(&self, stream: &str) -> bool {
        match self {
            Self::One(name) => name == stream,
            Self::Prefix(prefix) => stream.starts_with(prefix),
        }
    }
}

type Listeners = Vec<(StreamScope, Weak<watch::Sender<Growth>>)>;

/// The listeners of one engine.
#[derive(Default)]
pub(crate) struct GrowthHub(Mutex<Listeners>);

impl GrowthHub {
    pub(crate) fn listen(&self, scope: StreamScope) -> GrowthListener {
        let growth = Arc::new(watch::Sender::new(Growth::default()));
        self.listeners().push((scope, Arc::downgrade(&growth)));
        GrowthListener { commits: growth.subscribe(), growth }
    }

    /// Reports a commit to a stream.
    pub(crate) fn notify(&self, stream: &str, from: u64) {
        let mut listeners = self.listeners();
        listeners.retain(|(_, growth)| growth.strong_count() > 0);
        let interested = listeners.iter().filter(|(scope, _)| scope.includes(stream));
        for growth in interested.filter_map(|(_, growth)| growth.upgrade()) {
            growth.send_modify(|growth| {
                growth.commits += 1;
                let first = growth.streams.entry(stream.to_owned()).or_insert(from);
                *first = from.min(*first);
            });
        }
    }

    /// Wakes every listener, after commits of other processes to streams that are not known.
    pub(crate) fn wake_all(&self) {
        for growth in self.listeners().iter().filter_map(|(_, growth)| growth.upgrade()) {
            growth.send_modify(|growth| growth.commits += 1);
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears of commits of this process to the streams of its scope.
pub struct GrowthListener {
    growth: Arc<watch::Sender<Growth>>,
    commits: watch::Receiver<Growth>,
}

impl GrowthListener {
    /// Waits for growth; returns each stream with the number of its first new event. Empty if only
    /// other processes may have written.
    pub async fn next(&mut self) -> BTreeMap<String, u64> {
        self.wait(1).await;
        self.take()
    }

    /// Waits until there were this many commits since the last look.
    pub(crate) async fn wait(&mut self, commits: u64) {
        let waited = self.commits.wait_for(|growth| growth.commits >= commits).await;
        if let Err(closed) = waited {
            unreachable!("the listener holds the sender: {closed}");
        }
    }

    pub(crate) fn take(&self) -> BTreeMap<String, u64> {
        let mut taken = Growth::default();
        self.growth.send_if_modified(|growth| {
            std::mem::swap(growth, &mut taken);
            false
        });
        taken.streams
    }
}
