//! One stream for any number of followers: every event is read and encoded once.
//!
//! ```text
//!   log ──read once──► ring of batches ──shared bytes──► follower, follower, follower ...
//!    ▲                  newest 1,024 events or 4 MiB
//!    └── a follower that starts further back reads what it missed from the log itself
//! ```
//!
//! Nothing is buffered per follower. One that stops reading falls out of the ring; when it reads
//! again it receives the range it missed ([`News::Gap`]). Other followers are not affected.

mod batch;
mod page;
mod ring;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use muster_store::{EventRow, Store, StoreError};
use tokio::{sync::watch, task::AbortHandle};

pub use self::batch::Batch;
use self::{
    page::FeedPage,
    ring::{EventRing, RingPosition},
};
use crate::growth::{GrowthHub, GrowthListener, StreamScope};

/// Minimum time between two reads of a busy stream, so that events that come close together travel
/// together.
const PACE: Duration = Duration::from_millis(1);
/// Added per follower: waking a follower costs about half of this, so more followers make larger
/// batches worthwhile.
const PACE_PER_FOLLOWER: Duration = Duration::from_micros(20);
/// The same under load, so that writers get most of the time.
const PACE_PER_FOLLOWER_BUSY: Duration = Duration::from_micros(100);
/// A stream with more events per second is busy. Low, because a machine that cannot keep up has few
/// of them, and must not be woken more often for it.
const BUSY_EVENTS_PER_SECOND: u128 = 100;
/// Upper limit of the pause before new events are read.
const PACE_MAX: Duration = Duration::from_millis(100);
/// After this many commits the log is read immediately, before the ring overflows.
const PACE_COMMITS_MAX: u64 = 128;
/// Pause after a read that failed: no later commit may come to wake the feed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How often other processes' commits are polled while there are followers.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Encodes an event for followers.
pub type Encode = fn(stream: &str, event: &EventRow) -> Encoded;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// It is sent as these bytes.
    Frame(Bytes),
    /// The last event: followers learn that the stream has ended.
    End,
}

impl Encoded {
    /// For followers that only want to know how far the stream has come.
    pub const NUMBER_ONLY: Self = Self::Frame(Bytes::new());
    /// The same for an event that such followers are to notice.
    pub const NOTICED: Self = Self::Frame(Bytes::from_static(b"!"));
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The next events, in order, without gap.
    Events(Vec<Batch>),
    /// The follower did not keep up: these events were dropped for it, and it continues after them.
    Gap {
        /// First dropped event.
        from: u64,
        /// Last dropped event.
        to: u64,
    },
    /// The stream has ended.
    End,
}

/// The feeds of one engine. A feed lives as long as it has followers.
pub(crate) struct Feeds {
    store: Arc<dyn Store>,
    hub: Arc<GrowthHub>,
    open: Mutex<HashMap<String, Weak<Feed>>>,
    poller: Once,
}

impl Feeds {
    pub(crate) fn of(store: Arc<dyn Store>, hub: Arc<GrowthHub>) -> Arc<Self> {
        Arc::new(Self { store, hub, open: Mutex::default(), poller: Once::new() })
    }

    /// Follows a stream after a sequence number; needs an asynchronous runtime.
    pub(crate) fn follow(
        self: &Arc<Self>,
        (stream, after): (String, u64),
        encode: Encode,
    ) -> Result<Follower, StoreError> {
        Ok(Follower::new(self.feed(StreamScope::One(stream), encode)?, after))
    }

    /// Follows every stream with this prefix, from now on; needs an asynchronous runtime.
    pub(crate) fn follow_all(
        self: &Arc<Self>,
        prefix: &'static str,
        encode: Encode,
    ) -> Result<Follower, StoreError> {
        Ok(Follower::newest(self.feed(StreamScope::Prefix(prefix), encode)?))
    }

