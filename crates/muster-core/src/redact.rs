//! Replaces secrets in text before it is stored, and again before it is shown (TASKS-RED).
//!
//! An append-only log cannot forget, so this runs first. Only whole shapes match: a word such as
//! `token` or `bearer` alone never does. What comes piece by piece is held back where it could be
//! the beginning of a secret ([`Stream`]).

mod stream;

use std::sync::LazyLock;

use memchr::{memchr_iter, memchr2_iter, memmem::Finder};
use serde_json::{Map, Value};

pub use stream::{Stream, seam};

/// What stands in place of a secret.
pub const REDACTED: &str = "<redacted>";

/// Keys of answers under which ids stand: names that callers chose, whatever they look like.
pub const NAMES: [&str; 5] =
    ["workspace", "qualified_id", "task_qualified_id", "plan_qualified_id", "session_id"];

const GITHUB_PREFIXES: [&str; 5] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"];
const GITHUB_FINE_PREFIX: &str = "github_pat_";
const OPENAI_PREFIX: &str = "sk-";
const BEARER: &str = "bearer";
const AWS_PREFIXES: [&str; 2] = ["AKIA", "ASIA"];
const BODY_CHARS_MIN: usize = 16;
const AWS_BODY_CHARS: usize = 16;
const OPAQUE_RUN_CHARS_MIN: usize = 12;
const BEARER_CHARS_MIN_WITHOUT_DIGIT: usize = 24;
const PEM_DASHES: &str = "-----";
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_KEY: &str = "PRIVATE KEY-----";
const PEM_END: &str = "-----END ";

/// The text with every secret replaced, or `None` when there is none.
pub fn text(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match look(text, at).secret {
            Some((start, end)) => {
                clean.push_str(&text[copied..start]);
                clean.push_str(REDACTED);
                copied = end;
                at = end;
            }
            None => at = next_start(text, at),
        }
    }
    if copied == 0 {
        return None;
    }
    clean.push_str(&text[copied..]);
    Some(clean)
}

/// How some secrets begin.
static BEGINNINGS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [OPENAI_PREFIX, PEM_BEGIN].map(Finder::new));
/// How all of [`AWS_PREFIXES`] end.
static AWS_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("IA"));

/// Whether a secret could be in a text, or in one of the texts that it holds as JSON: escapes never
/// touch how a secret begins. Wrong only by saying yes.
pub fn may_be_in(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_aws = |at: usize| matches!(bytes[..at], [.., b'A', b'K' | b'S']);
    let is_github = |at: usize| {
        let short = matches!(bytes[..at], [.., b'g', b'h', b'p' | b'o' | b'u' | b's' | b'r']);
        short || bytes[..at].ends_with(b"github_pat")
    };
    let is_bearer =
        |at: usize| bytes.get(at..at + 6).is_some_and(|word| word.eq_ignore_ascii_case(b"bearer"));
    BEGINNINGS.iter().any(|beginning| beginning.find(bytes).is_some())
        || AWS_END.find_iter(bytes).any(is_aws)
        || memchr_iter(b'_', bytes).any(is_github)
        || memchr2_iter(b'B', b'b', bytes).any(is_bearer)
}

/// Replaces secrets in every text inside a JSON value; answers whether any was found.
pub fn value(value: &mut Value) -> bool {
    walk(value, &[])
}

/// The same for an answer: what stands under a key of [`NAMES`] stays as it is.
pub fn answer(value: &mut Value) -> bool {
    walk(value, &NAMES)
}

/// Replaces secrets in every text and key inside an object; answers whether any was found.
pub fn object(map: &mut Map<String, Value>) -> bool {
    walk_object(map, &[])
}

fn walk(value: &mut Value, names: &[&str]) -> bool {
    match value {
        Value::String(string) => match text(string) {
            Some(clean) => {
                *string = clean;
                true
            }
            None => false,
        },
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| walk(item, names) | found)
        }
        Value::Object(map) => walk_object(map, names),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn walk_object(map: &mut Map<String, Value>, names: &[&str]) -> bool {
    let free = map.iter_mut().filter(|(key, item)| {
        let is_name = item.is_string() && names.contains(&key.as_str());
        !is_name
    });
    let found = free.fold(false, |found, (_, item)| walk(item, names) | found);
    keys(map) | found
}

