//! A card of the reasoning memory as callers write it.

use muster_core::tasks::{
    id::CardId,
    memory::CardType,
    wording::{FreeObject, Tags, Title, Word, is_blank},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::{Map, Value, json};

use crate::{
    arguments::{Reason, invalid},
    call::CallFailure,
};

/// A card as given: a text, or an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CardInput {
    pub(crate) id: Option<CardId>,
    pub(crate) kind: Option<CardType>,
    pub(crate) title: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) meta: Option<Map<String, Value>>,
}

impl CardInput {
    /// A card with a title and maybe a text.
    pub(crate) fn titled(title: &str, text: Option<&str>) -> Self {
        Self { title: Some(title.to_owned()), text: text.map(str::to_owned), ..Self::default() }
    }

    /// Whether it says something.
    pub(crate) fn is_usable(&self) -> bool {
        let speaks = |text: &Option<String>| text.as_ref().is_some_and(|text| !is_blank(text));
        self.id.is_some() || speaks(&self.title) || speaks(&self.text)
    }

    /// The card as it is stored, by the rules for titles and tags of everything else (TASKS-ARG-5);
    /// `argument` is what it was given as.
    pub(crate) fn checked(self, argument: &str) -> Result<Self, CallFailure> {
        let title = self.title.map(|title| read::<Title>(&json!(title), argument, "title"));
        let status = self.status.map(|status| read::<Word>(&json!(status), argument, "status"));
        let tags = self.tags.map(|tags| read::<Tags>(&json!(tags), argument, "tags"));
        Ok(Self {
            title: title.transpose()?.map(|title| title.0),
            status: status.transpose()?.map(|status| status.0),
            tags: tags.transpose()?.map(|tags| tags.0),
            ..self
        })
    }
}

fn read<T: DeserializeOwned>(value: &Value, argument: &str, part: &str) -> Result<T, CallFailure> {
    T::deserialize(value).map_err(|error| {
        let cause = error.to_string();
        let expected = cause.strip_prefix("expected ").unwrap_or(&cause);
        invalid(&format!("{argument}.{part}"), Reason::BadFormat, expected)
    })
}

impl<'de> Deserialize<'de> for CardInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            id: Option<CardId>,
            #[serde(rename = "type")]
            kind: Option<CardType>,
            title: Option<String>,
            text: Option<String>,
            status: Option<String>,
            tags: Option<Vec<String>>,
            meta: Option<FreeObject>,
        }
        let value = Value::deserialize(deserializer)?;
        if let Value::String(text) = value {
            return Ok(Self { text: Some(text), ..Self::default() });
        }
        let object = Object::deserialize(value).map_err(D::Error::custom)?;
        Ok(Self {
            id: object.id,
            kind: object.kind,
            title: object.title,
            text: object.text,
            status: object.status,
            tags: object.tags,
            meta: object.meta.map(|meta| meta.0),
        })
    }
}

impl JsonSchema for CardInput {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CardInput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds =
            ["frame", "hypothesis", "question", "test", "evidence", "decision", "note", "update"];
        let tags = json_schema!({
            "type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 100},
        });
        json_schema!({"anyOf": [
            {"type": "string", "maxLength": 65536},
            {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "type": {"type": "string", "enum": kinds},
                    "title": {"type": "string", "maxLength": 500},
                    "text": {"type": "string", "maxLength": 65536},
                    "status": {"type": "string", "maxLength": 500},
                    "tags": tags,
                    "meta": {"type": "object", "additionalProperties": true},
                },
                "additionalProperties": false,
            },
        ]})
    }
}
