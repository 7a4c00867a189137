//! Streamed text. A secret may be cut anywhere, so the end of the text is held back where it could
//! be the beginning of one; all else is emitted immediately.
//!
//! ```text
//!   in:    use ghp_ABC        DEF...0123 n     ow
//!   out:   use                ghp_ABCDEF...0123 n     ow      each piece is then redacted alone
//! ```

use super::{Look, REDACTED, is_word, look, next_start, rules::may_begin};

/// Bytes that wait at most.
const HELD_BYTES_MAX: usize = 16 * 1024;

/// A text that is being streamed.
#[derive(Default, Debug)]
pub struct RedactedStream {
    /// What is not settled, after what was emitted of it already.
    tail: String,
    /// Bytes of it that were emitted, because nothing is held back forever.
    emitted: usize,
    /// Whether these were emitted as a secret.
    hidden: bool,
    /// Whether the tail continues a word. After a secret it does not.
    in_word: bool,
}

/// Where the part begins that later text could change.
#[derive(Clone, Copy)]
struct Settled {
    at: usize,
    /// Whether a word continues there.
    in_word: bool,
}

impl RedactedStream {
    pub fn add(&mut self, piece: &str) {
        self.tail.push_str(piece);
    }

    /// Bytes that were not emitted yet.
    pub fn waiting(&self) -> usize {
        self.tail.len() - self.emitted
    }

    /// Takes what can be emitted whatever follows. Each piece can be redacted alone.
    pub fn settled(&mut self) -> Vec<String> {
        let settled = self.settles();
        let held = self.tail.len() - settled.at;
        let end =
            if held > HELD_BYTES_MAX { self.tail.len() } else { settled.at.max(self.emitted) };
        self.take(settled, end)
    }

    /// Takes everything: the text ends here, or continues with something else.
    pub fn rest(&mut self) -> Vec<String> {
        self.take(self.settles(), self.tail.len())
    }

    fn settles(&self) -> Settled {
        let mut at = self.begins_at();
        let mut secret_end = None;
        while at < self.tail.len() {
            match look(&self.tail, at) {
                Look { open: true, .. } => break,
                Look { secret: Some((_, end)), .. } => {
                    at = end;
                    secret_end = Some(end);
                }
                Look { secret: None, .. } => at = next_start(&self.tail, at),
            }
        }
        let in_word = match at.checked_sub(1) {
            Some(before) => secret_end != Some(at) && is_word(self.tail.as_bytes()[before]),
            None => self.in_word,
        };
        Settled { at, in_word }
    }

    /// The first place where a secret could begin.
    fn begins_at(&self) -> usize {
        match self.tail.as_bytes().first() {
            Some(first) if self.in_word && !may_begin(*first, true) => next_start(&self.tail, 0),
            Some(_) | None => 0,
        }
    }

    fn take(&mut self, settled: Settled, end: usize) -> Vec<String> {
        // What was emitted before its end was known cannot be redacted alone.
        let piece = match self.emitted {
            0 => self.tail[..end].to_owned(),
            emitted => self.within(emitted, end),
        };
        let in_word = match self.emitted {
            0 => self.in_word,
            emitted => is_word(self.tail.as_bytes()[emitted - 1]),
        };
        self.emitted = end - settled.at;
        self.hidden = self.emitted > 0 && look(&self.tail, settled.at).secret.is_some();
        self.in_word = settled.in_word;
        self.tail.drain(..settled.at);
        apart(piece, in_word)
    }

    /// What is emitted between two positions of the tail, with the secrets that reach into it
    /// replaced.
    fn within(&self, from: usize, end: usize) -> String {
        let mut clean = String::new();
        let mut copied = from;
        let mut at = self.begins_at();
        while at < end {
            let Some((start, after)) = look(&self.tail, at).secret else {
                at = next_start(&self.tail, at);
                continue;
            };
            if after > copied {
                clean.push_str(&self.tail[copied..start.max(copied).min(end)]);
                if start >= from || !self.hidden {
                    clean.push_str(REDACTED);
                }
                copied = after.min(end);
            }
            at = after;
        }
        clean.push_str(&self.tail[copied.min(end)..end]);
        clean
    }
}

/// The position at which to cut a string, at most this one, so that the rest does not look like a
/// secret only because the word before it is missing.
pub fn seam(text: &str, at: usize) -> usize {
    let mut at = text.floor_char_boundary(at);
    while at > 0 && is_word(text.as_bytes()[at - 1]) && look(text, at).secret.is_some() {
        at -= 1;
    }
    at
}

