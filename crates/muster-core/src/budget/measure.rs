//! How many characters a value takes as compact JSON, without writing it.

use serde_json::Value;

/// Characters of the compact JSON of a value; non-ASCII is not escaped.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text_size(text),
        Value::Array(items) => 2 + separators(items.len()) + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            let entries: usize = map.iter().map(|(key, value)| entry_size(key, value)).sum();
            2 + separators(map.len()) + entries
        }
    }
}

/// Characters of `"key":value`.
pub(super) fn entry_size(key: &str, value: &Value) -> usize {
    text_size(key) + 1 + size(value)
}

/// Commas between that many elements.
pub(super) fn separators(count: usize) -> usize {
    count.saturating_sub(1)
}

/// Characters of a text with its quotes and escapes.
fn text_size(text: &str) -> usize {
    2 + text.chars().map(escaped).sum::<usize>()
}

fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        control if u32::from(control) < 0x20 => 6,
        _ => 1,
    }
}
