//! `tasks_batch`.

use muster_core::{
    WorkRefusal, field,
    tasks::{TaskDraft, TaskResult, id::WorkspaceId},
    text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::groups::Repeatable;
use super::proof::CheckPolicy;
use crate::{
    ApiError, App, Envelope, ErrorCode, OperationEffect, Suggestion, WarningCode,
    arguments::{Reason, invalid, invalid_with},
    call::{self, CallAction, CallFailure, CallReply, CheckedCall, Prepared},
    refusals,
    registry::Operation,
};

/// Operations that a batch may hold.
const ALLOWED: [&str; 20] = [
    "tasks_create",
    "tasks_edit",
    "tasks_decompose",
    "tasks_define",
    "tasks_note",
    "tasks_verify",
    "tasks_done",
    "tasks_close_step",
    "tasks_close_task",
    "tasks_complete",
    "tasks_patch",
    "tasks_progress",
    "tasks_block",
    "tasks_delete",
    "tasks_plan",
    "tasks_contract",
    "tasks_evidence_capture",
    "tasks_task_add",
    "tasks_task_define",
    "tasks_task_delete",
];
/// Operations that an atomic batch may hold: those that the contract names.
const ALLOWED_ATOMIC: [&str; 4] =
    ["tasks_patch", "tasks_task_define", "tasks_progress", "tasks_block"];

/// Runs several operations in one transaction. atomic=true keeps all or none and takes only
/// tasks_patch, tasks_task_define, tasks_progress and tasks_block; otherwise a failed one has no
/// effect and the next runs.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksBatch {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Operations, 1 to 200, in order; workspace is added where missing.
    #[schemars(length(min = 1, max = 200))]
    operations: Vec<BatchEntry>,
    /// All or nothing; default false.
    atomic: Option<bool>,
    /// Short results; default false.
    compact: Option<bool>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// One operation of a batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct BatchEntry {
    /// Name of the tool.
    tool: Option<String>,
    /// Same as tool.
    name: Option<String>,
    /// Its arguments.
    args: Option<Map<String, Value>>,
    /// Same as args.
    arguments: Option<Map<String, Value>>,
}

/// The result of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Batched {
    workspace: String,
    atomic: bool,
    compact: bool,
    succeeded: usize,
    failed: usize,
    operations: Vec<Value>,
}

/// Operations whose gates may ask for checks.
const CLOSING: [&str; 4] = ["tasks_done", "tasks_progress", "tasks_close_step", "tasks_complete"];

/// A prepared operation, or why it cannot run.
struct Entry {
    tool: String,
    prepared: Result<Prepared, CallFailure>,
}

impl Operation for TasksBatch {
    const NAME: &'static str = "tasks_batch";
    const TITLE: &'static str = "Run operations together";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = Batched;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let atomic = self.atomic.unwrap_or(false);
        let compact = self.compact.unwrap_or(false);
        let mut entries = Vec::with_capacity(self.operations.len());
        for (index, entry) in self.operations.into_iter().enumerate() {
            let entry = entry.prepare(call, &self.workspace, atomic, index)?;
            match (&entry.prepared, atomic) {
                (Err(failure), true) => return Err(shape_fault(index, &entry.tool, failure)),
                (Ok(_) | Err(_), _) => entries.push(entry),
            }
        }
        let closes = entries.iter().any(|entry| CLOSING.contains(&entry.tool.as_str()));
        let name = self.workspace.to_string();
        let voice = Voice::of(call.app);
        let key = self.repeatable.idempotency_key;
        let action = call.write_or_refuse(&self.workspace, key, move |draft| {
            let mut outcomes = Vec::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                match run_entry(draft, entry)? {
                    Err(mut failure) if atomic => {
                        draft.clear();
                        failure.suggestions = still_offered(draft, entry, &failure)?;
                        return Ok(Err(batch_failed(index, &entry.tool, failure)));
                    }
                    outcome => outcomes.push(outcome),
                }
            }
            refresh_suggestions(draft, &entries, &mut outcomes)?;
            let answers = entries.iter().zip(outcomes);
            let answers: Vec<Envelope> =
                answers.map(|(entry, outcome)| voice.word(entry, outcome, draft)).collect();
            let tools = entries.iter().map(|entry| entry.tool.as_str());
            let batched = Batched::of(&name, (atomic, compact), tools.zip(&answers));
            let mut reply = CallReply::new(&batched);
            if batched.failed > 0 {
                let message = format!("{} of {} operations failed", batched.failed, answers.len());
                let recovery = "Look at the results of the failed operations.";
                reply.warn(WarningCode::BatchPartial, message, recovery);
            }
            Ok(Ok(reply))
        })?;
        Ok(if closes { action.about_checks(CheckPolicy::Look) } else { action })
    }
}

