//! Does an answer look as a vector says?
//!
//! Objects are matched in part: keys that the pattern does not name may be there. Lists are matched
//! whole. An object with one key that starts with `$` is a rule, see `tests/contracts/README.md`.

use serde_json::{Map, Value};

use super::times;

/// The first difference between a pattern and a value; `None` when the value matches.
pub(super) fn difference(pattern: &Value, actual: Option<&Value>, at: &str) -> Option<String> {
    if let Value::Object(map) = pattern
        && let Some((rule, operand)) = single_rule(map)
    {
        return special(rule, operand, actual, at);
    }
    let Some(actual) = actual else { return Some(format!("{at}: is absent")) };
    match (pattern, actual) {
        (Value::Object(pattern), Value::Object(actual)) => {
            let mut entries = pattern.iter();
            entries.find_map(|(key, one)| difference(one, actual.get(key), &format!("{at}/{key}")))
        }
        (Value::Array(pattern), Value::Array(actual)) => whole_list(pattern, actual, at),
        _ if pattern == actual => None,
        _ => Some(format!("{at}: expected {pattern}, got {}", short(actual))),
    }
}

fn single_rule(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (key, operand) = map.iter().next().filter(|_| map.len() == 1)?;
    key.starts_with('$').then_some((key.as_str(), operand))
}

fn whole_list(pattern: &[Value], actual: &[Value], at: &str) -> Option<String> {
    if pattern.len() != actual.len() {
        let wanted = pattern.len();
        let got = Value::Array(actual.to_vec());
        return Some(format!("{at}: expected {wanted} element(s), got {}", short(&got)));
    }
    let mut pairs = pattern.iter().zip(actual).enumerate();
    pairs.find_map(|(index, (one, actual))| difference(one, Some(actual), &format!("{at}/{index}")))
}

fn special(rule: &str, operand: &Value, actual: Option<&Value>, at: &str) -> Option<String> {
    match (rule, actual) {
        ("$absent", None) => None,
        ("$absent", Some(actual)) => Some(format!("{at}: should be absent, is {}", short(actual))),
        (_, None) => Some(format!("{at}: is absent")),
        (_, Some(actual)) => present(rule, operand, actual, at),
    }
}

fn present(rule: &str, operand: &Value, actual: &Value, at: &str) -> Option<String> {
    let says = |holds: bool| {
        let text = || format!("{at}: expected {rule} {operand}, got {}", short(actual));
        (!holds).then(text)
    };
    match (rule, operand) {
        ("$any", Value::String(kind)) => says(kind_of(actual) == kind),
        ("$form", Value::String(form)) => says(has_form(form, actual)),
        ("$not", pattern) => says(difference(pattern, Some(actual), at).is_some()),
        ("$exact", Value::Object(pattern)) => exact(pattern, actual, at),
        ("$all", Value::Array(patterns)) => {
            patterns.iter().find_map(|pattern| difference(pattern, Some(actual), at))
        }
        ("$has", operand) => has(operand, actual, at),
        ("$starts", Value::String(start)) => {
            says(actual.as_str().is_some_and(|text| text.starts_with(start)))
        }
        ("$starts", Value::Array(first)) => match actual.as_array() {
            Some(list) if list.len() >= first.len() => whole_list(first, &list[..first.len()], at),
            Some(_) | None => says(false),
        },
        ("$ends", Value::String(end)) => {
            says(actual.as_str().is_some_and(|text| text.ends_with(end)))
        }
        ("$length", Value::Number(length)) => says(length_of(actual) == length.as_u64()),
        _ => Some(format!("{at}: the vector has an unknown rule {rule} {operand}")),
    }
}

/// `$has`: a string contains strings, a list contains elements that match.
fn has(operand: &Value, actual: &Value, at: &str) -> Option<String> {
    let wanted = operand.as_array().map_or(std::slice::from_ref(operand), Vec::as_slice);
    let contains = |one: &Value| match (one, actual) {
        (Value::String(part), Value::String(text)) => text.contains(part.as_str()),
        (one, Value::Array(list)) => {
            list.iter().any(|element| difference(one, Some(element), at).is_none())
        }
        _ => false,
    };
    let missing = wanted.iter().find(|one| !contains(one))?;
    Some(format!("{at}: expected to contain {missing}, got {}", short(actual)))
}

