//! Browsers that are signed in: one-time codes, exchanged once for a cookie.
//!
//! Codes live in memory only. A cookie says until when it holds and is sealed with the token, so
//! that it needs no list: it outlives a restart, and ends with its time or with the token.
//!
//! ```text
//!   cookie = expires "." nonce "." HMAC-SHA-256(token, expires "." nonce)
//! ```

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};

use crate::{
    limits::{CODE_LIFETIME, CODES_MAX, SESSION_LIFETIME},
    token::{Token, random_secret, secrets_equal},
};

/// Bytes that the hash takes in at once.
const BLOCK_BYTES: usize = 64;
/// What HMAC mixes into its key before the text, and before the inner hash.
const INNER_PAD: u8 = 0x36;
const OUTER_PAD: u8 = 0x5c;

/// The codes that were printed and not used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<VecDeque<Code>>);

struct Code {
    text: String,
    valid_until: Instant,
}

impl Codes {
    /// A fresh code for one page link.
    pub(crate) fn issue(&self, now: Instant) -> Result<String, getrandom::Error> {
        let text = random_secret()?;
        let mut codes = self.lock();
        codes.retain(|known| known.valid_until > now);
        if codes.len() == CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(Code { text: text.clone(), valid_until: now + CODE_LIFETIME });
        Ok(text)
    }

    /// Takes a code out of use; answers whether it was valid.
    pub(crate) fn redeem(&self, code: &str, now: Instant) -> bool {
        let mut codes = self.lock();
        codes.retain(|known| known.valid_until > now);
        let before = codes.len();
        codes.retain(|known| !secrets_equal(&known.text, code));
        codes.len() < before
    }

    /// The list stays valid whatever panicked while it was locked, so a poisoned lock is taken as
    /// it is.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Code>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signs a browser in; answers its cookie's value.
pub(crate) fn open(token: &Token, now: SystemTime) -> Result<String, getrandom::Error> {
    let text = format!("{}.{}", seconds(now + SESSION_LIFETIME), random_secret()?);
    let seal = seal(token, &text);
    Ok(format!("{text}.{seal}"))
}

/// Whether a cookie's value was sealed with the token and is not too old.
pub(crate) fn holds(token: &Token, cookie: &str, now: SystemTime) -> bool {
    let Some((text, presented)) = cookie.rsplit_once('.') else { return false };
    let expires = text.split_once('.').and_then(|(expires, _)| expires.parse::<u64>().ok());
    let in_time = expires.is_some_and(|expires| seconds(now) < expires);
    secrets_equal(&seal(token, text), presented) && in_time
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// HMAC-SHA-256 of a text under the token, in hexadecimal.
fn seal(token: &Token, text: &str) -> String {
    let mut key = [0_u8; BLOCK_BYTES];
    // A token is exactly as long as a block, so it is its own key (RFC 2104).
    for (place, byte) in key.iter_mut().zip(token.secret().bytes()) {
        *place = byte;
    }
    let padded = |pad: u8| key.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(INNER_PAD)).chain_update(text).finalize();
    let outer = Sha256::new().chain_update(padded(OUTER_PAD)).chain_update(inner).finalize();
    outer.iter().fold(String::with_capacity(BLOCK_BYTES), |mut digits, byte| {
        if write!(digits, "{byte:02x}").is_err() {
            unreachable!("writing to a String does not fail");
        }
        digits
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Instant, SystemTime},
    };

    use super::{Codes, holds, open, seal};
    use crate::{
        limits::{CODE_LIFETIME, CODES_MAX, SESSION_LIFETIME},
        token::{TOKEN_FILE, Token},
    };

    fn token(secret: &str) -> Token {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(TOKEN_FILE), secret).unwrap();
        Token::load_or_create(folder.path()).unwrap()
    }

    #[test]
    fn a_code_works_once() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.issue(now).unwrap();
        assert!(!codes.redeem("something else", now));
        assert!(codes.redeem(&code, now));
        assert!(!codes.redeem(&code, now));
    }

    #[test]
    fn a_code_ages_and_the_oldest_makes_room() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.issue(now).unwrap();
        assert!(!codes.redeem(&code, now + CODE_LIFETIME));
        let first = codes.issue(now).unwrap();
        for _ in 0..CODES_MAX {
            codes.issue(now).unwrap();
        }
        assert!(!codes.redeem(&first, now));
    }

    #[test]
    fn a_cookie_holds_until_it_ages_and_only_under_its_token() {
        let (ours, other) = (token(&"a".repeat(64)), token(&"b".repeat(64)));
        let now = SystemTime::now();
        let cookie = open(&ours, now).unwrap();
        assert!(holds(&ours, &cookie, now));
        assert!(!holds(&other, &cookie, now));
        assert!(!holds(&ours, &cookie, now + SESSION_LIFETIME));
        let (expires, rest) = cookie.split_once('.').unwrap();
        let longer = format!("{}.{rest}", expires.parse::<u64>().unwrap() + 1);
        for forged in ["", ".", "..", longer.as_str(), &cookie[1..], expires] {
            assert!(!holds(&ours, forged, now), "{forged}");
        }
    }

    #[test]
    fn the_seal_is_the_published_code() {
        // Computed with another implementation of RFC 2104.
        let expected = "c0d2653239af62ee49c4d666c8964b7c1604e7dfc35a65843418116f55cc0ac1";
        assert_eq!(seal(&token(&"0123456789abcdef".repeat(4)), "1700000000.abc"), expected);
    }
}
