//! Messages for rejections: one exhaustive table from the core's facts to what the caller reads.

mod checks;
mod claims;
mod completion;
mod gate;
mod memory;
mod words;

use muster_core::{
    tasks::{
        TaskRejection,
        changes::EntityChange,
        command::StepSelector,
        id::{EntityId, EntityKind, StepId, WorkspaceId},
        rejection::Candidates,
    },
    text,
};

use crate::{
    ApiError, ErrorCode, Registry, Suggestion,
    arguments::{self, Reason},
    call::CallFailure,
};

/// A call of an operation that does not exist.
pub(crate) fn unknown_tool(registry: &Registry, name: &str) -> CallFailure {
    let nearest = registry.nearest(name);
    let message = format!("there is no tool {:?}", text::echo(name));
    let recovery = format!("Call {nearest}, the nearest name, or list the tools.");
    ApiError::new(ErrorCode::UnknownTool, message, recovery).with("nearest", nearest).into()
}

/// The error for a rejection of the tasks room.
pub(crate) fn explain(workspace: &WorkspaceId, rejection: TaskRejection) -> CallFailure {
    match rejection {
        TaskRejection::NoTarget(candidates) => no_target(workspace, &candidates),
        TaskRejection::FocusMoved { seen, focus } => claims::focus_moved(workspace, seen, focus),
        TaskRejection::WrongKind { id, wanted, from_focus, candidates } => {
            wrong_kind(workspace, id, wanted, from_focus, &candidates)
        }
        TaskRejection::ParentMissing => words::parent_missing(),
        TaskRejection::UnknownEntity { id, workspace_known } => {
            unknown_entity(workspace, id, workspace_known)
        }
        TaskRejection::UnknownStep { task, selector } => {
            unknown_step(workspace, task.into(), "step", &selector_name(&selector))
        }
        TaskRejection::UnknownNode { task, name } => {
            unknown_step(workspace, task.into(), "node", &name)
        }
        TaskRejection::NoSuchStep { step_id } => no_such_step(step_id),
        TaskRejection::SelectorsDisagree { path, step_id } => words::steps_disagree(&path, step_id),
        TaskRejection::NodesDisagree { path, node_id } => words::nodes_disagree(&path, node_id),
        TaskRejection::RevisionMismatch { id, expected, actual, changed } => {
            revision_mismatch(workspace, id, (expected, actual), &changed)
        }
        TaskRejection::StepRevisionMismatch { .. } => step_revision_mismatch(workspace, &rejection),
        TaskRejection::KeyTaken { key, first_tool } => key_taken(&key, &first_tool),
        TaskRejection::AlreadyClosed { step_id, path } => words::already_closed(step_id, &path),
        TaskRejection::NotClosed { step_id, path } => words::not_closed(step_id, &path),
        TaskRejection::GateOpen { gate, report } => gate::explain(workspace, gate, &report),
        TaskRejection::ChecksOpen { task, checks } => checks::open(task, &checks),
        TaskRejection::PersonRequired(act) => checks::person_required(&act),
        TaskRejection::Claimed { task, claim } => claims::claimed(workspace, task, &claim),
        TaskRejection::UnknownWaiver { check } => {
            let message = format!("there is no waiver of {check} here");
            let recovery = "Look at the task: its waivers are listed beside its checks.";
            ApiError::new(ErrorCode::UnknownId, message, recovery).into()
        }
        TaskRejection::UnknownItem { path, checkpoint, index, count } => {
            let name = checkpoint.name();
            let expected = format!("{path} has {count} {name}, numbered from 0");
            let argument = format!("checkpoints.{name}[index {index}]");
            arguments::invalid(&argument, Reason::OutOfRange, &expected)
        }
        TaskRejection::StepsOpen { .. }
        | TaskRejection::TasksOpen { .. }
        | TaskRejection::DependenciesOpen { .. } => completion::explain(workspace, &rejection),
        TaskRejection::ChecklistPosition { argument, points } => {
            let expected = format!("a position from 0 to {points}");
            arguments::invalid(argument, Reason::OutOfRange, &expected)
        }
        TaskRejection::UnknownCard { .. }
        | TaskRejection::UnknownEvidence { .. }
        | TaskRejection::EmptyCard
        | TaskRejection::NothingToRestore { .. }
        | TaskRejection::RestoreConflict { .. } => memory::explain(workspace, rejection),
        TaskRejection::SupportsItself { card } => words::supports_itself(card),
        TaskRejection::UnknownTemplate { name } => unknown_template(&name),
        TaskRejection::BadField { field, fault, expected } => {
            words::bad_field(&field, fault, &expected)
        }
        TaskRejection::UnknownCheckRun { .. }
        | TaskRejection::CheckRunFinished { .. }
        | TaskRejection::CheckRunDiffers { .. } => checks::explain(&rejection),
        TaskRejection::TooDeep => words::too_deep(),
        TaskRejection::ForeignField { field, id } => words::foreign_field(field, id),
        TaskRejection::DependsOnItself { id } => words::depends_on_itself(id),
        TaskRejection::WaitsForPlan { task, plan } => words::waits_for_plan(task, plan),
        TaskRejection::DependencyCircle { through } => words::dependency_circle(through),
    }
}

pub(crate) fn unknown_template(name: &str) -> CallFailure {
    let message = format!("there is no template {:?} of that kind", text::echo(name));
    let recovery = "List the templates with tasks_templates_list.";
    ApiError::new(ErrorCode::UnknownId, message, recovery)
        .with("template", name)
        .suggesting(Suggestion::call("tasks_templates_list", "see the templates"))
}

