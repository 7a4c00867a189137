//! SHA-256 values: 32 bytes that are written as 64 lower-case hexadecimal digits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

pub const DIGEST_BYTES: usize = 32;

/// A SHA-256 value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest([u8; DIGEST_BYTES]);

impl Digest {
    /// The start of a chain of digests: 32 zero bytes (CH-2).
    pub const ZERO: Self = Self([0; DIGEST_BYTES]);

    /// The digest of a string's UTF-8 bytes.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// The digest of this digest's bytes followed by those of another one.
    pub fn followed_by(self, next: Self) -> Self {
        let mut bytes = [0; 2 * DIGEST_BYTES];
        bytes[..DIGEST_BYTES].copy_from_slice(&self.0);
        bytes[DIGEST_BYTES..].copy_from_slice(&next.0);
        Self(Sha256::digest(bytes).into())
    }

    /// Appends the hexadecimal digits to a string.
    pub(super) fn push_hex(self, text: &mut String) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }

    /// Reads exactly 64 lower-case hexadecimal digits.
    pub(super) fn from_hex(text: &[u8]) -> Option<Self> {
        if text.len() != 2 * DIGEST_BYTES {
            return None;
        }
        let mut bytes = [0; DIGEST_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(2 * DIGEST_BYTES);
        self.push_hex(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(text.as_bytes())
            .ok_or_else(|| D::Error::custom("expected 64 lower-case hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn digests_are_the_well_known_ones_and_survive_json() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of("").to_string(), empty);
        let json = serde_json::to_string(&Digest::of("abc")).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), Digest::of("abc"));
        assert!(serde_json::from_str::<Digest>("\"abc\"").is_err());
        assert!(serde_json::from_str::<Digest>(&json.to_uppercase()).is_err());
    }
}
