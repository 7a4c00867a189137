//! Strings that callers write, checked and normalized on input (TASKS-ARG-5, TASKS-LIM-1).
//!
//! Lengths and forms are part of the schema, so calls are refused before these types are read.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::{
    id::EntityId,
    limits::{
        DEPENDENCIES_MAX, ITEM_CHARS_MAX, ITEMS_MAX, OBJECT_CHARS_MAX, PROSE_CHARS_MAX,
        TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX,
    },
};
use crate::{
    inline_schema,
    text::{BadForm, FormFault},
};

/// Words that mean "nothing" in a list.
const EMPTY_WORDS: [&str; 4] = ["none", "null", "n/a", "na"];

/// Whether nothing of a string is visible: whitespace, controls and characters without a width.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| {
        character.is_whitespace()
            || character.is_control()
            || matches!(character,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    })
}

/// The trimmed string, if it is not blank and on one line; else which of the two is expected.
fn line(text: &str, not_blank: &'static str, unbroken: &'static str) -> Result<String, BadForm> {
    /// What begins a new line, by Unicode's newline guidelines.
    const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    if is_blank(text) {
        return Err(BadForm { expected: not_blank });
    }
    let line = text.trim();
    if line.contains(BREAKS) {
        return Err(BadForm { expected: unbroken });
    }
    Ok(line.to_owned())
}

/// A one-line name: trimmed, never blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title(pub String);

impl FromStr for Title {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        line(text, "a title that is not blank", "a title on one line").map(Self)
    }
}

inline_schema!(Title, {"type": "string", "maxLength": TITLE_CHARS_MAX, "x-form": "Title"});

/// A free word or two, such as the status of a card: on one line, trimmed, never blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(pub String);

impl FromStr for Word {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        line(text, "a word that is not blank", "a word on one line").map(Self)
    }
}

/// A long text; an empty one clears the field it is written to (TASKS-ARG-6).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct LongText(pub String);

impl LongText {
    /// The text to store: `None` for an empty one.
    pub fn stored(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

inline_schema!(LongText, {"type": "string", "maxLength": PROSE_CHARS_MAX});

/// A long text that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark(pub String);

impl FromStr for Remark {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        if is_blank(text) {
            return Err(BadForm { expected: "a string that is not blank" });
        }
        Ok(Self(text.to_owned()))
    }
}

inline_schema!(Remark, {"type": "string", "maxLength": PROSE_CHARS_MAX, "x-form": "Remark"});

/// Criteria, tests, blockers: trimmed, without blanks, words for "nothing" and duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanLines(pub Vec<String>);

impl<'de> Deserialize<'de> for CleanLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<String>::deserialize(deserializer)?;
        let mut lines: Vec<String> = Vec::with_capacity(given.len());
        for item in &given {
            let item = item.trim();
            let means_nothing =
                is_blank(item) || EMPTY_WORDS.iter().any(|word| item.eq_ignore_ascii_case(word));
            if !means_nothing && !lines.iter().any(|line| line == item) {
                lines.push(item.to_owned());
            }
        }
        Ok(Self(lines))
    }
}

inline_schema!(CleanLines, {
    "type": "array", "maxItems": ITEMS_MAX, "items": {"type": "string", "maxLength": ITEM_CHARS_MAX}
});

/// The points of a checklist, every one as it was given: each on one line, trimmed, never blank.
/// None is left out, because the position counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<ChecklistPoint>")]
pub struct Points(pub Vec<String>);