/// Replaces secrets in the keys of an object; of keys that become the same the last one stays.
fn keys(map: &mut Map<String, Value>) -> bool {
    if !map.keys().any(|key| text(key).is_some()) {
        return false;
    }
    let entries = std::mem::take(map).into_iter();
    map.extend(entries.map(|(key, value)| (text(&key).unwrap_or(key), value)));
    true
}

/// The next place where a secret could begin: after a character that is not part of a word.
fn next_start(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut next = at + 1;
    while next < bytes.len() {
        let could_begin = matches!(bytes[next], b'g' | b's' | b'A' | b'B' | b'b' | b'-');
        if could_begin && !is_word(bytes[next - 1]) {
            return next;
        }
        next += 1;
    }
    bytes.len()
}

/// What a place in a text looks like.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Look {
    /// The secret that begins there, as a range; for `Bearer` only the token behind it.
    secret: Option<(usize, usize)>,
    /// Whether that could change with text that follows: there could be one, a longer one or none.
    open: bool,
}

impl Look {
    const OPEN: Self = Self { secret: None, open: true };
    const CLOSED: Self = Self { secret: None, open: false };

    /// A secret, or none, of this range; open when the text ends with it.
    fn of(is_secret: bool, (start, end): (usize, usize), rest: &str) -> Self {
        Self { secret: is_secret.then_some((start, end)), open: end == rest.len() }
    }
}

/// What the text looks like at this byte.
fn look(text: &str, at: usize) -> Look {
    let Some(rest) = text.get(at..) else { return Look::CLOSED };
    let shapes = [github, openai, aws, private_key, bearer];
    let found = shapes.map(|shape| shape(rest)).into_iter().find(|look| *look != Look::CLOSED);
    let Look { secret, open } = found.unwrap_or_default();
    Look { secret: secret.map(|(start, end)| (at + start, at + end)), open }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the leading run of bytes that satisfy the test.
fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}

/// What is behind a beginning; else whether the text ends within it.
fn behind<'a>(rest: &'a str, beginning: &str) -> Result<&'a str, Look> {
    match rest.strip_prefix(beginning) {
        Some(body) => Ok(body),
        None if beginning.starts_with(rest) => Err(Look::OPEN),
        None => Err(Look::CLOSED),
    }
}

/// The same for the first of several beginnings that fits.
fn behind_any<'a>(rest: &'a str, beginnings: &[&str]) -> Result<&'a str, Look> {
    let tried = beginnings.iter().map(|beginning| behind(rest, beginning));
    tried
        .reduce(|best, next| if best == Err(Look::CLOSED) { next } else { best })
        .unwrap_or(Err(Look::CLOSED))
}

fn github(rest: &str) -> Look {
    let (body, length) = match behind(rest, GITHUB_FINE_PREFIX) {
        Ok(body) => (body, run(body, is_word)),
        Err(Look::OPEN) => return Look::OPEN,
        Err(_) => match behind_any(rest, &GITHUB_PREFIXES) {
            Ok(body) => (body, run(body, |byte| byte.is_ascii_alphanumeric())),
            Err(look) => return look,
        },
    };
    let end = rest.len() - body.len() + length;
    Look::of(length >= BODY_CHARS_MIN, (0, end), rest)
}

