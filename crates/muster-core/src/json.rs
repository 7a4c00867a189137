//! JSON that is written once: a result is encoded when it is made and then copied wherever it goes.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// A JSON value as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Writes a value down.
    pub fn of(value: &impl Serialize) -> Self {
        let written = to_raw_value(value);
        Self(written.unwrap_or_else(|error| unreachable!("results are plain JSON: {error}")))
    }

    /// Takes text that is said to be JSON; `None` if it is not.
    pub fn from_text(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }

    /// The text, without a line break.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads the value back.
    pub fn read(&self) -> Value {
        serde_json::from_str(self.text())
            .unwrap_or_else(|error| unreachable!("it was written as JSON: {error}"))
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

    use super::Json;

    #[test]
    fn what_is_written_reads_back_also_through_values() {
        let value = json!({"title": "größe \"q\"\n", "rows": [1, null, true], "nested": {}});
        let written = Json::from(value.clone());
        assert_eq!(written.text(), value.to_string());
        assert_eq!(written.read(), value);
        assert_eq!(serde_json::to_value(&written).unwrap(), value);
        assert_eq!(serde_json::from_value::<Json>(value).unwrap(), written);
    }
}
