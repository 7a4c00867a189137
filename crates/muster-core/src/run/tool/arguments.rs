//! How the arguments of a tool are parsed: strictly, and with messages for invalid ones.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    schema::{JsonType, Schema},
    text,
};

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
    read.map_err(|error| fault(&Schema::inlined::<T>(), args).unwrap_or_else(|| error.to_string()))
}

/// The first invalid argument, and what would be valid.
fn fault(schema: &Schema, args: &Map<String, Value>) -> Option<String> {
    let known = schema.properties()?;
    for (name, value) in args {
        let Some(property) = known.get(name) else {
            let nearest = text::nearest(name, known.names());
            let hint = nearest.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            return Some(format!("unknown argument {name}{hint}"));
        };
        if let Some(expected) = misfit(property, value) {
            return Some(format!("{name} must be {expected}"));
        }
    }
    let mut missing = schema.required()?.iter().filter(|name| !args.contains_key(*name));
    missing.next().map(|name| format!("{name} is required"))
}

/// What a value should have been; `None` when it can match the schema.
fn misfit(schema: &Schema, value: &Value) -> Option<String> {
    if let Some(words) = schema.words() {
        let fits = value.as_str().is_some_and(|word| words.contains(&word));
        return (!fits).then(|| format!("one of {}", words.join(", ")));
    }
    let fits = schema.types().iter().any(|kind| kind.admits(value));
    let wanted = schema.types().iter().filter(|kind| **kind != JsonType::Null);
    let wanted: Vec<&str> = wanted.map(|kind| in_words(*kind)).collect();
    (!fits && !wanted.is_empty()).then(|| wanted.join(" or "))
}

fn in_words(kind: JsonType) -> &'static str {
    match kind {
        JsonType::String => "a string",
        JsonType::Integer => "a whole number of 0 or more",
        JsonType::Number => "a number",
        JsonType::Boolean => "true or false",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
        JsonType::Null => "null",
    }
}

/// What is wrong with arguments that replace others, where only those are known: each must be one
/// of them, and of the same type.
pub(crate) fn departure(known: &Map<String, Value>, given: &Map<String, Value>) -> Option<String> {
    if given.is_empty() && !known.is_empty() {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Some(format!("arguments are missing: the call has {}", names.join(", ")));
    }
    for (name, value) in given {
        let Some(before) = known.get(name) else {
            let nearest = text::nearest(name, known.keys().map(String::as_str));
            let hint = nearest.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            return Some(format!("the call has no argument {name}{hint}"));
        };
        if !before.is_null() && JsonType::of(before) != JsonType::of(value) {
            return Some(format!("{name} must be {}", in_words(JsonType::of(before))));
        }
    }
    None
}
