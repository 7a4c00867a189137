//! One call on its way: parsed, checked and redacted arguments in, an envelope out.

use muster_core::{
    Timestamp,
    budget::{self, Fitted, Shedding},
    redact,
    tasks::lookup::{Target, TargetSource},
};
use muster_store::StoreError;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    ApiError, App, Envelope, ErrorCode, Row, Suggestion, Warning, WarningCode,
    arguments::{self, Reason},
    registry::Operation,
};

/// Arguments that hold ids, cursors and keys rather than free text; they are stored as given.
const NOT_FREE_TEXT: [&str; 14] = [
    "workspace",
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

/// A call after its arguments were found to be in order.
pub(crate) struct Call<'a> {
    /// The application it runs in.
    pub app: &'a App,
    /// What is known about the call itself.
    pub scene: Scene,
}

/// What is known about a call whatever it does.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The operation.
    pub tool: &'static str,
    /// Digest of the canonical arguments, for idempotency.
    pub digest: String,
    /// Warnings from reading the arguments.
    pub warnings: Vec<Warning>,
}

/// What came of a call that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    result: Value,
    warnings: Vec<Warning>,
    context: Map<String, Value>,
}

/// What came of a call that did not.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub error: Box<ApiError>,
    pub suggestions: Vec<Suggestion>,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self { error: Box::new(error), suggestions: Vec::new() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (code, recovery) = match &error {
            StoreError::Busy { .. } => (ErrorCode::StoreBusy, "Call again: nothing was written."),
            StoreError::Full { .. }
            | StoreError::Directory { .. }
            | StoreError::TooNew { .. }
            | StoreError::Damaged { .. }
            | StoreError::Engine { .. } => (
                ErrorCode::StoreError,
                "Inspect the storage directory and run `muster doctor`; nothing was written.",
            ),
        };
        let (message, recovery) = (error.to_string(), recovery.to_owned());
        ApiError { code, message, recovery, details: Map::new() }.into()
    }
}

impl Reply {
    /// An answer with this result.
    pub(crate) fn new(result: &impl Serialize) -> Self {
        Self { result: shown(result), warnings: Vec::new(), context: Map::new() }
    }

    /// A view, cut to its budget when one was asked for.
    pub(crate) fn view(
        view: &impl Serialize,
        max_chars: Option<u64>,
        shedding: impl FnOnce() -> Shedding,
    ) -> Self {
        let reply = Self::new(view);
        match (max_chars, reply.result) {
            (Some(max), Value::Object(map)) => Self::fitted(budget::fit(map, &shedding(), max)),
            (_, result) => Self { result, ..reply },
        }
    }

    fn fitted(fitted: Fitted) -> Self {
        let mut reply =
            Self { result: Value::Object(fitted.view), warnings: Vec::new(), context: Map::new() };
        if !fitted.cut.is_empty() {
            let message = format!("cut to fit: {}", fitted.cut.join(", "));
            reply.warn(WarningCode::BudgetTruncated, message, "Ask again with a larger max_chars.");
        }
        if fitted.minimal {
            let message = "only a minimal signal is left".to_owned();
            reply.warn(WarningCode::BudgetMinimal, message, "Ask again with a larger max_chars.");
        }
        if fitted.clamped {
            let message = format!("max_chars was raised to {}", budget::BUDGET_CHARS_MIN);
            reply.warn(WarningCode::BudgetMinClamped, message, "Ask for at least 2 characters.");
        }
        reply
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, code: WarningCode, message: String, recovery: &str) {
        self.warnings.push(Warning { code, message, recovery: recovery.to_owned() });
    }

    /// Says what the call was about.
    pub(crate) fn about(mut self, target: Target) -> Self {
        let source = match target.source {
            TargetSource::Explicit => "explicit",
            TargetSource::Focus => "focus",
        };
        self.context.insert("target".to_owned(), json!(target.id));
        self.context.insert("target_source".to_owned(), json!(source));
        self
    }
}

/// The result as JSON, without secrets that an older version may have stored (TASKS-RED-1).
fn shown(result: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(result)
        .unwrap_or_else(|error| unreachable!("results are plain JSON: {error}"));
    redact::value(&mut value);
    value
}

