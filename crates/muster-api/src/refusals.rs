//! Words for rejections: one exhaustive table from the core's facts to what the caller reads.

use muster_core::tasks::{
    Rejection,
    command::StepSelector,
    id::{EntityId, EntityKind, WorkspaceId},
    rejection::{Candidates, Gate, GateReport},
    step::Checkpoint,
};
use serde_json::{Map, Value, json};

use crate::{
    ApiError, ErrorCode, Priority, Registry, Suggestion,
    arguments::{self, Reason},
    call::Failure,
};

/// A call of an operation that does not exist.
pub(crate) fn unknown_tool(registry: &Registry, name: &str) -> Failure {
    let nearest = registry.nearest(name);
    ApiError {
        code: ErrorCode::UnknownTool,
        message: format!("there is no tool {name:?}"),
        recovery: format!("Call {nearest}, the nearest name, or list the tools."),
        details: Map::from_iter([("nearest".to_owned(), json!(nearest))]),
    }
    .into()
}

/// What a rejection of the tasks room says to the caller.
pub(crate) fn explain(workspace: &WorkspaceId, rejection: Rejection) -> Failure {
    match rejection {
        Rejection::NoTarget(candidates) => no_target(workspace, &candidates),
        Rejection::WrongKind { id, wanted, from_focus, candidates } => {
            wrong_kind(workspace, id, wanted, from_focus, &candidates)
        }
        Rejection::ParentMissing => arguments::invalid_with(
            "parent",
            Reason::Missing,
            "a plan id such as PLAN-001",
            "a task needs a plan: parent is missing and no plan or task is focused".to_owned(),
            "Call again with parent as a PLAN id, or create a plan first.".to_owned(),
        ),
        Rejection::UnknownEntity { id, workspace_known } => {
            unknown_entity(workspace, id, workspace_known)
        }
        Rejection::UnknownStep { task, selector } => {
            unknown_step(workspace, task.into(), &selector)
        }
        Rejection::SelectorsDisagree { path, step_id } => conflict(
            "step_id",
            &format!("path {path} and step_id {step_id} name different steps"),
            "Call again with step_id only.",
        ),
        Rejection::RevisionMismatch { id, expected, actual } => {
            revision_mismatch(workspace, id, expected, actual)
        }
        Rejection::KeyTaken { key, first_tool } => ApiError {
            code: ErrorCode::IdempotencyConflict,
            message: format!("the idempotency key was used by another {first_tool} call"),
            recovery: "Use a fresh key for a different call.".to_owned(),
            details: Map::from_iter([
                ("key".to_owned(), json!(key)),
                ("first_tool".to_owned(), json!(first_tool)),
            ]),
        }
        .into(),
        Rejection::AlreadyClosed { step_id, path } => arguments::invalid_with(
            "step_id",
            Reason::AlreadyCompleted,
            "an open step",
            format!("step {step_id} at {path} is closed already"),
            "Go on with the next open step; tasks_radar names it.".to_owned(),
        ),
        Rejection::GateOpen { gate, report } => gate_open(workspace, gate, &report),
        Rejection::TooDeep => arguments::invalid(
            "parent",
            Reason::OutOfRange,
            "a step at most 15 levels deep, so that its children stay within 16",
        ),
        Rejection::ForeignField { field, id } => conflict(
            field,
            &format!("{id} is a {}, which has no {field}", id.kind().name()),
            &format!("Leave {field} out."),
        ),
        Rejection::DependsOnItself { id } => conflict(
            "depends_on",
            &format!("{id} cannot depend on itself"),
            "Leave it out of depends_on.",
        ),
        Rejection::DependencyCircle { through } => conflict(
            "depends_on",
            &format!("{through} already leads back here: dependencies would form a circle"),
            "Leave it out of depends_on, or remove the dependency on the other side first.",
        ),
    }
}

fn conflict(argument: &str, message: &str, recovery: &str) -> Failure {
    arguments::invalid_with(
        argument,
        Reason::Conflict,
        "arguments that agree",
        message.to_owned(),
        recovery.to_owned(),
    )
}

/// TASKS-TGT-6.
fn no_target(workspace: &WorkspaceId, candidates: &Candidates) -> Failure {
    let failure = arguments::invalid_with(
        "target",
        Reason::NoTarget,
        "a task or plan id, or a focus set with tasks_focus_set",
        "no target was given and the workspace has no focus".to_owned(),
        "Name a task or plan, or set the focus with tasks_focus_set.".to_owned(),
    );
    Failure { suggestions: suggest_candidates(workspace, candidates), ..failure }
}

