//! A JSON schema, read for people: one line per argument, nested ones by their path.

use std::fmt::Display;

use muster_core::schema::{JsonType, NamedSchemas, Schema};
use serde_json::Value;

/// Objects inside objects are shown down to this depth.
const DEPTH_MAX: usize = 3;

/// One argument as the page shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// Name, with the names of the objects around it: `steps[].title`.
    pub(super) path: String,
    /// Type in words.
    pub(super) kind: String,
    /// Range, length or number of items; empty where there is none.
    pub(super) limits: String,
    /// Whether it must be given.
    pub(super) required: bool,
    /// Default as JSON.
    pub(super) default: Option<String>,
    pub(super) description: String,
}

/// The arguments of an operation, in the order of its schema.
pub(super) fn arguments(schema: &Schema) -> Vec<Argument> {
    let mut reader = Reader { root: schema, found: Vec::new() };
    reader.object(schema, "", 0);
    reader.found
}

struct Reader<'a> {
    root: &'a Schema,
    found: Vec<Argument>,
}

impl<'a> Reader<'a> {
    fn object(&mut self, schema: &'a Schema, prefix: &str, depth: usize) {
        for (name, written) in schema.properties().into_iter().flat_map(NamedSchemas::iter) {
            let path = format!("{prefix}{name}");
            let shape = self.resolve(written);
            let description = written.description().or_else(|| shape.description());
            let default = written.default_value().filter(|value| !value.is_null());
            self.found.push(Argument {
                path: path.clone(),
                kind: self.kind(shape),
                limits: limits(shape),
                required: schema.requires(name),
                default: default.map(Value::to_string),
                description: description.unwrap_or_default().to_owned(),
            });
            if depth < DEPTH_MAX {
                self.nested(shape, &path, depth + 1);
            }
        }
    }

    /// The arguments inside an object, inside the items of a list, or inside one of several forms.
    fn nested(&mut self, shape: &'a Schema, path: &str, depth: usize) {
        self.object(shape, &format!("{path}."), depth);
        if let Some(items) = shape.items() {
            self.nested(self.resolve(items), &format!("{path}[]"), depth);
        }
        for form in shape.choices().unwrap_or_default() {
            self.nested(self.resolve(form), path, depth);
        }
    }

    /// The schema that a reference points to; the null form of an optional argument is left out.
    fn resolve(&self, schema: &'a Schema) -> &'a Schema {
        let target = schema.definition_name().and_then(|name| self.root.definitions()?.get(name));
        if let Some(target) = target {
            return self.resolve(target);
        }
        let mut real = forms(schema);
        match (real.next(), real.next()) {
            (Some(only), None) => self.resolve(only),
            _ => schema,
        }
    }

    fn kind(&self, shape: &'a Schema) -> String {
        if let Some(values) = shape.allowed() {
            return values.iter().map(value_in_code).collect::<Vec<_>>().join(" | ");
        }
        if let Some(value) = shape.constant() {
            return value_in_code(value);
        }
        if shape.choices().is_some() {
            let kinds = forms(shape).map(|form| self.kind(self.resolve(form)));
            return kinds.collect::<Vec<_>>().join(" | ");
        }
        let types = shape.types().iter().filter(|kind| **kind != JsonType::Null);
        let words: Vec<String> = types.map(|kind| self.word(*kind, shape)).collect();
        if words.is_empty() { "any".to_owned() } else { words.join(" | ") }
    }

    fn word(&self, kind: JsonType, shape: &'a Schema) -> String {
        match kind {
            JsonType::String => "text".to_owned(),
            JsonType::Array => {
                let items = shape.items();
                let items = items.map_or("any".to_owned(), |items| self.kind(self.resolve(items)));
                if items.contains(' ') { format!("({items})[]") } else { format!("{items}[]") }
            }
            JsonType::Null
            | JsonType::Boolean
            | JsonType::Integer
            | JsonType::Number
            | JsonType::Object => kind.name().to_owned(),
        }
    }
}

/// The alternatives of a schema without null.
fn forms(shape: &Schema) -> impl Iterator<Item = &Schema> {
    shape.choices().unwrap_or_default().iter().filter(|form| !form.is_null())
}

fn value_in_code(value: &Value) -> String {
    format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Ranges of numbers, texts and lists, in words.
fn limits(shape: &Schema) -> String {
    let length = |least: Option<&u64>| least.filter(|least| **least > 0).copied();
    let parts = [
        range(shape.minimum(), shape.maximum(), ""),
        range(length(shape.min_length()).as_ref(), shape.max_length(), " characters"),
        range(length(shape.min_items()).as_ref(), shape.max_items(), " items"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn range<N: Display>(low: Option<&N>, high: Option<&N>, unit: &str) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
        (Some(low), None) => Some(format!("at least {low}{unit}")),
        (None, Some(high)) => Some(format!("up to {high}{unit}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Path, type, limits of every argument.
    fn lines(schema: &Value) -> Vec<[String; 3]> {
        let found = arguments(&schema.clone().into()).into_iter();
        found.map(|argument| [argument.path, argument.kind, argument.limits]).collect()
    }

    #[test]
    fn types_are_words() {
        let schema = json!({"properties": {
            "text": {"type": ["string", "null"], "minLength": 1, "maxLength": 200},
            "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
            "revision": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 50},
            "either": {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]},
            "some": {"type": "array", "items": {"enum": ["a", "b"]}},
            "free": {},
        }});
        let expected = [
            ["text", "text", "1 to 200 characters"],
            ["limit", "integer", "0 to 1000"],
            ["revision", "integer", "at least 0"],
            ["tags", "text[]", "up to 50 items"],
            ["either", "text | object", ""],
            ["some", "(`a` | `b`)[]", ""],
            ["free", "any", ""],
        ];
        assert_eq!(lines(&schema), expected);
    }

    #[test]
    fn nested_arguments_have_paths() {
        let schema = json!({
            "$defs": {"Step": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
                "description": "A step.",
            }},
            "properties": {
                "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
                "first": {"anyOf": [{"$ref": "#/$defs/Step"}, {"type": "null"}]},
            },
        });
        let expected = [
            ["steps", "object[]", ""],
            ["steps[].title", "text", ""],
            ["first", "object", ""],
            ["first.title", "text", ""],
        ];
        assert_eq!(lines(&schema), expected);
        let found = arguments(&schema.clone().into());
        assert!(!found[0].required && found[1].required);
        assert_eq!(found[2].description, "A step.");
    }

    #[test]
    fn recursion_ends() {
        let schema = json!({
            "$defs": {"Node": {"properties": {"child": {"$ref": "#/$defs/Node"}}}},
            "properties": {"root": {"$ref": "#/$defs/Node"}},
        });
        let paths: Vec<String> = lines(&schema).into_iter().map(|[path, ..]| path).collect();
        assert_eq!(paths.last().map(String::as_str), Some("root.child.child.child"));
    }
}
