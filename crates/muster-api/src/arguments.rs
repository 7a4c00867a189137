//! Checks arguments against the very schema that clients see (TASKS-ARG).
//!
//! Names come first, at every depth; then nulls are dropped from objects of fixed shape; then types
//! and ranges are checked. Nothing is coerced, except that an integer may be written as `3.0`. What
//! is left for the typed request is the form of texts.

use muster_core::{field, is_deeper_than, text};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::{ApiError, ErrorCode, call::CallFailure};

/// Deepest nesting of arrays and objects in arguments, with themselves as the first. What is stored
/// of them is read back with a limit of 128, so there is room for what stands around them then.
pub const ARGUMENTS_DEPTH_MAX: usize = 64;

/// Why an argument is refused, for programs (TASKS-ERR-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    UnknownArgument,
    Missing,
    WrongType,
    OutOfRange,
    BadFormat,
    Conflict,
    NoTarget,
    WrongKind,
    AlreadyCompleted,
    NotCompleted,
    NoChange,
    NothingToUndo,
    NothingToRedo,
    EmptyEvidence,
    NotAllowed,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::UnknownArgument => "unknown_argument",
            Self::Missing => "missing",
            Self::WrongType => "wrong_type",
            Self::OutOfRange => "out_of_range",
            Self::BadFormat => "bad_format",
            Self::Conflict => "conflict",
            Self::NoTarget => "no_target",
            Self::WrongKind => "wrong_kind",
            Self::AlreadyCompleted => "already_completed",
            Self::NotCompleted => "not_completed",
            Self::NoChange => "no_change",
            Self::NothingToUndo => "nothing_to_undo",
            Self::NothingToRedo => "nothing_to_redo",
            Self::EmptyEvidence => "empty_evidence",
            Self::NotAllowed => "not_allowed",
        }
    }
}

/// An `INVALID_INPUT` about one argument.
pub(crate) fn invalid(argument: &str, reason: Reason, expected: &str) -> CallFailure {
    // Where an argument names a field, a refusal about that field is about a word of the caller's.
    let argument = &*text::echo(argument);
    let message = if reason == Reason::Missing {
        format!("{argument} is missing: expected {expected}")
    } else {
        format!("{argument}: expected {expected}")
    };
    let recovery = format!("Call again with {argument} as {expected}.");
    invalid_with(argument, reason, expected, message, recovery)
}

/// An `INVALID_INPUT` in its own words.
pub(crate) fn invalid_with(
    argument: &str,
    reason: Reason,
    expected: &str,
    message: String,
    recovery: String,
) -> CallFailure {
    ApiError::new(ErrorCode::InvalidInput, message, recovery)
        .with("argument", argument)
        .with("expected", expected)
        .with("reason", reason.name())
        .into()
}

/// Checks arguments against an operation's schema and drops nulls from objects of fixed shape.
pub(crate) fn check(
    schema: &Map<String, Value>,
    arguments: &mut Map<String, Value>,
) -> Result<(), CallFailure> {
    check_names(schema, arguments)?;
    let mut object = Value::Object(std::mem::take(arguments));
    let checked = check_value(schema, &mut object, "");
    if let Value::Object(map) = object {
        *arguments = map;
    }
    checked
}

/// Refuses arguments that nest too deep, free-form ones included: nothing that is accepted may be
/// too deep to be read back.
pub(crate) fn check_depth(arguments: &Map<String, Value>) -> Result<(), CallFailure> {
    let refuse = |argument: &str| {
        let expected = format!("a value with less nesting: {ARGUMENTS_DEPTH_MAX} levels in all");
        Err(invalid(argument, Reason::OutOfRange, &expected))
    };
    let levels = ARGUMENTS_DEPTH_MAX - 1;
    let deep = arguments.iter().find(|(_, value)| is_deeper_than(value, levels));
    let Some((name, value)) = deep else { return Ok(()) };
    let mut items = value.as_array().into_iter().flatten();
    match items.position(|item| is_deeper_than(item, levels - 1)) {
        Some(at) => refuse(&format!("{name}[{at}]")),
        None => refuse(name),
    }
}