fn suggest_candidates(workspace: &WorkspaceId, candidates: &Candidates) -> Vec<Suggestion> {
    let snapshot = |key: &str, id: &dyn std::fmt::Display| {
        let params = json!({"workspace": workspace, key: id.to_string()});
        Suggestion::call("tasks_snapshot", "show this one", Priority::High, params)
    };
    match candidates {
        Candidates::Tasks(tasks) => tasks.iter().map(|id| snapshot("task", id)).collect(),
        Candidates::Plan(id) => vec![snapshot("plan", id)],
        Candidates::Nothing => {
            let params = json!({"workspace": workspace, "task_title": "First task"});
            let reason = "the workspace is empty: start a first task";
            vec![Suggestion::call("tasks_macro_start", reason, Priority::High, params)]
        }
    }
}

fn wrong_kind(
    workspace: &WorkspaceId,
    id: EntityId,
    wanted: EntityKind,
    from_focus: bool,
    candidates: &Candidates,
) -> Failure {
    let wanted = wanted.name();
    let origin = if from_focus { "the focused " } else { "" };
    let failure = arguments::invalid_with(
        wanted,
        Reason::WrongKind,
        &format!("a {wanted} id"),
        format!("this call takes a {wanted}, {origin}{id} is a {}", id.kind().name()),
        format!("Call again with {wanted} as a {wanted} id."),
    );
    let suggestions =
        if from_focus { suggest_candidates(workspace, candidates) } else { Vec::new() };
    Failure { suggestions, ..failure }
}

fn unknown_entity(workspace: &WorkspaceId, id: EntityId, workspace_known: bool) -> Failure {
    let error = ApiError {
        code: ErrorCode::UnknownId,
        message: format!("there is no {id} in workspace {workspace}"),
        recovery: "List what exists with tasks_context.".to_owned(),
        details: Map::from_iter([("id".to_owned(), json!(id))]),
    };
    let reason =
        if workspace_known { "list what exists" } else { "see that this workspace is empty" };
    let params = json!({"workspace": workspace});
    let suggestions = vec![Suggestion::call("tasks_context", reason, Priority::High, params)];
    Failure { error: Box::new(error), suggestions }
}

fn unknown_step(workspace: &WorkspaceId, task: EntityId, selector: &StepSelector) -> Failure {
    let name = match selector {
        StepSelector::Path(path) => path.to_string(),
        StepSelector::Id(id) => id.to_string(),
        StepSelector::Both(path, id) => format!("{path} {id}"),
    };
    let error = ApiError {
        code: ErrorCode::UnknownId,
        message: format!("there is no step {name} in {task}"),
        recovery: "Look at the task's steps and use a step_id from there.".to_owned(),
        details: Map::from_iter([
            ("task".to_owned(), json!(task)),
            ("step".to_owned(), json!(name)),
        ]),
    };
    let params = json!({"workspace": workspace, "task": task});
    let mirror = Suggestion::call("tasks_mirror", "list the task's steps", Priority::High, params);
    Failure { error: Box::new(error), suggestions: vec![mirror] }
}

fn revision_mismatch(workspace: &WorkspaceId, id: EntityId, expected: u64, actual: u64) -> Failure {
    let error = ApiError {
        code: ErrorCode::RevisionMismatch,
        message: format!("expected={expected} actual={actual}"),
        recovery: format!("Read {id} again, then retry with expected_revision {actual}."),
        details: Map::from_iter([
            ("id".to_owned(), json!(id)),
            ("expected".to_owned(), json!(expected)),
            ("actual".to_owned(), json!(actual)),
        ]),
    };
    let params = json!({"workspace": workspace, "target": id});
    let context = Suggestion::call("tasks_context", "see it as it is", Priority::High, params);
    Failure { error: Box::new(error), suggestions: vec![context] }
}

fn gate_open(workspace: &WorkspaceId, gate: Gate, report: &GateReport) -> Failure {
    let mut details = gate_details(report);
    if gate == Gate::Proof {
        details.insert("retry".to_owned(), proof_retry(workspace, report));
    }
    let (code, message, recovery) = gate_words(gate, report);
    let error = ApiError { code, message, recovery, details };
    let suggestions = vec![gate_suggestion(workspace, gate, report)];
    Failure { error: Box::new(error), suggestions }
}

