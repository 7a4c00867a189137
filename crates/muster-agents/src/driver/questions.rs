//! How many questions of a program get through. A flood of them is refused and counted, like a
//! flood of lines (RUNS-PROV-3): each question would become several events.

use std::time::{Duration, Instant};

use muster_core::run::{Ask, event::LogSource, id::TurnId, provider::ProviderEvent};

use super::NodeDriver;
use crate::process::stderr::LineLimiter;

/// Questions of a turn that may wait for a person.
const WAITING_MAX: usize = 32;
/// Questions that are recorded per second.
const PER_SECOND_MAX: u32 = 50;
/// How often the number of refused questions is logged.
const COUNT_INTERVAL: Duration = Duration::from_secs(10);
/// The log message.
const REFUSED: &str = "questions of the agent were refused: too many at once";

/// The questions of one turn.
pub(super) struct Questions {
    gate: LineLimiter,
    refused: u64,
    counted: Option<Instant>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { gate: LineLimiter::of(PER_SECOND_MAX), refused: 0, counted: None }
    }
}

impl Questions {
    /// Whether another question is admitted while this many wait for a person.
    pub(super) fn admit(&mut self, waiting: usize) -> bool {
        let admitted = waiting < WAITING_MAX && self.gate.pass().is_some();
        self.refused += u64::from(!admitted);
        admitted
    }

    /// How many were refused, if it is time to log it.
    fn due(&mut self) -> Option<u64> {
        if self.counted.is_some_and(|counted| counted.elapsed() < COUNT_INTERVAL) {
            return None;
        }
        let count = self.take()?;
        self.counted = Some(Instant::now());
        Some(count)
    }

    fn take(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.refused)).filter(|count| *count > 0)
    }
}

impl NodeDriver {
    /// Logs from time to time that questions were refused.
    pub(super) async fn count_refused(&mut self, turn: TurnId) {
        let count = self.turn.as_mut().and_then(|drive| drive.questions.due());
        self.log_refused(turn, count).await;
    }

    /// The same for those that were not counted when the turn ends.
    pub(super) async fn count_last_refused(&mut self) {
        let Some(drive) = self.turn.as_mut() else { return };
        let turn = drive.turn;
        let count = drive.questions.take();
        self.log_refused(turn, count).await;
    }

    async fn log_refused(&self, turn: TurnId, count: Option<u64>) {
        let Some(count) = count else { return };
        let source = LogSource::Runtime;
        let line = REFUSED.to_owned();
        let event = ProviderEvent::Log { source, line, suppressed: Some(count) };
        self.report(Ask::Report { turn, event }).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{PER_SECOND_MAX, Questions, WAITING_MAX};

    #[test]
    fn a_flood_is_refused_and_every_refusal_is_counted_once() {
        let mut questions = Questions::default();
        let admitted = (0..1_000).filter(|_| questions.admit(0)).count();
        assert_eq!(admitted, PER_SECOND_MAX as usize);
        assert_eq!(questions.due(), Some(1_000 - u64::from(PER_SECOND_MAX)));
        assert!(!questions.admit(WAITING_MAX), "a person has enough to answer");
        assert_eq!((questions.due(), questions.take()), (None, Some(1)));
    }
}
