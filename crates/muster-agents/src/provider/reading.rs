//! How the lines of programs are read. A line may be the end of a turn, so an odd value in it must
//! not cost the rest of it.
//!
//! ```text
//!   bytes ── text ──► JSON ── by_word! ──► a message, tagged by a word
//!                               lenient, items ──► its fields: odd values count as missing
//!                               Count, Amount  ──► its numbers
//! ```

use std::{borrow::Cow, ops::Add};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// The escape of U+FFFD, which replaces half a character.
const REPLACEMENT: &str = "\\ufffd";
/// Characters of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// The text of a line. Invalid UTF-8 becomes U+FFFD, and so do escapes of half a character, which
/// JSON does not allow (RUNS-GEN-6).
pub(crate) fn text(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    match whole_characters(&text) {
        Some(repaired) => Cow::Owned(repaired),
        None => text,
    }
}

/// The text with every lone half of a character replaced; `None` when it has none.
fn whole_characters(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let length = match (half(&text[at..]), half(text.get(at + ESCAPE_BYTES..).unwrap_or(""))) {
            (Some(Half::First), Some(Half::Second)) => 2 * ESCAPE_BYTES,
            (Some(_), _) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str(REPLACEMENT);
                copied = at + ESCAPE_BYTES;
                ESCAPE_BYTES
            }
            // An escape of another character, which may be a backslash itself.
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        at += length;
    }
    (copied > 0).then(|| repaired + &text[copied..])
}

/// Halves of characters that need two escapes.
enum Half {
    First,
    Second,
}

/// The half of a surrogate pair that a string begins with as an escape.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// Deserializes an optional field: an odd value counts as missing.
pub(crate) fn lenient<'de, D, T>(source: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Ok(serde_json::from_value(Value::deserialize(source)?).unwrap_or_default())
}

/// Deserializes a list; odd items are left out.
pub(crate) fn items<'de, D, T>(source: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(readable(Value::deserialize(source)?))
}

/// The items of a list that have the expected shape.
pub(crate) fn readable<T: DeserializeOwned>(value: Value) -> Vec<T> {
    let Value::Array(list) = value else { return Vec::new() };
    list.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

/// A number of things, if a program reports it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Count(Option<u64>);

impl Count {
    pub(crate) fn of(value: &Value) -> Self {
        let part = |number: &f64| number.is_finite() && *number >= 0.0;
        // A fraction is truncated, a number that is too large becomes the maximum.
        Self(value.as_u64().or_else(|| Some(value.as_f64().filter(part)? as u64)))
    }

    pub(crate) fn value(self) -> Option<u64> {
        self.0
    }

    /// The number; none is zero.
    pub(crate) fn number(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(Some(self.number().saturating_add(other.number())))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Self::of(&Value::deserialize(source)?))
    }
}

/// An amount or cost, if a program reports it.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Amount(pub(crate) Option<f64>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(source)?;
        Ok(Self(value.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Amount, Count, text};

    #[test]
    fn runs_gen_6_half_a_character_becomes_a_replacement_and_all_else_stays() {
        for (line, read) in [
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\uDE00 end""#, "\u{fffd} end"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\\ud83d \\\ud83d""#, "\\ud83d \\\u{fffd}"),
            (r#""\ud83d\ude00 ü \n""#, "\u{1f600} ü \n"),
        ] {
            let repaired = text(line.as_bytes());
            assert_eq!(serde_json::from_str::<String>(&repaired).unwrap(), read, "{line}");
        }
        assert_eq!(text(b"\"a\xffb\""), "\"a\u{fffd}b\"");
        for odd in ["\\", "\\u", "\\ud8", "\\ud83d", "\\ü", "x\\ud83dü"] {
            assert!(!text(odd.as_bytes()).is_empty(), "{odd}");
        }
    }

    #[test]
    fn numbers_are_taken_as_far_as_they_are_numbers() {
        let count = |value| Count::of(&value).value();
        assert_eq!((count(json!(7)), count(json!(1.5))), (Some(7), Some(1)));
        assert_eq!(count(json!(1e300)), Some(u64::MAX));
        for odd in [json!(null), json!(-1), json!("7"), json!([])] {
            assert_eq!(count(odd), None);
        }
        let sum = Count::of(&json!(u64::MAX)) + Count::of(&json!(1));
        assert_eq!(sum.number(), u64::MAX);
        let amount = |text| serde_json::from_str::<Amount>(text).unwrap().0;
        assert_eq!((amount("0.5"), amount("null"), amount("-1")), (Some(0.5), None, None));
    }
}