fn gate_words(gate: Gate, report: &GateReport) -> (ErrorCode, String, String) {
    let GateReport { step_id, path, .. } = report;
    match gate {
        Gate::Checkpoints => {
            let names = join(&report.missing_checkpoints);
            let message = format!("{path} is not confirmed: {names}");
            let recovery = format!("Check {names}, confirm with tasks_verify, then close again.");
            (ErrorCode::CheckpointsNotConfirmed, message, recovery)
        }
        Gate::Proof => {
            let message = format!("{path} needs proof of: {}", join(&report.missing_proofs));
            let recovery = format!(
                "Call tasks_macro_close_step for {step_id} with real CMD: and LINK: receipts."
            );
            (ErrorCode::ProofRequired, message, recovery)
        }
        Gate::Children => {
            let mut open: Vec<String> =
                report.open_children.iter().map(ToString::to_string).collect();
            open.extend(report.open_nodes.iter().cloned());
            let message = format!("{path} has open children: {}", open.join(", "));
            (ErrorCode::ChildrenOpen, message, "Close the listed children first.".to_owned())
        }
        Gate::Blocked => {
            let reason = report.block_reason.as_deref().unwrap_or("no reason given");
            let message = format!("{path} is blocked: {reason}");
            let recovery = "Resolve the reason, unblock the step, then close again.".to_owned();
            (ErrorCode::StepBlocked, message, recovery)
        }
    }
}

/// TASKS-GATE-7.
fn gate_suggestion(workspace: &WorkspaceId, gate: Gate, report: &GateReport) -> Suggestion {
    let task = report.task;
    match gate {
        Gate::Checkpoints => Suggestion::call(
            "tasks_verify",
            "confirm the missing checkpoints",
            Priority::High,
            json!({
                "workspace": workspace, "task": task, "step_id": report.step_id,
                "checkpoints": confirmations(&report.missing_checkpoints),
            }),
        ),
        Gate::Proof => Suggestion::call(
            "tasks_snapshot",
            "see what proof is missing",
            Priority::High,
            json!({"workspace": workspace, "task": task, "read_only": true}),
        ),
        Gate::Children | Gate::Blocked => Suggestion::call(
            "tasks_radar",
            "see what is in the way",
            Priority::High,
            json!({"workspace": workspace, "task": task}),
        ),
    }
}

/// TASKS-GATE-6.
fn gate_details(report: &GateReport) -> Map<String, Value> {
    let names = |checkpoints: &[Checkpoint]| -> Vec<&str> {
        checkpoints.iter().map(|checkpoint| checkpoint.name()).collect()
    };
    Map::from_iter([
        ("task".to_owned(), json!(report.task)),
        ("step_id".to_owned(), json!(report.step_id)),
        ("path".to_owned(), json!(report.path)),
        ("missing_checkpoints".to_owned(), json!(names(&report.missing_checkpoints))),
        ("missing_proofs".to_owned(), json!(names(&report.missing_proofs))),
        ("open_children".to_owned(), json!(report.open_children)),
        ("open_nodes".to_owned(), json!(report.open_nodes)),
        ("blocked".to_owned(), json!(report.blocked)),
        ("block_reason".to_owned(), json!(report.block_reason)),
    ])
}

/// TASKS-GATE-7: the retry that a caller fills in.
fn proof_retry(workspace: &WorkspaceId, report: &GateReport) -> Value {
    let checks = json!(["CMD: <fill: command you ran>", "LINK: <fill: log or CI page>"]);
    let names: Vec<&str> = report.missing_proofs.iter().map(|cp| cp.name()).collect();
    let proof =
        if names == ["tests"] { checks } else { json!({"checks": checks, "checkpoint": names}) };
    let mut hint = Map::from_iter([
        ("workspace".to_owned(), json!(workspace)),
        ("task".to_owned(), json!(report.task)),
        ("step_id".to_owned(), json!(report.step_id)),
        ("proof".to_owned(), proof),
    ]);
    if !report.required_optional.is_empty() {
        let named = Checkpoint::GATE.iter().chain(&report.required_optional);
        hint.insert("checkpoints".to_owned(), all_true(named));
    }
    json!({"tool": "tasks_macro_close_step", "args_hint": hint})
}

/// `"gate"` when exactly criteria and tests are missing, else each by name.
fn confirmations(missing: &[Checkpoint]) -> Value {
    if missing == Checkpoint::GATE { json!("gate") } else { all_true(missing) }
}

fn all_true<'a>(checkpoints: impl IntoIterator<Item = &'a Checkpoint>) -> Value {
    let entries = checkpoints.into_iter().map(|cp| (cp.name().to_owned(), Value::Bool(true)));
    Value::Object(entries.collect())
}

fn join(checkpoints: &[Checkpoint]) -> String {
    let names: Vec<&str> = checkpoints.iter().map(|checkpoint| checkpoint.name()).collect();
    names.join(", ")
}
