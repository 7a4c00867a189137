//! Checks of the references of a plan or task, and of the focus.

use std::collections::BTreeSet;

use super::{Code, Issue, Subject};
use crate::tasks::{TaskDocs, TaskDocument, TaskLookup, entity::Meta, id::EntityId, lookup};

/// Checks dependencies and focus.
pub(super) fn check(docs: &TaskDocs, subject: Subject<'_>) -> TaskLookup<Vec<Issue>> {
    let mut issues: Vec<Issue> = focus(docs, subject)?.into_iter().collect();
    let Some(meta) = meta(docs, subject.id)? else { return Ok(issues) };
    issues.extend(cycle(docs, subject, meta)?);
    issues.extend(dangling(docs, subject, meta)?);
    let waits = meta.waits();
    if let Some(first) = waits.first() {
        let count = waits.len();
        issues.push(Code::Waiting.issue(format!("waits for {count}, first {first}")));
    }
    Ok(issues)
}

fn meta(docs: &TaskDocs, id: EntityId) -> TaskLookup<Option<&Meta>> {
    Ok(docs.get(&id.into())?.and_then(TaskDocument::meta))
}

fn focus(docs: &TaskDocs, subject: Subject<'_>) -> TaskLookup<Option<Issue>> {
    let Some(id) = lookup::workspace(docs)?.focus else { return Ok(None) };
    if meta(docs, id)?.is_some() {
        return Ok(None);
    }
    let message = format!("the focus {id} does not exist");
    let fix = subject.call_in_workspace("tasks_focus_clear");
    Ok(Some(Code::DanglingFocus.issue(message).with(fix)))
}

fn dangling(docs: &TaskDocs, subject: Subject<'_>, own: &Meta) -> TaskLookup<Option<Issue>> {
    let mut kept = Vec::new();
    let mut gone = Vec::new();
    for id in &own.depends_on {
        let exists = meta(docs, *id)?.is_some();
        if exists { kept.push(*id) } else { gone.push(*id) }
    }
    let Some(first) = gone.first() else { return Ok(None) };
    let message = format!("{} deleted dependency(ies), first {first}", gone.len());
    let fix = subject.call("tasks_edit").with("depends_on", &kept);
    Ok(Some(Code::DanglingDependency.issue(message).with(fix)))
}

/// An entity that waits for itself is on a cycle: through its own dependency or, for a plan,
/// through one of its tasks.
fn cycle(docs: &TaskDocs, subject: Subject<'_>, own: &Meta) -> TaskLookup<Option<Issue>> {
    let waiters = lookup::waiters(docs, subject.id)?;
    if let Some(first) = own.depends_on.iter().find(|id| waiters.contains(id)) {
        return circle(docs, subject, &waiters, *first).map(Some);
    }
    for id in &waiters {
        let task = docs.get(&(*id).into())?.and_then(TaskDocument::as_task);
        if task.is_some_and(|task| subject.id == task.parent.into()) {
            return circle(docs, Subject { id: *id, ..subject }, &waiters, *id).map(Some);
        }
    }
    Ok(None)
}

/// The issue of a cycle, with a fix for one of its own dependencies: the one that waits is removed.
fn circle(
    docs: &TaskDocs,
    mended: Subject<'_>,
    waiters: &BTreeSet<EntityId>,
    through: EntityId,
) -> TaskLookup<Issue> {
    let mut harmless = Vec::new();
    let depends_on = meta(docs, mended.id)?.map(|meta| meta.depends_on.as_slice());
    for id in depends_on.unwrap_or_default().iter().filter(|id| !waiters.contains(id)) {
        if meta(docs, *id)?.is_some() {
            harmless.push(*id);
        }
    }
    let message = format!("1 cycle of dependencies, first through {through}");
    let fix = mended.call("tasks_edit").with("depends_on", &harmless);
    Ok(Code::DependencyCycle.issue(message).with(fix))
}
