//! Heartbeats of a running turn: the program is alive, and when it last produced output. The
//! runtime emits them; a program's own heartbeat only makes the first one come sooner.

use std::time::Duration;

use muster_core::run::{Ask, id::TurnId, provider::ProviderEvent};
use tokio::time::Instant;

use super::{NodeDriver, drive::Drive};

/// Minimum time between heartbeats (RUNS-EV-8).
const BEAT_PAUSE: Duration = Duration::from_secs(30);

/// When heartbeats are emitted.
#[derive(Default)]
pub(super) struct HeartbeatTimer {
    /// When the last one was emitted.
    last: Option<Instant>,
    /// When the next one is due, if the program is silent.
    next: Option<Instant>,
}

impl HeartbeatTimer {
    /// The program has its prompt.
    pub(super) fn begin(&mut self) {
        self.next = Some(Instant::now() + BEAT_PAUSE);
    }

    /// Whether one may be emitted now; if so, it counts as emitted.
    fn passes(&mut self, now: Instant) -> bool {
        if self.last.is_some_and(|last| now < last + BEAT_PAUSE) {
            return false;
        }
        self.last = Some(now);
        self.next = Some(now + BEAT_PAUSE);
        true
    }
}

impl Drive {
    /// When the next heartbeat is due. A turn that waits for a person is not at work.
    pub(super) fn beats_at(&self) -> Option<Instant> {
        let works = self.sent && !self.ended && self.stopping.is_none() && self.waiting.is_empty();
        self.pulse.next.filter(|_| works)
    }
}

impl NodeDriver {
    /// Emits a heartbeat when one is due.
    pub(super) async fn emit_heartbeat(&mut self, now: Instant) {
        let due = self.turn.as_ref().filter(|drive| drive.beats_at().is_some_and(|at| at <= now));
        if let Some(turn) = due.map(|drive| drive.turn) {
            self.beat(turn).await;
        }
    }

    /// Emits a heartbeat, unless one was emitted a moment ago.
    pub(super) async fn beat(&mut self, turn: TurnId) {
        let (now, Some(drive)) = (Instant::now(), self.turn.as_ref()) else { return };
        let silent = now.saturating_duration_since(self.last_output_at(drive));
        let silent_ms = u32::try_from(silent.as_millis()).unwrap_or(u32::MAX);
        if self.turn.as_mut().is_some_and(|drive| drive.pulse.passes(now)) {
            self.report(Ask::Report { turn, event: ProviderEvent::Beat { silent_ms } }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{BEAT_PAUSE, HeartbeatTimer};

    #[test]
    fn runs_ev_8_signs_of_life_come_by_themselves_and_not_too_often() {
        let mut pulse = HeartbeatTimer::default();
        let now = Instant::now();
        assert_eq!(pulse.next, None);
        pulse.begin();
        assert!(pulse.next.is_some_and(|next| next >= now + BEAT_PAUSE));
        assert!(pulse.passes(now));
        assert!(!pulse.passes(now + BEAT_PAUSE - Duration::from_millis(1)));
        assert_eq!(pulse.next, Some(now + BEAT_PAUSE));
        assert!(pulse.passes(now + BEAT_PAUSE));
    }
}