    /// The feed of these streams, opened if there is none.
    fn feed(self: &Arc<Self>, scope: StreamScope, encode: Encode) -> Result<Arc<Feed>, StoreError> {
        let name = match &scope {
            StreamScope::One(stream) => stream.clone(),
            // No stream has this name.
            StreamScope::Prefix(prefix) => format!("{prefix}*"),
        };
        let mut open = self.open();
        open.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = open.get(&name).and_then(Weak::upgrade) {
            return Ok(feed);
        }
        let growth = self.hub.listen(scope.clone());
        let feed = Arc::new(Feed::open(&self.store, scope, encode)?);
        open.insert(name, Arc::downgrade(&feed));
        let task = tokio::spawn(drive(Arc::downgrade(&feed), growth));
        *feed.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        self.poller.call_once(|| self.watch_other_processes());
        Ok(feed)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Weak<Feed>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls for commits of other processes while there are followers, until the engine is dropped.
    fn watch_other_processes(self: &Arc<Self>) {
        let feeds = Arc::downgrade(self);
        let run = move || {
            let mut seen = 0;
            while let Some(feeds) = feeds.upgrade() {
                feeds.poll(&mut seen);
                drop(feeds);
                std::thread::sleep(POLL_INTERVAL);
            }
        };
        let thread = std::thread::Builder::new().name("muster-poller".to_owned()).spawn(run);
        if let Err(error) = thread {
            tracing::error!(
                %error,
                "could not start the poller; commits of other processes will be seen late"
            );
        }
    }

    fn poll(&self, seen: &mut u64) {
        if self.open().values().all(|feed| feed.strong_count() == 0) {
            return;
        }
        match self.store.position() {
            Ok(position) if position != *seen => {
                *seen = position;
                self.hub.wake_all();
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not poll for new events"),
        }
    }
}

/// What a feed reads.
enum Source {
    Stream(String),
    /// Every stream with this prefix. Its events are numbered in order of arrival.
    Family {
        prefix: &'static str,
        /// How far each stream was read.
        read: Mutex<BTreeMap<String, u64>>,
    },
}

impl Source {
    fn name(&self) -> &str {
        match self {
            Self::Stream(stream) => stream,
            Self::Family { prefix, .. } => prefix,
        }
    }
}

/// The shared state of all followers of one stream.
struct Feed {
    store: Arc<dyn Store>,
    source: Source,
    encode: Encode,
    ring: Mutex<EventRing>,
    news: watch::Sender<()>,
    followers: AtomicUsize,
    task: Mutex<Option<AbortHandle>>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Feed {
    /// A feed of what comes from now on.
    fn open(
        store: &Arc<dyn Store>,
        scope: StreamScope,
        encode: Encode,
    ) -> Result<Self, StoreError> {
        let mut snapshot = store.snapshot()?;
        let (source, head) = match scope {
            StreamScope::One(stream) => {
                let head = snapshot.head(&stream)?.seq;
                (Source::Stream(stream), head)
            }
            StreamScope::Prefix(prefix) => {
                let streams = snapshot.streams(prefix)?;
                let read = streams.into_iter().map(|stream| (stream.name, stream.seq)).collect();
                (Source::Family { prefix, read: Mutex::new(read) }, 0)
            }
        };
        Ok(Self {
            store: Arc::clone(store),
            source,
            encode,
            ring: Mutex::new(EventRing::starting_after(head)),
            news: watch::Sender::new(()),
            followers: AtomicUsize::new(0),
            task: Mutex::default(),
        })
    }

    /// Frames are moved in and out whole, so a panic elsewhere cannot leave the ring half changed.
    fn ring(&self) -> MutexGuard<'_, EventRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads new events; returns whether the stream continues.
    async fn advance(self: &Arc<Self>) -> Result<bool, StoreError> {
        loop {
            let after = self.ring().last();
            let page = self.page(after).await?;
            let news = page.ended || !page.batches.is_empty();
            let mut ring = self.ring();
            page.batches.into_iter().for_each(|batch| ring.push(batch));
            if page.ended {
                ring.end();
            }
            drop(ring);
            if news {
                self.news.send_replace(());
            }
            if page.ended || !page.full {
                return Ok(!page.ended);
            }
        }
    }

    /// The events after a sequence number, encoded.
    async fn page(self: &Arc<Self>, after: u64) -> Result<FeedPage, StoreError> {
        let feed = Arc::clone(self);
        let read = move || FeedPage::read(&feed, after);
        tokio::task::spawn_blocking(read).await.map_err(|error| StoreError::Engine {
            action: "read a stream",
            cause: error.to_string(),
        })?
    }

    /// Pause before the next read, given how many events the last one found, and since when.
    fn pace(&self, found: u64, within: Duration) -> Duration {
        let busy = u128::from(found) * 1_000_000 > within.as_micros() * BUSY_EVENTS_PER_SECOND;
        let followers = u32::try_from(self.followers.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let each = if busy { PACE_PER_FOLLOWER_BUSY } else { PACE_PER_FOLLOWER };
        (PACE + each.saturating_mul(followers)).min(PACE_MAX)
    }
}

/// The task of a feed; dropping the feed aborts it.
async fn drive(feed: Weak<Feed>, mut growth: GrowthListener) {
    let mut looked = Instant::now();
    loop {
        let Some(followed) = feed.upgrade() else { return };
        // Taken before the log is read, so that a commit in between wakes this task again.
        growth.take();
        let before = followed.ring().last();
        match followed.advance().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(
                    %error,
                    stream = followed.source.name(),
                    "could not read new events for a feed; trying again soon"
                );
                drop(followed);
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
        }
        let found = followed.ring().last().saturating_sub(before);
        let pace = followed.pace(found, std::mem::replace(&mut looked, Instant::now()).elapsed());
        drop(followed);
        if tokio::time::timeout(pace, growth.wait(PACE_COMMITS_MAX)).await.is_err() {
            growth.wait(1).await;
        }
    }
}

/// One follower's place in a stream.
pub struct Follower {
    feed: Arc<Feed>,
    news: watch::Receiver<()>,
    after: u64,
    /// Whether it has caught up once; before that it reads the log at its own speed.
    live: bool,
}

impl Follower {
    fn new(feed: Arc<Feed>, after: u64) -> Self {
        feed.followers.fetch_add(1, Ordering::Relaxed);
        let news = feed.news.subscribe();
        Self { feed, news, after, live: false }
    }

    /// A follower that begins with the next event.
    fn newest(feed: Arc<Feed>) -> Self {
        let after = feed.ring().last();
        let mut follower = Self::new(feed, after);
        follower.live = true;
        follower
    }

    /// Number of the last event that was delivered or reported as missed.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// Waits for the next news. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<News, StoreError> {
        loop {
            self.news.mark_unchanged();
            let place = self.feed.ring().read_after(self.after);
            match place {
                RingPosition::Events(batches) => return Ok(self.take(batches)),
                RingPosition::Ended => return Ok(News::End),
                RingPosition::Newest => {
                    self.live = true;
                    // The sender lives in the feed, which this follower holds.
                    if self.news.changed().await.is_err() {
                        return Ok(News::End);
                    }
                }
                RingPosition::Lost { last } if self.live => {
                    let from = self.after + 1;
                    self.after = last;
                    return Ok(News::Gap { from, to: last });
                }
                RingPosition::Lost { .. } => {
                    let page = self.feed.page(self.after).await?;
                    return Ok(if page.batches.is_empty() {
                        News::End
                    } else {
                        self.take(page.batches)
                    });
                }
            }
        }
    }

    fn take(&mut self, batches: Vec<Batch>) -> News {
        self.after = batches.last().map_or(self.after, Batch::last);
        News::Events(batches)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.feed.followers.fetch_sub(1, Ordering::Relaxed);
    }
}
