//! A JSON schema, read for people: one line per argument, nested ones by their path.

use serde_json::{Map, Value};

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
pub(super) fn arguments(schema: &Map<String, Value>) -> Vec<Argument> {
    let mut reader = Reader { definitions: schema.get("$defs"), found: Vec::new() };
    reader.object(schema, "", 0);
    reader.found
}

struct Reader<'a> {
    definitions: Option<&'a Value>,
    found: Vec<Argument>,
}

impl<'a> Reader<'a> {
    fn object(&mut self, schema: &'a Map<String, Value>, prefix: &str, depth: usize) {
        let required = list(schema.get("required"));
        for (name, property) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let Some(written) = property.as_object() else { continue };
            let path = format!("{prefix}{name}");
            let text = |key: &str| written.get(key).and_then(Value::as_str).map(str::to_owned);
            let shape = self.resolve(written);
            let from_shape = || shape.get("description").and_then(Value::as_str).map(str::to_owned);
            self.found.push(Argument {
                path: path.clone(),
                kind: self.kind(shape),
                limits: limits(shape),
                required: required.contains(&Value::from(name.as_str())),
                default: written
                    .get("default")
                    .filter(|value| !value.is_null())
                    .map(Value::to_string),
                description: text("description").or_else(from_shape).unwrap_or_default(),
            });
            if depth < DEPTH_MAX {
                self.nested(shape, &path, depth + 1);
            }
        }
    }

    /// The arguments inside an object, inside the items of a list, or inside one of several forms.
    fn nested(&mut self, shape: &'a Map<String, Value>, path: &str, depth: usize) {
        if shape.contains_key("properties") {
            self.object(shape, &format!("{path}."), depth);
        }
        if let Some(items) = shape.get("items").and_then(Value::as_object) {
            self.nested(self.resolve(items), &format!("{path}[]"), depth);
        }
        for form in forms(shape).iter().filter_map(Value::as_object) {
            self.nested(self.resolve(form), path, depth);
        }
    }

    /// The schema that a reference stands for; the null form of an optional argument is left out.
    fn resolve(&self, schema: &'a Map<String, Value>) -> &'a Map<String, Value> {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let name = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
        let target = name.and_then(|name| self.definitions?.get(name)?.as_object());
        if let Some(target) = target {
            return self.resolve(target);
        }
        let mut real = forms(schema).iter().filter(|form| form["type"] != "null");
        match (real.next().and_then(Value::as_object), real.next()) {
            (Some(only), None) => self.resolve(only),
            _ => schema,
        }
    }

    fn kind(&self, shape: &'a Map<String, Value>) -> String {
        if let Some(values) = shape.get("enum").and_then(Value::as_array) {
            return values.iter().map(value_in_code).collect::<Vec<_>>().join(" | ");
        }
        if let Some(value) = shape.get("const") {
            return value_in_code(value);
        }
        let forms = forms(shape);
        if !forms.is_empty() {
            let real =
                forms.iter().filter(|form| form["type"] != "null").filter_map(Value::as_object);
            return real.map(|form| self.kind(self.resolve(form))).collect::<Vec<_>>().join(" | ");
        }
        let types = match shape.get("type") {
            Some(Value::Array(types)) => types.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let words = types.iter().filter(|kind| *kind != "null").map(|kind| self.word(kind, shape));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "any".to_owned() } else { words.join(" | ") }
    }

    fn word(&self, kind: &Value, shape: &'a Map<String, Value>) -> String {
        match kind.as_str().unwrap_or_default() {
            "string" => "text".to_owned(),
            "array" => {
                let items = shape.get("items").and_then(Value::as_object);
                let items = items.map_or("any".to_owned(), |items| self.kind(self.resolve(items)));
                if items.contains(' ') { format!("({items})[]") } else { format!("{items}[]") }
            }
            other => other.to_owned(),
        }
    }
}

fn forms(shape: &Map<String, Value>) -> &[Value] {
    list(shape.get("anyOf").or_else(|| shape.get("oneOf")))
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn value_in_code(value: &Value) -> String {
    format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Ranges of numbers, texts and lists, in words.
fn limits(shape: &Map<String, Value>) -> String {
    let range = |low: &str, high: &str, unit: &str| {
        let low = shape.get(low);
        let high = shape.get(high);
        match (low.filter(|low| **low != 0 || unit.is_empty()), high) {
            (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
            (Some(low), None) => Some(format!("at least {low}{unit}")),
            (None, Some(high)) => Some(format!("up to {high}{unit}")),
            (None, None) => None,
        }
    };
    let parts = [
        range("minimum", "maximum", ""),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " items"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Path, type, limits of every argument.
    fn lines(schema: &Value) -> Vec<[String; 3]> {
        let found = arguments(schema.as_object().unwrap()).into_iter();
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
        let found = arguments(schema.as_object().unwrap());
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
