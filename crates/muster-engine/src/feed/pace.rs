//! How long a feed waits between two reads, so that events that are close together travel together.

use std::time::{Duration, Instant};

/// Minimum time between two reads of a stream.
pub(super) const PACE: Duration = Duration::from_millis(1);
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

    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// The longest pause before the next read.
    pub(super) fn pause(&self, followers: usize) -> Duration {
        let followers = u32::try_from(followers).unwrap_or(u32::MAX);
        let each = if self.busy { PACE_PER_FOLLOWER_BUSY } else { PACE_PER_FOLLOWER };
        (PACE + each.saturating_mul(followers)).min(PACE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Pace;

    #[test]
    fn single_events_are_not_load_and_many_are() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pace = Pace::starting_at(start);
        for (found, ms) in [(1, 2_000), (1, 2_005), (8, 2_010)] {
            pace.record(found, at(ms));
            assert!(!pace.is_busy(), "{found} at {ms}");
        }
        assert_eq!(pace.pause(1_000), Duration::from_millis(21));
        pace.record(2, at(2_015));
        assert!(pace.is_busy(), "eleven in 100 ms");
        assert_eq!(pace.pause(500), Duration::from_millis(51));
        assert_eq!(pace.pause(5_000), Duration::from_millis(100));
        pace.record(0, at(2_050));
        assert!(pace.is_busy());
        pace.record(1, at(2_200));
        assert!(!pace.is_busy());
    }
}
