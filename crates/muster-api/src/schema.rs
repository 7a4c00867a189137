//! Schemas that clients see, made from the request and response types and tidied (MCP-TOOL-3).

mod listed;
mod parts;

use muster_core::schema::{JsonType, JsonTypes, Keyword, NamedSchemas, Schema};
use schemars::{
    JsonSchema,
    generate::{Contract, SchemaSettings},
};

pub(crate) use listed::listed;

/// The argument that names the workspace.
pub(crate) const WORKSPACE: &str = "workspace";

/// Keywords that say nothing to a client or that an official one warns about.
const NOISE: [&str; 3] = ["$schema", "title", "format"];

/// The schema of an operation's arguments: a closed object.
pub(crate) fn input<T: JsonSchema>() -> Schema {
    let mut schema = generate::<T>(Contract::Deserialize);
    clean(&mut schema, Nulls::Hidden);
    schema.put(Keyword::AdditionalProperties(Box::new(Schema::Always(false))));
    if schema.required().is_none() {
        schema.put(Keyword::Required(Vec::new()));
    }
    if schema.properties().is_none() {
        schema.put(Keyword::Properties(NamedSchemas::default()));
    }
    schema
}

/// The schema of arguments where the workspace has a default.
pub(crate) fn with_default_workspace(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    let Some(mut required) = schema.required().map(<[String]>::to_vec) else { return schema };
    let before = required.len();
    required.retain(|name| name != WORKSPACE);
    if required.len() == before {
        return schema;
    }
    schema.put(Keyword::Required(required));
    let properties = schema.properties_mut().into_iter().flat_map(|all| &mut all.0);
    for (_, property) in properties.filter(|(name, _)| name == WORKSPACE) {
        property.put(Keyword::Description("Workspace id; default: the server's.".to_owned()));
    }
    schema
}

/// The schema of a result.
pub(crate) fn output<T: JsonSchema>() -> Schema {
    let mut schema = generate::<T>(Contract::Serialize);
    clean(&mut schema, Nulls::Shown);
    schema
}

fn generate<T: JsonSchema>(contract: Contract) -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract;
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// What a schema says of null.
#[derive(Clone, Copy, PartialEq)]
enum Nulls {
    /// Null is accepted in place of an absent value, but not advertised.
    Hidden,
    /// Null is a value that comes.
    Shown,
}

/// Cleans a schema and every schema inside it.
fn clean(schema: &mut Schema, nulls: Nulls) {
    schema.retain(|word| !NOISE.contains(&word));
    if nulls == Nulls::Hidden {
        drop_null(schema);
    }
    name_choices(schema);
    drop_absent_nulls(schema);
    schema.for_each_inside(&mut |inner| clean(inner, nulls));
    // Clients see the properties last.
    if let Some(properties) = schema.take("properties") {
        schema.put(properties);
    }
}

/// A property that may be absent is absent rather than null.
fn drop_absent_nulls(schema: &mut Schema) {
    let required = schema.required().unwrap_or_default().to_vec();
    for (name, property) in schema.properties_mut().into_iter().flat_map(|all| &mut all.0) {
        if !required.contains(name) {
            drop_null(property);
        }
    }
}

/// A list of constants is a closed set of words.
fn name_choices(schema: &mut Schema) {
    let Some(choices) = schema.one_of() else { return };
    let words = choices.iter().map(|choice| choice.constant().cloned()).collect();
    let Some(words) = words else { return };
    schema.take("oneOf");
    schema.put(JsonType::String.into());
    schema.put(Keyword::Enum(words));
}

/// Optional means absent: null is accepted but not advertised.
fn drop_null(schema: &mut Schema) {
    if let Some(JsonTypes::Several(types)) = schema.type_names() {
        let mut types = types.clone();
        types.retain(|kind| *kind != JsonType::Null);
        schema.put(match types.as_slice() {
            [only] => (*only).into(),
            _ => Keyword::Type(JsonTypes::Several(types)),
        });
    }
    if let Some(allowed) = schema.allowed() {
        let allowed = allowed.iter().filter(|value| !value.is_null()).cloned().collect();
        schema.put(Keyword::Enum(allowed));
    }
    if let Some(choices) = schema.any_of_mut() {
        choices.retain(|choice| !choice.is_null());
        if let [only] = choices.as_slice() {
            let only = only.clone();
            schema.take("anyOf");
            for keyword in only.keywords() {
                if !schema.has(keyword.name()) {
                    schema.put(keyword.clone());
                }
            }
        }
    }
    if schema.default_value().is_some_and(serde_json::Value::is_null) {
        schema.take("default");
    }
}
