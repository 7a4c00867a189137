//! The one format of every response (TASKS-ENV), and the closed sets of error and warning codes.

use muster_core::{field, text_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Json, call::CallFailure};

/// Bytes around most results.
const AROUND_BYTES: usize = 1024;

/// The response to a call: always all eight keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Whether the call succeeded.
    pub success: bool,
    /// The operation's name without its family prefix.
    pub intent: String,
    /// The result; `{}` on failure.
    pub result: Json,
    /// Warnings that did not stop the call.
    pub warnings: Vec<Warning>,
    /// Calls that would succeed right now, verbatim.
    pub suggestions: Vec<Suggestion>,
    /// Workspace, resolved target, moved focus, replay.
    pub context: Map<String, Value>,
    /// Why it failed; null on success.
    pub error: Option<ApiError>,
    /// When the response was made.
    pub timestamp: String,
}

/// An error as the caller sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiError {
    /// From the closed list.
    pub code: ErrorCode,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub recovery: String,
    /// Facts for programs.
    pub details: Map<String, Value>,
}

impl ApiError {
    /// An error without facts.
    pub(crate) fn new(
        code: ErrorCode,
        message: impl Into<String>,
        recovery: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), recovery: recovery.into(), details: Map::new() }
    }

    /// The same with one more fact.
    pub(crate) fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.details.extend([field(name, value)]);
        self
    }

    /// The same with a suggested call.
    pub(crate) fn suggesting(self, suggestion: Suggestion) -> CallFailure {
        CallFailure { error: Box::new(self), suggestions: vec![suggestion] }
    }
}

/// A warning about an accepted call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// From the closed list.
    pub code: WarningCode,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub recovery: String,
}

/// A call that succeeds when it is sent verbatim (TASKS-ENV-4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Always `call_tool`.
    pub action: String,
    /// Operation to call.
    pub target: String,
    /// Why it helps.
    pub reason: String,
    /// How much it helps.
    pub priority: SuggestionPriority,
    /// Always true: only calls known to succeed are suggested.
    pub validated: bool,
    /// Arguments, complete.
    pub params: Map<String, Value>,
}

impl Suggestion {
    /// A suggestion to call `target`, without parameters so far.
    pub fn call(target: &str, reason: &str) -> Self {
        Self {
            action: "call_tool".to_owned(),
            target: target.to_owned(),
            reason: reason.to_owned(),
            priority: SuggestionPriority::High,
            validated: true,
            params: Map::new(),
        }
    }

    /// The same with one more parameter.
    pub fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.params.extend([field(name, value)]);
        self
    }
}

/// Weight of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionPriority {
    /// Do this first.
    High,
    /// Useful.
    Medium,
    /// Possible.
    Low,
}

/// Why a call failed: the closed list of TASKS section 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// Malformed, unknown, contradictory or out-of-range argument, or a call without meaning here.
    InvalidInput,
    /// A well-formed id, path or name that does not exist.
    UnknownId,
    /// No operation of that name.
    UnknownTool,
    /// `expected_revision` is not the current one.
    RevisionMismatch,
    /// A known idempotency key with a different call.
    IdempotencyConflict,
    /// A required checkpoint is unconfirmed.
    CheckpointsNotConfirmed,
    /// Proof is required and missing.
    ProofRequired,
    /// A check does not hold on the files as they are.
    CheckRequired,
    /// A check takes longer than the call waits.
    CheckRunning,
    /// No person has accepted the checks of the project.
    CheckUntrusted,
    /// Only a person may do this.
    PersonRequired,
    /// The role or the workspaces of the caller's token do not allow this.
    ForbiddenRole,
    /// Another agent holds the task.
    Claimed,
    /// The focus is not the one that the connection has seen.
    FocusMoved,
    /// Child steps or sub-tasks are open.
    ChildrenOpen,
    StepBlocked,
    /// Completing a task with open steps or none.
    StepsOpen,
    /// Completing a plan with open tasks.
    TasksOpen,
    /// Completing while a dependency is open.
    DependenciesOpen,
    /// What undo or redo would overwrite has changed.
    UndoConflict,
    /// An operation of an atomic batch failed.
    BatchFailed,
    /// The connection is bound to another session.
    SessionMismatch,
    /// The session was deleted.
    SessionEnded,
    /// The caller cancelled the call before it wrote anything.
    CallCancelled,
    /// The write lock was not free in time.
    StoreBusy,
    /// The database server cannot be reached.
    StoreUnavailable,
    /// The store failed.
    StoreError,
}

/// What a warning is about: the closed list of TASKS section 2.4, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WarningCode {
    /// Something was cut to fit.
    BudgetTruncated,
    /// Only the minimal signal is left.
    BudgetMinimal,
    /// The budget was raised to the smallest possible.
    BudgetMinClamped,
    /// A secret was replaced before storing.
    SecretRedacted,
    /// Proof lacks a receipt.
    ProofWeak,
    /// A step was closed by force.
    ForcedClose,
    /// It was DONE already; nothing was written.
    AlreadyDone,
    /// It had that status already; nothing was written.
    StatusUnchanged,
    /// A note or proof was given to a call that wrote nothing.
    NoteIgnored,
    /// The task was created, its reasoning seed was not.
    ThinkPipelineFailed,
    /// Some operations of a batch failed.
    BatchPartial,
    /// A graph has no base to compare with.
    GraphDiffUnavailable,
    /// `items` was left out, so an empty list was written.
    ItemsDefaulted,
    /// An empty list replaced one with many open items.
    ItemsDropped,
    /// A claim of another agent on the task has lapsed.
    ClaimLapsed,
    /// Operations newer than the undone one stay.
    UndoSkipped,
}

impl Envelope {
    /// The response as a JSON string.
    pub fn to_text(&self) -> String {
        text_of(self, self.result.text().len() + AROUND_BYTES)
    }

    /// The response as a JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|error| {
            unreachable!("an envelope holds only JSON values: {error}");
        })
    }
}

impl ErrorCode {
    /// The code on the wire.
    pub fn name(self) -> String {
        let Value::String(name) = json!(self) else { unreachable!("codes serialise as text") };
        name
    }
}
