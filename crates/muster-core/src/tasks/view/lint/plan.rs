//! Checks of a plan: its status, its checklist, its tasks.

use super::{Code, Issue, Subject};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskLookup,
        entity::{Plan, TaskStatus},
    },
};

/// All checks of a plan except those of its links.
pub(super) fn check(docs: &TaskDocs, subject: Subject<'_>, plan: &Plan) -> TaskLookup<Vec<Issue>> {
    let mut issues: Vec<Issue> = done_with_open_tasks(docs, subject, plan)?.into_iter().collect();
    issues.extend(checklist(subject, plan));
    if plan.sums.tasks.total() == 0 {
        issues.push(Code::NoTasks.issue(format!("{} has no tasks", plan.id)));
    }
    Ok(issues)
}

fn done_with_open_tasks(
    docs: &TaskDocs,
    subject: Subject<'_>,
    plan: &Plan,
) -> TaskLookup<Option<Issue>> {
    let open = plan.sums.tasks.total() - plan.sums.tasks.done;
    if plan.meta.status != TaskStatus::Done || open == 0 {
        return Ok(None);
    }
    let first = docs.list(&ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: vec![TaskStatus::Todo.name(), TaskStatus::Active.name()],
        limit: Some(1),
        ..ListQuery::of("task")
    })?;
    let first = first.into_iter().find_map(TaskDocument::as_task).map(|task| task.id.to_string());
    let id = plan.id;
    let first = first.unwrap_or_default();
    let message = format!("{id} is DONE with {open} open task(s), first {first}");
    let fix = subject.call("tasks_complete").with("status", &TaskStatus::Active);
    Ok(Some(Code::DoneWithOpenWork.issue(message).with(fix)))
}

fn checklist(subject: Subject<'_>, plan: &Plan) -> Option<Issue> {
    let current = plan.checklist.current as usize;
    let points = plan.checklist.steps.len();
    if current > points {
        let message = format!("the checklist is at {current} of {points} point(s)");
        let fix = subject.call("tasks_plan").with("current", &points);
        return Some(Code::ChecklistIndexOutOfRange.issue(message).with(fix));
    }
    if points == 0 {
        return Some(Code::NoChecklist.issue(format!("{} has no checklist", plan.id)));
    }
    if plan.meta.status == TaskStatus::Done && current < points {
        let id = plan.id;
        let left = points - current;
        let message = format!("{id} is DONE with {left} point(s) left, first {}", current + 1);
        let fix = subject.call("tasks_plan").with("advance", &true);
        return Some(Code::ChecklistIncomplete.issue(message).with(fix));
    }
    None
}
