//! Replaces secrets in text before it is stored, and again before it is shown (TASKS-RED).
//!
//! An append-only log cannot forget, so this runs first. Only whole shapes match: a word such as
//! `token` or `bearer` alone never does.

use std::sync::LazyLock;

use memchr::{memchr_iter, memchr2_iter, memmem::Finder};
use serde_json::{Map, Value};

/// What stands in place of a secret.
pub const REDACTED: &str = "<redacted>";

/// Keys of answers under which ids stand: names that callers chose, whatever they look like.
pub const NAMES: [&str; 5] =
    ["workspace", "qualified_id", "task_qualified_id", "plan_qualified_id", "session_id"];

const GITHUB_PREFIXES: [&str; 5] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"];
const AWS_PREFIXES: [&str; 2] = ["AKIA", "ASIA"];
const BODY_CHARS_MIN: usize = 16;
const AWS_BODY_CHARS: usize = 16;
const OPAQUE_RUN_CHARS_MIN: usize = 12;
const BEARER_CHARS_MIN_WITHOUT_DIGIT: usize = 24;
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_KEY: &str = "PRIVATE KEY-----";
const PEM_END: &str = "-----END ";

/// The text with every secret replaced, or `None` when there is none.
pub fn text(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match secret_at(text, at) {
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
    LazyLock::new(|| ["sk-", PEM_BEGIN].map(Finder::new));
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

/// The secret that starts at this byte, as a range; for `Bearer` only the token behind it.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let length =
        github(rest).or_else(|| openai(rest)).or_else(|| aws(rest)).or_else(|| private_key(rest));
    if let Some(length) = length {
        return Some((at, at + length));
    }
    bearer(rest).map(|(start, end)| (at + start, at + end))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the leading run of bytes that satisfy the test.
fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}

fn github(rest: &str) -> Option<usize> {
    if let Some(body) = rest.strip_prefix("github_pat_") {
        let length = run(body, is_word);
        return (length >= BODY_CHARS_MIN).then_some("github_pat_".len() + length);
    }
    let body = GITHUB_PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let length = run(body, |byte| byte.is_ascii_alphanumeric());
    (length >= BODY_CHARS_MIN).then_some(4 + length)
}

fn openai(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("sk-")?;
    let length = run(body, |byte| is_word(byte) || byte == b'-');
    let opaque = |run: &str| {
        run.len() >= OPAQUE_RUN_CHARS_MIN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let has_opaque_run = body[..length].split(['-', '_']).any(opaque);
    (length >= BODY_CHARS_MIN && has_opaque_run).then_some(3 + length)
}

fn aws(rest: &str) -> Option<usize> {
    let body = AWS_PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let length = run(body, |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let follows = body.as_bytes().get(length).is_some_and(u8::is_ascii_alphanumeric);
    (length == AWS_BODY_CHARS && !follows).then_some(4 + length)
}

fn bearer(rest: &str) -> Option<(usize, usize)> {
    let word = rest.get(..6)?;
    if !word.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let blanks = run(&rest[6..], |byte| byte == b' ' || byte == b'\t');
    let start = 6 + blanks;
    let token = &rest[start..];
    let length = run(token, |byte| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte));
    let has_digit = token[..length].bytes().any(|byte| byte.is_ascii_digit());
    let long_enough =
        length >= BEARER_CHARS_MIN_WITHOUT_DIGIT || (length >= BODY_CHARS_MIN && has_digit);
    (blanks > 0 && long_enough).then_some((start, start + length))
}

fn private_key(rest: &str) -> Option<usize> {
    let header = rest.strip_prefix(PEM_BEGIN)?;
    let label = header.find("-----")?;
    if !header[..label + 5].ends_with(PEM_KEY) || header[..label].contains('\n') {
        return None;
    }
    let body = PEM_BEGIN.len() + label + 5;
    let Some(end) = rest[body..].find(PEM_END).map(|at| body + at + PEM_END.len()) else {
        return Some(rest.len());
    };
    let closed = rest[end..].find("-----").map_or(rest.len(), |at| end + at + 5);
    Some(closed)
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
