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
mod delivery;
mod pace;
mod page;
mod poll;
mod ring;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use muster_store::{EventRow, Store, StoreError};
use tokio::{sync::watch, task::AbortHandle};

pub use self::batch::Batch;
use self::{
    delivery::Deliveries,
    pace::Pace,
    page::FeedPage,
    poll::Poller,
    ring::{EventRing, RingPosition},
};
use crate::growth::{GrowthHub, GrowthListener, StreamScope};

/// After this many commits the log is read immediately, before the ring overflows.
const PACE_COMMITS_MAX: u64 = 128;
/// Pause after a read that failed: no later commit may come to wake the feed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
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
    poller: Poller,
}

impl Feeds {
    pub(crate) fn of(store: Arc<dyn Store>, hub: Arc<GrowthHub>) -> Arc<Self> {
        Arc::new(Self { store, hub, open: Mutex::default(), poller: Poller::default() })
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
        drop(open);
        self.poller.watch(self);
        Ok(feed)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Weak<Feed>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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
    deliveries: Arc<Deliveries>,
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
            deliveries: Arc::default(),
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
                self.deliveries.announce();
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
}

/// The task of a feed; dropping the feed aborts it.
async fn drive(feed: Weak<Feed>, mut growth: GrowthListener) {
    let mut pace = Pace::starting_at(Instant::now());
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
        pace.record(found, Instant::now());
        let pause = pace.pause(followed.followers.load(Ordering::Relaxed));
        let deliveries = Arc::clone(&followed.deliveries);
        drop(followed);
        let is_full = tokio::select! {
            () = growth.wait(PACE_COMMITS_MAX) => true,
            () = pause.pass(&deliveries) => false,
        };
        if !is_full {
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
    /// The round of deliveries after which it had taken everything.
    settled: Option<u64>,
}

impl Follower {
    fn new(feed: Arc<Feed>, after: u64) -> Self {
        feed.followers.fetch_add(1, Ordering::Relaxed);
        let news = feed.news.subscribe();
        Self { feed, news, after, live: false, settled: None }
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
                    self.feed.deliveries.settle(&mut self.settled);
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
        self.feed.deliveries.leave(self.settled);
    }
}
