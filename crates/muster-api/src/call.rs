//! One call in progress: parsed, checked and redacted arguments in, an envelope out.

use std::sync::Arc;

use muster_core::{
    Timestamp,
    budget::{self, Fitted, Shedding},
    field, redact,
    session::SessionId,
    tasks::{
        id::EntityId,
        lookup::{Target, TargetSource},
    },
};
use muster_store::StoreError;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    AnswerEconomy, ApiError, App, Caller, Envelope, ErrorCode, Json, Suggestion, Warning,
    WarningCode, echo,
    economy::{AnswerSize, SizeLimit},
    suggest,
    tasks::Write,
};

/// A call whose arguments are valid.
pub(crate) struct CheckedCall<'a> {
    /// The application it runs in.
    pub app: &'a App,
    /// Facts about the call itself.
    pub scene: Scene,
}

impl CheckedCall<'_> {
    /// How large the view in the answer may be.
    pub(crate) fn size(&self, requested: Option<SizeLimit>) -> AnswerSize {
        let default = match self.scene.caller.economy {
            AnswerEconomy::Whole => None,
            AnswerEconomy::Brief => {
                self.app.registry().get(self.scene.tool).and_then(|row| row.brief_chars)
            }
        };
        AnswerSize::of(requested, default)
    }

    /// The result about a session, or about one that does not exist yet.
    pub(crate) fn answer_in_session(&self, id: Option<&SessionId>, reply: CallReply) -> CallAction {
        let context = Map::from_iter([field("session_id", &id)]);
        CallAction::Answered(Box::new(self.scene.answer(context, self.app.now(), reply)))
    }
}

/// Facts about a call, whatever it does.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The operation.
    pub tool: &'static str,
    /// Digest of the canonical arguments, for idempotency.
    pub digest: String,
    /// Warnings from reading the arguments.
    pub warnings: Vec<Warning>,
    pub caller: Caller,
}

/// The result of a call that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct CallReply {
    result: Json,
    warnings: Vec<Warning>,
    context: Map<String, Value>,
}

/// The result of a call that failed.
#[derive(Clone, Debug)]
pub(crate) struct CallFailure {
    pub error: Box<ApiError>,
    pub suggestions: Vec<Suggestion>,
}

impl From<ApiError> for CallFailure {
    fn from(error: ApiError) -> Self {
        Self { error: Box::new(error), suggestions: Vec::new() }
    }
}

impl From<StoreError> for CallFailure {
    fn from(error: StoreError) -> Self {
        let (code, recovery) = match &error {
            StoreError::Busy { .. } | StoreError::Conflict { .. } => {
                (ErrorCode::StoreBusy, "Call again: nothing was written.")
            }
            StoreError::Unavailable { .. } => (
                ErrorCode::StoreUnavailable,
                "Call again, with the same idempotency_key if the call writes: what was not \
                 acknowledged may or may not have been written.",
            ),
            StoreError::Full { .. } => (
                ErrorCode::StoreError,
                "Free some space on the disk of the storage directory and call again; nothing was \
                 written.",
            ),
            StoreError::Displaced { .. } => (
                ErrorCode::StoreError,
                "Stop every muster of this storage directory, put the file or a backup back, and \
                 start again; nothing was written.",
            ),
            StoreError::Absent { .. }
            | StoreError::Directory { .. }
            | StoreError::TooNew { .. }
            | StoreError::Address { .. }
            | StoreError::Damaged { .. }
            | StoreError::Engine { .. } => (
                ErrorCode::StoreError,
                "Inspect the storage directory and run `muster doctor`; nothing was written.",
            ),
        };
        let message = error.to_string();
        let recovery = recovery.to_owned();
        ApiError { code, message, recovery, details: Map::new() }.into()
    }
}

impl CallReply {
    /// A reply with this result.
    pub(crate) fn new(result: &impl Serialize) -> Self {
        Self::with(shown(result))
    }

    fn with(result: Json) -> Self {
        Self { result, warnings: Vec::new(), context: Map::new() }
    }

    /// A view, cut to its budget if there is one.
    pub(crate) fn view(
        view: &impl Serialize,
        size: AnswerSize,
        shedding: impl FnOnce() -> Shedding,
    ) -> Self {
        let fitted = |max, leave_out: fn(&mut Value)| {
            let mut view = cleaned(view);
            leave_out(&mut view);
            let Value::Object(view) = view else { unreachable!("a view is an object") };
            budget::fit(view, &shedding(), max)
        };
        match size {
            AnswerSize::Whole => Self::new(view),
            AnswerSize::AtMost(max) => Self::fitted(&fitted(max, forget_authors)),
            AnswerSize::Brief(max) => Self::brief(fitted(max, leave_out_authors)),
        }
    }

    /// A view that the caller did not limit: one word says that there is more.
    fn brief(fitted: Fitted) -> Self {
        let Fitted { mut view, cut, .. } = fitted;
        view.shift_remove("budget");
        if !cut.is_empty() {
            view.insert("truncated".to_owned(), true.into());
        }
        Self::with(Json::of(&view))
    }