impl Scene {
    /// The operation's name without its family prefix.
    pub(crate) fn intent(&self) -> &'static str {
        intent(self.tool)
    }

    /// The envelope of an answer.
    pub(crate) fn success(&self, workspace: &str, at: Timestamp, reply: Reply) -> Envelope {
        let mut warnings = reply.warnings;
        warnings.extend(self.warnings.iter().cloned());
        warnings.sort_by_key(|warning| warning.code);
        let mut context = Map::from_iter([("workspace".to_owned(), json!(workspace))]);
        context.extend(reply.context);
        Envelope {
            success: true,
            intent: self.intent().to_owned(),
            result: reply.result,
            warnings,
            suggestions: Vec::new(),
            context,
            error: None,
            timestamp: at.rfc3339(),
        }
    }
}

/// The envelope of a refusal. It may quote an argument, which may hold a secret (TASKS-RED-1).
pub(crate) fn failed(app: &App, name: &str, mut failure: Failure) -> Envelope {
    let error = &mut *failure.error;
    for text in [&mut error.message, &mut error.recovery] {
        if let Some(clean) = redact::text(text) {
            *text = clean;
        }
    }
    for value in error.details.values_mut() {
        redact::value(value);
    }
    let suggestions = app.registry().fit_suggestions(failure.suggestions, app.toolset());
    Envelope {
        success: false,
        intent: intent(name).to_owned(),
        result: json!({}),
        warnings: Vec::new(),
        suggestions,
        context: Map::new(),
        error: Some(*failure.error),
        timestamp: app.now().rfc3339(),
    }
}

fn intent(name: &str) -> &str {
    name.strip_prefix("tasks_").unwrap_or(name)
}

/// Runs one operation: checks and parses its arguments, then lets it answer.
pub(crate) fn invoke<O: Operation>(app: &App, arguments: Map<String, Value>) -> Envelope {
    let Some(row) = app.registry().get(O::NAME) else {
        unreachable!("operations are called through their row")
    };
    match prepare::<O>(app, row, arguments).and_then(|(operation, call)| operation.run(&call)) {
        Ok(envelope) => envelope,
        Err(failure) => failed(app, O::NAME, failure),
    }
}

fn prepare<'a, O: Operation>(
    app: &'a App,
    row: &'a Row,
    mut arguments: Map<String, Value>,
) -> Result<(O, Call<'a>), Failure> {
    arguments::check(&row.input_schema, &mut arguments)?;
    let digest = digest(&arguments);
    let redacted = redact_arguments(&mut arguments);
    let operation = parse::<O>(arguments)?;
    let mut warnings = Vec::new();
    if !redacted.is_empty() && row.effect != crate::Effect::Read {
        warnings.push(Warning {
            code: WarningCode::SecretRedacted,
            message: format!("replaced what looks like a secret in {}", redacted.join(", ")),
            recovery: "Refer to secrets by name; rotate one that was sent by mistake.".to_owned(),
        });
    }
    Ok((operation, Call { app, scene: Scene { tool: row.name, digest, warnings } }))
}

/// Reads the typed request. What a schema cannot say about a text is found here, and the workspace
/// is looked at after all other arguments (TASKS-ARG-7).
fn parse<O: Operation>(arguments: Map<String, Value>) -> Result<O, Failure> {
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

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let expected = fault.cause.strip_prefix("expected ").unwrap_or(&fault.cause);
        arguments::invalid(&fault.argument, Reason::BadFormat, expected)
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

/// The argument of a shared group that causes an error: without it, that error is gone.
fn culprit<O: Operation>(arguments: &Value, cause: &str) -> String {
    let Value::Object(map) = arguments else { unreachable!("arguments are an object") };
    let is_cause = |name: &&String| {
        let mut others = map.clone();
        others.shift_remove(name.as_str());
        O::deserialize(Value::Object(others))
            .map_or_else(|other| other.to_string() != cause, |_| true)
    };
    map.keys().find(is_cause).map_or("arguments", String::as_str).to_owned()
}

/// Replaces secrets in free text and names the arguments that held one.
fn redact_arguments(arguments: &mut Map<String, Value>) -> Vec<String> {
    let mut redacted = Vec::new();
    for (name, value) in arguments.iter_mut() {
        if !NOT_FREE_TEXT.contains(&name.as_str()) && redact::value(value) {
            redacted.push(name.clone());
        }
    }
    redacted
}

/// SHA-256 of the arguments with sorted keys and without the key itself (TASKS-IDEM-1).
fn digest(arguments: &Map<String, Value>) -> String {
    let mut canonical = Value::Object(arguments.clone());
    if let Value::Object(map) = &mut canonical {
        map.shift_remove("idempotency_key");
    }
    canonical.sort_all_objects();
    let hash = Sha256::digest(canonical.to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
