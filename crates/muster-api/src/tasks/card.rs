//! A card of the reasoning memory in arguments.

use muster_core::{
    inline_schema,
    tasks::{
        id::CardId,
        memory::CardType,
        wording::{FreeObject, Tags, Title, Word, is_blank},
    },
    text::{BadForm, FormFault},
};
use schemars::json_schema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    arguments::{Reason, invalid},
    call::CallFailure,
    forms,
};

/// A card as given: a string, or an object.
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
    /// A card with a title and an optional text.
    pub(crate) fn titled(title: &str, text: Option<&str>) -> Self {
        Self { title: Some(title.to_owned()), text: text.map(str::to_owned), ..Self::default() }
    }

    /// Whether it has content.
    pub(crate) fn is_usable(&self) -> bool {
        let speaks = |text: &Option<String>| text.as_ref().is_some_and(|text| !is_blank(text));
        self.id.is_some() || speaks(&self.title) || speaks(&self.text)
    }

    /// The card as it is stored, by the rules for titles and tags (TASKS-ARG-5);
    /// `argument` is its name.
    pub(crate) fn checked(self, argument: &str) -> Result<Self, CallFailure> {
        let refused = |part: &str, bad: BadForm| {
            invalid(&format!("{argument}.{part}"), Reason::BadFormat, bad.expected)
        };
        let title = self.title.map(|title| title.parse()).transpose();
        let title: Option<Title> = title.map_err(|bad| refused("title", bad))?;
        let status = self.status.map(|status| status.parse()).transpose();
        let status: Option<Word> = status.map_err(|bad| refused("status", bad))?;
        let tags = self.tags.map(|tags| Tags::of(tags.iter().map(String::as_str))).transpose();
        let tags = tags.map_err(|bad| refused("tags", bad))?;
        Ok(Self {
            title: title.map(|title| title.0),
            status: status.map(|status| status.0),
            tags: tags.map(|tags| tags.0),
            ..self
        })
    }

    /// Refuses an object with a malformed id or too many free facts.
    pub(crate) fn check_form(value: &Value) -> Result<(), FormFault> {
        if let Some(id) = value.get("id") {
            forms::id::<CardId>(id)?;
        }
        value.get("meta").map_or(Ok(()), FreeObject::check)
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

inline_schema!(CardInput => {
    let kinds =
        ["frame", "hypothesis", "question", "test", "evidence", "decision", "note", "update"];
    let tags = json_schema!({
        "type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 100},
    });
    json_schema!({"x-form": "CardInput", "anyOf": [
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
});
