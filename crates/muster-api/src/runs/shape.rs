//! Reads the bodies of requests: names first, with the nearest known one for unknown ones
//! (RUNS-REST-5), then types. Names and types come from the schema of the type.

use std::iter;

use muster_core::{
    schema::{JsonType, Keyword, NamedSchemas, Schema},
    text,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::fault::{RunCode, RunFault};

/// What a body may hold.
pub(crate) struct BodyShape(NamedSchemas);

impl BodyShape {
    /// The fields of one type.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        Self(NamedSchemas::default()).and::<T>()
    }

    /// Adds the fields of another type.
    #[must_use]
    pub(super) fn and<T: JsonSchema>(mut self) -> Self {
        self.0.extend(Schema::inlined::<T>().properties().cloned().unwrap_or_default().0);
        self
    }

    /// The shape for documents.
    pub(crate) fn schema(&self) -> Schema {
        Schema::from([
            JsonType::Object.into(),
            Keyword::Properties(self.0.clone()),
            Keyword::AdditionalProperties(Box::new(Schema::Always(false))),
        ])
    }

    /// Whether it knows every field that a body names.
    pub(super) fn covers(&self, fields: &Map<String, Value>) -> bool {
        fields.keys().all(|name| self.0.get(name).is_some())
    }

    /// Refuses unknown names and fields that callers cannot set; those that
    /// repeat the current value are dropped.
    pub(crate) fn check(
        &self,
        fields: &mut Map<String, Value>,
        present: &Map<String, Value>,
    ) -> Result<(), RunFault> {
        check_object(fields, present, "", &self.0)
    }

    /// Parses the fields as one of the types.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        fields: &Map<String, Value>,
    ) -> Result<T, RunFault> {
        let value = Value::Object(fields.clone());
        serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            let expected = self.expected(error.path()).unwrap_or_else(|| error.inner().to_string());
            let name = path.rsplit('.').next().unwrap_or(&path);
            RunFault::bad_value(&path, format!("{name} must be {expected}"))
        })
    }

    /// The expected value at a path, in words.
    fn expected(&self, path: &serde_path_to_error::Path) -> Option<String> {
        use serde_path_to_error::Segment;
        let mut found: Option<&Schema> = None;
        for segment in path {
            found = match segment {
                Segment::Map { key } => match found {
                    None => self.0.get(key),
                    Some(schema) => fields_of(schema)?.get(key),
                },
                Segment::Seq { .. } => items_of(found?),
                Segment::Enum { .. } | Segment::Unknown => return None,
            };
        }
        found.map(expectation)
    }
}

/// The alternatives of a schema; one without alternatives is its only one.
fn choices(schema: &Schema) -> &[Schema] {
    schema.any_of().unwrap_or(std::slice::from_ref(schema))
}

fn fields_of(schema: &Schema) -> Option<&NamedSchemas> {
    choices(schema).iter().find_map(Schema::properties)
}

fn items_of(schema: &Schema) -> Option<&Schema> {
    choices(schema).iter().find_map(Schema::items)
}

fn check_object(
    fields: &mut Map<String, Value>,
    present: &Map<String, Value>,
    path: &str,
    settable: &NamedSchemas,
) -> Result<(), RunFault> {
    let names: Vec<String> = fields.keys().cloned().collect();
    for name in names {
        let at = join(path, &name);
        let Some(schema) = settable.get(&name) else {
            check_fixed(&at, fields.get(&name), present.get(&name), settable.names())?;
            fields.shift_remove(&name);
            continue;
        };
        if let Some(value) = fields.get_mut(&name) {
            check_inside(value, present.get(&name), &at, schema)?;
        }
    }
    Ok(())
}

/// A field that cannot be set: it may repeat what is there.
fn check_fixed<'a>(
    at: &str,
    given: Option<&Value>,
    present: Option<&Value>,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), RunFault> {
    let name = at.rsplit('.').next().unwrap_or(at);
    match present {
        Some(_) if given == present => Ok(()),
        Some(_) => {
            let detail = format!("{name} cannot be set");
            Err(RunFault::new(RunCode::ReadOnlyField, detail).at(at))
        }
        None => {
            let nearest = text::nearest(name, known);
            let hint = nearest.map_or(String::new(), |known| format!(": did you mean {known}?"));
            let detail = format!("unknown field {name}{hint}");
            Err(RunFault::new(RunCode::UnknownField, detail).at(at))
        }
    }
}