/// Refuses names that the schema does not define, at every depth.
pub(crate) fn check_names(
    schema: &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Result<(), CallFailure> {
    let mut unknown = Vec::new();
    find_unknown(schema, arguments, "", &mut unknown);
    if unknown.is_empty() { Ok(()) } else { Err(unknown_arguments(&unknown)) }
}

/// Unknown arguments that a refusal lists; a caller may send millions.
const UNKNOWN_LISTED_MAX: usize = 50;

#[derive(Serialize)]
struct Unknown {
    argument: String,
    nearest: String,
}

fn unknown_arguments(unknown: &[Unknown]) -> CallFailure {
    let listed: Vec<String> = unknown
        .iter()
        .map(|one| format!("{} (did you mean {}?)", one.argument, one.nearest))
        .collect();
    let mut failure = invalid_with(
        &unknown[0].argument,
        Reason::UnknownArgument,
        "a defined argument",
        format!("unknown argument: {}", listed.join(", ")),
        format!("Rename or remove it; the nearest defined name is {}.", unknown[0].nearest),
    );
    failure.error.details.extend([field("unknown", unknown)]);
    failure
}

/// Collects keys that a fixed shape does not define, at every depth.
fn find_unknown(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    path: &str,
    unknown: &mut Vec<Unknown>,
) {
    let Some(properties) = fixed_properties(schema) else { return };
    for (key, value) in object {
        if unknown.len() == UNKNOWN_LISTED_MAX {
            return;
        }
        let at = join(path, key);
        let Some(Value::Object(property)) = properties.get(key) else {
            let names = properties.keys().map(String::as_str);
            let nearest = text::nearest(key, names).unwrap_or("none: it takes no arguments");
            unknown.push(Unknown { argument: text::echo(&at), nearest: nearest.to_owned() });
            continue;
        };
        find_unknown_inside(property, value, &at, unknown);
    }
}

fn find_unknown_inside(
    schema: &Map<String, Value>,
    value: &Value,
    path: &str,
    unknown: &mut Vec<Unknown>,
) {
    match value {
        Value::Object(object) => {
            if let Some(branch) = branch_for(schema, value) {
                find_unknown(branch, object, path, unknown);
            }
        }
        Value::Array(items) => {
            let Some(branch) = branch_for(schema, value) else { return };
            let Some(Value::Object(element)) = branch.get("items") else { return };
            for (at, item) in items.iter().enumerate() {
                find_unknown_inside(element, item, &format!("{path}[{at}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fixed_properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    schema.get("properties").and_then(Value::as_object).filter(|_| closed)
}

/// The alternative of a schema that takes values of this JSON type; best one with such a word.
fn branch_for<'a>(schema: &'a Map<String, Value>, value: &Value) -> Option<&'a Map<String, Value>> {
    match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        Some(choices) => {
            let choices = || choices.iter().filter_map(Value::as_object);
            let mut taking = choices().filter(|choice| takes(choice, value));
            let fitting = choices().find(|choice| takes(choice, value) && admits(choice, value));
            fitting.or_else(|| taking.next())
        }
        None => takes(schema, value).then_some(schema),
    }
}

/// Whether a value is in a schema's closed set, if it has one.
fn admits(schema: &Map<String, Value>, value: &Value) -> bool {
    constants(schema).is_none_or(|allowed| allowed.contains(&value))
}

fn takes(schema: &Map<String, Value>, value: &Value) -> bool {
    match (schema.get("type").and_then(Value::as_str), value) {
        (None, _)
        | (Some("string"), Value::String(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("array"), Value::Array(_))
        | (Some("object"), Value::Object(_)) => true,
        (Some("integer"), Value::Number(number)) => whole(number).is_some(),
        (Some("number"), Value::Number(_)) => true,
        (Some(_), _) => false,
    }
}

/// The largest integer up to which every integer is a floating-point number of its own.
const EXACT_FLOAT_MAX: f64 = 9_007_199_254_740_991.0;

/// A number as the integer that it is. JSON has one kind of number, so `3.0` is the integer 3 to
/// those who write it.
fn whole(number: &Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is an integer within the bounds of i64"
    )]
    (float.abs() <= EXACT_FLOAT_MAX).then(|| Number::from(float as i64))
}

/// What a refusal calls the value at a path.
fn name_of(path: &str) -> &str {
    if path.is_empty() { "arguments" } else { path }
}

fn check_value(
    schema: &Map<String, Value>,
    value: &mut Value,
    path: &str,
) -> Result<(), CallFailure> {
    let Some(branch) = branch_for(schema, value) else {
        return Err(invalid(name_of(path), Reason::WrongType, &expectation(schema)));
    };
    if !admits(schema, value) || !admits(branch, value) {
        return Err(invalid(name_of(path), Reason::BadFormat, &expectation(schema)));
    }
    if let (Value::Object(object), Some(_)) = (&mut *value, fixed_properties(branch)) {
        // TASKS-ARG-1: before sizes are looked at, so that an object of nulls is an empty one.
        object.retain(|_, value| !value.is_null());
    }
    if let (Value::Number(number), Some("integer")) =
        (&mut *value, branch.get("type").and_then(Value::as_str))
        && let Some(integer) = whole(number)
    {
        *number = integer;
    }
    check_bounds(branch, value, path)?;
    match value {
        Value::Object(object) => check_object(branch, object, path),
        Value::Array(items) => check_items(branch, items, path),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check_object(
    schema: &Map<String, Value>,
    object: &mut Map<String, Value>,
    path: &str,
) -> Result<(), CallFailure> {
    let Some(properties) = fixed_properties(schema) else { return Ok(()) };
    for (key, value) in object.iter_mut() {
        if let Some(Value::Object(property)) = properties.get(key) {
            check_value(property, value, &join(path, key))?;
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            let property = properties.get(name).and_then(Value::as_object);
            let expected = property.map(expectation).unwrap_or_default();
            return Err(invalid(&join(path, name), Reason::Missing, &expected));
        }
    }
    Ok(())
}

fn check_items(
    schema: &Map<String, Value>,
    items: &mut [Value],
    path: &str,
) -> Result<(), CallFailure> {
    let Some(Value::Object(element)) = schema.get("items") else { return Ok(()) };
    for (at, item) in items.iter_mut().enumerate() {
        check_value(element, item, &format!("{path}[{at}]"))?;
    }
    Ok(())
}

/// Sizes, ranges and closed sets.
fn check_bounds(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), CallFailure> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_u64);
    let size = match value {
        Value::String(string) => Some((text::chars(string) as u64, "minLength", "maxLength")),
        Value::Array(items) => Some((items.len() as u64, "minItems", "maxItems")),
        Value::Number(number) => {
            let low = schema.contains_key("minimum") && number.as_i64().is_some_and(|n| n < 0);
            if low {
                return Err(invalid(name_of(path), Reason::OutOfRange, &expectation(schema)));
            }
            number.as_u64().map(|number| (number, "minimum", "maximum"))
        }
        Value::Object(object) => Some((object.len() as u64, "minProperties", "maxProperties")),
        Value::Null | Value::Bool(_) => None,
    };
    if let Some((size, low, high)) = size
        && (bound(low).is_some_and(|min| size < min) || bound(high).is_some_and(|max| size > max))
    {
        return Err(invalid(name_of(path), Reason::OutOfRange, &expectation(schema)));
    }
    Ok(())
}

/// The values of a closed set, however its schema spells it: a list, or one alternative for each.
fn constants(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        return Some(allowed.iter().collect());
    }
    let choices = schema.get("oneOf").and_then(Value::as_array)?;
    choices.iter().map(|choice| choice.get("const")).collect()
}

/// A schema in words, for messages.
fn expectation(schema: &Map<String, Value>) -> String {
    if let Some(allowed) = constants(schema) {
        let names: Vec<String> = allowed.into_iter().map(plain).collect();
        return format!("one of {}", names.join(", "));
    }
    if let Some(choices) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        let choices = choices.as_array().into_iter().flatten().filter_map(Value::as_object);
        let words: Vec<String> = choices.map(expectation).collect();
        return words.join(" or ");
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_u64);
    let range = |low: &str, high: &str, unit: &str| match (bound(low), bound(high)) {
        (Some(low), Some(high)) => format!(" of {low} to {high}{unit}"),
        (None, Some(high)) => format!(" of at most {high}{unit}"),
        (Some(low), None) if low > 0 => format!(" of at least {low}{unit}"),
        (Some(_) | None, None) => String::new(),
    };
    match schema.get("type").and_then(Value::as_str).unwrap_or("any value") {
        "string" => format!("a text{}", range("minLength", "maxLength", " characters")),
        "integer" => match bound("maximum") {
            Some(max) => format!("an integer from {} to {max}", bound("minimum").unwrap_or(0)),
            None => "an integer of 0 or more".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        "array" => format!("a list{}", range("minItems", "maxItems", " items")),
        "object" => format!("an object{}", range("minProperties", "maxProperties", " keys")),
        other => other.to_owned(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
