//! Schemas in the words of JSON, without what only Rust knows.

use serde_json::{Map, Value, json};

/// What a field that may be absent can be besides.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Absence {
    /// Of answers: it is there with a value, or it is not there.
    IsNeverNull,
    /// Of requests: null says the same.
    MayBeNull,
}

/// Words that a schema which is not bound to more than its type consists of.
const OF_SIMPLE_TYPES: [&str; 5] = ["type", "minimum", "properties", "required", "description"];

/// A schema without the widths of numbers and the forms of ids, with closed sets as lists of words.
pub(super) fn plain(mut schema: Value, absence: Absence) -> Value {
    make_plain(&mut schema, absence);
    schema
}

fn make_plain(schema: &mut Value, absence: Absence) {
    match schema {
        Value::Object(map) => {
            if map.get("format").is_some_and(|format| format != "date-time") {
                map.shift_remove("format");
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.shift_remove("default");
            }
            if map.contains_key("const") {
                map.shift_remove("type");
            }
            for (word, part) in map.iter_mut() {
                // Names of fields are not words of schemas.
                if word == "properties"
                    && let Value::Object(fields) = part
                {
                    fields.values_mut().for_each(|field| make_plain(field, absence));
                } else {
                    make_plain(part, absence);
                }
            }
            if map.contains_key("properties") {
                map.entry("required").or_insert_with(|| json!([]));
            }
            list_words(map);
            part_null(map);
            if absence == Absence::IsNeverNull {
                drop_nulls(map);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| make_plain(item, absence)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A choice between words becomes a list of them.
fn list_words(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let words = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) => Some(vec![word.clone()]),
        (None, words) => words.and_then(Value::as_array).cloned(),
    };
    let words: Option<Vec<Vec<Value>>> = choices.iter().map(words).collect();
    let Some(words) = words.map(|words| words.concat()) else { return };
    map.shift_remove("oneOf");
    match words.as_slice() {
        [only] => map.extend([("const".to_owned(), only.clone())]),
        _ => map.extend([("type".to_owned(), json!("string")), ("enum".to_owned(), words.into())]),
    }
}

/// A simple type or null becomes a choice between the two.
fn part_null(map: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = map.get("type") else { return };
    let [kind, null] = types.as_slice() else { return };
    if null != "null" || !map.keys().all(|word| OF_SIMPLE_TYPES.contains(&word.as_str())) {
        return;
    }
    let kind = kind.clone();
    let description = map.shift_remove("description");
    let mut given = std::mem::take(map);
    given.insert("type".to_owned(), kind);
    map.insert("anyOf".to_owned(), json!([given, {"type": "null"}]));
    map.extend(description.map(|text| ("description".to_owned(), text)));
}

/// Fields that may be absent lose their null.
fn drop_nulls(map: &mut Map<String, Value>) {
    let required = map.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required.as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let Some(Value::Object(fields)) = map.get_mut("properties") else { return };
    for (_, field) in fields.iter_mut().filter(|(name, _)| !is_required(name)) {
        let Some(Value::Array(choices)) = field.get("anyOf") else { continue };
        let [Value::Object(given), null] = choices.as_slice() else { continue };
        if *null == json!({"type": "null"}) {
            let mut given = given.clone();
            given.extend(field.get("description").map(|it| ("description".to_owned(), it.clone())));
            *field = Value::Object(given);
        }
    }
}

/// Moves a reference that has fields beside it into a list of its own: many readers of such
/// documents take a reference for all that there is.
pub(super) fn part_references(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(part_references);
            if map.contains_key("properties")
                && let Some(reference) = map.remove("$ref")
            {
                let fields = std::mem::take(map);
                map.insert("allOf".to_owned(), json!([{"$ref": reference}, fields]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(part_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
