//! Secrets that are recognized by their own shape.

use super::Look;

const PEM_DASHES: &str = "-----";
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_KEY: &str = "PRIVATE KEY-----";
const PEM_END: &str = "-----END ";
const TOKEN_BEGIN: &str = "eyJ";
const TOKEN_PART_CHARS_MIN: usize = 8;
const TOKEN_SIGNATURE_CHARS_MIN: usize = 16;
const OPAQUE_RUN_CHARS_MIN: usize = 12;

/// What follows the beginning of a token.
pub(super) struct TokenBody {
    pub(super) belongs: fn(u8) -> bool,
    pub(super) min: usize,
    /// A longer run, or one that a letter or digit follows, is not a match.
    pub(super) max: usize,
    pub(super) content: TokenContent,
}

pub(super) enum TokenContent {
    Any,
    /// Digits and letters.
    Mixed,
    /// Digits and letters in one long run between dashes: names consist of short words.
    OpaqueRun,
}

/// Length of the leading run of bytes that satisfy the test.
pub(super) fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}

/// Whether a string has digits and letters.
pub(super) fn is_mixed(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// What follows a beginning; else whether the text ends within it.
pub(super) fn after_prefix<'a>(rest: &'a str, beginning: &str) -> Result<&'a str, Look> {
    match rest.strip_prefix(beginning) {
        Some(body) => Ok(body),
        None if beginning.starts_with(rest) => Err(Look::OPEN),
        None => Err(Look::CLOSED),
    }
}

/// The same for the first of several beginnings that fits.
pub(super) fn after_any<'a>(rest: &'a str, beginnings: &[&str]) -> Result<&'a str, Look> {
    let mut look = Look::CLOSED;
    for beginning in beginnings {
        match after_prefix(rest, beginning) {
            Ok(body) => return Ok(body),
            Err(found) => look.open |= found.open,
        }
    }
    Err(look)
}

/// A beginning and a run of characters.
pub(super) fn token(rest: &str, beginnings: &[&str], body: &TokenBody) -> Look {
    let after_prefix = match after_any(rest, beginnings) {
        Ok(after_prefix) => after_prefix,
        Err(look) => return look,
    };
    let length = run(after_prefix, body.belongs);
    if body.max < usize::MAX {
        let follows = after_prefix.as_bytes().get(length).is_some_and(u8::is_ascii_alphanumeric);
        if follows || length > body.max {
            return Look::CLOSED;
        }
    }
    let run = &after_prefix[..length];
    let is_secret = length >= body.min
        && match body.content {
            TokenContent::Any => true,
            TokenContent::Mixed => is_mixed(run),
            TokenContent::OpaqueRun => run
                .split(['-', '_'])
                .any(|part| part.len() >= OPAQUE_RUN_CHARS_MIN && is_mixed(part)),
        };
    Look::of(is_secret, (0, rest.len() - after_prefix.len() + length), rest)
}

/// A signed token of three parts, of which two are JSON objects.
pub(super) fn web_token(rest: &str) -> Look {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let mut at = 0;
    for _ in 0..2 {
        if let Err(look) = after_prefix(&rest[at..], TOKEN_BEGIN) {
            return look;
        }
        let length = run(&rest[at..], part);
        at += length;
        match rest.as_bytes().get(at) {
            None => return Look::OPEN,
            Some(b'.') if length >= TOKEN_PART_CHARS_MIN => at += 1,
            Some(_) => return Look::CLOSED,
        }
    }
    let length = run(&rest[at..], part);
    Look::of(length >= TOKEN_SIGNATURE_CHARS_MIN, (0, at + length), rest)
}

/// A private key, as far as it was received.
pub(super) fn private_key(rest: &str) -> Look {
    let header = match after_prefix(rest, PEM_BEGIN) {
        Ok(header) => header,
        Err(look) => return look,
    };
    let Some(label) = header.find(PEM_DASHES) else {
        return Look { secret: None, open: !header.contains('\n') };
    };
    if !header[..label + PEM_DASHES.len()].ends_with(PEM_KEY) || header[..label].contains('\n') {
        return Look::CLOSED;
    }
    let body = PEM_BEGIN.len() + label + PEM_DASHES.len();
    let end = rest[body..].find(PEM_END).map(|at| body + at + PEM_END.len());
    let closed = end.and_then(|end| Some(end + rest[end..].find(PEM_DASHES)? + PEM_DASHES.len()));
    Look { secret: Some((0, closed.unwrap_or(rest.len()))), open: closed.is_none() }
}
