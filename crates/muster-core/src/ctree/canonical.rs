//! JSON in the canonical form that is hashed and stored (CH-1): no whitespace, keys in code point
//! order, and only the escapes that JSON requires.

use serde_json::{Map, Value};

/// Writes a string as JSON.
pub(super) fn push_string(json: &mut String, text: &str) {
    json.push('"');
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        json.push_str(&text[copied..at]);
        push_escape(json, byte);
        copied = at + 1;
    }
    json.push_str(&text[copied..]);
    json.push('"');
}

fn push_escape(json: &mut String, byte: u8) {
    match byte {
        b'"' => json.push_str("\\\""),
        b'\\' => json.push_str("\\\\"),
        8 => json.push_str("\\b"),
        12 => json.push_str("\\f"),
        b'\n' => json.push_str("\\n"),
        b'\r' => json.push_str("\\r"),
        b'\t' => json.push_str("\\t"),
        control => json.push_str(&format!("\\u{control:04x}")),
    }
}

/// Any value as compact JSON with sorted keys, as bodies of calls and results hold it (CT-5).
pub(super) fn compact(value: &Value) -> String {
    let mut json = String::new();
    push_value(&mut json, value);
    json
}

fn push_value(json: &mut String, value: &Value) {
    match value {
        Value::Null => json.push_str("null"),
        Value::Bool(is_true) => json.push_str(if *is_true { "true" } else { "false" }),
        Value::Number(number) => json.push_str(&number.to_string()),
        Value::String(text) => push_string(json, text),
        Value::Array(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                push_value(json, item);
            }
            json.push(']');
        }
        Value::Object(fields) => push_object(json, fields),
    }
}

fn push_object(json: &mut String, fields: &Map<String, Value>) {
    // UTF-8 keeps the order of code points, so comparing bytes is enough.
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    json.push('{');
    for (at, (key, value)) in sorted.into_iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        push_string(json, key);
        json.push(':');
        push_value(json, value);
    }
    json.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compact, push_string};

    #[test]
    fn keys_are_sorted_at_every_level_and_nothing_else_moves() {
        let value = json!({"b": [1, {"z": null, "a": true}], "": -2, "é": 0.5, "B": "\u{7f}é\n"});
        let expected = "{\"\":-2,\"B\":\"\u{7f}é\\n\",\"b\":[1,{\"a\":true,\"z\":null}],\"é\":0.5}";
        assert_eq!(compact(&value), expected);
    }

    #[test]
    fn strings_have_the_escapes_that_json_demands_and_no_others() {
        let mut json = String::new();
        push_string(&mut json, "a\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}/\u{2028}🌲");
        assert_eq!(json, "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f/\u{2028}🌲\"");
    }
}
