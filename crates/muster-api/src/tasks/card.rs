//! A card of the reasoning memory as callers write it.

use muster_core::tasks::{id::CardId, memory::CardType, wording::FreeObject};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

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
        let speaks = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.trim().is_empty());
        self.id.is_some() || speaks(&self.title) || speaks(&self.text)
    }
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
