//! A JSON schema as typed data: what schemars derives from a type, read once.
//!
//! Checks of arguments, lists of tools, the OpenAPI document, the reference page and the command
//! line all read this type. Keywords keep the order in which they were written, so that a schema
//! that is only passed on is printed as it came.

mod words;

#[cfg(test)]
mod tests;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

pub use words::Keyword;

/// What a value has to look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// Every value fits, or none.
    Always(bool),
    /// A value that fits every keyword.
    Keywords(Vec<Keyword>),
}

/// The name of a type in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// The keyword `type`: one name, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JsonTypes {
    One(JsonType),
    Several(Vec<JsonType>),
}

/// The keys of a JSON object with their values, in the order in which they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct ByName<T>(pub Vec<(String, T)>);

pub type NamedSchemas = ByName<Schema>;

impl Default for Schema {
    fn default() -> Self {
        Self::Keywords(Vec::new())
    }
}

impl<const N: usize> From<[Keyword; N]> for Schema {
    fn from(keywords: [Keyword; N]) -> Self {
        Self::Keywords(keywords.into())
    }
}

impl From<JsonType> for Schema {
    fn from(one: JsonType) -> Self {
        Self::from([one.into()])
    }
}

impl From<schemars::Schema> for Schema {
    fn from(schema: schemars::Schema) -> Self {
        Self::from(schema.to_value())
    }
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        match serde_json::from_value(schema) {
            Ok(schema) => schema,
            Err(error) => unreachable!("what schemars derives is a schema: {error}"),
        }
    }
}

impl From<JsonType> for Keyword {
    fn from(one: JsonType) -> Self {
        Self::Type(JsonTypes::One(one))
    }
}

impl Schema {
    /// The schema of what is read into a `T`, without references.
    pub fn inlined<T: JsonSchema>() -> Self {
        let settings =
            SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        SchemaGenerator::new(settings).into_root_schema_for::<T>().into()
    }

    /// A schema that is defined elsewhere.
    pub fn reference(target: impl Into<String>) -> Self {
        Self::from([Keyword::Ref(target.into())])
    }

    /// A value of one of these types.
    pub fn either(types: impl Into<Vec<JsonType>>) -> Self {
        Self::from([Keyword::Type(JsonTypes::Several(types.into()))])
    }

    /// One of these strings.
    pub fn word_of(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let words = words.into_iter().map(|word| Value::String(word.into())).collect();
        Self::from([JsonType::String.into(), Keyword::Enum(words)])
    }

    /// An object with these properties, all of which it must have.
    pub fn object<const N: usize>(properties: [(&str, Self); N]) -> Self {
        let required = properties.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self::from([
            JsonType::Object.into(),
            Keyword::Properties(properties.into()),
            Keyword::Required(required),
        ])
    }

