//! Notices commits of other processes: one thread for all feeds of an engine.
//!
//! Commits of this process are reported to feeds directly. Others show only in the position of the
//! log, which has to be polled; the less happens there, the less often.

use std::{
    sync::{Arc, OnceLock, Weak},
    thread::{self, Thread},
    time::Duration,
};

use super::{Feed, Feeds};

/// Interval while other processes write.
const INTERVAL_MIN: Duration = Duration::from_millis(40);
/// Interval when they have not written for some seconds: as late as a commit may be noticed.
const INTERVAL_MAX: Duration = Duration::from_millis(400);
/// An interval in which nothing happened makes the next one longer by this part of it.
const GROWTH_DIVISOR: u32 = 16;

/// The thread that polls, once there was a feed.
#[derive(Default)]
pub(super) struct Poller(OnceLock<Option<Thread>>);

impl Poller {
    /// Polls while there are followers, until the engine is dropped.
    pub(super) fn watch(&self, feeds: &Arc<Feeds>) {
        let started = self.0.get_or_init(|| {
            let feeds = Arc::downgrade(feeds);
            let thread = thread::Builder::new().name("muster-poller".to_owned());
            match thread.spawn(move || poll(&feeds)) {
                Ok(thread) => Some(thread.thread().clone()),
                Err(error) => {
                    tracing::error!(
                        %error,
                        "could not start the poller; commits of other processes will be seen late"
                    );
                    None
                }
            }
        });
        started.as_ref().into_iter().for_each(Thread::unpark);
    }
}

/// The thread ends once it sees that its engine is gone.
impl Drop for Poller {
    fn drop(&mut self) {
        self.0.get().into_iter().flatten().for_each(Thread::unpark);
    }
}

fn poll(feeds: &Weak<Feeds>) {
    let mut interval = INTERVAL_MIN;
    loop {
        let Some(followed) = feeds.upgrade() else { return };
        if followed.is_followed() {
            let is_news = followed.look_for_commits();
            drop(followed);
            interval = next_interval(interval, is_news);
            thread::park_timeout(interval);
        } else {
            drop(followed);
            interval = INTERVAL_MIN;
            thread::park();
        }
    }
}

fn next_interval(interval: Duration, is_news: bool) -> Duration {
    if is_news { INTERVAL_MIN } else { (interval + interval / GROWTH_DIVISOR).min(INTERVAL_MAX) }
}

impl Feeds {
    fn is_followed(&self) -> bool {
        self.open().values().any(|feed: &Weak<Feed>| feed.strong_count() > 0)
    }

    /// Whether another process has written since the last look.
    fn look_for_commits(&self) -> bool {
        match self.store.position() {
            Ok(position) => self.hub.reached(position),
            Err(error) => {
                tracing::warn!(%error, "could not poll for new events");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{INTERVAL_MAX, INTERVAL_MIN, next_interval};

    #[test]
    fn a_quiet_minute_costs_few_polls_and_news_bring_the_pace_back() {
        let mut interval = INTERVAL_MIN;
        let mut elapsed = Duration::ZERO;
        let mut polls = 0;
        while elapsed < Duration::from_secs(60) {
            interval = next_interval(interval, false);
            elapsed += interval;
            polls += 1;
        }
        assert_eq!((polls, interval), (173, INTERVAL_MAX));
        assert_eq!(next_interval(interval, true), INTERVAL_MIN);
    }
}
