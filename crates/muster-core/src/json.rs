//! JSON that is serialized once: a result is encoded when it is made and then copied wherever it
//! goes.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned,
    ser::SerializeStruct as _,
};
use serde_json::{Map, Value, value::RawValue};

/// Initial capacity for most results of writes and most parts of events. A large view grows out of
/// it a few times; a buffer of its size would cost every small value more than it takes to write.
const TEXT_BYTES: usize = 1024;

/// Gives a type a schema that is written out wherever the type is used.
#[macro_export]
macro_rules! inline_schema {
    ($name:ident, $schema:tt) => {
        $crate::inline_schema!($name => { ::schemars::json_schema!($schema) });
    };
    ($name:ident => $schema:block) => {
        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema $schema
        }
    };
}

/// A JSON value as text.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Box<RawValue>")]
pub struct Json(Arc<str>);

impl Json {
    /// Writes a value down.
    pub fn of(value: &impl Serialize) -> Self {
        Self(text_of(value, TEXT_BYTES).into())
    }

    /// Text that is already JSON, whole or assembled from parts. It is not parsed: invalid JSON is
    /// not detected here.
    pub(crate) fn written(text: String) -> Self {
        debug_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "not JSON: {text}");
        Self(text.into())
    }

    /// The text, without a line break.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Reads the value back.
    pub fn read(&self) -> Value {
        self.try_read().unwrap_or_else(|error| unreachable!("it was written as JSON: {error}"))
    }

    /// Parses a value that may have been stored before depth was limited: values deeper than 128
    /// levels are rejected.
    pub fn try_read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.text())
    }
}

/// A field of an object whose fields depend on the case: facts of a refusal, arguments of a call.
pub fn field(name: &str, value: &(impl Serialize + ?Sized)) -> (String, Value) {
    let value = serde_json::to_value(value)
        .unwrap_or_else(|error| unreachable!("{name} is plain JSON: {error}"));
    (name.to_owned(), value)
}

/// The fields of what is written as an object.
pub fn fields(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("it is written as an object: {other:?}"),
    }
}

/// Reads JSON in a flattened part of a document, where its text is not available.
pub(crate) fn from_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Value::deserialize(deserializer).map(Json::from)
}

/// Reads a field whose presence has a meaning, even with null.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Describes any JSON object; nothing is said of its fields.
#[derive(Clone, Copy, Debug)]
pub struct AnyObject;

crate::inline_schema!(AnyObject, {"type": "object"});

/// Whether arrays and objects are nested deeper than `levels` in a value.
pub fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let below = |inner: &Value| is_deeper_than(inner, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(below),
        Value::Object(fields) => levels == 0 || fields.values().any(below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The text of a value, in a buffer with this initial capacity.
pub fn text_of(value: &impl Serialize, bytes: usize) -> String {
    let mut text = Vec::with_capacity(bytes);
    let written = serde_json::to_writer(&mut text, value).map_err(|error| error.to_string());
    let text = written.and_then(|()| String::from_utf8(text).map_err(|error| error.to_string()));
    text.unwrap_or_else(|error| unreachable!("results are plain JSON: {error}"))
}

impl From<Box<RawValue>> for Json {
    fn from(value: Box<RawValue>) -> Self {
        Self(Box::<str>::from(value).into())
    }
}

impl Serialize for Json {
    /// Serializes like [`RawValue`], which the library only creates from text that it has parsed
    /// itself.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const RAW: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.text())?;
        raw.end()
    }
}

/// For callers that send the text as it is, without a copy.
impl AsRef<[u8]> for Json {
    fn as_ref(&self) -> &[u8] {
        self.text().as_bytes()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::of(&value)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Json, Value, is_deeper_than};

    #[test]
    fn what_is_written_reads_back_also_through_values() {
        let value = json!({"title": "größe \"q\"\n", "rows": [1, null, true], "nested": {}});
        let written = Json::from(value.clone());
        assert_eq!(written.text(), value.to_string());
        assert_eq!(written.read(), value);
        assert_eq!(serde_json::to_value(&written).unwrap(), value);
        assert_eq!(serde_json::to_string(&[&written]).unwrap(), format!("[{value}]"));
        assert_eq!(serde_json::from_value::<Json>(value).unwrap(), written);
    }

    #[test]
    fn levels_are_counted_with_empty_ones() {
        for (value, levels) in
            [(json!(1), 0), (json!([]), 1), (json!({"a": 1}), 1), (json!([1, {"b": [{}]}]), 4)]
        {
            assert!(!is_deeper_than(&value, levels), "{value} has {levels} levels");
            assert!(levels == 0 || is_deeper_than(&value, levels - 1), "{value} has {levels}");
        }
    }

    #[test]
    fn what_is_too_deep_to_be_read_back_is_an_error() {
        let deep = (0..128).fold(json!(1), |inner, _| json!([inner]));
        assert!(Json::of(&deep).try_read::<Value>().is_err());
        assert!(Json::of(&deep[0]).try_read::<Value>().is_ok());
    }
}
