//! Schemas in terms of JSON, without details that only matter in Rust.

use muster_core::schema::{JsonType, JsonTypes, Keyword, Schema};

/// What an optional field may be besides its type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Absence {
    /// In responses: it is present with a value, or absent.
    IsNeverNull,
    /// In requests: null means absent.
    MayBeNull,
}

/// Keywords of a schema that is not restricted beyond its type.
const OF_SIMPLE_TYPES: [&str; 5] = ["type", "minimum", "properties", "required", "description"];

/// A schema without the widths of numbers and the forms of ids, with closed sets as lists of words.
pub(super) fn plain(mut schema: Schema, absence: Absence) -> Schema {
    make_plain(&mut schema, absence);
    schema
}

fn make_plain(schema: &mut Schema, absence: Absence) {
    if schema.format().is_some_and(|format| format != "date-time") {
        schema.take("format");
    }
    if schema.default_value().is_some_and(serde_json::Value::is_null) {
        schema.take("default");
    }
    if schema.constant().is_some() {
        schema.take("type");
    }
    schema.for_each_inside(&mut |inner| make_plain(inner, absence));
    if schema.properties().is_some() && schema.required().is_none() {
        schema.put(Keyword::Required(Vec::new()));
    }
    list_words(schema);
    part_null(schema);
    if absence == Absence::IsNeverNull {
        drop_nulls(schema);
    }
}

/// A choice between words becomes a list of them.
fn list_words(schema: &mut Schema) {
    let Some(choices) = schema.one_of() else { return };
    let words = choices.iter().map(|choice| match choice.constant() {
        Some(word) => Some(std::slice::from_ref(word)),
        None => choice.allowed(),
    });
    let Some(words) = words.collect::<Option<Vec<_>>>().map(|words| words.concat()) else { return };
    schema.take("oneOf");
    match words.as_slice() {
        [only] => schema.put(Keyword::Const(only.clone())),
        _ => {
            schema.put(JsonType::String.into());
            schema.put(Keyword::Enum(words));
        }
    }
}

/// A simple type or null becomes a choice between the two.
fn part_null(schema: &mut Schema) {
    let Some(JsonTypes::Several(types)) = schema.type_names() else { return };
    let [kind, JsonType::Null] = types[..] else { return };
    let mut words = schema.keywords().iter().map(Keyword::name);
    if !words.all(|word| OF_SIMPLE_TYPES.contains(&word)) {
        return;
    }
    let description = schema.take("description");
    let mut given = std::mem::take(schema);
    given.put(kind.into());
    schema.put(Keyword::AnyOf(vec![given, JsonType::Null.into()]));
    description.into_iter().for_each(|it| schema.put(it));
}

/// Fields that may be absent lose their null.
fn drop_nulls(schema: &mut Schema) {
    let required = schema.required().unwrap_or_default().to_vec();
    let fields = schema.properties_mut().into_iter().flat_map(|fields| &mut fields.0);
    for (_, field) in fields.filter(|(name, _)| !required.contains(name)) {
        let Some([given, null]) = field.any_of() else { continue };
        if *null == JsonType::Null.into() {
            let given = given.clone();
            *field = match field.description() {
                Some(description) => given.described(description),
                None => given,
            };
        }
    }
}

/// Moves a reference that has fields beside it into a list of its own: many readers of such
/// documents take a reference for all that there is.
pub(super) fn part_references(schema: &mut Schema) {
    schema.for_each_inside(&mut part_references);
    if schema.properties().is_some()
        && let Some(reference) = schema.take("$ref")
    {
        let fields = std::mem::take(schema);
        schema.put(Keyword::AllOf(vec![Schema::from([reference]), fields]));
    }
}
