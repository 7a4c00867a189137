//! Schemas that clients see, made from the request and response types and tidied (MCP-TOOL-3).

mod listed;
mod parts;

use schemars::{
    JsonSchema,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};

pub(crate) use listed::listed;

/// Schema words that say nothing to a client or that an official one warns about.
const NOISE: [&str; 3] = ["$schema", "title", "format"];

/// The schema of an operation's arguments: a closed object.
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = tidy(generate::<T>(Contract::Deserialize), Nulls::Hidden);
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.entry("required").or_insert_with(|| json!([]));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// The schema of a result.
pub(crate) fn output<T: JsonSchema>() -> Map<String, Value> {
    tidy(generate::<T>(Contract::Serialize), Nulls::Shown)
}

/// The shape of every answer in a list of tools. What is in it is the same for all of them, so the
/// server's instructions say it once.
pub(crate) fn listed_output() -> Map<String, Value> {
    object(json!({"type": "object"}))
}

fn generate<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract;
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// What a schema says of null.
#[derive(Clone, Copy, PartialEq)]
enum Nulls {
    /// Null is accepted in place of an absent value, but not advertised.
    Hidden,
    /// Null is a value that comes.
    Shown,
}

fn tidy(mut schema: Value, nulls: Nulls) -> Map<String, Value> {
    clean(&mut schema, nulls);
    object(schema)
}

fn object(schema: Value) -> Map<String, Value> {
    let Value::Object(map) = schema else { unreachable!("the schema of a struct is an object") };
    map
}

/// Cleans a schema and every schema inside it.
fn clean(schema: &mut Value, nulls: Nulls) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, nulls)),
        Value::Object(map) => {
            let mut properties = map.shift_remove("properties");
            for word in NOISE {
                map.shift_remove(word);
            }
            if nulls == Nulls::Hidden {
                drop_null(map);
            }
            name_choices(map);
            map.values_mut().for_each(|part| clean(part, nulls));
            // Property names are the caller's words, not schema words: a field called `title`
            // stays.
            if let Some(Value::Object(fields)) = &mut properties {
                clean_properties(fields, map.get("required"), nulls);
            }
            if let Some(properties) = properties {
                map.insert("properties".to_owned(), properties);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A property that may be absent is absent rather than null.
fn clean_properties(fields: &mut Map<String, Value>, required: Option<&Value>, nulls: Nulls) {
    let required: Vec<&str> = required
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in fields {
        let is_required = required.contains(&name.as_str());
        if !is_required && let Value::Object(schema) = &mut *field {
            drop_null(schema);
        }
        clean(field, nulls);
    }
}

/// A list of constants is a closed set of words.
fn name_choices(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let words: Option<Vec<Value>> =
        choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(words) = words {
        map.shift_remove("oneOf");
        map.insert("type".to_owned(), json!("string"));
        map.insert("enum".to_owned(), Value::Array(words));
    }
}

/// Optional means absent: null is accepted but not advertised.
fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            map["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Value::Object(_)] = choices.as_slice()
            && let Some(Value::Array(mut choices)) = map.shift_remove("anyOf")
            && let Some(Value::Object(only)) = choices.pop()
        {
            for (word, value) in only {
                map.entry(word).or_insert(value);
            }
        }
    }
    if map.get("default").is_some_and(Value::is_null) {
        map.shift_remove("default");
    }
}
