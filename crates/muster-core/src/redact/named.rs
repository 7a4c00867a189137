//! Secrets without their own shape, recognized by what precedes them: the scheme of an
//! authorization, the name of a variable, the user of a link.

use super::{
    Look,
    shapes::{after_any, after_prefix, is_mixed, run},
};

const BEARER: &str = "bearer";
const BEARER_CHARS_MIN: usize = 16;
const BEARER_CHARS_MIN_WITHOUT_DIGIT: usize = 24;
const BASIC: &str = "basic";
const BASIC_CHARS_MIN: usize = 8;
const BASE64_PADDING_MAX: usize = 2;
const AWS_SECRET_CHARS: usize = 40;
const URL: &str = "://";
/// A longer user and password are not a match.
const USER_BYTES_MAX: usize = 512;
/// A longer variable name is not a match.
const NAME_BYTES_MAX: usize = 64;
const PASSWORD_CHARS_MIN: usize = 6;
const KEY_CHARS_MIN: usize = 16;

/// Parts of names whose values are always secret.
const PASSWORDS: [&str; 5] = ["PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "SECRET"];
/// Parts of names whose values are secret if they look like it.
const KEYS: [&str; 5] = ["KEY", "TOKEN", "APIKEY", "CREDENTIAL", "CREDENTIALS"];
/// Parts of names of keys that grant access, so that even a digest is a secret there.
const ACCESS: [&str; 9] =
    ["API", "APIKEY", "ACCESS", "AUTH", "TOKEN", "ENCRYPTION", "SIGNING", "PRIVATE", "MASTER"];
/// Parts of names of keys that grant no access.
const OPEN_KEYS: [&str; 8] =
    ["PUBLIC", "CACHE", "PRIMARY", "FOREIGN", "SORT", "PARTITION", "IDEMPOTENCY", "FINGERPRINT"];

/// Where the text after a word begins, ignoring case and blanks.
fn after_word(rest: &str, word: &str) -> Result<usize, Look> {
    let here = &rest.as_bytes()[..rest.len().min(word.len())];
    if !here.eq_ignore_ascii_case(&word.as_bytes()[..here.len()]) {
        return Err(Look::CLOSED);
    }
    let Some(after_prefix) = rest.get(word.len()..) else { return Err(Look::OPEN) };
    let blanks = run(after_prefix, |byte| byte == b' ' || byte == b'\t');
    match blanks {
        0 => Err(Look { secret: None, open: after_prefix.is_empty() }),
        _ => Ok(word.len() + blanks),
    }
}

/// `Bearer` and a token, which is the secret.
pub(super) fn bearer(rest: &str) -> Look {
    let start = match after_word(rest, BEARER) {
        Ok(start) => start,
        Err(look) => return look,
    };
    let token = &rest[start..];
    let length = run(token, |byte| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte));
    let has_digit = token[..length].bytes().any(|byte| byte.is_ascii_digit());
    let long_enough =
        length >= BEARER_CHARS_MIN_WITHOUT_DIGIT || (length >= BEARER_CHARS_MIN && has_digit);
    Look::of(long_enough, (start, start + length), rest)
}

