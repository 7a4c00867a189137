//! Browsers that are signed in: one-time codes, exchanged once for a cookie.
//!
//! Both live in memory only. A restart signs every browser out; the next printed link signs it in
//! again.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::{
    limits::{CODE_LIFETIME, SESSION_LIFETIME, SESSIONS_MAX},
    token::{random_secret, secrets_equal},
};

/// The codes that were printed and the browsers that used one.
#[derive(Default)]
pub(crate) struct Sessions {
    codes: Mutex<VecDeque<Secret>>,
    open: Mutex<VecDeque<Secret>>,
}

struct Secret {
    text: String,
    valid_until: Instant,
}

impl Sessions {
    /// A fresh code for one page link.
    pub(crate) fn issue_code(&self, now: Instant) -> Result<String, getrandom::Error> {
        let text = random_secret()?;
        let code = Secret { text: text.clone(), valid_until: now + CODE_LIFETIME };
        push_bounded(&mut lock(&self.codes), code, now);
        Ok(text)
    }

    /// Takes a code out of use; answers whether it was valid.
    pub(crate) fn redeem(&self, code: &str, now: Instant) -> bool {
        let mut codes = lock(&self.codes);
        codes.retain(|known| known.valid_until > now);
        let before = codes.len();
        codes.retain(|known| !secrets_equal(&known.text, code));
        codes.len() < before
    }

    /// Signs a browser in; answers its cookie's value.
    pub(crate) fn open(&self, now: Instant) -> Result<String, getrandom::Error> {
        let text = random_secret()?;
        let session = Secret { text: text.clone(), valid_until: now + SESSION_LIFETIME };
        push_bounded(&mut lock(&self.open), session, now);
        Ok(text)
    }

    /// Whether a cookie's value belongs to a browser that is signed in.
    pub(crate) fn holds(&self, cookie: &str, now: Instant) -> bool {
        let open = lock(&self.open);
        // Every entry is compared, so that time tells nothing about which one came close.
        open.iter().fold(false, |found, session| {
            let equal = secrets_equal(&session.text, cookie) && session.valid_until > now;
            found | equal
        })
    }
}

fn push_bounded(secrets: &mut VecDeque<Secret>, secret: Secret, now: Instant) {
    secrets.retain(|known| known.valid_until > now);
    if secrets.len() == SESSIONS_MAX {
        secrets.pop_front();
    }
    secrets.push_back(secret);
}

/// The lists stay valid whatever panicked while one was locked, so a poisoned lock is taken as it
/// is.
fn lock(secrets: &Mutex<VecDeque<Secret>>) -> MutexGuard<'_, VecDeque<Secret>> {
    secrets.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Sessions;
    use crate::limits::{CODE_LIFETIME, SESSION_LIFETIME, SESSIONS_MAX};

    #[test]
    fn a_code_works_once() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let code = sessions.issue_code(now).unwrap();
        assert!(!sessions.redeem("something else", now));
        assert!(sessions.redeem(&code, now));
        assert!(!sessions.redeem(&code, now));
    }

    #[test]
    fn a_code_ages() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let code = sessions.issue_code(now).unwrap();
        assert!(!sessions.redeem(&code, now + CODE_LIFETIME));
    }

    #[test]
    fn a_session_holds_until_it_ages() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let cookie = sessions.open(now).unwrap();
        assert!(sessions.holds(&cookie, now));
        assert!(!sessions.holds("", now));
        assert!(!sessions.holds(&cookie, now + SESSION_LIFETIME));
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let first = sessions.open(now).unwrap();
        for second in 0..SESSIONS_MAX as u64 {
            sessions.open(now + Duration::from_secs(second)).unwrap();
        }
        assert!(!sessions.holds(&first, now));
    }
}
