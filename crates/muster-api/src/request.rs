//! From JSON arguments to a typed request: checked, redacted, parsed.

use muster_core::{redact, run::hash::sha256_hex};
use serde_json::{Map, Value};

use crate::{
    AnswerEconomy, App, OperationEffect, Warning, WarningCode,
    arguments::{self, Reason},
    call::{CallFailure, CheckedCall, Prepared, Scene},
    forms,
    registry::Operation,
};

/// Arguments with ids, cursors and keys rather than free text; they are stored as given.
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

/// Checks and parses the arguments of one operation and lets it prepare the call.
pub(crate) fn prepare<O: Operation>(
    app: &App,
    economy: AnswerEconomy,
    mut arguments: Map<String, Value>,
) -> Result<Prepared, CallFailure> {
    let Some(row) = app.registry().get(O::NAME) else {
        unreachable!("operations are called through their row")
    };
    arguments::check_depth(&arguments)?;
    O::check(row.input_schema(), &mut arguments)?;
    let digest = digest(&arguments);
    let redacted = redact_arguments(&mut arguments);
    forms::check(row.input_schema(), &arguments)?;
    let operation =
        O::deserialize(Value::Object(arguments)).map_err(|error| unread::<O>(&error))?;
    let mut warnings = Vec::new();
    if !redacted.is_empty() && row.effect != OperationEffect::Read {
        warnings.push(Warning {
            code: WarningCode::SecretRedacted,
            message: format!("replaced what looks like a secret in {}", redacted.join(", ")),
            recovery: "Refer to secrets by name; rotate one that was sent by mistake.".to_owned(),
        });
    }
    let scene = Scene { tool: row.name, digest, warnings };
    let call = CheckedCall { app, scene, economy };
    let action = operation.run(&call)?;
    Ok(Prepared { scene: call.scene, action })
}

/// The refusal of arguments that passed every check and were not read all the same: a bug.
fn unread<O: Operation>(error: &serde_json::Error) -> CallFailure {
    let tool = O::NAME;
    tracing::error!(tool, %error, "checked arguments could not be read");
    let expected = format!("arguments that {tool} can read");
    let message = format!("{tool} could not read its checked arguments: {error}");
    let recovery = format!("Call {tool} with fewer arguments, and report this as a bug.");
    arguments::invalid_with("arguments", Reason::BadFormat, &expected, message, recovery)
}

/// Replaces secrets in free text and names the arguments that contained one.
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

/// The same for the operations of a batch, each with its own arguments.
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

/// SHA-256 of the arguments with sorted keys and without the key itself (TASKS-IDEM-1); only needed
/// with a key.
fn digest(arguments: &Map<String, Value>) -> String {
    if !arguments.contains_key("idempotency_key") {
        return String::new();
    }
    let mut canonical = Value::Object(arguments.clone());
    if let Value::Object(map) = &mut canonical {
        map.shift_remove("idempotency_key");
    }
    canonical.sort_all_objects();
    sha256_hex(canonical.to_string().as_bytes())
}
