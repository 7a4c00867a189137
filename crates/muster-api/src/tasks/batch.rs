//! `tasks_batch`.

use muster_core::{
    Draft, Refusal,
    tasks::{Tasks, id::WorkspaceId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::groups::Repeatable;
use crate::{
    ApiError, App, Effect, Envelope, ErrorCode, WarningCode,
    arguments::{Reason, invalid, invalid_with},
    call::{self, Action, Call, Failure, Prepared, Reply},
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
/// Operations that an atomic batch may hold: those that can be undone.
const ALLOWED_ATOMIC: [&str; 4] =
    ["tasks_patch", "tasks_task_define", "tasks_progress", "tasks_block"];

/// Runs several operations in one transaction. atomic=true keeps all or none and takes only
/// operations that can be undone; otherwise a failed one has no effect and the next goes on.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksBatch {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Operations, 1 to 200, in order; workspace is put in where missing.
    #[schemars(length(min = 1, max = 200))]
    operations: Vec<BatchEntry>,
    /// All or nothing; default false.
    atomic: Option<bool>,
    /// Short answers; default false.
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

/// What came of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Batched {
    workspace: String,
    atomic: bool,
    compact: bool,
    succeeded: usize,
    failed: usize,
    operations: Vec<Value>,
}

/// An operation ready to run, or why it cannot.
struct Entry {
    tool: String,
    prepared: Result<Prepared, Failure>,
}

impl Operation for TasksBatch {
    const NAME: &'static str = "tasks_batch";
    const TITLE: &'static str = "Run operations together";
    const EFFECT: Effect = Effect::Write;
    type Response = Batched;

    fn run(self, call: &Call<'_>) -> Result<Action, Failure> {
        let (atomic, compact) = (self.atomic.unwrap_or(false), self.compact.unwrap_or(false));
        let mut entries = Vec::with_capacity(self.operations.len());
        for (index, entry) in self.operations.into_iter().enumerate() {
            let entry = entry.prepare(call.app, &self.workspace, atomic, index)?;
            match (&entry.prepared, atomic) {
                (Err(failure), true) => return Err(shape_fault(index, &entry.tool, failure)),
                (Ok(_) | Err(_), _) => entries.push(entry),
            }
        }
        let (name, envelopes) = (self.workspace.to_string(), Voice::of(call.app));
        let key = self.repeatable.idempotency_key;
        call.write_or_refuse(&self.workspace, key, move |draft| {
            let mut answers = Vec::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                let answer = run_entry(draft, entry, &envelopes)?;
                if atomic && let Some(error) = &answer.error {
                    return Ok(Err(batch_failed(index, &entry.tool, error, &answer)));
                }
                answers.push(answer);
            }
            let tools = entries.iter().map(|entry| entry.tool.as_str());
            let batched = Batched::of(&name, (atomic, compact), tools.zip(&answers));
            let mut reply = Reply::new(&batched);
            if batched.failed > 0 {
                let message = format!("{} of {} operations failed", batched.failed, answers.len());
                let recovery = "Look at the answers of the failed operations.";
                reply.warn(WarningCode::BatchPartial, message, recovery);
            }
            Ok(Ok(reply))
        })
    }
}

impl BatchEntry {
    fn prepare(
        self,
        app: &App,
        workspace: &WorkspaceId,
        atomic: bool,
        index: usize,
    ) -> Result<Entry, Failure> {
        let Some(tool) = self.tool.or(self.name) else {
            let argument = format!("operations[{index}].tool");
            return Err(invalid(&argument, Reason::Missing, "the name of a tool"));
        };
        let mut arguments = self.args.or(self.arguments).unwrap_or_default();
        let own = arguments.entry("workspace").or_insert_with(|| json!(workspace));
        let foreign = own.as_str() != Some(workspace.as_str()) && !own.is_null();
        if own.is_null() {
            *own = json!(workspace);
        }
        let prepared = if foreign {
            Err(invalid("workspace", Reason::Conflict, "the workspace of the batch"))
        } else {
            prepare(app, &tool, arguments, atomic)
        };
        Ok(Entry { tool, prepared })
    }
}

fn prepare(
    app: &App,
    tool: &str,
    arguments: Map<String, Value>,
    atomic: bool,
) -> Result<Prepared, Failure> {
    let Some(row) = app.registry().get(tool) else {
        return Err(refusals::unknown_tool(app.registry(), tool));
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
    (row.prepare)(app, arguments)
}

/// Runs one operation as a call of its own inside the draft.
fn run_entry(
    draft: &mut Draft<'_, Tasks>,
    entry: &Entry,
    voice: &Voice,
) -> Result<Envelope, Refusal<Tasks>> {
    draft.next_call();
    let prepared = match &entry.prepared {
        Ok(prepared) => prepared,
        Err(failure) => return Ok(voice.failed(&entry.tool, failure.clone(), draft)),
    };
    let Action::Write(write) = &prepared.action else {
        unreachable!("{} only reads and is not allowed in a batch", entry.tool)
    };
    let failure = match write.inside(draft, &prepared.scene) {
        Ok(Ok(envelope)) => return Ok(envelope),
        Ok(Err(failure)) => failure,
        Err(Refusal::Rejected(rejection)) => refusals::explain(write.workspace(), *rejection),
        Err(unloaded @ Refusal::Unloaded(_)) => return Err(unloaded),
    };
    draft.abandon_call();
    Ok(voice.failed(&entry.tool, failure, draft))
}

/// What is needed to word a failure inside a draft, without the application.
struct Voice {
    fit: Box<dyn Fn(Failure) -> Failure + Send>,
}

impl Voice {
    fn of(app: &App) -> Self {
        let (listed, known) = app.registry().names(app.toolset());
        let fit = move |failure: Failure| {
            let suggestions = crate::suggest::fit(failure.suggestions, &listed, &known);
            Failure { suggestions, ..failure }
        };
        Self { fit: Box::new(fit) }
    }

    fn failed(&self, tool: &str, failure: Failure, draft: &Draft<'_, Tasks>) -> Envelope {
        call::failure_envelope(tool, (self.fit)(failure), draft.env().now)
    }
}

fn shape_fault(index: usize, tool: &str, failure: &Failure) -> Failure {
    let mut error = (*failure.error).clone();
    error.code = ErrorCode::InvalidInput;
    error.message = format!("operations[{index}] {tool}: {}", error.message);
    error.into()
}

fn batch_failed(index: usize, tool: &str, error: &ApiError, answer: &Envelope) -> Failure {
    let failed = ApiError {
        code: ErrorCode::BatchFailed,
        message: format!("operation {index} ({tool}) failed: {}", error.message),
        recovery: format!("Fix that operation; nothing was applied. {}", error.recovery),
        details: Map::from_iter([
            ("index".to_owned(), json!(index)),
            ("tool".to_owned(), json!(tool)),
            ("error".to_owned(), json!(error)),
        ]),
    };
    // Nothing of the batch happened, so only what does not build on it still works.
    let suggestions = if index == 0 { answer.suggestions.clone() } else { Vec::new() };
    Failure { error: Box::new(failed), suggestions }
}

impl Batched {
    fn of<'a>(
        workspace: &str,
        (atomic, compact): (bool, bool),
        answers: impl Iterator<Item = (&'a str, &'a Envelope)>,
    ) -> Self {
        let (mut succeeded, mut failed) = (0, 0);
        let mut operations = Vec::new();
        for (index, (tool, answer)) in answers.enumerate() {
            if answer.success {
                succeeded += 1;
            } else {
                failed += 1;
            }
            operations.push(if compact {
                short(index, tool, answer)
            } else {
                json!({
                    "index": index, "tool": tool, "success": answer.success,
                    "response": answer.to_json(),
                })
            });
        }
        let workspace = workspace.to_owned();
        Self { workspace, atomic, compact, succeeded, failed, operations }
    }
}

/// TASKS-BATCH-4.
fn short(index: usize, tool: &str, answer: &Envelope) -> Value {
    let mut entry = Map::from_iter([
        ("index".to_owned(), json!(index)),
        ("tool".to_owned(), json!(tool)),
        ("success".to_owned(), json!(answer.success)),
    ]);
    let result = answer.result.read();
    let id = result.get("id").or_else(|| result.get("task"));
    if let Some(id @ Value::String(_)) = id {
        entry.insert("id".to_owned(), id.clone());
    }
    if let Some(revision) = result.get("revision") {
        entry.insert("revision".to_owned(), revision.clone());
    }
    if let Some(error) = &answer.error {
        entry.insert("error".to_owned(), json!({"code": error.code, "message": error.message}));
    }
    Value::Object(entry)
}
