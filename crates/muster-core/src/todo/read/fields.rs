//! Single values: the first usable one of several names (MV-4).

use serde_json::{Map, Value};

use crate::{text, todo::ItemId};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// The first of these names whose value is usable; the others are ignored.
pub(crate) fn first<'a, T>(
    object: &'a Object,
    names: &[&str],
    usable: impl Fn(&'a Value) -> Option<T>,
) -> Option<T> {
    names.iter().find_map(|name| object.get(*name).and_then(&usable))
}

/// The first string that is not blank, trimmed.
pub(crate) fn first_text<'a>(object: &'a Object, names: &[&str]) -> Option<&'a str> {
    first(object, names, words)
}

pub(crate) fn first_array<'a>(object: &'a Object, names: &[&str]) -> Option<&'a Vec<Value>> {
    first(object, names, Value::as_array)
}

pub(crate) fn first_object<'a>(object: &'a Object, names: &[&str]) -> Option<&'a Object> {
    first(object, names, Value::as_object)
}

/// A string that is not blank, trimmed.
pub(crate) fn words(value: &Value) -> Option<&str> {
    value.as_str().map(text::trim).filter(|words| !words.is_empty())
}

/// An id: a string that is not blank, exactly as it is, or the digits of a whole number (TD-5).
pub(crate) fn id(value: &Value) -> Option<ItemId> {
    match value {
        Value::String(text) => ItemId::of(text.as_str()),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|float| float.trunc() == *float)?;
            // Adding zero turns a negative zero into a plain one.
            ItemId::of(format!("{:.0}", float + 0.0))
        }
        Value::Number(number) => ItemId::of(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A revision or position: a number, rounded down, or a string of digits (TD-8, TD-9).
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) if number.is_f64() => rounded_down(number.as_f64()?),
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text::trim(text).parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A whole number.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) if number.is_f64() => {
            rounded_down(number.as_f64().filter(|float| float.trunc() == *float)?)
        }
        Value::Number(number) => number.as_i64(),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// The number rounded down, if it fits 64 bits.
fn rounded_down(float: f64) -> Option<i64> {
    /// 2 to the power of 63; the minimum is its negative, the maximum is below it.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let floor = float.floor();
    #[expect(clippy::cast_possible_truncation, reason = "within the range, and whole")]
    (-LIMIT..LIMIT).contains(&floor).then_some(floor as i64)
}
