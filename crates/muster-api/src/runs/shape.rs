//! Reads the bodies of requests: names first, with the nearest known one for those that are not
//! (RUNS-REST-5), then types. Names and types come from the schema of what is read.

use muster_core::text;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::fault::{RunCode, RunFault};

/// What a body may hold.
pub(super) struct BodyShape(Vec<Map<String, Value>>);

impl BodyShape {
    /// The fields of one type.
    pub(super) fn of<T: JsonSchema>() -> Self {
        Self(vec![schema::<T>()])
    }

    /// The fields of another type as well.
    #[must_use]
    pub(super) fn and<T: JsonSchema>(mut self) -> Self {
        self.0.push(schema::<T>());
        self
    }

    fn property(&self, name: &str) -> Option<&Map<String, Value>> {
        self.0.iter().find_map(|schema| properties(schema)?.get(name)?.as_object())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().filter_map(properties);
        all.flat_map(|properties| properties.keys().map(String::as_str))
    }

    /// The shape for documents.
    pub(super) fn schema(&self) -> Value {
        let all = self.0.iter().filter_map(properties).flatten();
        let properties: Map<String, Value> =
            all.map(|(name, value)| (name.clone(), value.clone())).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    }

    /// Whether it has every field that a body names.
    pub(super) fn covers(&self, fields: &Map<String, Value>) -> bool {
        fields.keys().all(|name| self.property(name).is_some())
    }

    /// Refuses names that do not exist and values of fields that callers cannot set; those that
    /// repeat the present value are dropped.
    pub(super) fn check(
        &self,
        fields: &mut Map<String, Value>,
        present: &Map<String, Value>,
    ) -> Result<(), RunFault> {
        let known: Vec<&str> = self.names().collect();
        let settable = |name: &str| self.property(name);
        check_object(fields, present, ("", &known), &settable)
    }

    /// Reads the fields as one of the types.
    pub(super) fn read<T: DeserializeOwned>(
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

    /// What would fit at a place, in words.
    fn expected(&self, path: &serde_path_to_error::Path) -> Option<String> {
        use serde_path_to_error::Segment;
        let mut found: Option<&Map<String, Value>> = None;
        for segment in path {
            found = match segment {
                Segment::Map { key } => match found {
                    None => self.property(key),
                    Some(schema) => object_of(schema).and_then(properties)?.get(key)?.as_object(),
                },
                Segment::Seq { .. } => array_of(found?)?.get("items")?.as_object(),
                Segment::Enum { .. } | Segment::Unknown => return None,
            };
        }
        found.map(expectation)
    }
}

/// The whole schema of a type, without references.
fn schema<T: JsonSchema>() -> Map<String, Value> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let root = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    root.as_object().cloned().unwrap_or_default()
}

fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The alternatives of a schema; one without alternatives is its only one.
fn choices(schema: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(choices) => choices.iter().filter_map(Value::as_object).collect(),
        None => vec![schema],
    }
}

fn object_of(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    choices(schema).into_iter().find(|choice| properties(choice).is_some())
}

fn array_of(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    choices(schema).into_iter().find(|choice| choice.contains_key("items"))
}

/// The schema of a field that callers can set.
type Settable<'a> = dyn Fn(&str) -> Option<&'a Map<String, Value>> + 'a;

fn check_object(
    fields: &mut Map<String, Value>,
    present: &Map<String, Value>,
    (path, known): (&str, &[&str]),
    settable: &Settable<'_>,
) -> Result<(), RunFault> {
    let names: Vec<String> = fields.keys().cloned().collect();
    for name in names {
        let at = join(path, &name);
        let Some(schema) = settable(&name) else {
            check_fixed(&at, fields.get(&name), present.get(&name), known)?;
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
fn check_fixed(
    at: &str,
    given: Option<&Value>,
    present: Option<&Value>,
    known: &[&str],
) -> Result<(), RunFault> {
    let name = at.rsplit('.').next().unwrap_or(at);
    match present {
        Some(_) if given == present => Ok(()),
        Some(_) => {
            let detail = format!("{name} is not for callers to set");
            Err(RunFault::new(RunCode::ReadOnlyField, detail).at(at))
        }
        None => {
            let nearest = text::nearest(name, known.iter().copied());
            let hint = nearest.map_or(String::new(), |known| format!(": did you mean {known}?"));
            let detail = format!("there is no field {name}{hint}");
            Err(RunFault::new(RunCode::UnknownField, detail).at(at))
        }
    }
}

fn check_inside(
    value: &mut Value,
    present: Option<&Value>,
    path: &str,
    schema: &Map<String, Value>,
) -> Result<(), RunFault> {
    match value {
        Value::Object(fields) => {
            let Some(properties) = object_of(schema).and_then(properties) else { return Ok(()) };
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let nothing = Map::new();
            let present = present.and_then(Value::as_object).unwrap_or(&nothing);
            let settable = |name: &str| properties.get(name).and_then(Value::as_object);
            check_object(fields, present, (path, &known), &settable)
        }
        Value::Array(items) => {
            let element = array_of(schema).and_then(|schema| schema.get("items")?.as_object());
            let Some(element) = element else { return Ok(()) };
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
fn expectation(schema: &Map<String, Value>) -> String {
    if let Some(words) = constants(schema) {
        return format!("one of {}", words.join(", "));
    }
    // Null clears a field; whoever sent a value of another form did not mean that.
    let choices = choices(schema);
    if choices.len() > 1 {
        let choices =
            choices.into_iter().filter(|choice| choice.get("type") != Some(&json!("null")));
        return choices.map(expectation).collect::<Vec<_>>().join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind_in_words(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.map(|kind| kind_in_words(kind, schema)).collect::<Vec<_>>().join(" or ")
        }
        Some(_) | None => "a value of another form".to_owned(),
    }
}

fn kind_in_words(kind: &str, schema: &Map<String, Value>) -> String {
    match (kind, schema.get("format").and_then(Value::as_str)) {
        ("string", Some("uuid")) => "a UUID",
        ("string", _) => "a text",
        ("boolean", _) => "true or false",
        ("integer", _) => "a whole number",
        ("number", _) => "a number",
        ("array", _) => "a list",
        ("object", _) => "an object",
        (other, _) => other,
    }
    .to_owned()
}

/// The words of a closed set, however its schema spells it.
fn constants(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        return Some(allowed.iter().filter_map(Value::as_str).collect());
    }
    let choices = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let words = choices.iter().filter(|choice| choice["type"] != "null");
    words.map(|choice| choice.get("const").and_then(Value::as_str)).collect()
}

/// A body taken apart: the object that it is about, and what stands beside it.
pub(super) struct Unwrapped {
    /// The object's fields.
    pub(super) fields: Map<String, Value>,
    /// What stands beside it.
    pub(super) beside: Map<String, Value>,
    /// What the path of a field begins with.
    pub(super) prefix: String,
}

/// Takes a body apart, whether the object is wrapped in it or is the body itself (RUNS-REST-4).
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
        let mut known = vec![wrapper];
        known.extend(siblings);
        check_fixed(stray, None, None, &known)?;
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
