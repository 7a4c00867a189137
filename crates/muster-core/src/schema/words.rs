//! The keywords that schemas consist of, one row each.

use serde::{Deserialize, Deserializer, de::Error as _, ser::SerializeMap};
use serde_json::{Map, Number, Value};

use super::{JsonTypes, NamedSchemas, Schema};

/// Defines a keyword for each row, and how a schema returns it.
macro_rules! keywords {
    ($($name:literal $variant:ident($type:ty) $getter:ident: $seen:ty,)*) => {
        /// A keyword of a schema with its value.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Keyword {
            $($variant($type),)*
            /// One that Muster does not look at.
            Other(String, Value),
        }

        impl Keyword {
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Other(name, _) => name,
                }
            }

            pub(super) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(value) => map.serialize_entry($name, value),)*
                    Self::Other(name, value) => map.serialize_entry(name, value),
                }
            }

            fn read(name: String, value: Value) -> serde_json::Result<Self> {
                match name.as_str() {
                    $($name => serde_json::from_value(value).map(Self::$variant),)*
                    _ => Ok(Self::Other(name, value)),
                }
            }
        }

        impl Schema {
            $(pub fn $getter(&self) -> Option<&$seen> {
                self.keywords().iter().find_map(|keyword| {
                    let Keyword::$variant(value) = keyword else { return None };
                    let value: &$seen = value;
                    Some(value)
                })
            })*
        }
    };
}

keywords! {
    "type" Type(JsonTypes) type_names: JsonTypes,
    "properties" Properties(NamedSchemas) properties: NamedSchemas,
    "required" Required(Vec<String>) required: [String],
    "additionalProperties" AdditionalProperties(Box<Schema>) additional_properties: Schema,
    "items" Items(Box<Schema>) items: Schema,
    "contentSchema" ContentSchema(Box<Schema>) content_schema: Schema,
    "prefixItems" PrefixItems(Vec<Schema>) prefix_items: [Schema],
    "anyOf" AnyOf(Vec<Schema>) any_of: [Schema],
    "oneOf" OneOf(Vec<Schema>) one_of: [Schema],
    "allOf" AllOf(Vec<Schema>) all_of: [Schema],
    "$ref" Ref(String) target: str,
    "$defs" Defs(NamedSchemas) definitions: NamedSchemas,
    "enum" Enum(Vec<Value>) allowed: [Value],
    "const" Const(Value) constant: Value,
    "default" Default(Value) default_value: Value,
    "description" Description(String) description: str,
    "format" Format(String) format: str,
    "x-form" Form(String) form: str,
    "minimum" Minimum(Number) minimum: Number,
    "maximum" Maximum(Number) maximum: Number,
    "minLength" MinLength(u64) min_length: u64,
    "maxLength" MaxLength(u64) max_length: u64,
    "minItems" MinItems(u64) min_items: u64,
    "maxItems" MaxItems(u64) max_items: u64,
    "minProperties" MinProperties(u64) min_properties: u64,
    "maxProperties" MaxProperties(u64) max_properties: u64,
}

impl Keyword {
    /// The schemas inside it.
    pub(super) fn schemas_mut(&mut self) -> Vec<&mut Schema> {
        match self {
            Self::Properties(named) | Self::Defs(named) => named.values_mut().collect(),
            Self::AdditionalProperties(one) | Self::Items(one) | Self::ContentSchema(one) => {
                vec![&mut **one]
            }
            Self::PrefixItems(all) | Self::AnyOf(all) | Self::OneOf(all) | Self::AllOf(all) => {
                all.iter_mut().collect()
            }
            Self::Type(_)
            | Self::Required(_)
            | Self::Ref(_)
            | Self::Enum(_)
            | Self::Const(_)
            | Self::Default(_)
            | Self::Description(_)
            | Self::Format(_)
            | Self::Form(_)
            | Self::Minimum(_)
            | Self::Maximum(_)
            | Self::MinLength(_)
            | Self::MaxLength(_)
            | Self::MinItems(_)
            | Self::MaxItems(_)
            | Self::MinProperties(_)
            | Self::MaxProperties(_)
            | Self::Other(..) => Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keywords = match Value::deserialize(deserializer)? {
            Value::Bool(fits) => return Ok(Self::Always(fits)),
            Value::Object(keywords) => keywords,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(D::Error::custom("a schema is an object or a boolean"));
            }
        };
        let keywords = keywords.into_iter().map(|(name, value)| Keyword::read(name, value));
        keywords.collect::<Result<_, _>>().map(Self::Keywords).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for NamedSchemas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let schemas = Map::deserialize(deserializer)?.into_iter();
        let schemas = schemas.map(|(name, schema)| Ok((name, serde_json::from_value(schema)?)));
        schemas.collect::<serde_json::Result<_>>().map(Self).map_err(D::Error::custom)
    }
}