fn openai(rest: &str) -> Look {
    let body = match behind(rest, OPENAI_PREFIX) {
        Ok(body) => body,
        Err(look) => return look,
    };
    let length = run(body, |byte| is_word(byte) || byte == b'-');
    let opaque = |run: &str| {
        run.len() >= OPAQUE_RUN_CHARS_MIN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let has_opaque_run = body[..length].split(['-', '_']).any(opaque);
    let is_secret = length >= BODY_CHARS_MIN && has_opaque_run;
    Look::of(is_secret, (0, OPENAI_PREFIX.len() + length), rest)
}

fn aws(rest: &str) -> Look {
    let body = match behind_any(rest, &AWS_PREFIXES) {
        Ok(body) => body,
        Err(look) => return look,
    };
    let length = run(body, |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let follows = body.as_bytes().get(length).is_some_and(u8::is_ascii_alphanumeric);
    if follows || length > AWS_BODY_CHARS {
        return Look::CLOSED;
    }
    let end = rest.len() - body.len() + length;
    Look::of(length == AWS_BODY_CHARS, (0, end), rest)
}

fn bearer(rest: &str) -> Look {
    let word = &rest.as_bytes()[..rest.len().min(BEARER.len())];
    if !word.eq_ignore_ascii_case(&BEARER.as_bytes()[..word.len()]) {
        return Look::CLOSED;
    }
    let Some(behind) = rest.get(BEARER.len()..) else { return Look::OPEN };
    let blanks = run(behind, |byte| byte == b' ' || byte == b'\t');
    let start = BEARER.len() + blanks;
    let token = &rest[start..];
    if blanks == 0 {
        return Look { secret: None, open: token.is_empty() };
    }
    let length = run(token, |byte| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte));
    let has_digit = token[..length].bytes().any(|byte| byte.is_ascii_digit());
    let long_enough =
        length >= BEARER_CHARS_MIN_WITHOUT_DIGIT || (length >= BODY_CHARS_MIN && has_digit);
    Look::of(long_enough, (start, start + length), rest)
}

fn private_key(rest: &str) -> Look {
    let header = match behind(rest, PEM_BEGIN) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AWS_PREFIXES, GITHUB_PREFIXES, may_be_in, text, value};

    #[test]
    fn secrets_are_replaced_where_they_stand() {
        let cases = [
            ("ghp_abcdefghijklmnop0123", "<redacted>"),
            ("key=ghs_ABCDEFGHIJKLMNOP, ok", "key=<redacted>, ok"),
            ("github_pat_11ABCDEFG0_abcdefgh", "<redacted>"),
            ("use sk-proj-abcdefgh12345678 now", "use <redacted> now"),
            ("AKIAIOSFODNN7EXAMPLE.", "<redacted>."),
            ("Authorization: Bearer abc123def456ghi7", "Authorization: Bearer <redacted>"),
            ("bearer  abcdefghijklmnopqrstuvwx", "bearer  <redacted>"),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
                "a <redacted> b",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII", "<redacted>"),
            ("größe ghp_abcdefghijklmnop0123 ß", "größe <redacted> ß"),
        ];
        for (given, clean) in cases {
            assert_eq!(text(given).as_deref(), Some(clean), "{given}");
        }
    }

    #[test]
    fn keys_of_objects_are_text_too() {
        let secrets = ("ghp_abcdefghijklmnop0123", "sk-proj-abcdefgh12345678");
        let mut object = json!({"a": {secrets.0: 1, "b": [secrets.1]}});
        assert!(value(&mut object));
        assert_eq!(object, json!({"a": {"<redacted>": 1, "b": ["<redacted>"]}}));
        assert!(!value(&mut object), "once is enough");
    }

    #[test]
    fn a_text_with_a_secret_is_never_taken_for_one_without() {
        let secrets = [
            "github_pat_11ABCDEFG0_abcdefgh",
            "sk-proj-abcdefgh12345678",
            "bEaReR abc123def456ghi7",
            "-----BEGIN EC PRIVATE KEY-----\nMII",
        ];
        let github = GITHUB_PREFIXES.map(|prefix| format!("{prefix}abcdefghijklmnop0123"));
        let aws = AWS_PREFIXES.map(|prefix| format!("{prefix}IOSFODNN7EXAMPLE"));
        for secret in secrets.map(str::to_owned).into_iter().chain(github).chain(aws) {
            let around = format!("größe\n{secret}\t\"");
            assert!(text(&around).is_some(), "{secret}");
            assert!(may_be_in(&around), "{secret}");
            let written = serde_json::json!({"a": [{around.as_str(): around}]}).to_string();
            assert!(may_be_in(&written), "{secret}");
        }
        assert!(!may_be_in("TASK-001 of the branch, gh and sk_ and A-B, VIA path_"));
    }

    #[test]
    fn words_alone_stay_as_written() {
        let cases = [
            "token=refresh",
            "bearer plate",
            "task-1234567890abcdef1234",
            "xghp_abcdefghijklmnop0123",
            "ghp_short",
            "sk-learn-is-a-nice-library-for-python",
            "sk-1234567890123456",
            "AKIAIOSFODNN7EXAMPLE1",
            "AKIAIOSFODNN7EXAMPLx",
            "Bearer abcdefghijklmnop",
            "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
            "TASK-001 s:0.s:2 STEP-0000000A",
            "",
        ];
        for given in cases {
            assert_eq!(text(given), None, "{given}");
        }
    }
}
