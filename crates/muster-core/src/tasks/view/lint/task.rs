//! Checks of a task and its steps.

use super::{Code, Issue, Subject, changed};
use crate::{
    tasks::{
        TaskDocs, TaskLookup,
        check_gate::ProjectGate,
        entity::{Task, TaskStatus},
        lookup,
        step::{Checkpoint, Step, StepLook},
        view::step_object::is_settled,
    },
    text,
};

/// Blocked steps that a message names one by one.
const REASONS_MAX: usize = 10;
/// Characters of a reason or a blocker in a message.
const REASON_CHARS_MAX: usize = 200;

/// All checks of a task except those of its links.
pub(super) fn check(
    docs: &TaskDocs,
    project: &ProjectGate<'_>,
    subject: Subject<'_>,
    task: &Task,
) -> TaskLookup<Vec<Issue>> {
    let mut issues = Vec::new();
    if lookup::find_plan(docs, task.parent)?.is_none() {
        issues.push(Code::OrphanTask.issue(format!("the plan {} does not exist", task.parent)));
    }
    issues.extend(closed_with_open_children(subject, task));
    issues.extend(done_with_open_work(subject, task));
    issues.extend(closed_unconfirmed(task));
    issues.extend(forced(task));
    if task.steps.is_empty() {
        issues.push(Code::NoSteps.issue(format!("{} has no steps", task.id)));
    }
    issues.extend(empty_lists(task));
    issues.extend(missing(task));
    issues.extend(missing_proof(task));
    issues.extend(blocked(task));
    issues.extend(blocker_texts(task));
    issues.extend(changed::check(docs, task)?);
    issues.extend(closed_without_proof(task).map(|issue| {
        // EASE-DONE-7.
        if project.is_strict() { issue.made_an_error() } else { issue }
    }));
    Ok(issues)
}

/// The steps that fail a test: how many, and the first.
pub(super) fn failing(task: &Task, test: impl Fn(&Step) -> bool) -> Option<(usize, &Step)> {
    let mut steps = task.steps.iter().filter(|step| test(step));
    let first = steps.next()?;
    Some((1 + steps.count(), first))
}

fn closed_with_open_children(subject: Subject<'_>, task: &Task) -> Option<Issue> {
    let open_inside = |step: &Step| {
        task.steps.open_children(&step.path).next().is_some() || step.open_nodes().next().is_some()
    };
    let (count, first) = failing(task, |step| step.is_closed() && open_inside(step))?;
    let message = format!("{count} closed step(s) with open work inside, first {}", first.path);
    let reopen =
        subject.call("tasks_progress").with("step_id", &first.id).with("completed", &false);
    Some(Code::ClosedWithOpenChildren.issue(message).with(reopen))
}

fn done_with_open_work(subject: Subject<'_>, task: &Task) -> Option<Issue> {
    if task.meta.status != TaskStatus::Done {
        return None;
    }
    let message = match failing(task, |step| !step.is_closed()) {
        Some((count, first)) => {
            format!("{} is DONE with {count} open step(s), first {}", task.id, first.path)
        }
        None if task.steps.is_empty() => format!("{} is DONE with 0 steps", task.id),
        None => return None,
    };
    let fix = subject.call("tasks_complete").with("status", &TaskStatus::Active);
    Some(Code::DoneWithOpenWork.issue(message).with(fix))
}

fn closed_unconfirmed(task: &Task) -> Option<Issue> {
    let (count, first) = failing(task, |step| {
        step.is_closed() && step.waiver.is_none() && !step.unconfirmed().is_empty()
    })?;
    let path = &first.path;
    let names = Checkpoint::names(&first.unconfirmed());
    let message = format!("{count} closed step(s) unconfirmed, first {path}: {names}");
    Some(Code::ClosedUnconfirmed.issue(message))
}

fn forced(task: &Task) -> Option<Issue> {
    let (count, first) = failing(task, |step| step.waiver.is_some() && !is_settled(step))?;
    let reason = first.waiver.as_ref().and_then(|waiver| waiver.reason.as_deref());
    let reason = text::cut(reason.unwrap_or("no reason given"), REASON_CHARS_MAX);
    let message = format!("{count} step(s) closed by force, first {} ({reason})", first.path);
    Some(Code::ForcedSteps.issue(message))
}

