//! One stream for many followers: every event is read and written out once, whoever listens.
//!
//! ```text
//!   log ──read once──► ring of frames ──shared bytes──► follower, follower, follower ...
//!    ▲                  newest 1,024 events or 4 MiB
//!    └── a follower that starts further back reads what it missed from the log itself
//! ```
//!
//! Nothing is buffered per follower. One that stops reading falls out of the ring; when it reads
//! again it is told from where to where it missed events ([`News::Gap`]), and nobody else notices.

mod ring;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use muster_store::{EventRow, Store, StoreError};
use tokio::sync::watch;

use self::ring::{Place, Ring};
use crate::subscribe::Hub;

/// Events read from the log at once.
const PAGE_EVENTS: u32 = 512;
/// Bytes handed to a follower at once; at least one event.
const BATCH_BYTES: usize = 64 * 1024;
/// A busy stream is looked at this often at most, so that events that come close together travel
/// together.
const PACE: Duration = Duration::from_millis(1);
/// The more follow, the more is worth sending together.
const PACE_PER_FOLLOWER: Duration = Duration::from_micros(10);
/// How long a feed that nobody follows any more may take to notice.
const ATTENTION: Duration = Duration::from_secs(1);

/// How an event is written for followers.
pub type Encode = fn(stream: &str, event: &EventRow) -> Encoded;

/// What becomes of an event on its way to followers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// It is sent as these bytes.
    Frame(Bytes),
    /// It is the last one: followers are told that the stream has ended.
    End,
}

/// An event as followers get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its number in the stream.
    pub seq: u64,
    /// What is sent.
    pub bytes: Bytes,
}

/// What a follower gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The next events, in order, without gap.
    Frames(Vec<Frame>),
    /// It did not keep up: these were dropped for it, and it goes on behind them.
    Gap {
        /// First dropped event.
        from: u64,
        /// Last dropped event.
        to: u64,
    },
    /// The stream has ended.
    End,
}

/// The feeds of one engine, by stream. A feed lives as long as somebody follows it.
#[derive(Default)]
pub(crate) struct Feeds(Mutex<HashMap<String, Weak<Feed>>>);

impl Feeds {
    /// Follows a stream behind a number; needs an asynchronous runtime.
    pub(crate) fn follow(
        &self,
        (store, hub): (&Arc<dyn Store>, &Arc<Hub>),
        (stream, after): (String, u64),
        encode: Encode,
    ) -> Result<Follower, StoreError> {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = feeds.get(&stream).and_then(Weak::upgrade) {
            return Ok(Follower::new(feed, after));
        }
        let head = store.snapshot()?.head(&stream)?.seq;
        let feed = Arc::new(Feed {
            store: Arc::clone(store),
            stream: stream.clone(),
            encode,
            ring: Mutex::new(Ring::behind(head)),
            news: watch::Sender::new(()),
            followers: AtomicUsize::new(0),
        });
        feeds.insert(stream, Arc::downgrade(&feed));
        tokio::spawn(drive(Arc::downgrade(&feed), hub.listen()));
        Ok(Follower::new(feed, after))
    }
}

/// What all followers of one stream share.
struct Feed {
    store: Arc<dyn Store>,
    stream: String,
    encode: Encode,
    ring: Mutex<Ring>,
    news: watch::Sender<()>,
    followers: AtomicUsize,
}

impl Feed {
    /// Frames are moved in and out whole, so a panic elsewhere cannot leave the ring half changed.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has come since; answers whether the stream goes on.
    async fn advance(self: &Arc<Self>) -> Result<bool, StoreError> {
        loop {
            let after = self.ring().last();
            let page = self.page(after).await?;
            let full = page.frames.len() == PAGE_EVENTS as usize;
            let news = page.ended || !page.frames.is_empty();
            let mut ring = self.ring();
            page.frames.into_iter().for_each(|frame| ring.push(frame));
            if page.ended {
                ring.end();
            }
            drop(ring);
            if news {
                self.news.send_replace(());
            }
            if page.ended || !full {
                return Ok(!page.ended);
            }
        }
    }

    /// The events behind a number, written out.
    async fn page(self: &Arc<Self>, after: u64) -> Result<Page, StoreError> {
        let feed = Arc::clone(self);
        let read = move || {
            let rows = feed.store.snapshot()?.tail(&feed.stream, after, PAGE_EVENTS)?;
            Ok(Page::of(&feed, after, &rows))
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| StoreError::Engine {
            action: "read a stream",
            cause: error.to_string(),
        })?
    }

    fn pace(&self) -> Duration {
        let followers = u32::try_from(self.followers.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        PACE + PACE_PER_FOLLOWER.saturating_mul(followers)
    }
}

/// A piece of the log, written out.
struct Page {
    frames: Vec<Frame>,
    ended: bool,
}

impl Page {
    fn of(feed: &Feed, after: u64, rows: &[EventRow]) -> Self {
        let mut page = Self { frames: Vec::with_capacity(rows.len()), ended: false };
        for row in rows {
            // Only the end of a stream takes events away, so a hole means that it has ended.
            let expected = after + page.frames.len() as u64 + 1;
            match (feed.encode)(&feed.stream, row) {
                Encoded::Frame(bytes) if row.seq == expected => {
                    page.frames.push(Frame { seq: row.seq, bytes });
                }
                Encoded::Frame(_) | Encoded::End => {
                    page.ended = true;
                    break;
                }
            }
        }
        page
    }
}

/// The life of a feed.
async fn drive(feed: Weak<Feed>, mut hints: watch::Receiver<u64>) {
    loop {
        let Some(followed) = feed.upgrade() else { return };
        hints.mark_unchanged();
        match followed.advance().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, stream = followed.stream, "a feed was not read"),
        }
        let pace = followed.pace();
        drop(followed);
        tokio::time::sleep(pace).await;
        // Waits in slices, so that it ends soon after its last follower.
        while let Err(_elapsed) = tokio::time::timeout(ATTENTION, hints.changed()).await {
            if feed.strong_count() == 0 {
                return;
            }
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

    /// Number of the last event that it was given or told to have missed.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// Waits for what comes next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<News, StoreError> {
        loop {
            self.news.mark_unchanged();
            let place = self.feed.ring().behind_number(self.after, BATCH_BYTES);
            match place {
                Place::Frames(frames) => return Ok(self.take(frames)),
                Place::Ended => return Ok(News::End),
                Place::Newest => {
                    self.live = true;
                    // The sender lives in the feed, which this follower holds.
                    if self.news.changed().await.is_err() {
                        return Ok(News::End);
                    }
                }
                Place::Lost { last } if self.live => {
                    let from = self.after + 1;
                    self.after = last;
                    return Ok(News::Gap { from, to: last });
                }
                Place::Lost { .. } => {
                    let page = self.feed.page(self.after).await?;
                    return Ok(if page.frames.is_empty() {
                        News::End
                    } else {
                        self.take(page.frames)
                    });
                }
            }
        }
    }

    fn take(&mut self, frames: Vec<Frame>) -> News {
        self.after = frames.last().map_or(self.after, |frame| frame.seq);
        News::Frames(frames)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.feed.followers.fetch_sub(1, Ordering::Relaxed);
    }
}
