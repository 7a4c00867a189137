//! Secrets that work once and for a short time: codes of printed links, and tickets for WebSockets.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::token::{random_secret, secrets_equal};

/// Issued secrets that were not used yet, each with its value. They live in memory
/// only.
pub(crate) struct OneTime<T> {
    lifetime: Duration,
    /// How many can wait at once; the oldest makes room for a new one.
    waiting_max: usize,
    waiting: Mutex<VecDeque<Waiting<T>>>,
}

struct Waiting<T> {
    secret: String,
    valid_until: Instant,
    stands_for: T,
}

impl<T: Clone> OneTime<T> {
    pub(crate) fn new(lifetime: Duration, waiting_max: usize) -> Self {
        Self { lifetime, waiting_max, waiting: Mutex::default() }
    }

    /// Issues a secret.
    pub(crate) fn issue(&self, stands_for: T, now: Instant) -> Result<String, getrandom::Error> {
        let secret = random_secret()?;
        let mut waiting = self.valid(now);
        if waiting.len() == self.waiting_max {
            waiting.pop_front();
        }
        let valid_until = now + self.lifetime;
        waiting.push_back(Waiting { secret: secret.clone(), valid_until, stands_for });
        Ok(secret)
    }

    /// The value of a secret, which stays valid.
    pub(crate) fn look_up(&self, secret: &str, now: Instant) -> Option<T> {
        let waiting = self.valid(now);
        let found = waiting.iter().find(|known| secrets_equal(&known.secret, secret));
        found.map(|known| known.stands_for.clone())
    }

    /// Uses a secret up; returns its value if it was valid.
    pub(crate) fn redeem(&self, secret: &str, now: Instant) -> Option<T> {
        let mut waiting = self.valid(now);
        let at = waiting.iter().position(|known| secrets_equal(&known.secret, secret))?;
        waiting.remove(at).map(|known| known.stands_for)
    }

    /// The secrets that have not expired. A panic cannot leave the list invalid, so a
    /// poisoned lock is used as it is.
    fn valid(&self, now: Instant) -> MutexGuard<'_, VecDeque<Waiting<T>>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|known| known.valid_until > now);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::OneTime;

    const LIFETIME: Duration = Duration::from_secs(60);

    #[test]
    fn a_secret_works_once_and_not_for_long() {
        let codes = OneTime::new(LIFETIME, 8);
        let now = Instant::now();
        let code = codes.issue(7, now).unwrap();
        assert_eq!(codes.redeem("", now), None);
        assert_eq!(codes.look_up(&code, now), Some(7));
        assert_eq!(codes.redeem(&code, now), Some(7));
        assert_eq!(codes.redeem(&code, now), None, "it was used");
        let code = codes.issue(7, now).unwrap();
        assert_eq!(codes.redeem(&code, now + LIFETIME), None, "it is too old");
    }

    #[test]
    fn the_oldest_makes_room() {
        let codes = OneTime::new(LIFETIME, 8);
        let now = Instant::now();
        let first = codes.issue(0, now).unwrap();
        let others: Vec<String> = (1..9).map(|at| codes.issue(at, now).unwrap()).collect();
        assert_eq!(codes.redeem(&first, now), None);
        assert!(others.iter().all(|code| codes.redeem(code, now).is_some()));
    }
}
