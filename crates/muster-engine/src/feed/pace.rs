//! How long a feed waits between two reads, so that events that are close together travel together.

use std::time::{Duration, Instant};

use super::delivery::Deliveries;

/// Minimum time between two reads of a stream.
const PACE: Duration = Duration::from_millis(1);
/// Added per follower to the longest pause: about twice what it costs to wake one.
const PACE_PER_FOLLOWER: Duration = Duration::from_micros(20);
/// Added per follower to the shortest pause under load, so that batches are worthwhile.
const PACE_PER_FOLLOWER_BUSY: Duration = Duration::from_micros(100);
/// Upper limit of the shortest pause under load.
const PACE_BUSY_MAX: Duration = Duration::from_millis(6);
/// Under load a pause is this many times as long as its deliveries took, so that writers get half
/// of the time.
const DELIVERY_TIMES_BUSY: u32 = 2;
/// A stream with more events per second is busy. Low, because a machine that cannot keep up has few
/// of them, and must not be woken more often for it.
const BUSY_EVENTS_PER_SECOND: u128 = 100;
/// Upper limit of any pause: a follower that does not read has no say.
const PACE_MAX: Duration = Duration::from_millis(100);
/// Events are counted at least this long before a stream is called quiet.
const WINDOW: Duration = Duration::from_millis(100);

/// How many events come lately.
pub(super) struct Pace {
    since: Instant,
    found: u64,
    busy: bool,
}

impl Pace {
    pub(super) fn starting_at(now: Instant) -> Self {
        Self { since: now, found: 0, busy: false }
    }

    /// A read found this many events.
    pub(super) fn record(&mut self, found: u64, now: Instant) {
        self.found += found;
        let elapsed = now.saturating_duration_since(self.since);
        let within = elapsed.max(WINDOW).as_micros();
        let is_busy = u128::from(self.found) * 1_000_000 > within * BUSY_EVENTS_PER_SECOND;
        if elapsed >= WINDOW {
            *self = Self { since: now, found: 0, busy: is_busy };
        } else {
            self.busy |= is_busy;
        }
    }

    /// The pause before the next read.
    pub(super) fn pause(&self, followers: usize) -> FeedPause {
        let followers = u32::try_from(followers).unwrap_or(u32::MAX);
        let longest = (PACE + PACE_PER_FOLLOWER.saturating_mul(followers)).min(PACE_MAX);
        if !self.busy {
            return FeedPause { shortest: PACE, longest, delivery_times: 1 };
        }
        let shortest = PACE + PACE_PER_FOLLOWER_BUSY.saturating_mul(followers);
        let shortest = shortest.min(PACE_BUSY_MAX);
        let longest = longest.max(shortest);
        FeedPause { shortest, longest, delivery_times: DELIVERY_TIMES_BUSY }
    }
}

/// A pause between two reads. Waiting gathers events, so that each follower is woken for several;
/// but where followers have taken the earlier ones, the machine has time for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FeedPause {
    shortest: Duration,
    longest: Duration,
    /// In between, this many times as long as it took until every follower had the last events.
    delivery_times: u32,
}

impl FeedPause {
    /// Waits for the end of the pause, which begins now.
    pub(super) async fn pass(self, deliveries: &Deliveries) {
        let began = tokio::time::Instant::now();
        if tokio::time::timeout(self.longest, deliveries.done()).await.is_err() {
            tracing::trace!("a feed reads on before all of its followers have");
        }
        tokio::time::sleep_until(began + self.length(began.elapsed())).await;
    }

    /// Its length, if every follower had the last events after this time.
    fn length(self, delivered_after: Duration) -> Duration {
        (delivered_after * self.delivery_times).clamp(self.shortest, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{FeedPause, Pace};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn pause(shortest: u64, longest: u64, delivery_times: u32) -> FeedPause {
        FeedPause { shortest: ms(shortest), longest: ms(longest), delivery_times }
    }

    #[test]
    fn single_events_are_not_load_and_many_are() {
        let start = Instant::now();
        let at = |time| start + ms(time);
        let mut pace = Pace::starting_at(start);
        for (found, time) in [(1, 2_000), (1, 2_005), (8, 2_010)] {
            pace.record(found, at(time));
            assert_eq!(pace.pause(1_000), pause(1, 21, 1), "{found} at {time}");
        }
        pace.record(2, at(2_015));
        assert_eq!(pace.pause(1_000), pause(6, 21, 2), "eleven in 100 ms");
        assert_eq!(pace.pause(10), pause(2, 2, 2));
        assert_eq!(pace.pause(10_000), pause(6, 100, 2));
        pace.record(0, at(2_050));
        assert_eq!(pace.pause(1_000), pause(6, 21, 2));
        pace.record(1, at(2_200));
        assert_eq!(pace.pause(1_000), pause(1, 21, 1));
    }

    #[test]
    fn a_pause_ends_with_its_deliveries_and_under_load_as_long_after() {
        let quiet = pause(1, 21, 1);
        let busy = pause(6, 21, 2);
        for (pause, delivered_after, expected) in [
            (quiet, 0, 1),
            (quiet, 8, 8),
            (quiet, 500, 21),
            (busy, 0, 6),
            (busy, 8, 16),
            (busy, 12, 21),
            (busy, 500, 21),
        ] {
            assert_eq!(pause.length(ms(delivered_after)), ms(expected), "{pause:?}");
        }
    }
}
