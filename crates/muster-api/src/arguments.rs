//! Checks arguments against the very schema that clients see (TASKS-ARG).
//!
//! Names come first, at every depth; then nulls are dropped from objects of fixed shape; then types
//! and ranges are checked. Nothing is coerced, except that an integer may be written as `3.0`.
//! Forms of strings come last, after redaction (`forms`).

use muster_core::{
    field, is_deeper_than,
    schema::{JsonType, Schema},
    text,
};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::{ApiError, ErrorCode, call::CallFailure, schema::WORKSPACE};

/// Deepest nesting of arrays and objects in arguments, with themselves as the first. What is stored
/// of them is read back with a limit of 128, so there is room for the levels around them.
pub const ARGUMENTS_DEPTH_MAX: usize = 64;

/// What a call without a workspace is missing; a default would have been filled in.
pub(crate) const WORKSPACE_EXPECTED: &str = "a workspace id; this server has no default workspace";

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
    schema: &Schema,
    arguments: &mut Map<String, Value>,
) -> Result<(), CallFailure> {
    check_names(schema, arguments)?;
    // TASKS-ARG-1
    arguments.retain(|_, value| !value.is_null());
    check_object(schema, arguments, "")
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
    schema: &Schema,
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
    /// What is defined where it was found.
    #[serde(skip)]
    allowed: Vec<String>,
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
        format!(
            "unknown argument: {}; allowed: {}",
            listed.join(", "),
            unknown[0].allowed.join(", ")
        ),
        format!("Rename or remove it; {} is likely meant.", unknown[0].nearest),
    );
    failure.error.details.extend([field("unknown", unknown)]);
    failure
}

/// Collects keys that a fixed shape does not define, at every depth.
fn find_unknown(
    schema: &Schema,
    object: &Map<String, Value>,
    path: &str,
    unknown: &mut Vec<Unknown>,
) {
    let Some(properties) = schema.closed_properties() else { return };
    for (key, value) in object {
        if unknown.len() == UNKNOWN_LISTED_MAX {
            return;
        }
        let at = join(path, key);
        let Some(property) = properties.get(key) else {
            let likely = text::likely(key, properties.names(), |name| schema.requires(name));
            let nearest = likely.unwrap_or("none: it takes no arguments").to_owned();
            let allowed = properties.names().map(str::to_owned).collect();
            unknown.push(Unknown { argument: text::echo(&at), nearest, allowed });
            continue;
        };
        find_unknown_inside(property, value, &at, unknown);
    }
}