fn key_taken(key: &str, first_tool: &str) -> CallFailure {
    let message = format!("the idempotency key was used by another {first_tool} call");
    let recovery = "Use a fresh key for a different call.";
    ApiError::new(ErrorCode::IdempotencyConflict, message, recovery)
        .with("key", key)
        .with("first_tool", first_tool)
        .into()
}

/// TASKS-TGT-6.
fn no_target(workspace: &WorkspaceId, candidates: &Candidates) -> CallFailure {
    let failure = arguments::invalid_with(
        "target",
        Reason::NoTarget,
        "a task or plan id, or a focus set with tasks_focus_set",
        "no target was given and the workspace has no focus".to_owned(),
        "Name a task or plan, or set the focus with tasks_focus_set.".to_owned(),
    );
    CallFailure { suggestions: suggest_candidates(workspace, candidates), ..failure }
}

fn suggest_candidates(workspace: &WorkspaceId, candidates: &Candidates) -> Vec<Suggestion> {
    let snapshot = |key: &str, id: EntityId| {
        Suggestion::call("tasks_snapshot", "show this one")
            .with("workspace", workspace)
            .with(key, &id)
    };
    let start =
        |reason: &str| Suggestion::call("tasks_macro_start", reason).with("workspace", workspace);
    match candidates {
        Candidates::Tasks(tasks) => tasks.iter().map(|id| snapshot("task", (*id).into())).collect(),
        Candidates::Plan(id) => vec![snapshot("plan", (*id).into())],
        Candidates::EmptyPlan(id) => {
            let reason = format!("{id} has no task yet: start its first one");
            vec![start(&reason).with("plan", id).with("task_title", "First task")]
        }
        Candidates::Nothing => {
            let reason = "the workspace is empty: start a first task";
            vec![start(reason).with("task_title", "First task")]
        }
    }
}

fn wrong_kind(
    workspace: &WorkspaceId,
    id: EntityId,
    wanted: EntityKind,
    from_focus: bool,
    candidates: &Candidates,
) -> CallFailure {
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
    CallFailure { suggestions, ..failure }
}

fn unknown_entity(workspace: &WorkspaceId, id: EntityId, workspace_known: bool) -> CallFailure {
    let reason =
        if workspace_known { "list what exists" } else { "see that this workspace is empty" };
    let message = format!("there is no {id} in this workspace");
    ApiError::new(ErrorCode::UnknownId, message, "List what exists with tasks_context.")
        .with("id", &id)
        .suggesting(Suggestion::call("tasks_context", reason).with("workspace", workspace))
}

fn no_such_step(step_id: StepId) -> CallFailure {
    let message = format!("there is no step {step_id} in this workspace");
    let recovery = "Use the step_id of a step, or leave it out.";
    ApiError::new(ErrorCode::UnknownId, message, recovery).with("step", &step_id).into()
}

fn selector_name(selector: &StepSelector) -> String {
    match selector {
        StepSelector::Path(path) => path.named(),
        StepSelector::Id(id) => id.to_string(),
        StepSelector::Both(path, id) => format!("{} {id}", path.named()),
    }
}

fn unknown_step(workspace: &WorkspaceId, task: EntityId, what: &str, name: &str) -> CallFailure {
    let mirror = Suggestion::call("tasks_mirror", "list the task's steps")
        .with("workspace", workspace)
        .with("task", &task);
    let message = format!("there is no {what} {name} in {task}");
    let recovery = "Look at the task's steps and use an id from there.";
    ApiError::new(ErrorCode::UnknownId, message, recovery)
        .with("task", &task)
        .with(what, name)
        .suggesting(mirror)
}

fn revision_mismatch(
    workspace: &WorkspaceId,
    id: EntityId,
    (expected, actual): (u64, u64),
    changed: &[EntityChange],
) -> CallFailure {
    let context = Suggestion::call("tasks_context", "see it as it is")
        .with("workspace", workspace)
        .with("target", &id);
    let message = format!("expected={expected} actual={actual}");
    let recovery = format!("Read {id} again, then retry with expected_revision {actual}.");
    let error = ApiError::new(ErrorCode::RevisionMismatch, message, recovery)
        .with("id", &id)
        .with("expected", &expected)
        .with("actual", &actual);
    // A revision that never was has nothing after it.
    let error = if changed.is_empty() { error } else { error.with("changed", changed) };
    error.suggesting(context)
}

/// The same about one step of a task; its other steps may have changed.
fn step_revision_mismatch(workspace: &WorkspaceId, rejection: &TaskRejection) -> CallFailure {
    let TaskRejection::StepRevisionMismatch { task, step_id, path, expected, actual, changed } =
        rejection
    else {
        unreachable!("{rejection:?} is not about the revision of a step")
    };
    let failure = revision_mismatch(workspace, (*task).into(), (*expected, *actual), changed);
    let why = match changed.as_slice() {
        [] if expected > actual => "is not a revision yet",
        [] => "is too long ago to know what changed",
        [..] => "is older than the last change of this step",
    };
    let message = format!("expected={expected} of {path} {why}, actual={actual}");
    let recovery = format!("Read {path} again, then retry with expected_step_revision {actual}.");
    let error = ApiError { message, recovery, ..*failure.error };
    let error = error.with("step_id", step_id).with("path", path);
    CallFailure { error: Box::new(error), ..failure }
}

/// The error of a call that its caller cancelled in time.
pub(crate) fn cancelled(tool: &str) -> ApiError {
    let message = format!("{tool} was cancelled before it wrote anything");
    ApiError::new(ErrorCode::CallCancelled, message, "Call again if the result is still wanted.")
}
