//! Names: of a session, and of its events.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ctree::Digest;

/// Longest session id, in characters.
pub const SESSION_ID_CHARS_MAX: usize = 64;
/// Characters of a session's id that its event ids repeat.
const TAG_CHARS: usize = 6;

/// Name of a session: ASCII letters, digits, `-` and `_`.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SessionId(String);

impl SessionId {
    /// Parses an id.
    pub fn of(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = (1..=SESSION_ID_CHARS_MAX).contains(&text.len());
        (fits && text.bytes().all(plain)).then(|| Self(text.to_owned()))
    }

    /// A fresh id from random bits, in the form of a UUID.
    pub fn from_bits(bits: u128) -> Self {
        let digits = format!("{bits:032x}");
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        Self(parts.join("-"))
    }

    /// The id that a creation under an idempotency key always gets.
    pub fn of_key(key: &str) -> Self {
        let digits = Digest::of(key).to_string();
        Self::from_bits(u128::from_str_radix(&digits[..32], 16).unwrap_or_default())
    }

    /// The session that a stream of the log belongs to.
    pub fn of_stream(stream: &str) -> Option<Self> {
        Self::of(stream.strip_prefix("session/")?)
    }

    /// Its stream in the log.
    pub fn stream(&self) -> String {
        format!("session/{self}")
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Id of an event of the session (EN-3).
    pub fn event_id(&self, seq: u64) -> String {
        format!("ev-{}-{seq}", self.tag())
    }

    /// The number of the event that an id of this session names.
    pub fn seq_of(&self, event_id: &str) -> Option<u64> {
        let (tag, digits) = event_id.strip_prefix("ev-")?.rsplit_once('-')?;
        let seq: u64 = digits.parse().ok().filter(|seq| *seq > 0)?;
        (tag == self.tag() && digits == seq.to_string()).then_some(seq)
    }

    /// The last letters and digits of the id, so that event ids of two sessions are rarely
    /// confused.
    fn tag(&self) -> String {
        let letters: Vec<char> = self.0.chars().filter(char::is_ascii_alphanumeric).collect();
        let tag: String = letters[letters.len().saturating_sub(TAG_CHARS)..].iter().collect();
        tag.to_ascii_uppercase()
    }
}

impl FromStr for SessionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::of(text).ok_or(())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::SessionId;

    #[test]
    fn ids_are_plain_and_have_a_stream() {
        let id = SessionId::from_bits(0x6f1c_0000_0000_0000_0000_0000_0012_ab34);
        assert_eq!(id.as_str(), "6f1c0000-0000-0000-0000-00000012ab34");
        assert_eq!(SessionId::of_stream(&id.stream()), Some(id));
        for bad in ["", "a b", "a/b", "ä", &"x".repeat(65)] {
            assert_eq!(SessionId::of(bad), None, "{bad}");
        }
        assert_eq!(SessionId::of_key("k"), SessionId::of_key("k"));
        assert_ne!(SessionId::of_key("k"), SessionId::of_key("l"));
    }

    #[test]
    fn event_ids_lead_back_to_their_number() {
        let id = SessionId::from_bits(0x12ab34);
        assert_eq!(id.event_id(15), "ev-12AB34-15");
        assert_eq!(id.seq_of("ev-12AB34-15"), Some(15));
        for bad in ["15", "ev-12AB34-0", "ev-12AB34-015", "ev-12AB35-15", "ev-12AB34-", "ev--15"] {
            assert_eq!(id.seq_of(bad), None, "{bad}");
        }
        let short = SessionId::of("-").unwrap();
        assert_eq!(short.seq_of(&short.event_id(3)), Some(3));
    }
}