impl From<Vec<ChecklistPoint>> for Points {
    fn from(points: Vec<ChecklistPoint>) -> Self {
        Self(points.into_iter().map(|point| point.0).collect())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecklistPoint(String);

impl FromStr for ChecklistPoint {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        line(text, "a point that is not blank", "a point on one line").map(Self)
    }
}

/// Reads types as strings of their form.
macro_rules! read_as_text {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

read_as_text!(Title, Remark, ChecklistPoint);

inline_schema!(Points, {
    "type": "array", "maxItems": ITEMS_MAX,
    "items": {"type": "string", "maxLength": ITEM_CHARS_MAX, "x-form": "ChecklistPoint"}
});

/// Tags: trimmed, without duplicates, never blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub Vec<String>);

impl Tags {
    pub fn of<'a>(given: impl IntoIterator<Item = &'a str>) -> Result<Self, BadForm> {
        let mut tags: Vec<String> = Vec::new();
        for tag in given {
            let tag = tag.trim();
            if is_blank(tag) {
                return Err(BadForm { expected: "tags that are not blank" });
            }
            if !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
        Ok(Self(tags))
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<String>::deserialize(deserializer)?;
        Self::of(given.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}

inline_schema!(Tags, {
    "type": "array", "maxItems": TAGS_MAX, "x-form": "Tags",
    "items": {"type": "string", "maxLength": TAG_CHARS_MAX}
});

/// Ids of what has to be done first, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies(pub Vec<EntityId>);

impl<'de> Deserialize<'de> for Dependencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<EntityId>::deserialize(deserializer)?;
        let mut ids: Vec<EntityId> = Vec::with_capacity(given.len());
        for id in given {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(Self(ids))
    }
}

inline_schema!(Dependencies, {
    "type": "array", "items": {"type": "string", "x-form": "EntityId"}, "maxItems": DEPENDENCIES_MAX
});

/// A structured contract: free keys, bounded as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeObject(pub Map<String, Value>);

impl FreeObject {
    /// Refuses an object that is too large.
    pub fn check(object: &Value) -> Result<(), FormFault> {
        let size = crate::budget::size(object);
        if size <= OBJECT_CHARS_MAX {
            return Ok(());
        }
        let expected = format!("at most {OBJECT_CHARS_MAX} characters of JSON");
        Err(FormFault { expected, got: Some(size.to_string()) })
    }
}

impl<'de> Deserialize<'de> for FreeObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::deserialize(deserializer)?;
        Self::check(&Value::Object(object.clone())).map_err(D::Error::custom)?;
        Ok(Self(object))
    }
}

inline_schema!(FreeObject, {
    "type": "object", "additionalProperties": true, "x-form": "FreeObject"
});

#[cfg(test)]
mod tests {
    use super::{CleanLines, Points, Tags, Title};

    #[test]
    fn lines_drop_blanks_words_for_nothing_and_duplicates() {
        let lines: CleanLines =
            serde_json::from_str(r#"[" a ", "None", "", "N/A", "a", "nada", "null"]"#).unwrap();
        assert_eq!(lines.0, ["a", "nada"]);
    }

    #[test]
    fn titles_are_trimmed_and_never_blank_or_broken() {
        let title: Title = serde_json::from_str(r#""  Rotate keys ""#).unwrap();
        assert_eq!(title.0, "Rotate keys");
        for text in [r#""""#, r#""  ""#, r#""a\nb""#] {
            assert!(serde_json::from_str::<Title>(text).is_err(), "{text}");
        }
        let read = |text: String| serde_json::from_value::<Title>(text.into());
        for mark in ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'] {
            assert!(read(format!("a{mark}b")).is_err(), "{mark:?} breaks a line");
            assert_eq!(read(format!("a{mark}")).unwrap().0, "a", "{mark:?} ends a line");
        }
        for unseen in ["\u{200b}", "\u{feff} \u{2060}", "\u{1}\u{7f}", "\u{ad}\u{200d}"] {
            assert!(read(unseen.to_owned()).is_err(), "{unseen:?} shows nothing");
        }
        assert!(read("👩\u{200d}💻".to_owned()).is_ok(), "a joiner may be part of a title");
    }

    #[test]
    fn points_of_a_checklist_are_kept_one_by_one() {
        let read = |text: &str| serde_json::from_str::<Points>(text);
        let points = read(r#"["test", " build ", "test", "None"]"#).unwrap();
        assert_eq!(points.0, ["test", "build", "test", "None"]);
        for broken in [r#"["a", " "]"#, r#"["a\nb"]"#, r#"[""]"#] {
            assert!(read(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn blank_tags_are_refused_and_duplicates_dropped() {
        assert!(serde_json::from_str::<Tags>(r#"["a", " "]"#).is_err());
        assert_eq!(serde_json::from_str::<Tags>(r#"["a", " a"]"#).unwrap().0, ["a"]);
    }
}
