//! One feed, many followers: the same events for all, gaps only for those that do not keep up.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use muster_store::{EventRow, MemoryStore};
use tokio::time::timeout;

use super::{STREAM, create, over};
use crate::{Batch, Encoded, Engine, Follower, News};

const PATIENCE: Duration = Duration::from_secs(20);

fn encode(_stream: &str, event: &EventRow) -> Encoded {
    Encoded::Frame(Bytes::from(event.seq.to_string()))
}

pub(super) fn follow(engine: &Engine, after: u64) -> Follower {
    engine.follow(STREAM.to_owned(), after, encode).unwrap()
}

async fn news(follower: &mut Follower) -> News {
    timeout(PATIENCE, follower.next()).await.unwrap().unwrap()
}

/// Reads up to the event with this number; returns the numbers in order.
async fn read_to(follower: &mut Follower, last: u64) -> Vec<u64> {
    let mut seen = Vec::new();
    while follower.position() < last {
        match news(follower).await {
            News::Events(batches) => {
                for (seq, bytes) in batches.iter().flat_map(Batch::frames) {
                    assert_eq!(bytes, seq.to_string().as_bytes());
                    seen.push(seq);
                }
            }
            other @ (News::Gap { .. } | News::End) => panic!("{other:?} before {last}"),
        }
    }
    seen
}

fn numbers(from: u64, to: u64) -> Vec<u64> {
    (from..=to).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_gets_every_event_once_and_in_order() {
    let engine = Arc::new(over(MemoryStore::default()));
    for number in 0..700 {
        create(&engine, &format!("before {number}")).unwrap();
    }
    let mut early = follow(&engine, 0);
    let mut live = follow(&engine, 700);
    let writer = Arc::clone(&engine);
    let writing = tokio::task::spawn_blocking(move || {
        for number in 0..50 {
            create(&writer, &format!("after {number}")).unwrap();
        }
    });
    assert_eq!(read_to(&mut live, 750).await, numbers(701, 750));
    writing.await.unwrap();
    assert_eq!(read_to(&mut early, 750).await, numbers(1, 750));
    let mut late = follow(&engine, 745);
    assert_eq!(read_to(&mut late, 750).await, numbers(746, 750));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_stops_reading_is_told_what_it_missed() {
    let engine = over(MemoryStore::default());
    create(&engine, "first").unwrap();
    let mut slow = follow(&engine, 0);
    let mut quick = follow(&engine, 0);
    assert_eq!(read_to(&mut slow, 1).await, [1]);
    assert_eq!(read_to(&mut quick, 1).await, [1]);
    // Both have seen everything, so from here on they are live.
    assert!(timeout(Duration::from_millis(1), slow.next()).await.is_err());
    assert!(timeout(Duration::from_millis(1), quick.next()).await.is_err());
    for number in 2..=2_000 {
        create(&engine, &format!("{number}")).unwrap();
        if number % 500 == 0 {
            let seen = read_to(&mut quick, number).await;
            assert_eq!(seen, numbers(number.saturating_sub(499).max(2), number));
        }
    }
    assert_eq!(news(&mut slow).await, News::Gap { from: 2, to: 2_000 });
    create(&engine, "after the gap").unwrap();
    assert_eq!(read_to(&mut slow, 2_001).await, [2_001]);
}

/// A follower that has seen the first event and waits for the next.
async fn up_to_date(engine: &Engine) -> Follower {
    let mut follower = follow(engine, 0);
    assert_eq!(read_to(&mut follower, 1).await, [1]);
    assert!(timeout(Duration::from_millis(1), follower.next()).await.is_err());
    follower
}

#[tokio::test(flavor = "multi_thread")]
async fn ss_10_a_follower_may_be_1024_events_behind_and_not_one_more() {
    for (missed, is_lost) in [(1_024, false), (1_025, true)] {
        let engine = over(MemoryStore::default());
        create(&engine, "first").unwrap();
        let mut slow = up_to_date(&engine).await;
        let mut quick = up_to_date(&engine).await;
        let last = missed + 1;
        for number in 2..=last {
            create(&engine, &format!("{number}")).unwrap();
            // The other one keeps up, so the feed has read everything.
            assert_eq!(read_to(&mut quick, number).await, [number]);
        }
        if is_lost {
            assert_eq!(news(&mut slow).await, News::Gap { from: 2, to: last });
        } else {
            assert_eq!(read_to(&mut slow, last).await, numbers(2, last));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_followers_read_the_log_once() {
    static ENCODED: AtomicU64 = AtomicU64::new(0);
    let encode_counted = |stream: &str, event: &EventRow| {
        ENCODED.fetch_add(1, Ordering::Relaxed);
        encode(stream, event)
    };
    let engine = over(MemoryStore::default());
    let mut followers: Vec<Follower> =
        (0..1_000).map(|_| engine.follow(STREAM.to_owned(), 0, encode_counted).unwrap()).collect();
    for number in 1..=20 {
        create(&engine, &format!("{number}")).unwrap();
    }
    for follower in &mut followers {
        assert_eq!(read_to(follower, 20).await, numbers(1, 20));
    }
    assert_eq!(ENCODED.load(Ordering::Relaxed), 20);
}

#[tokio::test]
async fn growth_of_the_wanted_streams_is_reported_once_from_its_first_event() {
    let engine = over(MemoryStore::default());
    let mut growth = engine.grown("workspace/");
    let mut others = engine.grown("run/");
    create(&engine, "first").unwrap();
    create(&engine, "second").unwrap();
    assert_eq!(growth.next().await, BTreeMap::from([(STREAM.to_owned(), 1)]));
    create(&engine, "third").unwrap();
    assert_eq!(growth.next().await, BTreeMap::from([(STREAM.to_owned(), 3)]));
    assert!(timeout(Duration::from_millis(1), others.next()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_that_have_taken_everything_do_not_hold_the_next_event_up() {
    const FOLLOWERS: usize = 2_000;
    const ROUNDS: usize = 8;
    // The pause for this many followers, which is for those that have not.
    const PAUSE: Duration = Duration::from_micros(20 * FOLLOWERS as u64);
    let engine = over(MemoryStore::default());
    let (taken, mut takings) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..FOLLOWERS {
        let mut follower = follow(&engine, 0);
        let taken = taken.clone();
        tokio::spawn(async move {
            while let Ok(News::Events(_)) = follower.next().await {
                taken.send(()).unwrap();
            }
        });
    }
    let mut delays = Vec::new();
    for number in 0..ROUNDS {
        let began = std::time::Instant::now();
        create(&engine, &format!("{number}")).unwrap();
        for _ in 0..FOLLOWERS {
            timeout(PATIENCE, takings.recv()).await.unwrap().unwrap();
        }
        delays.push(began.elapsed());
    }
    println!("{FOLLOWERS} followers had each event after {delays:?}");
    // The first comes after a pause anyway; a busy machine may hold some of the others up.
    let fastest = delays.iter().skip(1).min().unwrap();
    assert!(*fastest < PAUSE / 2, "{delays:?}");
}
