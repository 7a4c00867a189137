//! Limits of each named token: requests in a second, streams at once (TEAM-WHO-4). They are counted
//! in memory, by each server for itself; callers of this machine have none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use muster_api::NamedToken;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    limits::{QUOTAS_KEPT_MAX, TokenLimits},
    refusal::{HttpRefusal, RefusalKind},
};

/// What tokens have used lately.
pub(crate) struct Quotas {
    limits: TokenLimits,
    /// By the digest of the token.
    known: Mutex<HashMap<String, Quota>>,
}

/// What one token has used.
struct Quota {
    /// Requests that it may send at once.
    left: f64,
    /// When that was so.
    at: Instant,
    streams: Arc<Semaphore>,
}

impl Quotas {
    pub(crate) fn new(limits: TokenLimits) -> Self {
        Self { limits, known: Mutex::default() }
    }

    /// Largest body of a request, in bytes.
    pub(super) fn body_bytes_max(&self) -> usize {
        self.limits.body_bytes
    }

    /// Counts a request of a token.
    pub(super) fn count(&self, token: &NamedToken, now: Instant) -> Result<(), HttpRefusal> {
        let rate = f64::from(self.limits.requests_per_second);
        let mut known = self.known();
        let quota = self.quota(&mut known, token, now);
        let passed = now.saturating_duration_since(quota.at).as_secs_f64();
        quota.left = (quota.left + passed * rate).min(rate);
        quota.at = now;
        if quota.left < 1.0 {
            let max = self.limits.requests_per_second;
            return Err(too_many(format!("the token may send {max} requests a second")));
        }
        quota.left -= 1.0;
        Ok(())
    }

    /// A place for one more stream of a token.
    pub(super) fn stream(&self, token: &NamedToken) -> Result<OwnedSemaphorePermit, HttpRefusal> {
        let mut known = self.known();
        let streams = Arc::clone(&self.quota(&mut known, token, Instant::now()).streams);
        let max = self.limits.streams;
        let full = |_| too_many(format!("the token may have {max} streams open at once"));
        streams.try_acquire_owned().map_err(full)
    }

    fn quota<'a>(
        &self,
        known: &'a mut HashMap<String, Quota>,
        token: &NamedToken,
        now: Instant,
    ) -> &'a mut Quota {
        let streams_max = self.limits.streams as usize;
        if known.len() >= QUOTAS_KEPT_MAX && !known.contains_key(&token.digest) {
            // One that has no stream may send as much again after a second anyway.
            known.retain(|_, quota| {
                now.saturating_duration_since(quota.at).as_secs() == 0
                    || quota.streams.available_permits() < streams_max
            });
        }
        known.entry(token.digest.clone()).or_insert_with(|| Quota {
            left: f64::from(self.limits.requests_per_second),
            at: now,
            streams: Arc::new(Semaphore::new(streams_max)),
        })
    }

    /// Numbers cannot be left half changed, so a poisoned lock is used as it is.
    fn known(&self) -> MutexGuard<'_, HashMap<String, Quota>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many(message: String) -> HttpRefusal {
    HttpRefusal::new(RefusalKind::TooManyRequests, message, "wait as Retry-After says")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use muster_api::{AccessRole, NamedToken, WorkspaceGlob};

    use super::Quotas;
    use crate::{limits::TokenLimits, refusal::RefusalKind};

    fn token(digest: &str) -> NamedToken {
        NamedToken {
            digest: digest.to_owned(),
            name: "ci".to_owned(),
            role: AccessRole::Agent,
            workspaces: WorkspaceGlob::EVERYTHING,
            created_at: 0,
            created_by: None,
            expires_at: None,
            number: 1,
        }
    }

    fn quotas() -> Quotas {
        Quotas::new(TokenLimits { requests_per_second: 3, streams: 2, body_bytes: 10 })
    }

    #[test]
    fn requests_are_counted_for_each_token_and_come_back_with_time() {
        let quotas = quotas();
        let now = Instant::now();
        let sent = |digest, at| quotas.count(&token(digest), at).map_err(|it| it.kind());
        assert_eq!([(); 3].map(|()| sent("a", now)), [Ok(()); 3]);
        assert_eq!(sent("a", now), Err(RefusalKind::TooManyRequests));
        assert_eq!(sent("b", now), Ok(()), "another token has its own");
        let later = now + Duration::from_millis(350);
        assert_eq!(sent("a", later), Ok(()));
        assert_eq!(sent("a", later), Err(RefusalKind::TooManyRequests));
        let much_later = now + Duration::from_secs(60);
        assert_eq!([(); 3].map(|()| sent("a", much_later)), [Ok(()); 3]);
        assert_eq!(sent("a", much_later), Err(RefusalKind::TooManyRequests), "nothing is saved up");
    }

    #[test]
    fn a_stream_gives_its_place_back() {
        let quotas = quotas();
        let open = || quotas.stream(&token("a")).map_err(|refusal| refusal.kind());
        let first = open().unwrap();
        let _second = open().unwrap();
        assert_eq!(open().unwrap_err(), RefusalKind::TooManyRequests);
        drop(first);
        assert!(open().is_ok());
    }
}