/// The same for a piece that continues a word: its first letter is separate.
fn apart(mut piece: String, in_word: bool) -> Vec<String> {
    if piece.is_empty() {
        return Vec::new();
    }
    let begins = piece.as_bytes().first().is_some_and(|first| may_begin(*first, in_word));
    if !in_word || begins || look(&piece, 0).secret.is_none() {
        return vec![piece];
    }
    let rest = piece.split_off(1);
    vec![piece, rest]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{HELD_BYTES_MAX, RedactedStream, seam};
    use crate::redact::text;

    fn clean(piece: &str) -> String {
        text(piece).unwrap_or_else(|| piece.to_owned())
    }

    /// What the redactor emits for a string that is streamed in these pieces.
    fn emitted<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut stream = RedactedStream::default();
        let mut emitted = Vec::new();
        for piece in pieces {
            stream.add(piece);
            emitted.extend(stream.settled());
        }
        emitted.extend(stream.rest());
        assert_eq!(stream.waiting(), 0);
        emitted
    }

    #[test]
    fn runs_sec_6_a_secret_that_comes_letter_by_letter_is_replaced() {
        for secret in [
            "ghp_abcdefghijklmnop0123",
            "github_pat_11ABCDEFG0_abcdefgh",
            "sk-ant-api03-a1B2a1B2a1B2a1B2",
            "AKIAIOSFODNN7EXAMPLE",
            "Bearer abc123def456ghi7",
            "Basic dXNlcjpwYXNzd29yZA==",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            "postgres://app:hunter22@db/x",
            "DATABASE_PASSWORD=hunter2222",
            "export API_TOKEN=\"a1b2c3d4e5f6a7b8c9d0\"",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "xoxb-123456789012-abcdefABCDEF",
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
        ] {
            let whole = format!("use {secret} now, größe: {secret}");
            let emitted = emitted(whole.split_inclusive(|_| true));
            let joined: String = emitted.iter().map(|piece| clean(piece)).collect();
            assert_eq!(joined, clean(&whole));
            assert!(joined.starts_with("use ") && joined.contains("<redacted>"), "{joined}");
        }
    }

    #[test]
    fn nothing_waits_that_no_secret_begins_with() {
        let mut stream = RedactedStream::default();
        for piece in ["Let me ", "see", "k the tasks", ", then ", "go", " on.\n"] {
            stream.add(piece);
            assert_eq!((stream.settled().concat().as_str(), stream.waiting()), (piece, 0));
        }
        stream.add("the s");
        assert_eq!((stream.settled().concat().as_str(), stream.waiting()), ("the ", 1));
        stream.add("ky");
        assert_eq!((stream.settled().concat().as_str(), stream.waiting()), ("sky", 0));
    }

    #[test]
    fn what_was_told_too_soon_is_not_told_any_further() {
        let mut stream = RedactedStream::default();
        stream.add("x ghp_abcdefgh");
        assert_eq!(stream.rest(), ["x ghp_abcdefgh"]);
        stream.add("ijklmnop0123 q");
        assert_eq!(stream.settled(), ["<redacted> q"]);
        stream.add(" bear");
        assert_eq!(stream.rest(), [" bear"]);
        stream.add("er abc123def456ghi7 z");
        assert_eq!(stream.settled(), ["er <redacted> z"]);
    }

    #[test]
    fn no_more_waits_than_a_bound_and_a_long_secret_stays_one() {
        let mut stream = RedactedStream::default();
        let mut joined = String::new();
        stream.add("key: -----BEGIN PRIVATE KEY-----\n");
        for _ in 0..3 * HELD_BYTES_MAX / 64 {
            stream.add(&"A1b2".repeat(16));
            joined.extend(stream.settled().iter().map(|piece| clean(piece)));
            assert!(stream.waiting() <= HELD_BYTES_MAX);
        }
        stream.add("\n-----END PRIVATE KEY----- end");
        joined.extend(stream.settled().iter().map(|piece| clean(piece)));
        assert_eq!(joined, "key: <redacted> end");
    }

    #[test]
    fn a_cut_in_a_word_makes_no_secret() {
        let text = "größe xghp_abcdefghijklmnop0123";
        let at = text.find("ghp").unwrap();
        assert_eq!((seam(text, at), seam(text, at + 1)), (at - 1, at + 1));
        assert_eq!(seam(text, 3), 2);
    }

    /// Parts of secrets, and their surroundings.
    fn part() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "ghp_",
            "github_pat_",
            "g",
            "s",
            "sk-",
            "sk",
            "-",
            "-----",
            "BEGIN ",
            "-----BEGIN ",
            "PRIVATE KEY",
            "PRIVATE KEY-----",
            "-----END ",
            "AKIA",
            "ASIA",
            "A",
            "IOSFODNN7EXAMPLE",
            "bearer",
            "Bearer ",
            "B",
            " ",
            "\n",
            "_",
            "x",
            "ü",
            "a1b2c3d4e5f6g7h8",
            "abcdefgh",
            "7",
            "abc123",
            ".",
            "<redacted>",
            "://",
            ":",
            "/",
            "@",
            "user:pass",
            "=",
            "API_KEY",
            "PASSWORD",
            "\"",
            "basic ",
            "dXNlcjpwYXNzd29yZA==",
            "eyJ",
            "eyJhbGciOiJIUzI1NiJ9",
            "secretAccessKey",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "xoxb-",
            "sk_live_",
            "npm_",
            "(",
        ])
    }

    proptest! {
        #[test]
        fn runs_sec_6_pieces_give_what_the_whole_gives(
            pieces in prop::collection::vec(prop::collection::vec(part(), 0..4), 0..12),
        ) {
            let pieces: Vec<String> = pieces.into_iter().map(|parts| parts.concat()).collect();
            let emitted = emitted(pieces.iter().map(String::as_str));
            let joined: String = emitted.iter().map(|piece| clean(piece)).collect();
            prop_assert_eq!(joined, clean(&pieces.concat()));
        }
    }
}
