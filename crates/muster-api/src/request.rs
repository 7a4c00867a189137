//! From JSON arguments to a typed request: checked, redacted, parsed.

use muster_core::{redact, run::hash::sha256_hex, schema::Schema};
use serde_json::{Map, Value};

use crate::{
    App, Caller, OperationEffect, Warning, WarningCode,
    arguments::{self, Reason},
    call::{CallAction, CallFailure, CheckedCall, Prepared, Scene},
    forms, refusals,
    registry::Operation,
    schema::WORKSPACE,
};

/// Arguments with ids, cursors and keys rather than free text; they are stored as given.
const NOT_FREE_TEXT: [&str; 16] = [
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
    // The text of a source is cleaned once it is read: its syntax must not suffer.
    "files",
];

/// Checks and parses the arguments of one operation and lets it prepare the call.
///
/// This is compiled for every operation, so it only has what depends on the type.
pub(crate) fn prepare<O: Operation>(
    app: &App,
    caller: &Caller,
    arguments: Map<String, Value>,
) -> Result<Prepared, CallFailure> {
    let (call, arguments) = checked(app, caller, O::NAME, (arguments, O::check))?;
    let operation = O::deserialize(arguments).map_err(|error| unread(O::NAME, &error))?;
    let action = operation.run(&call)?;
    prepared(call, action)
}

/// An operation's check of its arguments.
type ArgumentsCheck = fn(&Schema, &mut Map<String, Value>) -> Result<(), CallFailure>;

/// The call, and its arguments without secrets.
fn checked<'a>(
    app: &'a App,
    caller: &Caller,
    name: &str,
    (mut arguments, check): (Map<String, Value>, ArgumentsCheck),
) -> Result<(CheckedCall<'a>, Value), CallFailure> {
    let Some(row) = app.registry().get(name) else {
        unreachable!("operations are called through their row")
    };
    arguments::check_depth(&arguments)?;
    fill_workspace(app, row.input_schema(), &mut arguments);
    check(row.input_schema(), &mut arguments)?;
    let digest = digest(&arguments);
    let redacted = redact_arguments(&mut arguments);
    forms::check(row.input_schema(), &arguments)?;
    let mut warnings = Vec::new();
    if !redacted.is_empty() && row.effect != OperationEffect::Read {
        warnings.push(Warning {
            code: WarningCode::SecretRedacted,
            message: format!("replaced what looks like a secret in {}", redacted.join(", ")),
            recovery: "Refer to secrets by name; rotate one that was sent by mistake.".to_owned(),
        });
    }
    let scene = Scene { tool: row.name, digest, warnings, caller: caller.clone() };
    Ok((CheckedCall { app, scene }, Value::Object(arguments)))
}

fn prepared(call: CheckedCall<'_>, action: CallAction) -> Result<Prepared, CallFailure> {
    if call.scene.caller.watch.is_cancelled() {
        return Err(refusals::cancelled(call.scene.tool).into());
    }
    Ok(Prepared { scene: call.scene, action })
}

/// Puts the default workspace into a call that needs one and names none (EASE-TOOLS-3).
fn fill_workspace(app: &App, schema: &Schema, arguments: &mut Map<String, Value>) {
    let is_missing =
        schema.requires(WORKSPACE) && arguments.get(WORKSPACE).is_none_or(Value::is_null);
    if let Some(workspace) = app.default_workspace().filter(|_| is_missing) {
        arguments.insert(WORKSPACE.to_owned(), workspace.as_str().into());
    }
}

/// The refusal of arguments that passed every check and were not read all the same: a bug.
fn unread(tool: &str, error: &serde_json::Error) -> CallFailure {
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