    fn fitted(fitted: &Fitted) -> Self {
        let mut reply = Self::with(Json::of(&fitted.view));
        if !fitted.cut.is_empty() {
            let message = "truncated".to_owned();
            reply.warn(WarningCode::BudgetTruncated, message, "Ask for more, or -1 for all.");
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

    pub(crate) fn result(&self) -> Value {
        self.result.read()
    }

    /// Takes over the warnings of another reply.
    pub(crate) fn with_warnings_of(mut self, other: &Self) -> Self {
        self.warnings.extend(other.warnings.iter().cloned());
        self
    }

    /// Sets the target of the call.
    pub(crate) fn about(mut self, target: Target) -> Self {
        let source = match target.source {
            TargetSource::Explicit => "explicit",
            TargetSource::Bound => "run",
            TargetSource::Focus => "focus",
        };
        self.context.extend([field("target", &target.id), field("target_source", source)]);
        self
    }

    /// Marks the reply as a replay: the call was made before, and nothing happened now.
    pub(crate) fn replayed(mut self) -> Self {
        self.context.extend([field("replayed", &true)]);
        self
    }

    /// Records that the call moved the focus (TASKS-ENV-5).
    pub(crate) fn moved_focus(mut self, from: Option<EntityId>) -> Self {
        self.context.extend([field("focus_restored", &true), field("focus_previous", &from)]);
        self
    }
}

/// The result as JSON, without secrets that an older version may have stored (TASKS-RED-1).
fn shown(result: &impl Serialize) -> Json {
    let written = Json::of(result);
    if redact::may_be_in(written.text()) { Json::from(cleaned(result)) } else { written }
}

/// Authors are the first that a limit leaves out, except in a list of changes.
fn leave_out_authors(view: &mut Value) {
    let is_list_of_changes = view.get("events").is_some() && view.get("cursor").is_some();
    if !is_list_of_changes {
        forget_authors(view);
    }
}

fn forget_authors(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("event_id") {
                map.shift_remove("by");
            }
            map.values_mut().for_each(forget_authors);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_authors),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The result as a value, without secrets.
fn cleaned(result: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(result)
        .unwrap_or_else(|error| unreachable!("results are plain JSON: {error}"));
    redact::answer(&mut value);
    value
}

impl Scene {
    /// The operation's name without its family prefix.
    pub(crate) fn intent(&self) -> &'static str {
        intent(self.tool)
    }

    /// The envelope of a reply.
    pub(crate) fn success(&self, workspace: &str, at: Timestamp, reply: CallReply) -> Envelope {
        self.answer(Map::from_iter([field("workspace", workspace)]), at, reply)
    }

    /// The envelope of a reply with its workspace and target.
    fn answer(&self, mut context: Map<String, Value>, at: Timestamp, reply: CallReply) -> Envelope {
        let mut warnings = reply.warnings;
        warnings.extend(self.warnings.iter().cloned());
        warnings.sort_by_key(|warning| warning.code);
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

/// The envelope of an error, with suggestions that fit the application's toolset.
pub(crate) fn failed(app: &App, name: &str, failure: CallFailure) -> Envelope {
    let listed = app.registry().names(app.toolset());
    let suggestions = suggest::fit(failure.suggestions, &listed);
    failure_envelope(name, CallFailure { suggestions, ..failure }, app.now())
}

/// The envelope of an error as it is. It may quote an argument, which may contain a secret
/// (TASKS-RED-1).
pub(crate) fn failure_envelope(name: &str, mut failure: CallFailure, at: Timestamp) -> Envelope {
    let error = &mut *failure.error;
    echo::shorten(error);
    for text in [&mut error.message, &mut error.recovery] {
        if let Some(clean) = redact::text(text) {
            *text = clean;
        }
    }
    for value in error.details.values_mut() {
        redact::answer(value);
    }
    Envelope {
        success: false,
        intent: intent(name).to_owned(),
        result: Json::of(&Map::new()),
        warnings: Vec::new(),
        suggestions: failure.suggestions,
        context: Map::new(),
        error: Some(*failure.error),
        timestamp: at.rfc3339(),
    }
}

fn intent(name: &str) -> &str {
    name.strip_prefix("tasks_").unwrap_or(name)
}

/// A prepared call: its result, or what it would write.
pub(crate) struct Prepared {
    /// What is known about the call.
    pub scene: Scene,
    pub action: CallAction,
}

/// What an operation prepares.
pub(crate) enum CallAction {
    /// A result that was read.
    Answered(Box<Envelope>),
    /// Work for one transaction.
    Write(Write),
    /// The call of another operation, which this one is a door to.
    Through(Box<Prepared>),
}

impl Prepared {
    pub(crate) fn perform(self, app: &App) -> Result<Envelope, CallFailure> {
        match self.action {
            CallAction::Answered(envelope) => Ok(*envelope),
            CallAction::Write(write) => Arc::new(write).perform(app, &Arc::new(self.scene)),
            CallAction::Through(inner) => {
                let mut envelope = inner.perform(app)?;
                self.scene.intent().clone_into(&mut envelope.intent);
                envelope.warnings.extend(self.scene.warnings);
                envelope.warnings.sort_by_key(|warning| warning.code);
                Ok(envelope)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_store::StoreError;

    use super::CallFailure;

    #[test]
    fn a_full_disk_asks_for_room() {
        let failure = CallFailure::from(StoreError::Full { location: "/somewhere".to_owned() });
        assert!(failure.error.message.contains("/somewhere"), "{}", failure.error.message);
        assert!(failure.error.recovery.contains("Free some space"), "{}", failure.error.recovery);
    }
}
