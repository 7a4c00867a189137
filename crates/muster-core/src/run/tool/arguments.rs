//! How the arguments of a tool are parsed: strictly, and with messages for invalid ones.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::text;

/// Defines a family of tools: an enum with their arguments, by name.
macro_rules! tools {
    (
        $(#[$family_doc:meta])* $family:ident;
        $($(#[$doc:meta])* $variant:ident($type:ty) = $name:literal,)*
    ) => {
        $(#[$family_doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub enum $family {
            $($(#[$doc])* $variant($type),)*
        }

        impl $family {
            /// Names of all of them.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// Parses the arguments of a tool, or returns what is wrong with them; `None` when it
            /// is not one of these.
            pub fn read(
                name: &str,
                args: &serde_json::Map<String, serde_json::Value>,
            ) -> Option<Result<Self, String>> {
                match name {
                    $($name => {
                        Some($crate::run::tool::arguments::read(args).map(Self::$variant))
                    })*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use tools;

/// Parses arguments; the error is for the caller of the tool.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    args: &Map<String, Value>,
) -> Result<T, String> {
    let read = serde_json::from_value(Value::Object(args.clone()));
    read.map_err(|error| fault::<T>(args).unwrap_or_else(|| error.to_string()))
}

/// The first invalid argument, and what would be valid.
fn fault<T: JsonSchema>(args: &Map<String, Value>) -> Option<String> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let known = schema.get("properties")?.as_object()?;
    for (name, value) in args {
        let Some(property) = known.get(name) else {
            let nearest = text::nearest(name, known.keys().map(String::as_str));
            let hint = nearest.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            return Some(format!("there is no argument {name}{hint}"));
        };
        if let Some(expected) = misfit(property, value) {
            return Some(format!("{name} must be {expected}"));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut missing = required.filter_map(Value::as_str).filter(|name| !args.contains_key(*name));
    missing.next().map(|name| format!("{name} is needed"))
}

/// What a value should have been; `None` when it can match the schema.
fn misfit(schema: &Value, value: &Value) -> Option<String> {
    if let Some(words) = words(schema) {
        let fits = value.as_str().is_some_and(|word| words.contains(&word));
        return (!fits).then(|| format!("one of {}", words.join(", ")));
    }
    let kinds = schema.get("type")?;
    let kinds = match kinds.as_array() {
        Some(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        None => vec![kinds.as_str()?],
    };
    let fits = kinds.iter().any(|kind| is_of(kind, value));
    let wanted = kinds.into_iter().filter(|kind| *kind != "null").map(in_words);
    (!fits).then(|| wanted.collect::<Vec<_>>().join(" or "))
}

/// The words of a closed set.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Some(words.iter().filter_map(Value::as_str).collect());
    }
    let choices = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let words = choices.iter().filter(|choice| choice["type"] != "null");
    let words = words.map(|choice| match choice.get("const") {
        Some(word) => Some(vec![word.as_str()?]),
        None => words_of_choice(choice),
    });
    words.collect::<Option<Vec<_>>>().map(|words| words.concat())
}

/// The words of an alternative that is itself a closed set, such as an optional one.
fn words_of_choice(choice: &Value) -> Option<Vec<&str>> {
    choice.get("oneOf").or_else(|| choice.get("enum")).and_then(|_| words(choice))
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn in_words(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "integer" => "a whole number of 0 or more",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

/// What is wrong with arguments that replace others, where only those are known: each must be one
/// of them, and of the same type.
pub(crate) fn departure(known: &Map<String, Value>, given: &Map<String, Value>) -> Option<String> {
    if given.is_empty() && !known.is_empty() {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Some(format!("there are no arguments: the call has {}", names.join(", ")));
    }
    for (name, value) in given {
        let Some(before) = known.get(name) else {
            let nearest = text::nearest(name, known.keys().map(String::as_str));
            let hint = nearest.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            return Some(format!("the call has no argument {name}{hint}"));
        };
        if !before.is_null() && kind(before) != kind(value) {
            return Some(format!("{name} must be {}", in_words(kind(before))));
        }
    }
    None
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
