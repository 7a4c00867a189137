//! Replaces secrets in text before it is stored, and again before it is shown (TASKS-RED).
//!
//! An append-only log cannot forget, so this runs first. Only whole shapes match: a word such as
//! `token` or `bearer` alone never does. Streamed text is held back where it could be the beginning
//! of a secret ([`RedactedStream`]).

mod named;
mod rules;
mod shapes;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use rules::may_be_in;
pub use stream::{RedactedStream, seam};

/// Replaces a secret.
pub const REDACTED: &str = "<redacted>";

/// Keys of responses that hold ids: names that callers chose, whatever they look like.
pub const NAMES: [&str; 5] =
    ["workspace", "qualified_id", "task_qualified_id", "plan_qualified_id", "session_id"];

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

/// Replaces secrets in every string inside a JSON value; returns whether any was found.
pub fn value(value: &mut Value) -> bool {
    walk(value, &[])
}

/// The same for a response: values of a key in [`NAMES`] stay unchanged.
pub fn answer(value: &mut Value) -> bool {
    walk(value, &NAMES)
}

/// Replaces secrets in every string and key inside an object; returns whether any was found.
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

/// Replaces secrets in the keys of an object; if keys become equal the last one wins.
fn keys(map: &mut Map<String, Value>) -> bool {
    if !map.keys().any(|key| text(key).is_some()) {
        return false;
    }
    let entries = std::mem::take(map).into_iter();
    map.extend(entries.map(|(key, value)| (text(&key).unwrap_or(key), value)));
    true
}

/// The next place where a secret could begin.
fn next_start(text: &str, at: usize) -> usize {
    rules::next_start(text.as_bytes(), at)
}

/// What a position in a string looks like.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Look {
    /// The secret that is found from there on, as a range.
    secret: Option<(usize, usize)>,
    /// Whether later text could change that: there could be one, a longer one or none.
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
    let Look { secret, open } = rules::look(rest);
    Look { secret: secret.map(|(start, end)| (at + start, at + end)), open }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