impl BatchEntry {
    fn prepare(
        self,
        call: &CheckedCall<'_>,
        workspace: &WorkspaceId,
        atomic: bool,
        index: usize,
    ) -> Result<Entry, CallFailure> {
        let Some(tool) = one_of((self.tool, self.name), &format!("operations[{index}].name"))?
        else {
            let argument = format!("operations[{index}].tool");
            return Err(invalid(&argument, Reason::Missing, "the name of a tool"));
        };
        let arguments =
            one_of((self.args, self.arguments), &format!("operations[{index}].arguments"))?;
        let mut arguments = arguments.unwrap_or_default();
        let own = arguments.entry("workspace").or_insert_with(|| workspace.as_str().into());
        let foreign = own.as_str() != Some(workspace.as_str()) && !own.is_null();
        if own.is_null() {
            *own = workspace.as_str().into();
        }
        let prepared = if foreign {
            Err(invalid("workspace", Reason::Conflict, "the workspace of the batch"))
        } else {
            prepare(call, &tool, arguments, atomic)
        };
        Ok(Entry { tool, prepared })
    }
}

/// Two names for the same argument must not contradict each other.
fn one_of<T: PartialEq>(
    given: (Option<T>, Option<T>),
    other: &str,
) -> Result<Option<T>, CallFailure> {
    match given {
        (Some(one), Some(same)) if one != same => {
            Err(invalid(other, Reason::Conflict, "the same value under both names, or one of them"))
        }
        (one, same) => Ok(one.or(same)),
    }
}

fn prepare(
    call: &CheckedCall<'_>,
    tool: &str,
    arguments: Map<String, Value>,
    atomic: bool,
) -> Result<Prepared, CallFailure> {
    let registry = call.app.registry();
    let Some(row) = registry.get(tool) else {
        return Err(refusals::unknown_tool(registry, tool));
    };
    let allowed: &[&str] = if atomic { &ALLOWED_ATOMIC } else { &ALLOWED };
    if !allowed.contains(&tool) {
        let expected = format!("one of {}", allowed.join(", "));
        return Err(invalid_with(
            "tool",
            Reason::NotAllowed,
            &expected,
            format!("{tool} cannot be part of this batch"),
            "Call it on its own.".to_owned(),
        ));
    }
    (row.prepare)(call.app, &call.scene.caller, arguments)
}

/// The result of one operation.
type Outcome = Result<Envelope, CallFailure>;

/// Runs one operation as a call of its own inside the draft.
fn run_entry(draft: &mut TaskDraft<'_>, entry: &Entry) -> TaskResult<Outcome> {
    draft.next_call();
    let prepared = match &entry.prepared {
        Ok(prepared) => prepared,
        Err(failure) => return Ok(Err(failure.clone())),
    };
    let CallAction::Write(write) = &prepared.action else {
        unreachable!("{} does not write itself and is not allowed in a batch", entry.tool)
    };
    let failure = match write.inside(draft, &prepared.scene) {
        Ok(Ok(envelope)) => return Ok(Ok(envelope)),
        Ok(Err(failure)) => failure,
        Err(WorkRefusal::Rejected(rejection)) => refusals::explain(write.workspace(), *rejection),
        Err(unloaded @ WorkRefusal::Unloaded(_)) => return Err(unloaded),
    };
    draft.abandon_call();
    Ok(Err(failure))
}

/// The suggestions of a failed operation in the current state: those it would get if it were
/// tried again and failed in the same way (TASKS-ENV-4).
fn still_offered(
    draft: &mut TaskDraft<'_>,
    entry: &Entry,
    failure: &CallFailure,
) -> TaskResult<Vec<Suggestion>> {
    if failure.suggestions.is_empty() {
        return Ok(Vec::new());
    }
    let again = run_entry(draft, entry)?;
    draft.abandon_call();
    Ok(match again {
        Err(again) if again.error.code == failure.error.code => again.suggestions,
        Ok(_) | Err(_) => Vec::new(),
    })
}

