//! Errors without suggestions: arguments that contradict each other or the state.

use muster_core::tasks::{
    id::{CardId, EntityId, NodeId, PlanId, StepId, TaskId},
    path::{NodePath, StepPath},
    rejection::FieldFault,
};

use crate::{
    arguments::{self, Reason},
    call::CallFailure,
};

fn conflict(argument: &str, message: String, recovery: &str) -> CallFailure {
    let expected = "arguments that agree";
    arguments::invalid_with(argument, Reason::Conflict, expected, message, recovery.to_owned())
}

pub(super) fn parent_missing() -> CallFailure {
    arguments::invalid_with(
        "parent",
        Reason::Missing,
        "a plan id such as PLAN-001",
        "a task needs a plan: parent is missing and no plan or task is focused".to_owned(),
        "Call again with parent as a PLAN id, or create a plan first.".to_owned(),
    )
}

pub(super) fn steps_disagree(path: &StepPath, id: StepId) -> CallFailure {
    let message = format!("path {path} and step_id {id} name different steps");
    conflict("step_id", message, "Call again with step_id only.")
}

pub(super) fn nodes_disagree(path: &NodePath, id: NodeId) -> CallFailure {
    let message = format!("path {path} and task_node_id {id} name different nodes");
    conflict("task_node_id", message, "Call again with task_node_id only.")
}

pub(super) fn already_closed(id: StepId, path: &StepPath) -> CallFailure {
    arguments::invalid_with(
        "step_id",
        Reason::AlreadyCompleted,
        "an open step",
        format!("step {id} at {path} is closed already"),
        "Continue with the next open step; tasks_radar names it. To work on this one again, reopen \
         it with tasks_progress and completed=false."
            .to_owned(),
    )
}

pub(super) fn not_closed(id: StepId, path: &StepPath) -> CallFailure {
    arguments::invalid_with(
        "step_id",
        Reason::NotCompleted,
        "a closed step",
        format!("step {id} at {path} is open"),
        "Only a closed step can be reopened.".to_owned(),
    )
}

pub(super) fn too_deep() -> CallFailure {
    let expected = "a step at most 15 levels deep, so that its children stay within 16";
    arguments::invalid("parent", Reason::OutOfRange, expected)
}

pub(super) fn bad_field(field: &str, fault: FieldFault, expected: &str) -> CallFailure {
    let reason = match fault {
        FieldFault::Unknown => Reason::UnknownArgument,
        FieldFault::NotAllowed => Reason::NotAllowed,
        FieldFault::Missing => Reason::Missing,
        FieldFault::BadValue => Reason::WrongType,
        FieldFault::BadFormat => Reason::BadFormat,
        FieldFault::OutOfRange => Reason::OutOfRange,
    };
    arguments::invalid(field, reason, expected)
}

pub(super) fn foreign_field(field: &str, id: EntityId) -> CallFailure {
    let message = format!("{id} is a {}, which has no {field}", id.kind().name());
    conflict(field, message, &format!("Leave {field} out."))
}

pub(super) fn depends_on_itself(id: EntityId) -> CallFailure {
    let message = format!("{id} cannot depend on itself");
    conflict("depends_on", message, "Leave it out of depends_on.")
}

pub(super) fn supports_itself(card: CardId) -> CallFailure {
    let message = format!("{card} cannot support itself");
    conflict("supports", message, "Leave it out of supports.")
}

pub(super) fn waits_for_plan(task: TaskId, plan: PlanId) -> CallFailure {
    conflict(
        "plan",
        format!("{task} waits for {plan}, so it cannot be a part of it"),
        "Remove the dependency that leads from the task to the plan, then move it.",
    )
}

pub(super) fn dependency_circle(through: EntityId) -> CallFailure {
    conflict(
        "depends_on",
        format!("{through} already leads back here: dependencies would form a cycle"),
        "Leave it out of depends_on, or remove the dependency on the other side first.",
    )
}
