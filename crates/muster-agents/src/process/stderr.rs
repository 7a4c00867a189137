//! Standard error of a process: always drained, the end of it kept, and logged line by line at a
//! bounded rate (RUNS-PROV-3).

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_core::run::{event::LogSource, provider::ProviderEvent};

/// Bytes of the end that are kept.
const KEPT_BYTES_MAX: usize = 256 * 1024;
/// Lines that are logged per window.
const LINES_PER_WINDOW: u32 = 20;
/// The window. A flood that pauses for this long has ended.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// The end of what a process wrote to standard error.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Adds a piece; the oldest bytes beyond the limit are dropped.
    pub(crate) fn add(&self, piece: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.iter().skip(piece.len().saturating_sub(KEPT_BYTES_MAX)));
        let excess = kept.len().saturating_sub(KEPT_BYTES_MAX);
        kept.drain(..excess);
    }

    /// What is kept, as text.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Lets a bounded number of lines pass and counts the others.
pub(crate) struct LineLimiter {
    began: Instant,
    max: u32,
    passed: u32,
    held_back: u64,
}

impl Default for LineLimiter {
    fn default() -> Self {
        Self::of(LINES_PER_WINDOW)
    }
}

impl LineLimiter {
    /// Lets `max` lines pass per second.
    pub(crate) fn of(max: u32) -> Self {
        Self { began: Instant::now(), max, passed: 0, held_back: 0 }
    }

    /// Whether a line passes now; if so, how many were dropped before it.
    pub(crate) fn pass(&mut self) -> Option<Option<u64>> {
        if self.began.elapsed() >= WINDOW {
            self.began = Instant::now();
            self.passed = 0;
        }
        if self.passed >= self.max {
            self.held_back += 1;
            return None;
        }
        self.passed += 1;
        Some(self.left_out())
    }

    /// How many lines were dropped since the last call, for the end of a flood.
    pub(crate) fn left_out(&mut self) -> Option<u64> {
        let held_back = std::mem::take(&mut self.held_back);
        (held_back > 0).then_some(held_back)
    }
}

/// The log entry at the end of a flood.
pub(crate) fn flood_ended(source: LogSource, left_out: u64) -> ProviderEvent {
    let line = format!("{left_out} lines were left out");
    ProviderEvent::Log { source, line, suppressed: Some(left_out) }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES_MAX, LINES_PER_WINDOW, LineLimiter, Tail};

    #[test]
    fn the_end_is_kept_and_lines_are_counted() {
        let tail = Tail::default();
        tail.add(b"first ");
        tail.add(&vec![b'x'; KEPT_BYTES_MAX + 10]);
        tail.add(b"last");
        let text = tail.text();
        assert_eq!(text.len(), KEPT_BYTES_MAX);
        assert!(text.ends_with("xlast") && !text.contains("first"));
        let mut gate = LineLimiter::default();
        let passed = (0..100).filter(|_| gate.pass().is_some()).count();
        assert_eq!(passed, LINES_PER_WINDOW as usize);
        assert_eq!(gate.left_out(), Some(100 - u64::from(LINES_PER_WINDOW)));
        assert_eq!(gate.left_out(), None, "each line is counted once");
    }
}
