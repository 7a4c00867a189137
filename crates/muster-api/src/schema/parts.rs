//! Parts of a schema that occur more than once get a name and are said once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A part is worth a name from this size on: shorter ones are read more easily where they stand.
const PART_BYTES_MIN: usize = 50;
/// What a reference to a part takes.
const REFERENCE_BYTES: usize = r##"{"$ref":"#/$defs/p0"}"##.len();
/// What a definition takes beside the part itself.
const DEFINITION_BYTES: usize = r#""$defs":{"p0":},"#.len();

/// Gives repeated parts a name under `$defs` where that makes the schema shorter.
pub(super) fn name_repeated(mut root: Value) -> Value {
    let mut seen = BTreeMap::new();
    count_parts(&root, &mut seen);
    seen.retain(|part, count| is_worth_a_name(part.len(), *count));
    let repeated: Vec<String> = seen.into_keys().collect();
    let mut definitions = BTreeMap::new();
    name_parts(&mut root, &repeated, &mut definitions);
    if !definitions.is_empty() {
        root["$defs"] = Value::Object(definitions.into_iter().collect());
    }
    root
}

fn is_worth_a_name(bytes: usize, count: usize) -> bool {
    let named = count * REFERENCE_BYTES + bytes + DEFINITION_BYTES;
    bytes >= PART_BYTES_MIN && named < count * bytes
}

/// A property's schema without its own description.
fn part(property: &Value) -> Option<String> {
    let Value::Object(map) = property else { return None };
    let mut core = map.clone();
    core.shift_remove("description");
    Some(Value::Object(core).to_string())
}

fn properties(schema: &Value) -> impl Iterator<Item = &Value> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values)
}

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
