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

/// Characters of a string with its quotes and escapes.
pub(super) fn text_size(text: &str) -> usize {
    let escapes: usize = text.bytes().map(|byte| usize::from(ESCAPES[usize::from(byte)])).sum();
    2 + text.chars().count() + escapes
}

/// Additional characters that a byte takes as JSON. Only ASCII is escaped, so the bytes of longer
/// characters count zero.
const ESCAPES: [u8; 256] = {
    let mut extra = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        extra[control] = 5;
        control += 1;
    }
    let short = *b"\"\\\n\r\t\x08\x0c";
    let mut at = 0;
    while at < short.len() {
        extra[short[at] as usize] = 1;
        at += 1;
    }
    extra
};