fn find_unknown_inside(schema: &Schema, value: &Value, path: &str, unknown: &mut Vec<Unknown>) {
    let Some(branch) = branch_for(schema, value) else { return };
    match value {
        Value::Object(object) => find_unknown(branch, object, path, unknown),
        Value::Array(items) => {
            let Some(element) = branch.items() else { return };
            for (at, item) in items.iter().enumerate() {
                find_unknown_inside(element, item, &format!("{path}[{at}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The alternative of a schema that takes values of this JSON type; best one with such a word.
pub(crate) fn branch_for<'a>(schema: &'a Schema, value: &Value) -> Option<&'a Schema> {
    let Some(choices) = schema.choices() else {
        return takes(schema, value).then_some(schema);
    };
    let mut taking = choices.iter().filter(|choice| takes(choice, value));
    taking.clone().find(|choice| admits(choice, value)).or_else(|| taking.next())
}

/// Whether a value is in a schema's closed set, if it has one.
fn admits(schema: &Schema, value: &Value) -> bool {
    constants(schema).is_none_or(|allowed| allowed.contains(&value))
}

fn takes(schema: &Schema, value: &Value) -> bool {
    match (schema.only_type(), value) {
        (None, _) => true,
        (Some(JsonType::Integer), Value::Number(number)) => whole(number).is_some(),
        (Some(expected), value) => expected == JsonType::of(value),
    }
}

/// The largest integer up to which every integer is a floating-point number of its own.
const EXACT_FLOAT_MAX: f64 = 9_007_199_254_740_991.0;

/// A number as the integer that it is. JSON has one kind of number, so `3.0` is the integer 3 to
/// those who write it.
pub(crate) fn whole(number: &Number) -> Option<Number> {
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

fn check_value(schema: &Schema, value: &mut Value, path: &str) -> Result<(), CallFailure> {
    let Some(branch) = branch_for(schema, value) else {
        return Err(invalid(path, Reason::WrongType, &expectation(schema)));
    };
    if !admits(schema, value) || !admits(branch, value) {
        return Err(invalid(path, Reason::BadFormat, &expectation(schema)));
    }
    if let Some(object) = value.as_object_mut().filter(|_| branch.closed_properties().is_some()) {
        // TASKS-ARG-1: before sizes are looked at, so that an object of nulls is an empty one.
        object.retain(|_, value| !value.is_null());
    }
    if !is_within_bounds(branch, value) {
        return Err(invalid(path, Reason::OutOfRange, &expectation(branch)));
    }
    match value {
        Value::Object(object) => check_object(branch, object, path),
        Value::Array(items) => check_items(branch, items, path),
        Value::Number(number) if branch.only_type() == Some(JsonType::Integer) => {
            *number = whole(number).unwrap_or_else(|| number.clone());
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check_object(
    schema: &Schema,
    object: &mut Map<String, Value>,
    path: &str,
) -> Result<(), CallFailure> {
    let Some(properties) = schema.closed_properties() else { return Ok(()) };
    for (key, value) in object.iter_mut() {
        if let Some(property) = properties.get(key) {
            check_value(property, value, &join(path, key))?;
        }
    }
    let mut required = schema.required().into_iter().flatten();
    match required.find(|name| !object.contains_key(*name)) {
        None => Ok(()),
        Some(name) if path.is_empty() && name == WORKSPACE => {
            Err(invalid(name, Reason::Missing, WORKSPACE_EXPECTED))
        }
        Some(name) => {
            let expected = properties.get(name).map(expectation).unwrap_or_default();
            Err(invalid(&join(path, name), Reason::Missing, &expected))
        }
    }
}

fn check_items(schema: &Schema, items: &mut [Value], path: &str) -> Result<(), CallFailure> {
    let Some(element) = schema.items() else { return Ok(()) };
    for (at, item) in items.iter_mut().enumerate() {
        check_value(element, item, &format!("{path}[{at}]"))?;
    }
    Ok(())
}

/// Whether a value is neither too small nor too large.
fn is_within_bounds(schema: &Schema, value: &Value) -> bool {
    let bounds = Bounds::of(schema, JsonType::of(value));
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(string) => bounds.contain(text::chars(string) as u64),
        Value::Array(items) => bounds.contain(items.len() as u64),
        Value::Object(object) => bounds.contain(object.len() as u64),
        Value::Number(number) => match whole(number) {
            Some(number) => match number.as_u64() {
                Some(number) => bounds.contain(number),
                None => is_above_negative(schema, number.as_i64()),
            },
            None => true,
        },
    }
}

/// Whether a negative number is not below the least one.
fn is_above_negative(schema: &Schema, number: Option<i64>) -> bool {
    match schema.minimum().map(Number::as_i64) {
        None => true,
        Some(least) => least.zip(number).is_some_and(|(least, number)| number >= least),
    }
}

/// The smallest and the largest size of a string, list or object, or value of a number.
struct Bounds {
    least: Option<u64>,
    most: Option<u64>,
}

impl Bounds {
    fn of(schema: &Schema, kind: JsonType) -> Self {
        let (least, most) = match kind {
            JsonType::String => (schema.min_length().copied(), schema.max_length().copied()),
            JsonType::Array => (schema.min_items().copied(), schema.max_items().copied()),
            JsonType::Object => {
                (schema.min_properties().copied(), schema.max_properties().copied())
            }
            JsonType::Integer | JsonType::Number => {
                let least = schema.minimum().and_then(Number::as_u64);
                (least, schema.maximum().and_then(Number::as_u64))
            }
            JsonType::Null | JsonType::Boolean => (None, None),
        };
        Self { least, most }
    }

    fn contain(&self, size: u64) -> bool {
        self.least.is_none_or(|least| size >= least) && self.most.is_none_or(|most| size <= most)
    }

    fn in_words(&self, unit: &str) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!(" of {least} to {most} {unit}"),
            (None, Some(most)) => format!(" of at most {most} {unit}"),
            (Some(least), None) if least > 0 => format!(" of at least {least} {unit}"),
            (Some(_) | None, None) => String::new(),
        }
    }
}

/// The values of a closed set, however its schema spells it: a list, or one alternative for each.
fn constants(schema: &Schema) -> Option<Vec<&Value>> {
    if let Some(allowed) = schema.allowed() {
        return Some(allowed.iter().collect());
    }
    schema.one_of()?.iter().map(Schema::constant).collect()
}

/// A schema in words, for messages.
fn expectation(schema: &Schema) -> String {
    if let Some(allowed) = constants(schema) {
        let names: Vec<String> = allowed.into_iter().map(plain).collect();
        return format!("one of {}", names.join(", "));
    }
    if let Some(choices) = schema.choices() {
        return choices.iter().map(expectation).collect::<Vec<_>>().join(" or ");
    }
    let Some(kind) = schema.only_type() else { return "any value".to_owned() };
    let bounds = Bounds::of(schema, kind);
    match kind {
        JsonType::String => format!("a string{}", bounds.in_words("characters")),
        JsonType::Integer => match bounds.most {
            Some(most) => format!("an integer from {} to {most}", bounds.least.unwrap_or(0)),
            None => "an integer of 0 or more".to_owned(),
        },
        JsonType::Boolean => "true or false".to_owned(),
        JsonType::Array => format!("a list{}", bounds.in_words("items")),
        JsonType::Object => format!("an object{}", bounds.in_words("keys")),
        JsonType::Null | JsonType::Number => kind.name().to_owned(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
