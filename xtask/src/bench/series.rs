//! Times of one kind of call, and their statistics.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Times of repeated calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<Duration>);

impl Series {
    /// Adds a time.
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Adds the times of another series.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Runs something, adds its time and returns its result.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = work()?;
        self.push(started.elapsed());
        Ok(outcome)
    }

    /// The time that `percent` of the calls stay below; zero without a call.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get(last * percent / 100).copied().unwrap_or_default()
    }

    /// The time in the middle.
    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_the_sorted_times() {
        let mut series = Series::default();
        assert_eq!(series.median(), Duration::ZERO);
        for number in (1..=101).rev() {
            series.push(Duration::from_millis(number));
        }
        let found = [0, 50, 99, 100].map(|percent| series.percentile(percent).as_millis());
        assert_eq!(found, [1, 51, 100, 101]);
    }
}