/// A later operation may have made the suggestions of a failed one stale.
fn refresh_suggestions(
    draft: &mut TaskDraft<'_>,
    entries: &[Entry],
    outcomes: &mut [Outcome],
) -> TaskResult<()> {
    let last_success = outcomes.iter().rposition(Result::is_ok).unwrap_or(0);
    for (entry, outcome) in entries.iter().zip(&mut outcomes[..last_success]) {
        if let Err(failure) = outcome {
            failure.suggestions = still_offered(draft, entry, failure)?;
        }
    }
    Ok(())
}

/// What is needed to report a failure inside a draft, without the application.
struct Voice {
    fit: Box<dyn Fn(CallFailure) -> CallFailure + Send + Sync>,
}

impl Voice {
    fn of(app: &App) -> Self {
        let listed = app.registry().names(app.toolset());
        let fit = move |failure: CallFailure| {
            let suggestions = crate::suggest::fit(failure.suggestions, &listed);
            CallFailure { suggestions, ..failure }
        };
        Self { fit: Box::new(fit) }
    }

    fn word(&self, entry: &Entry, outcome: Outcome, draft: &TaskDraft<'_>) -> Envelope {
        outcome.unwrap_or_else(|failure| {
            call::failure_envelope(&entry.tool, (self.fit)(failure), draft.env().now)
        })
    }
}

fn shape_fault(index: usize, tool: &str, failure: &CallFailure) -> CallFailure {
    let mut error = (*failure.error).clone();
    error.message = format!("operations[{index}] {}: {}", text::echo(tool), error.message);
    if error.code == ErrorCode::InvalidInput {
        return error.into();
    }
    let argument = format!("operations[{index}].tool");
    let expected = format!("one of {}", ALLOWED_ATOMIC.join(", "));
    // The nearest of all tools may be one that an atomic batch does not accept.
    let nearest = text::nearest(tool, ALLOWED_ATOMIC).unwrap_or_default();
    let recovery = format!("Use {nearest}, the nearest tool that an atomic batch accepts.");
    invalid_with(&argument, Reason::BadFormat, &expected, error.message, recovery)
}

fn batch_failed(index: usize, tool: &str, failure: CallFailure) -> CallFailure {
    let CallFailure { error, suggestions } = failure;
    let message = format!("operation {index} ({}) failed: {}", text::echo(tool), error.message);
    let recovery = format!("Fix that operation; nothing was applied. {}", error.recovery);
    let failed = ApiError::new(ErrorCode::BatchFailed, message, recovery)
        .with("index", &index)
        .with("tool", tool)
        .with("error", &error);
    CallFailure { error: Box::new(failed), suggestions }
}

impl Batched {
    fn of<'a>(
        workspace: &str,
        (atomic, compact): (bool, bool),
        answers: impl Iterator<Item = (&'a str, &'a Envelope)>,
    ) -> Self {
        let mut succeeded = 0;
        let mut failed = 0;
        let mut operations = Vec::new();
        for (index, (tool, answer)) in answers.enumerate() {
            if answer.success {
                succeeded += 1;
            } else {
                failed += 1;
            }
            let mut entry = Map::from_iter([
                field("index", &index),
                field("tool", tool),
                field("success", &answer.success),
            ]);
            if compact {
                entry.extend(short(answer));
            } else {
                entry.extend([field("response", answer)]);
            }
            operations.push(entry.into());
        }
        let workspace = workspace.to_owned();
        Self { workspace, atomic, compact, succeeded, failed, operations }
    }
}

/// TASKS-BATCH-4.
fn short(answer: &Envelope) -> Vec<(String, Value)> {
    let mut entry = Vec::new();
    let result = answer.result.read();
    // A result names its plan or task by id, or shows it.
    let subject = ["id", "task", "plan"].into_iter().find_map(|name| result.get(name));
    if let Some(id) = subject.map(|subject| subject.get("id").unwrap_or(subject)) {
        entry.push(field("id", id));
    }
    let shown = subject.and_then(|subject| subject.get("revision"));
    if let Some(revision) = result.get("revision").or(shown) {
        entry.push(field("revision", revision));
    }
    if let Some(error) = &answer.error {
        let words = [field("code", &error.code), field("message", &error.message)];
        entry.push(field("error", &Map::from_iter(words)));
    }
    entry
}
