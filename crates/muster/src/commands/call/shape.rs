//! What kind of value a property's schema takes, as far as a command line can express it.

use muster_core::schema::{JsonType, Schema};
use serde_json::Value;

/// How the string of a flag becomes JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FlagShape {
    /// The string as it is.
    Text,
    /// One of these words.
    Choice(Vec<String>),
    /// A whole number.
    Integer,
    Number,
    /// Present means true; `--flag=false` means false.
    Switch,
    /// One string per use of the flag, or one JSON array.
    TextList,
    /// The first of these that the value fits, strings last.
    AnyOf(Vec<FlagShape>),
    Json,
}

impl FlagShape {
    /// Reads a property's schema; `root` is the schema that holds the definitions it may refer to.
    pub(super) fn of(schema: &Schema, root: &Schema) -> Self {
        let schema = resolve(schema, root);
        if let Some(branches) = alternatives(schema) {
            return Self::of_branches(&branches, root);
        }
        if let Some(words) = choices(schema) {
            return Self::Choice(words);
        }
        match real_type(schema) {
            Some(JsonType::String) => Self::Text,
            Some(JsonType::Integer) => Self::Integer,
            Some(JsonType::Number) => Self::Number,
            Some(JsonType::Boolean) => Self::Switch,
            Some(JsonType::Array) => match schema.items().map(|items| Self::of(items, root)) {
                Some(Self::Text | Self::Choice(_)) => Self::TextList,
                _ => Self::Json,
            },
            Some(JsonType::Object | JsonType::Null) | None => Self::Json,
        }
    }

    fn of_branches(branches: &[&Schema], root: &Schema) -> Self {
        let mut shapes: Vec<Self> = branches.iter().map(|branch| Self::of(branch, root)).collect();
        if let Some(words) = shapes.iter().map(Self::words).collect::<Option<Vec<_>>>() {
            return Self::Choice(words.concat());
        }
        shapes.sort_by_key(|shape| shape.words().is_some() || *shape == Self::Text);
        shapes.dedup();
        if shapes.len() == 1 { shapes.remove(0) } else { Self::AnyOf(shapes) }
    }

    fn words(&self) -> Option<&[String]> {
        if let Self::Choice(words) = self { Some(words) } else { None }
    }

    /// Turns the string of a flag into JSON; the error says what was expected.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let json = || serde_json::from_str::<Value>(text);
        match self {
            Self::Text | Self::Choice(_) | Self::TextList => Ok(Value::from(text)),
            Self::Integer => {
                let number = json().ok().filter(|value| value.is_i64() || value.is_u64());
                number.ok_or_else(|| format!("{text:?} is not a whole number"))
            }
            Self::Number => {
                let number = json().ok().filter(Value::is_number);
                number.ok_or_else(|| format!("{text:?} is not a number"))
            }
            Self::Switch => {
                let truth = text.parse::<bool>().map(Value::from);
                truth.map_err(|_| format!("{text:?} is neither true nor false"))
            }
            Self::AnyOf(shapes) => {
                let structured = text.trim_start().starts_with(['{', '[']);
                let fits = |shape: &&Self| **shape != Self::Json || structured;
                let outcomes = shapes.iter().filter(fits).map(|shape| shape.parse(text));
                first_success(outcomes, structured)
            }
            Self::Json => json().map_err(|error| format!("not valid JSON: {error}")),
        }
    }

    /// The placeholder in help texts.
    pub(super) fn value_name(&self) -> String {
        let name = match self {
            Self::Text | Self::TextList => "TEXT",
            Self::Choice(_) => "WORD",
            Self::Integer | Self::Number => "NUMBER",
            Self::Switch => "BOOLEAN",
            Self::Json => "JSON",
            Self::AnyOf(shapes) => {
                let names: Vec<String> = shapes.iter().rev().map(Self::value_name).collect();
                return names.join("|");
            }
        };
        name.to_owned()
    }
}

/// The first shape that fits. A string that looks like JSON was meant as JSON: its error is not
/// hidden by taking it as plain text.
fn first_success(
    outcomes: impl Iterator<Item = Result<Value, String>>,
    structured: bool,
) -> Result<Value, String> {
    let mut first_error = None;
    for outcome in outcomes {
        match outcome {
            Ok(value) if !(structured && value.is_string()) => return Ok(value),
            Ok(_) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| "no accepted type matches".to_owned()))
}

