//! Reads messages whose variant a word in one of their fields names.
//!
//! Serde's own tagged enums first copy a message into a buffer of another type, so that everything
//! in a message is compiled a second time, for reading it from there.

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error as _, VariantAccess, Visitor, value::StringDeserializer,
    },
};
use serde_json::{Error, Map, Value};

/// A message, without the word that names its variant.
pub(crate) struct WordedMessage {
    word: String,
    fields: WordedFields,
}

impl WordedMessage {
    pub(crate) fn read<'de, D: Deserializer<'de>>(source: D, tag: &str) -> Result<Self, D::Error> {
        if let Value::Object(mut fields) = Value::deserialize(source)?
            && let Some(Value::String(word)) = fields.shift_remove(tag)
        {
            return Ok(Self { word, fields: WordedFields(fields) });
        }
        Err(D::Error::custom(format_args!("`{tag}` is not a word")))
    }
}

impl<'de> Deserializer<'de> for WordedMessage {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> EnumAccess<'de> for WordedMessage {
    type Error = Error;
    type Variant = WordedFields;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, WordedFields), Error> {
        let word = StringDeserializer::<Error>::new(self.word);
        Ok((seed.deserialize(word)?, self.fields))
    }
}

pub(crate) struct WordedFields(Map<String, Value>);

impl<'de> VariantAccess<'de> for WordedFields {
    type Error = Error;

    /// Of an unknown word; its fields do not matter.
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Value::Object(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("fields of a message have names"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        Value::Object(self.0).deserialize_any(visitor)
    }
}

/// Deserializes messages tagged by a word and by nothing else: a derived implementation would
/// accept a number as the index of a variant. They are derived with `#[serde(remote = "Self")]` and
/// without a tag.
macro_rules! by_word {
    ($($message:ty => $tag:literal),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $message {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let message = $crate::provider::worded::WordedMessage::read(source, $tag)?;
                Self::deserialize(message).map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(crate) use by_word;

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use crate::provider::reading::{items, lenient};

    #[derive(Deserialize, Debug, PartialEq)]
    struct Third {
        number: u8,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(remote = "Self", rename_all = "snake_case")]
    enum Said {
        First {},
        Second {
            #[serde(default, deserialize_with = "lenient")]
            text: String,
            #[serde(default, deserialize_with = "items")]
            parts: Vec<u8>,
        },
        #[serde(alias = "troisième")]
        Third(Third),
        #[serde(other)]
        Unknown,
    }
    by_word!(Said => "type");

    #[test]
    fn messages_are_told_apart_by_words_and_odd_fields_are_passed_over() {
        let read = |value| serde_json::from_value::<Said>(value).ok();
        assert_eq!(read(json!({"type": "first"})), Some(Said::First {}));
        assert_eq!(read(json!({"type": "first", "more": [1]})), Some(Said::First {}));
        assert_eq!(read(json!({"type": "else", "more": {}})), Some(Said::Unknown));
        for odd in [json!(0), json!(1), json!(null), json!(["first"])] {
            assert_eq!(read(json!({"type": odd})), None);
        }
        assert_eq!(read(json!(["first"])), None);
        let odd = json!({"type": "second", "text": null, "parts": [1, "x", null, 2]});
        assert_eq!(read(odd), Some(Said::Second { text: String::new(), parts: vec![1, 2] }));
        let odd = json!({"type": "second", "text": 5, "parts": {}});
        assert_eq!(read(odd), Some(Said::Second { text: String::new(), parts: Vec::new() }));
        for word in ["third", "troisième"] {
            let third = json!({"type": word, "number": 3});
            assert_eq!(read(third), Some(Said::Third(Third { number: 3 })));
            assert_eq!(read(json!({"type": word})), None);
        }
    }

    #[test]
    fn messages_inside_text_are_read_too() {
        let read = serde_json::from_str::<Vec<Said>>(r#"[{"number":3,"type":"third"}]"#).unwrap();
        assert_eq!(read, [Said::Third(Third { number: 3 })]);
    }
}
