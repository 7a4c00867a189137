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

#[derive(Default)]
struct Listeners {
    each: Vec<(StreamScope, Weak<watch::Sender<Growth>>)>,
    /// Position in the log up to which every commit was reported to those that it concerns.
    reported: u64,
}

/// The listeners of one engine.
#[derive(Default)]
pub(crate) struct GrowthHub(Mutex<Listeners>);

/// A commit of this process to one stream.
pub(crate) struct StreamCommit<'a> {
    pub(crate) stream: &'a str,
    /// Number of the first new event.
    pub(crate) first: u64,
    /// Positions of the first and the last new event in the log.
    pub(crate) positions: (u64, u64),
}

impl GrowthHub {
    pub(crate) fn listen(&self, scope: StreamScope) -> GrowthListener {
        let growth = Arc::new(watch::Sender::new(Growth::default()));
        self.listeners().each.push((scope, Arc::downgrade(&growth)));
        GrowthListener { commits: growth.subscribe(), growth }
    }

    /// Reports a commit of this process.
    pub(crate) fn notify(&self, commit: &StreamCommit<'_>) {
        let StreamCommit { stream, first, positions } = *commit;
        let mut listeners = self.listeners();
        // Positions in between are of other processes, and are left to the poller.
        if positions.0 == listeners.reported + 1 {
            listeners.reported = positions.1;
        }
        listeners.each.retain(|(_, growth)| growth.strong_count() > 0);
        let interested = listeners.each.iter().filter(|(scope, _)| scope.includes(stream));
        for growth in interested.filter_map(|(_, growth)| growth.upgrade()) {
            growth.send_modify(|growth| {
                growth.commits += 1;
                let known = growth.streams.entry(stream.to_owned()).or_insert(first);
                *known = first.min(*known);
            });
        }
    }

    /// The log has come to this position. Wakes every listener if other processes wrote some of it,
    /// to streams that are not known; returns whether they did.
    pub(crate) fn reached(&self, position: u64) -> bool {
        let mut listeners = self.listeners();
        if position <= listeners.reported {
            return false;
        }
        listeners.reported = position;
        for growth in listeners.each.iter().filter_map(|(_, growth)| growth.upgrade()) {
            growth.send_modify(|growth| growth.commits += 1);
        }
        true
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

#[cfg(test)]
mod tests {
    use super::{GrowthHub, StreamCommit};

    fn commit(hub: &GrowthHub, positions: (u64, u64)) {
        hub.notify(&StreamCommit { stream: "run/1", first: 1, positions });
    }

    #[test]
    fn only_commits_of_others_are_news_to_the_poller() {
        let hub = GrowthHub::default();
        assert!(hub.reached(4), "written before anyone listened");
        commit(&hub, (5, 6));
        commit(&hub, (7, 7));
        assert!(!hub.reached(6) && !hub.reached(7), "this process wrote them");
        assert!(hub.reached(8) && !hub.reached(8));
        commit(&hub, (10, 12));
        assert!(hub.reached(12), "9 was written by another process");
        commit(&hub, (11, 12));
        assert!(!hub.reached(12));
    }
}