    /// The same schema and what it is about.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.put(Keyword::Description(description.into()));
        self
    }

    pub fn keywords(&self) -> &[Keyword] {
        match self {
            Self::Always(_) => &[],
            Self::Keywords(keywords) => keywords,
        }
    }

    fn keywords_mut(&mut self) -> &mut [Keyword] {
        match self {
            Self::Always(_) => &mut [],
            Self::Keywords(keywords) => keywords,
        }
    }

    /// Writes a keyword in the place of an earlier one of its name, or after all others.
    pub fn put(&mut self, keyword: Keyword) {
        let Self::Keywords(keywords) = self else { return };
        match keywords.iter_mut().find(|known| known.name() == keyword.name()) {
            Some(known) => *known = keyword,
            None => keywords.push(keyword),
        }
    }

    /// Removes a keyword.
    pub fn take(&mut self, name: &str) -> Option<Keyword> {
        let Self::Keywords(keywords) = self else { return None };
        let at = keywords.iter().position(|keyword| keyword.name() == name)?;
        Some(keywords.remove(at))
    }

    pub fn has(&self, name: &str) -> bool {
        self.keywords().iter().any(|keyword| keyword.name() == name)
    }

    /// Keeps the keywords whose name passes.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        if let Self::Keywords(keywords) = self {
            keywords.retain(|keyword| keep(keyword.name()));
        }
    }

    /// The types it names; none if every type fits.
    pub fn types(&self) -> &[JsonType] {
        self.type_names().map_or(&[], JsonTypes::as_slice)
    }

    /// The only type that it names.
    pub fn only_type(&self) -> Option<JsonType> {
        match self.type_names()? {
            JsonTypes::One(one) => Some(*one),
            JsonTypes::Several(_) => None,
        }
    }

    pub fn is_null(&self) -> bool {
        self.only_type() == Some(JsonType::Null)
    }

    /// The alternatives of `anyOf` or `oneOf`.
    pub fn choices(&self) -> Option<&[Self]> {
        self.any_of().or_else(|| self.one_of())
    }

    /// The strings of a closed set, however it is written; null beside them does not count.
    pub fn words(&self) -> Option<Vec<&str>> {
        if let Some(allowed) = self.allowed() {
            return Some(allowed.iter().filter_map(Value::as_str).collect());
        }
        let choices = self.choices()?.iter().filter(|choice| !choice.is_null());
        let words = choices.map(|choice| match choice.constant() {
            Some(word) => Some(vec![word.as_str()?]),
            None => choice.words(),
        });
        words.collect::<Option<Vec<_>>>().map(|words| words.concat())
    }

    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties()?.get(name)
    }

    pub fn requires(&self, name: &str) -> bool {
        self.required().is_some_and(|names| names.iter().any(|known| known == name))
    }

    /// The properties, if it takes no others.
    pub fn closed_properties(&self) -> Option<&NamedSchemas> {
        let is_closed = self.additional_properties() == Some(&Self::Always(false));
        self.properties().filter(|_| is_closed)
    }

    /// The definition that it refers to, by name.
    pub fn definition_name(&self) -> Option<&str> {
        self.target()?.strip_prefix("#/$defs/")
    }

    pub fn properties_mut(&mut self) -> Option<&mut NamedSchemas> {
        self.keywords_mut().iter_mut().find_map(|keyword| {
            if let Keyword::Properties(properties) = keyword { Some(properties) } else { None }
        })
    }

    pub fn any_of_mut(&mut self) -> Option<&mut Vec<Self>> {
        self.keywords_mut().iter_mut().find_map(|keyword| {
            if let Keyword::AnyOf(choices) = keyword { Some(choices) } else { None }
        })
    }

    /// Calls `act` for every schema directly inside this one.
    pub fn for_each_inside(&mut self, act: &mut dyn FnMut(&mut Self)) {
        for keyword in self.keywords_mut() {
            keyword.schemas_mut().into_iter().for_each(&mut *act);
        }
    }

    /// Calls `act` for every choice and for the elements of a list.
    pub fn for_each_form(&mut self, act: &mut dyn FnMut(&mut Self)) {
        for keyword in self.keywords_mut() {
            if matches!(keyword, Keyword::AnyOf(_) | Keyword::Items(_)) {
                keyword.schemas_mut().into_iter().for_each(&mut *act);
            }
        }
    }

    /// The same as plain JSON.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

impl JsonTypes {
    pub fn as_slice(&self) -> &[JsonType] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl JsonType {
    /// The type of a value; every number is a `Number`.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether a value is of this type; integers of tools are not negative.
    pub(crate) fn admits(self, value: &Value) -> bool {
        if self == Self::Integer { value.is_u64() } else { self == Self::of(value) }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl<T> ByName<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a value, or replaces the one of its name.
    pub fn insert(&mut self, name: impl Into<String>, value: T) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }
}

impl<T: Default> ByName<T> {
    /// The value of a name; an empty one where there is none yet.
    pub fn entry(&mut self, name: &str) -> &mut T {
        let found = self.names().position(|known| known == name);
        let at = found.unwrap_or(self.0.len());
        if found.is_none() {
            self.0.push((name.to_owned(), T::default()));
        }
        &mut self.0[at].1
    }
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const N: usize> From<[(&str, T); N]> for ByName<T> {
    fn from(values: [(&str, T); N]) -> Self {
        Self(values.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

impl<T> Extend<(String, T)> for ByName<T> {
    fn extend<I: IntoIterator<Item = (String, T)>>(&mut self, values: I) {
        values.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

impl<T: Serialize> Serialize for ByName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Always(fits) => serializer.serialize_bool(*fits),
            Self::Keywords(keywords) => {
                let mut map = serializer.serialize_map(None)?;
                // The name of a type says nothing to a client.
                let mut shown =
                    keywords.iter().filter(|keyword| !matches!(keyword, Keyword::Form(_)));
                shown.try_for_each(|keyword| keyword.write(&mut map))?;
                map.end()
            }
        }
    }
}