/// `Basic` and a user with a password, in Base64.
pub(super) fn basic(rest: &str) -> Look {
    let start = match after_word(rest, BASIC) {
        Ok(start) => start,
        Err(look) => return look,
    };
    let token = &rest[start..];
    let digits = run(token, |byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    // Base64 ends with its padding, whatever follows directly.
    let length = digits + run(&token[digits..], |byte| byte == b'=').min(BASE64_PADDING_MAX);
    let is_secret = length >= BASIC_CHARS_MIN && holds_password(&token[..length]);
    Look::of(is_secret, (start, start + length), rest)
}

/// Whether Base64 decodes to text with a colon. Ordinary words decode to no text at all.
fn holds_password(encoded: &str) -> bool {
    let mut text = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in encoded.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            text.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    let is_text = std::str::from_utf8(&text).is_ok_and(|text| !text.chars().any(char::is_control));
    is_text && text.iter().skip(1).any(|byte| *byte == b':')
}

/// The name of an AWS key, and the key, in any file format.
pub(super) fn aws_secret_key(rest: &str) -> Look {
    let names = [
        "aws_secret_access_key",
        "AWS_SECRET_ACCESS_KEY",
        "secret_access_key",
        "secretAccessKey",
        "SecretAccessKey",
    ];
    let after_prefix = match after_any(rest, &names) {
        Ok(after_prefix) => after_prefix,
        Err(look) => return look,
    };
    let between = run(after_prefix, |byte| b" \t\"'\\:=".contains(&byte));
    let assigns = after_prefix[..between].contains([':', '=']);
    let value = &after_prefix[between..];
    if !assigns {
        return Look { secret: None, open: value.is_empty() };
    }
    let length = run(value, |byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    let start = rest.len() - value.len();
    Look::of(length == AWS_SECRET_CHARS, (start, start + length), rest)
}

/// The password of a link: between the user and the host.
pub(super) fn url_password(rest: &str) -> Look {
    let user = match after_prefix(rest, URL) {
        Ok(user) => user,
        Err(look) => return look,
    };
    let belongs = |byte: u8| byte.is_ascii_graphic() && !b"/?#@\"'`<>\\".contains(&byte);
    let length = run(user, belongs);
    if length > USER_BYTES_MAX {
        return Look::CLOSED;
    }
    match user.as_bytes().get(length) {
        None => return Look::OPEN,
        Some(b'@') => {}
        Some(_) => return Look::CLOSED,
    }
    let Some((name, password)) = user[..length].split_once(':') else { return Look::CLOSED };
    let start = URL.len() + name.len() + 1;
    let is_secret = !password.is_empty() && !is_reference(password);
    Look { secret: is_secret.then_some((start, URL.len() + length)), open: false }
}

/// Whether a value refers to another one, or is empty.
fn is_reference(value: &str) -> bool {
    let first = value.as_bytes().first().copied().unwrap_or(b'$');
    b"$<{[(%*".contains(&first) || value.bytes().all(|byte| byte == b'x' || byte == b'.')
}

/// What the name of a variable implies about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    /// Always a secret.
    Password,
    /// A secret if it looks like one.
    Key,
    /// The same, but it may be the digest or the id of something.
    PerhapsKey,
}

fn secrecy(name: &str) -> Option<Secrecy> {
    let has = |parts: &[&str]| name.split('_').any(|part| parts.contains(&part));
    if has(&PASSWORDS) {
        return Some(Secrecy::Password);
    }
    if !has(&KEYS) || has(&OPEN_KEYS) {
        return None;
    }
    Some(if has(&ACCESS) { Secrecy::Key } else { Secrecy::PerhapsKey })
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Whether these bytes could end with the name of an assigned secret.
pub(super) fn is_assignment(before: &[u8]) -> bool {
    let length = before.iter().rev().take_while(|byte| is_name(**byte)).count();
    let name = &before[before.len() - length..];
    let within = |part: &&str| name.windows(part.len()).any(|here| here == part.as_bytes());
    PASSWORDS.iter().chain(&KEYS).any(within)
}

/// A variable of an environment: `DATABASE_PASSWORD=…`, of which the value is the secret.
pub(super) fn assignment(rest: &str) -> Look {
    let length = run(rest, is_name);
    if length > NAME_BYTES_MAX {
        return Look::CLOSED;
    }
    match rest.as_bytes().get(length) {
        None => return Look::OPEN,
        Some(b'=') => {}
        Some(_) => return Look::CLOSED,
    }
    let Some(secrecy) = secrecy(&rest[..length]) else { return Look::CLOSED };
    let value = &rest[length + 1..];
    let quotes = run(value, |byte| b"\\\"'".contains(&byte)).min(2);
    let start = length + 1 + quotes;
    let value = &value[quotes..];
    let is_quoted = quotes > 0;
    let belongs = |byte: u8| match is_quoted {
        true => byte != b'\n' && !b"\"'\\".contains(&byte),
        false => byte.is_ascii_graphic() && !b"\"'`<>\\;&|,".contains(&byte),
    };
    let length = value.bytes().take_while(|byte| belongs(*byte)).count();
    let value = &value[..length];
    Look::of(is_secret_value(value, secrecy, is_quoted), (start, start + length), rest)
}

fn is_digest(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = value.bytes().filter(|byte| *byte == b'-').count();
    matches!((digits, dashes), (32 | 40 | 64 | 96 | 128, 0) | (32, 4))
        && digits + dashes == value.len()
}

fn is_secret_value(value: &str, secrecy: Secrecy, is_quoted: bool) -> bool {
    let is_word = ["true", "false", "null", "none"].contains(&value.to_ascii_lowercase().as_str());
    let is_code = !is_quoted && value.contains(['(', '[', '{', ')', ']', '}']);
    if is_reference(value) || is_word || is_code {
        return false;
    }
    match secrecy {
        Secrecy::Password => value.chars().count() >= PASSWORD_CHARS_MIN,
        Secrecy::PerhapsKey if is_digest(value) => false,
        Secrecy::Key | Secrecy::PerhapsKey => {
            let is_path = value.starts_with(['/', '~', '.']);
            let is_one = !value.contains(' ');
            value.len() >= KEY_CHARS_MIN && is_mixed(value) && is_one && !is_path
        }
    }
}
