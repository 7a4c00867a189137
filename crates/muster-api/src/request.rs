//! From JSON arguments to a typed request: checked, redacted, parsed.

use muster_core::redact;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    App, OperationEffect, Warning, WarningCode,
    arguments::{self, Reason},
    call::{CallFailure, CheckedCall, Prepared, Scene},
    registry::Operation,
};

/// Arguments that hold ids, cursors and keys rather than free text; they are stored as given.
const NOT_FREE_TEXT: [&str; 15] = [
    "workspace",
    "session_id",
    "task",
    "plan",
    "target",
    "parent",
    "tasks_parent",
    "path",
    "step_id",
    "since",
    "cursor",
    "plans_cursor",
    "tasks_cursor",
    "idempotency_key",
    "kind",
];

/// Checks and parses the arguments of one operation and lets it say what there is to do.
pub(crate) fn prepare<O: Operation>(
    app: &App,
    mut arguments: Map<String, Value>,
) -> Result<Prepared, CallFailure> {
    let Some(row) = app.registry().get(O::NAME) else {
        unreachable!("operations are called through their row")
    };
    arguments::check_depth(&arguments)?;
    O::check(row.input_schema(), &mut arguments)?;
    let digest = digest(&arguments);
    let redacted = redact_arguments(&mut arguments);
    let operation = parse::<O>(arguments)?;
    let mut warnings = Vec::new();
    if !redacted.is_empty() && row.effect != OperationEffect::Read {
        warnings.push(Warning {
            code: WarningCode::SecretRedacted,
            message: format!("replaced what looks like a secret in {}", redacted.join(", ")),
            recovery: "Refer to secrets by name; rotate one that was sent by mistake.".to_owned(),
        });
    }
    let call = CheckedCall { app, scene: Scene { tool: row.name, digest, warnings } };
    let action = operation.run(&call)?;
    Ok(Prepared { scene: call.scene, action })
}

/// Reads the typed request. What a schema cannot say about a text is found here, and the workspace
/// is looked at after all other arguments (TASKS-ARG-7).
fn parse<O: Operation>(arguments: Map<String, Value>) -> Result<O, CallFailure> {
    let mut arguments = Value::Object(arguments);
    let fault = match read_request::<O>(&arguments) {
        Ok(operation) => return Ok(operation),
        Err(fault) => fault,
    };
    if fault.argument == "workspace" {
        arguments["workspace"] = json!("another");
        if let Err(other) = read_request::<O>(&arguments) {
            return Err(other.into());
        }
    }
    Err(fault.into())
}

/// An argument that is not what it should be.
struct Fault {
    argument: String,
    cause: String,
}

impl From<Fault> for CallFailure {
    fn from(fault: Fault) -> Self {
        let Fault { argument, cause } = fault;
        let told = cause.strip_prefix("expected ").unwrap_or(&cause);
        // What was given belongs to what is wrong, not to what to do.
        let expected = told.split_once(", got ").map_or(told, |(expected, _)| expected);
        let message = format!("{argument}: expected {told}");
        let recovery = format!("Call again with {argument} as {expected}.");
        arguments::invalid_with(&argument, Reason::BadFormat, expected, message, recovery)
    }
}

fn read_request<O: Operation>(arguments: &Value) -> Result<O, Fault> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let cause = error.inner().to_string();
        let argument = match error.path().to_string() {
            root if root == "." => culprit::<O>(arguments, &cause),
            path => path,
        };
        Fault { argument, cause }
    })
}

/// The argument of a shared group that causes an error: without it, that error is gone. One that is
/// merely missed then was not the cause.
fn culprit<O: Operation>(arguments: &Value, cause: &str) -> String {
    let Value::Object(map) = arguments else { unreachable!("arguments are an object") };
    let is_cause = |name: &&String| {
        let mut others = map.clone();
        others.shift_remove(name.as_str());
        match O::deserialize(Value::Object(others)) {
            Ok(_) => true,
            Err(other) => {
                let other = other.to_string();
                other != cause && other != format!("missing field `{name}`")
            }
        }
    };
    // A required text is missed without it, so it is exchanged instead.
    let is_required_cause = |name: &&String| {
        let mut others = map.clone();
        others[name.as_str()] = json!("another");
        O::deserialize(Value::Object(others)).is_ok()
    };
    let found = map.keys().find(is_cause).or_else(|| map.keys().find(is_required_cause));
    found.map_or("arguments", String::as_str).to_owned()
}

/// Replaces secrets in free text and names the arguments that held one.
fn redact_arguments(arguments: &mut Map<String, Value>) -> Vec<String> {
    let mut redacted = Vec::new();
    for (name, value) in arguments.iter_mut() {
        let found = match name.as_str() {
            "operations" => redact_operations(value),
            name => !NOT_FREE_TEXT.contains(&name) && redact::value(value),
        };
        if found {
            redacted.push(name.clone());
        }
    }
    redacted
}

/// The same for the operations of a batch, each of which has arguments of its own.
fn redact_operations(operations: &mut Value) -> bool {
    let operations = operations.as_array_mut().into_iter().flatten();
    let operations = operations.filter_map(Value::as_object_mut);
    operations.flat_map(Map::values_mut).filter_map(Value::as_object_mut).fold(
        false,
        |found, arguments| {
            let redacted = redact_arguments(arguments);
            found || !redacted.is_empty()
        },
    )
}

/// SHA-256 of the arguments with sorted keys and without the key itself (TASKS-IDEM-1); nobody asks
/// for it without a key.
fn digest(arguments: &Map<String, Value>) -> String {
    if !arguments.contains_key("idempotency_key") {
        return String::new();
    }
    let mut canonical = Value::Object(arguments.clone());
    if let Value::Object(map) = &mut canonical {
        map.shift_remove("idempotency_key");
    }
    canonical.sort_all_objects();
    let hash = Sha256::digest(canonical.to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
