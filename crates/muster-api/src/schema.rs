//! Schemas that clients see, made from the request and response types and tidied (MCP-TOOL-3).

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Words that many clients drop; descriptions say the same.
const BOUNDS: [&str; 9] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
    "default",
];
/// An object with at most this many keys is not spelled out beside a text.
const SMALL_OBJECT_KEYS: usize = 2;
/// A part of a schema is worth a name of its own from this size on.
const PART_BYTES_MIN: usize = 90;

/// Schema words that say nothing to a client or that an official one warns about.
const NOISE: [&str; 3] = ["$schema", "title", "format"];

/// The schema of an operation's arguments: a closed object.
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = tidy(generate::<T>());
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.entry("required").or_insert_with(|| json!([]));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// The schema of a result.
pub(crate) fn output<T: JsonSchema>() -> Map<String, Value> {
    tidy(generate::<T>())
}

/// What has to be read of every answer.
pub(crate) fn listed_output() -> Map<String, Value> {
    object(json!({"type": "object", "required": ["success", "result", "error"]}))
}

/// A schema as agents list it: without bounds, and with repeated parts said once.
pub(crate) fn listed(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut root = Value::Object(schema.clone());
    drop_bounds(&mut root);
    for property in fields_mut(&mut root) {
        shorten(property);
    }
    let mut seen = BTreeMap::new();
    count_parts(&root, &mut seen);
    let repeated: Vec<String> =
        seen.into_iter().filter(|(_, count)| *count > 1).map(|(part, _)| part).collect();
    let mut definitions = BTreeMap::new();
    name_parts(&mut root, &repeated, &mut definitions);
    let mut schema = object(root);
    if !definitions.is_empty() {
        let named = definitions.into_iter().collect::<Map<String, Value>>();
        schema.insert("$defs".to_owned(), Value::Object(named));
    }
    schema
}

/// Removes bounds from a schema and every schema inside it; names of properties are left alone.
fn drop_bounds(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(drop_bounds),
        Value::Object(map) => {
            let properties = map.shift_remove("properties");
            map.retain(|word, _| !BOUNDS.contains(&word.as_str()));
            map.values_mut().for_each(drop_bounds);
            if let Some(Value::Object(mut fields)) = properties {
                fields.values_mut().for_each(drop_bounds);
                map.insert("properties".to_owned(), Value::Object(fields));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fields_mut(schema: &mut Value) -> impl Iterator<Item = &mut Value> {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    fields.into_iter().flat_map(|fields| fields.iter_mut().map(|(_, field)| field))
}

/// Leaves descriptions to the arguments themselves, and says of a small object that stands beside a
/// text only that it is one: the reference page has the rest.
fn shorten(schema: &mut Value) {
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        for choice in choices.iter_mut() {
            let fields = fields_mut(choice).count();
            if (1..=SMALL_OBJECT_KEYS).contains(&fields) {
                *choice = json!({"type": "object"});
            }
        }
    }
    let inner = ["items", "anyOf"];
    for word in inner {
        match schema.get_mut(word) {
            Some(Value::Array(choices)) => choices.iter_mut().for_each(shorten_inside),
            Some(one) => shorten_inside(one),
            None => {}
        }
    }
    fields_mut(schema).for_each(shorten_inside);
}

fn shorten_inside(schema: &mut Value) {
    if let Value::Object(map) = schema {
        map.shift_remove("description");
    }
    shorten(schema);
}

/// A property's schema without its own description, if it is worth a name.
fn part(property: &Value) -> Option<String> {
    let Value::Object(map) = property else { return None };
    let mut core = map.clone();
    core.shift_remove("description");
    let text = Value::Object(core).to_string();
    (text.len() >= PART_BYTES_MIN).then_some(text)
}

fn properties(schema: &Value) -> impl Iterator<Item = &Value> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values)
}

/// Counts the parts of a schema that are worth a name.
fn count_parts(schema: &Value, seen: &mut BTreeMap<String, usize>) {
    for property in properties(schema) {
        if let Some(part) = part(property) {
            *seen.entry(part).or_default() += 1;
        }
        count_parts(property, seen);
    }
    let inner = ["items", "anyOf"].into_iter().filter_map(|word| schema.get(word));
    for schema in inner {
        match schema {
            Value::Array(choices) => choices.iter().for_each(|choice| count_parts(choice, seen)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            one @ Value::Object(_) => count_parts(one, seen),
        }
    }
}

/// Replaces repeated parts by references to their definition.
fn name_parts(schema: &mut Value, repeated: &[String], definitions: &mut BTreeMap<String, Value>) {
    let Some(Value::Object(fields)) = schema.get_mut("properties") else {
        for word in ["items", "anyOf"] {
            match schema.get_mut(word) {
                Some(Value::Array(choices)) => {
                    choices.iter_mut().for_each(|one| name_parts(one, repeated, definitions));
                }
                Some(one) => name_parts(one, repeated, definitions),
                None => {}
            }
        }
        return;
    };
    for property in fields.values_mut() {
        let at = part(property).and_then(|part| repeated.iter().position(|known| *known == part));
        let Some(at) = at else {
            name_parts(property, repeated, definitions);
            continue;
        };
        let name = format!("p{at}");
        let description = property.get("description").cloned();
        let mut core = property.take();
        if let Value::Object(map) = &mut core {
            map.shift_remove("description");
        }
        definitions.entry(name.clone()).or_insert(core);
        *property = json!({"$ref": format!("#/$defs/{name}")});
        if let Some(description) = description {
            property["description"] = description;
        }
    }
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn tidy(mut schema: Value) -> Map<String, Value> {
    clean(&mut schema);
    object(schema)
}

fn object(schema: Value) -> Map<String, Value> {
    let Value::Object(map) = schema else { unreachable!("the schema of a struct is an object") };
    map
}

/// Cleans a schema and every schema inside it.
fn clean(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(map) => {
            let mut properties = map.shift_remove("properties");
            for word in NOISE {
                map.shift_remove(word);
            }
            drop_null(map);
            name_choices(map);
            map.values_mut().for_each(clean);
            // Property names are the caller's words, not schema words: a field called `title`
            // stays.
            if let Some(Value::Object(fields)) = &mut properties {
                fields.values_mut().for_each(clean);
            }
            if let Some(properties) = properties {
                map.insert("properties".to_owned(), properties);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