fn exact(pattern: &Map<String, Value>, actual: &Value, at: &str) -> Option<String> {
    // Who did something differs between surfaces.
    let is_extra =
        |key: &&String| !pattern.contains_key(*key) && !times::CALLERS.contains(&key.as_str());
    if let Value::Object(actual) = actual
        && let Some(key) = actual.keys().find(is_extra)
    {
        return Some(format!("{at}: should not have {key}"));
    }
    let whole = Value::Object(pattern.clone());
    if single_rule(pattern).is_some() {
        return Some(format!("{at}: the vector nests a rule in $exact"));
    }
    difference(&whole, Some(actual), at)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Named forms of values that differ from run to run.
fn has_form(form: &str, value: &Value) -> bool {
    match (form, value) {
        ("event_id", Value::String(text)) => {
            let digits = text.strip_prefix("evt_").unwrap_or_default();
            digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        ("time", Value::String(text)) => times::is_rfc3339_millis(text),
        ("time", Value::Number(number)) => number.as_i64().is_some_and(times::is_unix_millis),
        ("word", Value::String(text)) => !text.is_empty() && !text.contains(char::is_whitespace),
        ("sentence", Value::String(text)) => !text.trim().is_empty(),
        _ => false,
    }
}

fn length_of(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => Some(text.chars().count() as u64),
        Value::Array(list) => Some(list.len() as u64),
        Value::Object(map) => Some(map.len() as u64),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn short(value: &Value) -> String {
    const CHARS_MAX: usize = 400;
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::difference;

    #[track_caller]
    fn matches(pattern: &Value, actual: &Value) {
        assert_eq!(difference(pattern, Some(actual), ""), None);
    }

    #[track_caller]
    fn differs(pattern: &Value, actual: &Value, why: &str) {
        let found = difference(pattern, Some(actual), "").expect("a difference");
        assert!(found.starts_with(why), "{found}");
    }

    #[test]
    fn objects_match_in_part_and_lists_whole() {
        matches(&json!({"a": {"b": 1}}), &json!({"a": {"b": 1, "c": 2}, "d": 3}));
        differs(&json!({"a": {"b": 1}}), &json!({"a": {"b": 2}}), "/a/b: expected 1, got 2");
        differs(&json!({"a": 1}), &json!({}), "/a: is absent");
        matches(&json!([1, {"a": 1}]), &json!([1, {"a": 1, "b": 2}]));
        differs(&json!([1]), &json!([1, 2]), ": expected 1 element(s)");
        differs(&json!(1), &json!(1.0), ": expected 1");
    }

    #[test]
    fn rules_say_more_than_equality() {
        matches(&json!({"a": {"$absent": true}}), &json!({}));
        differs(&json!({"a": {"$absent": true}}), &json!({"a": null}), "/a: should be absent");
        matches(&json!({"$exact": {"a": 1}}), &json!({"a": 1}));
        differs(&json!({"$exact": {"a": 1}}), &json!({"a": 1, "b": 2}), ": should not have b");
        matches(&json!({"$has": ["b", "a"]}), &json!("abc"));
        differs(&json!({"$has": "x"}), &json!("abc"), ": expected to contain");
        matches(&json!({"$has": [{"a": 1}]}), &json!([{"a": 2}, {"a": 1, "b": 1}]));
        differs(&json!({"$has": [{"a": 3}]}), &json!([{"a": 2}]), ": expected to contain");
        matches(&json!({"$starts": ["a"]}), &json!(["a", "b"]));
        differs(&json!({"$starts": ["b"]}), &json!(["a", "b"]), "/0: expected");
        matches(&json!({"$not": {"a": 1}}), &json!({"a": 2}));
        differs(&json!({"$not": {"a": 1}}), &json!({"a": 1}), ": expected $not");
        matches(&json!({"$length": 2}), &json!("äö"));
        differs(&json!({"$length": 2}), &json!([1]), ": expected $length");
        matches(&json!({"$any": "integer"}), &json!(1));
        differs(&json!({"$any": "integer"}), &json!(1.5), ": expected $any");
        differs(&json!({"$form": "event_id"}), &json!("evt_42"), ": expected $form");
        matches(&json!({"$form": "event_id"}), &json!("evt_0000000000000042"));
        differs(
            &json!({"$all": [{"$starts": "a"}, {"$ends": "c"}]}),
            &json!("ab"),
            ": expected $ends",
        );
        differs(&json!({"$unheard": 1}), &json!(1), ": the vector has an unknown rule");
    }
}