/// Closed steps that nothing shows to work. Steps closed by force have a finding of their own.
fn closed_without_proof(task: &Task) -> Option<Issue> {
    let is_backed = |step: &Step| match StepLook::of(step) {
        Some(StepLook::Proven | StepLook::Waived) | None => true,
        Some(StepLook::Claimed | StepLook::Evidence) => !step.proven.is_empty(),
    };
    let (count, first) = failing(task, |step| step.waiver.is_none() && !is_backed(step))?;
    let message = format!("{count} step(s) closed without proof, first {}", first.path);
    Some(Code::ClosedWithoutProof.issue(message))
}

fn empty_lists(task: &Task) -> Vec<Issue> {
    type Empty = fn(&Step) -> bool;
    let lists: [(Code, &str, Empty); 2] = [
        (Code::EmptyCriteria, "success criteria", |step| step.success_criteria.is_empty()),
        (Code::EmptyTests, "tests", |step| step.tests.is_empty()),
    ];
    let issue = |(code, what, empty): (Code, &str, Empty)| {
        let (count, first) = failing(task, |step| !step.is_closed() && empty(step))?;
        Some(code.issue(format!("{count} open step(s) without {what}, first {}", first.path)))
    };
    lists.into_iter().filter_map(issue).collect()
}

fn missing(task: &Task) -> Vec<Issue> {
    let issue = |checkpoint: Checkpoint| {
        let (count, first) = failing(task, |step| step.misses(checkpoint))?;
        let code = match checkpoint {
            Checkpoint::Criteria => Code::MissingCriteria,
            Checkpoint::Tests => Code::MissingTests,
            Checkpoint::Security => Code::MissingSecurity,
            Checkpoint::Perf => Code::MissingPerf,
            Checkpoint::Docs => Code::MissingDocs,
        };
        let name = checkpoint.name();
        let path = &first.path;
        let message = format!("{name} unconfirmed in {count} step(s), first {path}");
        Some(code.issue(message))
    };
    Checkpoint::ALL.into_iter().filter_map(issue).collect()
}

fn missing_proof(task: &Task) -> Option<Issue> {
    let (count, first) = failing(task, |step| !step.unproven().is_empty())?;
    let path = &first.path;
    let names = Checkpoint::names(&first.unproven());
    let message = format!("{count} step(s) without required proof, first {path}: {names}");
    Some(Code::MissingProof.issue(message))
}

/// Every reason counts here (TASKS-PIT-4), so the message names steps one by one.
fn blocked(task: &Task) -> Option<Issue> {
    let (count, first) = failing(task, |step| step.block.is_some())?;
    let line = |step: &Step| {
        let reason = step.block.as_ref().and_then(|block| block.reason.as_deref());
        let reason = text::cut(reason.unwrap_or("no reason given"), REASON_CHARS_MAX);
        format!("{} ({reason})", step.path)
    };
    let steps = task.steps.iter().filter(|step| step.block.is_some());
    let mut lines: Vec<String> = steps.take(REASONS_MAX).map(line).collect();
    if count > lines.len() {
        lines.push(format!("+{} more", count - lines.len()));
    }
    let path = &first.path;
    let lines = lines.join("; ");
    Some(Code::BlockedSteps.issue(format!("{count} step(s) blocked, first {path}: {lines}")))
}

fn blocker_texts(task: &Task) -> Option<Issue> {
    let mut found: Vec<(String, &str)> = Vec::new();
    for step in task.steps.iter() {
        if let (false, Some(first)) = (step.is_closed(), step.blockers.first()) {
            found.push((step.path.to_string(), first));
        }
        for node in step.open_nodes() {
            found.extend(node.lists.blockers.first().map(|first| {
                let first: &str = first;
                (step.node_path(node), first)
            }));
        }
    }
    let (path, blocker) = found.first()?;
    let count = found.len();
    let blocker = text::cut(blocker, REASON_CHARS_MAX);
    let message = format!("{count} step(s) or node(s) with blockers, first {path}: {blocker}");
    Some(Code::BlockerTexts.issue(message))
}
