//! Checks of what a plan or task points at, and of the focus.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Code, Issue, Subject};
use crate::{
    Documents, Unloaded,
    tasks::{Document, Tasks, entity::Meta, id::EntityId, lookup},
};

type Lookup<T> = Result<T, Unloaded<Tasks>>;

/// Checks dependencies and focus.
pub(super) fn check(docs: &Documents<Tasks>, subject: Subject<'_>) -> Lookup<Vec<Issue>> {
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

fn meta(docs: &Documents<Tasks>, id: EntityId) -> Lookup<Option<&Meta>> {
    Ok(docs.get(&id.into())?.and_then(Document::meta))
}

fn focus(docs: &Documents<Tasks>, subject: Subject<'_>) -> Lookup<Option<Issue>> {
    let Some(id) = lookup::workspace(docs)?.focus else { return Ok(None) };
    if meta(docs, id)?.is_some() {
        return Ok(None);
    }
    let message = format!("the focus {id} does not exist");
    let fix = subject.call_in_workspace("tasks_focus_clear");
    Ok(Some(Code::DanglingFocus.issue(message).with(fix)))
}

fn dangling(docs: &Documents<Tasks>, subject: Subject<'_>, own: &Meta) -> Lookup<Option<Issue>> {
    let mut kept = Vec::new();
    let mut gone = Vec::new();
    for id in &own.depends_on {
        let exists = meta(docs, *id)?.is_some();
        if exists { kept.push(*id) } else { gone.push(*id) }
    }
    let Some(first) = gone.first() else { return Ok(None) };
    let message = format!("{} deleted dependency(ies), first {first}", gone.len());
    let fix = subject.call("tasks_edit", json!({"depends_on": kept}));
    Ok(Some(Code::DanglingDependency.issue(message).with(fix)))
}

fn cycle(docs: &Documents<Tasks>, subject: Subject<'_>, own: &Meta) -> Lookup<Option<Issue>> {
    // On a circle one is both in front of somebody and behind somebody.
    if own.dependents.is_empty() {
        return Ok(None);
    }
    let mut harmless = Vec::new();
    let mut leading_back = None;
    for id in &own.depends_on {
        if meta(docs, *id)?.is_none() {
            continue;
        }
        if reaches(docs, *id, subject.id)? {
            leading_back = leading_back.or(Some(*id));
        } else {
            harmless.push(*id);
        }
    }
    let Some(through) = leading_back else { return Ok(None) };
    let message = format!("1 circle of dependencies, first through {through}");
    let fix = subject.call("tasks_edit", json!({"depends_on": harmless}));
    Ok(Some(Code::DependencyCycle.issue(message).with(fix)))
}

/// Whether following dependencies from `start` arrives at `goal`.
fn reaches(docs: &Documents<Tasks>, start: EntityId, goal: EntityId) -> Lookup<bool> {
    let mut seen = BTreeSet::from([start]);
    let mut pending = vec![start];
    while let Some(id) = pending.pop() {
        if id == goal {
            return Ok(true);
        }
        for next in meta(docs, id)?.map(|meta| meta.depends_on.as_slice()).unwrap_or_default() {
            if seen.insert(*next) {
                pending.push(*next);
            }
        }
    }
    Ok(false)
}
