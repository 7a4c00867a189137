//! Which followers have taken the newest events.
//!
//! ```text
//!   new events ──► every follower that waited owes a visit ──► it has sent them, and waits again
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Deliveries {
    rounds: Mutex<DeliveryRounds>,
    last: Notify,
}

#[derive(Default)]
struct DeliveryRounds {
    /// Number of the last announcement.
    round: u64,
    /// Followers that wait for the next one.
    waiting: usize,
    /// Followers that waited before an announcement and have not come back since.
    owed: usize,
}

impl Deliveries {
    /// There are new events.
    pub(super) fn announce(&self) {
        let mut rounds = self.rounds();
        rounds.round += 1;
        rounds.owed += std::mem::take(&mut rounds.waiting);
    }

    /// A follower has taken everything. It keeps the number of the round for the next call.
    pub(super) fn settle(&self, settled: &mut Option<u64>) {
        let mut rounds = self.rounds();
        let earlier = settled.replace(rounds.round);
        if earlier == Some(rounds.round) {
            return;
        }
        rounds.waiting += 1;
        if earlier.is_some() {
            self.arrived(rounds);
        }
    }

    /// A follower is dropped.
    pub(super) fn leave(&self, settled: Option<u64>) {
        let mut rounds = self.rounds();
        match settled {
            None => {}
            Some(round) if round == rounds.round => rounds.waiting -= 1,
            Some(_) => self.arrived(rounds),
        }
    }

    /// Waits until no follower owes a visit.
    pub(super) async fn done(&self) {
        while self.rounds().owed > 0 {
            self.last.notified().await;
        }
    }

    fn arrived(&self, mut rounds: MutexGuard<'_, DeliveryRounds>) {
        rounds.owed -= 1;
        if rounds.owed == 0 {
            self.last.notify_one();
        }
    }

    /// Counts are changed together, without a call in between that could panic.
    fn rounds(&self) -> MutexGuard<'_, DeliveryRounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Deliveries;

    fn owed(deliveries: &Deliveries) -> usize {
        deliveries.rounds().owed
    }

    #[test]
    fn everyone_that_waited_owes_one_visit() {
        let deliveries = Deliveries::default();
        let [mut quick, mut slow, mut late] = [None; 3];
        deliveries.settle(&mut quick);
        deliveries.settle(&mut slow);
        deliveries.settle(&mut slow);
        deliveries.announce();
        assert_eq!(owed(&deliveries), 2);
        deliveries.settle(&mut quick);
        deliveries.settle(&mut late);
        assert_eq!(owed(&deliveries), 1, "one that was not there owes nothing");
        deliveries.announce();
        deliveries.settle(&mut quick);
        deliveries.settle(&mut late);
        assert_eq!(owed(&deliveries), 1, "the slow one owes one visit for both");
        deliveries.settle(&mut slow);
        assert_eq!(owed(&deliveries), 0);
    }

    #[test]
    fn those_that_leave_owe_nothing() {
        let deliveries = Deliveries::default();
        let [mut waits, mut owes] = [None; 2];
        deliveries.settle(&mut owes);
        deliveries.announce();
        deliveries.settle(&mut waits);
        deliveries.leave(waits);
        deliveries.leave(owes);
        deliveries.leave(None);
        deliveries.announce();
        assert_eq!(owed(&deliveries), 0);
    }
}
