//! Fills a vector's arguments and patterns: saved values, long texts, long lists.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Values by name.
pub(super) type Values = BTreeMap<String, Value>;

/// The value with every `${name}` and every `$repeat` filled in.
///
/// A text that is exactly `${name}` becomes the value with its type; in a longer text it is text.
pub(super) fn fill(value: &Value, values: &Values) -> Result<Value, String> {
    match value {
        Value::String(text) => fill_text(text, values),
        Value::Array(items) => {
            items.iter().map(|item| fill(item, values)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(map) => match map.get("$repeat") {
            Some(Value::Object(repeat)) if map.len() == 1 => repeated(repeat, values),
            _ => fill_object(map, values).map(Value::Object),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

/// The same for the entries of an object; names of keys are filled too.
pub(super) fn fill_object(
    map: &Map<String, Value>,
    values: &Values,
) -> Result<Map<String, Value>, String> {
    let entry = |(key, value): (&String, &Value)| {
        Ok((plain(&fill_text(key, values)?), fill(value, values)?))
    };
    map.iter().map(entry).collect()
}

fn fill_text(text: &str, values: &Values) -> Result<Value, String> {
    let value_of =
        |name: &str| values.get(name).ok_or_else(|| format!("the vector saved no value {name:?}"));
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(name) = whole.filter(|name| !name.contains('$')) {
        return value_of(name).cloned();
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| format!("unclosed: {text}"))?;
        filled += before;
        filled += &plain(value_of(name)?);
        rest = after;
    }
    Ok(Value::String(filled + rest))
}

/// `{"$repeat": {"text": "x", "times": 500}}` or `{"$repeat": {"item": …, "times": 201}}`, where
/// `${n}` in an item is its number from 0.
fn repeated(repeat: &Map<String, Value>, values: &Values) -> Result<Value, String> {
    let times = repeat.get("times").and_then(Value::as_u64).ok_or("$repeat needs times")?;
    if let Some(Value::String(text)) = repeat.get("text") {
        let times = usize::try_from(times).map_err(|error| error.to_string())?;
        return Ok(Value::String(text.repeat(times)));
    }
    let item = repeat.get("item").ok_or("$repeat needs a string or an item")?;
    let mut values = values.clone();
    let mut items = Vec::new();
    for n in 0..times {
        values.insert("n".to_owned(), Value::from(n));
        items.push(fill(item, &values)?);
    }
    Ok(Value::Array(items))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Values, fill};

    #[test]
    fn values_keep_their_type_alone_and_become_text_inside_text() {
        let values = Values::from([("seq".to_owned(), json!(7))]);
        let filled = fill(&json!({"since": "${seq}", "note": "at ${seq}, ${seq}"}), &values);
        assert_eq!(filled, Ok(json!({"since": 7, "note": "at 7, 7"})));
        assert!(fill(&json!("${unknown}"), &values).is_err());
    }

    #[test]
    fn long_texts_and_lists_are_written_short() {
        let long = json!({
            "title": {"$repeat": {"text": "ä", "times": 3}},
            "tags": {"$repeat": {"item": "tag ${n}", "times": 2}},
        });
        let filled = fill(&long, &Values::new());
        assert_eq!(filled, Ok(json!({"title": "äää", "tags": ["tag 0", "tag 1"]})));
    }
}
