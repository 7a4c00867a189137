//! Parts of a schema that occur more than once get a name and are said once.

use std::collections::BTreeMap;

use muster_core::schema::{ByName, Keyword, NamedSchemas, Schema};

/// A part is worth a name from this size on: shorter ones are read more easily where they stand.
const PART_BYTES_MIN: usize = 50;
/// What a reference to a part takes.
const REFERENCE_BYTES: usize = r##"{"$ref":"#/$defs/p0"}"##.len();
/// What a definition takes beside the part itself.
const DEFINITION_BYTES: usize = r#""$defs":{"p0":},"#.len();

/// Gives repeated parts a name under `$defs` where that makes the schema shorter.
pub(super) fn name_repeated(mut root: Schema) -> Schema {
    let mut seen = BTreeMap::new();
    count_parts(&mut root, &mut seen);
    seen.retain(|part, count| is_worth_a_name(part.len(), *count));
    let repeated: Vec<String> = seen.into_keys().collect();
    let mut definitions = BTreeMap::new();
    name_parts(&mut root, &repeated, &mut definitions);
    if !definitions.is_empty() {
        root.put(Keyword::Defs(ByName(definitions.into_iter().collect())));
    }
    root
}

fn is_worth_a_name(bytes: usize, count: usize) -> bool {
    let named = count * REFERENCE_BYTES + bytes + DEFINITION_BYTES;
    bytes >= PART_BYTES_MIN && named < count * bytes
}

/// A property's schema without its own description.
fn part(property: &Schema) -> String {
    let mut core = property.clone();
    core.take("description");
    muster_core::text_of(&core, PART_BYTES_MIN)
}

fn count_parts(schema: &mut Schema, seen: &mut BTreeMap<String, usize>) {
    for property in schema.properties_mut().into_iter().flat_map(NamedSchemas::values_mut) {
        *seen.entry(part(property)).or_default() += 1;
        count_parts(property, seen);
    }
    schema.for_each_form(&mut |form| count_parts(form, seen));
}

/// Replaces repeated parts by references to their definition.
fn name_parts(
    schema: &mut Schema,
    repeated: &[String],
    definitions: &mut BTreeMap<String, Schema>,
) {
    let Some(properties) = schema.properties_mut() else {
        schema.for_each_form(&mut |form| name_parts(form, repeated, definitions));
        return;
    };
    for property in properties.values_mut() {
        let part = part(property);
        let Some(at) = repeated.iter().position(|known| *known == part) else {
            name_parts(property, repeated, definitions);
            continue;
        };
        let name = format!("p{at}");
        let description = property.take("description");
        let reference = Schema::reference(format!("#/$defs/{name}"));
        let definition = std::mem::replace(property, reference);
        definitions.entry(name).or_insert(definition);
        if let Some(description) = description {
            property.put(description);
        }
    }
}