fn resolve<'a>(schema: &'a Schema, root: &'a Schema) -> &'a Schema {
    let definition = schema.definition_name().and_then(|name| root.definitions()?.get(name));
    definition.unwrap_or(schema)
}

/// The branches of an alternative, without the one that only allows null.
fn alternatives(schema: &Schema) -> Option<Vec<&Schema>> {
    Some(schema.choices()?.iter().filter(|branch| !branch.is_null()).collect())
}

fn choices(schema: &Schema) -> Option<Vec<String>> {
    if let Some(word) = schema.constant().and_then(Value::as_str) {
        return Some(vec![word.to_owned()]);
    }
    let words = schema.allowed()?.iter().filter(|word| !word.is_null());
    words.map(|word| word.as_str().map(str::to_owned)).collect()
}

/// The only type besides null.
fn real_type(schema: &Schema) -> Option<JsonType> {
    let mut real = schema.types().iter().filter(|kind| **kind != JsonType::Null);
    let first = real.next()?;
    real.next().is_none().then_some(*first)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::FlagShape;

    fn shape(schema: &Value) -> FlagShape {
        let root = json!({"$defs": {
            "Priority": {"type": "string", "enum": ["LOW", "HIGH"]},
            "Target": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        }});
        FlagShape::of(&schema.clone().into(), &root.into())
    }

    #[test]
    fn schemas_become_shapes() {
        assert_eq!(shape(&json!({"type": "string"})), FlagShape::Text);
        assert_eq!(shape(&json!({"type": ["string", "null"]})), FlagShape::Text);
        assert_eq!(shape(&json!({"type": "integer", "minimum": 0})), FlagShape::Integer);
        assert_eq!(shape(&json!({"type": "number"})), FlagShape::Number);
        assert_eq!(shape(&json!({"type": "boolean"})), FlagShape::Switch);
        assert_eq!(
            shape(&json!({"type": "array", "items": {"type": "string"}})),
            FlagShape::TextList
        );
        assert_eq!(shape(&json!({"type": "array", "items": {"type": "object"}})), FlagShape::Json);
        assert_eq!(shape(&json!({"type": "object"})), FlagShape::Json);
        assert_eq!(shape(&json!(true)), FlagShape::Json);
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let choice = FlagShape::Choice(vec!["LOW".to_owned(), "HIGH".to_owned()]);
        assert_eq!(shape(&json!({"$ref": "#/$defs/Priority"})), choice);
        let optional = json!({"anyOf": [{"$ref": "#/$defs/Priority"}, {"type": "null"}]});
        assert_eq!(shape(&optional), choice);
        let constants = json!({"oneOf": [{"const": "LOW"}, {"const": "HIGH"}]});
        assert_eq!(shape(&constants), choice);
        let either = FlagShape::AnyOf(vec![FlagShape::Json, FlagShape::Text]);
        assert_eq!(shape(&json!({"$ref": "#/$defs/Target"})), either);
        let list = json!({"type": "array", "items": {"$ref": "#/$defs/Priority"}});
        assert_eq!(shape(&list), FlagShape::TextList);
    }

    #[test]
    fn texts_become_values() {
        assert_eq!(FlagShape::Text.parse("7"), Ok(json!("7")));
        assert_eq!(FlagShape::Integer.parse("-7"), Ok(json!(-7)));
        assert_eq!(FlagShape::Number.parse("1.5"), Ok(json!(1.5)));
        assert_eq!(FlagShape::Switch.parse("false"), Ok(json!(false)));
        let target = FlagShape::AnyOf(vec![FlagShape::Json, FlagShape::Text]);
        assert_eq!(target.parse("TASK-001"), Ok(json!("TASK-001")));
        assert_eq!(target.parse("{\"id\":\"X\"}"), Ok(json!({"id": "X"})));
        assert!(target.parse("{id").is_err());
        let since = FlagShape::AnyOf(vec![FlagShape::Integer, FlagShape::Text]);
        assert_eq!(since.parse("12"), Ok(json!(12)));
        assert_eq!(since.parse("evt_12"), Ok(json!("evt_12")));
        assert_eq!(FlagShape::Json.parse("[1]"), Ok(json!([1])));
        for (shape, text) in [
            (FlagShape::Integer, "1.5"),
            (FlagShape::Integer, "seven"),
            (FlagShape::Number, "\"7\""),
            (FlagShape::Switch, "yes"),
            (FlagShape::Json, "text"),
        ] {
            assert!(shape.parse(text).is_err(), "{shape:?} {text}");
        }
    }
}
