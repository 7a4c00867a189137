//! Texts that callers write, checked and normalised the moment they come in (TASKS-ARG-5,
//! TASKS-LIM-1).
//!
//! Lengths are part of the schema and so are checked before these types are read; what is left for
//! them is what a schema cannot say.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::{
    id::EntityId,
    limits::{
        DEPENDENCIES_MAX, ITEM_CHARS_MAX, ITEMS_MAX, OBJECT_CHARS_MAX, PROSE_CHARS_MAX,
        TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX,
    },
};

/// Words that mean "nothing" in a list.
const EMPTY_WORDS: [&str; 4] = ["none", "null", "n/a", "na"];

/// Gives a type an inline schema and a name.
macro_rules! inline_schema {
    ($name:ident, $schema:tt) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

/// A one-line name: trimmed, never blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title(pub String);

impl<'de> Deserialize<'de> for Title {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let title = text.trim();
        if title.is_empty() {
            return Err(D::Error::custom("expected a title that is not blank"));
        }
        if title.contains(['\n', '\r']) {
            return Err(D::Error::custom("expected a title on one line"));
        }
        Ok(Self(title.to_owned()))
    }
}

inline_schema!(Title, {"type": "string", "maxLength": TITLE_CHARS_MAX});

/// A long text; an empty one clears the field it is written to (TASKS-ARG-6).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Prose(pub String);

impl Prose {
    /// The text to store: `None` for an empty one.
    pub fn stored(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

inline_schema!(Prose, {"type": "string", "maxLength": PROSE_CHARS_MAX});

/// A long text that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark(pub String);

impl<'de> Deserialize<'de> for Remark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(D::Error::custom("expected a text that is not blank"));
        }
        Ok(Self(text))
    }
}

inline_schema!(Remark, {"type": "string", "maxLength": PROSE_CHARS_MAX});

/// Criteria, tests, blockers: trimmed, without blanks, words for "nothing" and duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(pub Vec<String>);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<String>::deserialize(deserializer)?;
        let mut lines: Vec<String> = Vec::with_capacity(given.len());
        for item in &given {
            let item = item.trim();
            let means_nothing =
                item.is_empty() || EMPTY_WORDS.iter().any(|word| item.eq_ignore_ascii_case(word));
            if !means_nothing && !lines.iter().any(|line| line == item) {
                lines.push(item.to_owned());
            }
        }
        Ok(Self(lines))
    }
}

inline_schema!(Lines, {
    "type": "array", "maxItems": ITEMS_MAX, "items": {"type": "string", "maxLength": ITEM_CHARS_MAX}
});

/// Tags: trimmed, without duplicates, never blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub Vec<String>);

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<String>::deserialize(deserializer)?;
        let mut tags: Vec<String> = Vec::with_capacity(given.len());
        for tag in &given {
            let tag = tag.trim();
            if tag.is_empty() {
                return Err(D::Error::custom("expected tags that are not blank"));
            }
            if !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
        Ok(Self(tags))
    }
}

inline_schema!(Tags, {
    "type": "array", "maxItems": TAGS_MAX, "items": {"type": "string", "maxLength": TAG_CHARS_MAX}
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
    "type": "array", "items": {"type": "string"}, "maxItems": DEPENDENCIES_MAX
});

/// A structured contract: free keys, bounded as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeObject(pub Map<String, Value>);

impl<'de> Deserialize<'de> for FreeObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        let size = crate::budget::size(&Value::Object(map.clone()));
        if size > OBJECT_CHARS_MAX {
            return Err(D::Error::custom(format!(
                "expected at most {OBJECT_CHARS_MAX} characters of JSON, got {size}"
            )));
        }
        Ok(Self(map))
    }
}

inline_schema!(FreeObject, {"type": "object", "additionalProperties": true});

#[cfg(test)]
mod tests {
    use super::{Lines, Tags, Title};

    #[test]
    fn lines_drop_blanks_words_for_nothing_and_duplicates() {
        let lines: Lines =
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
    }

    #[test]
    fn blank_tags_are_refused_and_duplicates_dropped() {
        assert!(serde_json::from_str::<Tags>(r#"["a", " "]"#).is_err());
        assert_eq!(serde_json::from_str::<Tags>(r#"["a", " a"]"#).unwrap().0, ["a"]);
    }
}