fn check_inside(
    value: &mut Value,
    present: Option<&Value>,
    path: &str,
    schema: &Schema,
) -> Result<(), RunFault> {
    match value {
        Value::Object(fields) => {
            let Some(settable) = fields_of(schema) else { return Ok(()) };
            let nothing = Map::new();
            let present = present.and_then(Value::as_object).unwrap_or(&nothing);
            check_object(fields, present, path, settable)
        }
        Value::Array(items) => {
            let Some(element) = items_of(schema) else { return Ok(()) };
            for (at, item) in items.iter_mut().enumerate() {
                check_inside(item, None, &format!("{path}[{at}]"), element)?;
            }
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A schema in words.
fn expectation(schema: &Schema) -> String {
    if let Some(words) = schema.words() {
        return format!("one of {}", words.join(", "));
    }
    // Null clears a field; a client that sent a value of another form did not mean that.
    if let Some(choices) = schema.any_of() {
        let choices = choices.iter().filter(|choice| !choice.is_null());
        return choices.map(expectation).collect::<Vec<_>>().join(" or ");
    }
    let kinds = schema.types().iter().filter(|kind| **kind != JsonType::Null);
    let kinds: Vec<&str> = kinds.map(|kind| kind_in_words(*kind, schema)).collect();
    if kinds.is_empty() { "a value of another form".to_owned() } else { kinds.join(" or ") }
}

fn kind_in_words(kind: JsonType, schema: &Schema) -> &'static str {
    match kind {
        JsonType::String if schema.format() == Some("uuid") => "a UUID",
        JsonType::String => "a string",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
        JsonType::Null => "null",
    }
}

/// A body in parts: its object, and the fields beside it.
pub(super) struct Unwrapped {
    /// The object's fields.
    pub(super) fields: Map<String, Value>,
    /// The fields beside it.
    pub(super) beside: Map<String, Value>,
    /// Prefix of the paths of fields.
    pub(super) prefix: String,
}

/// Splits a body, whether the object is wrapped in it or is the body itself (RUNS-REST-4).
pub(super) fn unwrap(
    mut body: Map<String, Value>,
    wrapper: &str,
    siblings: &[&str],
) -> Result<Unwrapped, RunFault> {
    let Some(inner) = body.shift_remove(wrapper) else {
        let (beside, fields) =
            body.into_iter().partition(|(name, _)| siblings.contains(&name.as_str()));
        return Ok(Unwrapped { fields, beside, prefix: String::new() });
    };
    let Value::Object(fields) = inner else {
        return Err(RunFault::bad_value(wrapper, format!("{wrapper} must be an object")));
    };
    if let Some(stray) = body.keys().find(|name| !siblings.contains(&name.as_str())) {
        let known = iter::once(wrapper).chain(siblings.iter().copied());
        check_fixed(stray, None, None, known)?;
    }
    Ok(Unwrapped { fields, beside: body, prefix: format!("{wrapper}.") })
}

#[cfg(test)]
mod tests {
    use muster_core::run::command::{GraphNodeInput, RunFields};
    use serde_json::{Map, Value, json};

    use super::{BodyShape, RunCode, unwrap};

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn refused(body: Value, present: Value) -> (RunCode, String) {
        let shape = BodyShape::of::<GraphNodeInput>();
        let mut fields = object(body);
        let checked = shape.check(&mut fields, &object(present));
        let fault = checked.and_then(|()| shape.read::<GraphNodeInput>(&fields)).unwrap_err();
        (fault.code, fault.path.unwrap())
    }

    #[test]
    fn runs_rest_5_names_are_checked_at_every_depth() {
        let none = || json!({});
        assert_eq!(refused(json!({"lable": 1}), none()), (RunCode::UnknownField, "lable".into()));
        assert_eq!(
            refused(json!({"capabilities": {"writeCod": true}}), none()),
            (RunCode::UnknownField, "capabilities.writeCod".into())
        );
        assert_eq!(
            refused(json!({"session": {"sessionId": "x"}}), json!({"session": {"sessionId": "y"}})),
            (RunCode::ReadOnlyField, "session.sessionId".into())
        );
        let mut fields = object(json!({"id": "a", "label": "x"}));
        BodyShape::of::<GraphNodeInput>().check(&mut fields, &object(json!({"id": "a"}))).unwrap();
        assert_eq!(fields, object(json!({"label": "x"})));
    }

    #[test]
    fn runs_rest_2_a_bad_value_says_what_fits() {
        let shape = BodyShape::of::<GraphNodeInput>();
        let fault = shape.read::<GraphNodeInput>(&object(json!({"provider": "zzz"}))).unwrap_err();
        assert_eq!(fault.detail, "provider must be one of codex, claude, gemini, custom");
        let shape = BodyShape::of::<RunFields>();
        let fault = shape.read::<RunFields>(&object(json!({"settings": {"retryMax": "x"}})));
        let fault = fault.unwrap_err();
        assert_eq!(fault.path.as_deref(), Some("settings.retryMax"));
        assert!(fault.detail.contains("a whole number"), "{}", fault.detail);
    }

    #[test]
    fn runs_rest_4_bodies_are_wrapped_or_bare() {
        let wrapped = unwrap(object(json!({"node": {"label": "x"}})), "node", &[]).unwrap();
        let bare = unwrap(object(json!({"label": "x"})), "node", &[]).unwrap();
        assert_eq!(wrapped.fields, bare.fields);
        assert_eq!((wrapped.prefix.as_str(), bare.prefix.as_str()), ("node.", ""));
        assert!(unwrap(object(json!({"node": {}, "x": 1})), "node", &[]).is_err());
        assert!(unwrap(object(json!({"node": 7})), "node", &[]).is_err());
    }
}
