//! The lines people and agents read: what to verify, what comes next, what blocks.

use super::steps::StepsSummary;
use crate::{
    tasks::{
        TaskDocs, TaskDocument, TaskKey, TaskLookup,
        check_gate::CheckWaiver,
        entity::{Task, TaskStatus},
        id::EntityId,
        step::{Checkpoint, HowConfirmed, Step, Waiver},
    },
    text,
};

pub type ViewLine = String;

/// Lines in `next`.
const NEXT_LINES_MAX: usize = 3;
/// Characters of a `next` line.
const NEXT_CHARS_MAX: usize = 160;
/// Characters of a step title in a `next` line.
const NEXT_TITLE_CHARS_MAX: usize = 80;
/// Characters of a blocker line.
const BLOCKER_CHARS_MAX: usize = 200;

/// Lines about checks that were set aside.
const WAIVER_LINES_MAX: usize = 5;

/// Lines about one step before `+n more`.
const DEFINITION_LINES_MAX: usize = 10;
/// Characters of a line about a criterion or a test.
const DEFINITION_CHARS_MAX: usize = 200;

/// Characters of the evidence of a criterion or a test in its line.
const EVIDENCE_CHARS_MAX: usize = 80;

/// What makes the first open step done, each line with whether and by what it was confirmed.
pub(super) fn definition(task: &Task) -> Vec<ViewLine> {
    let Some(step) = task.steps.first_open() else { return Vec::new() };
    let of = |checkpoint: Checkpoint, word: &'static str| {
        (0..).zip(step.list_of(checkpoint)).map(move |(index, text)| {
            let text = text::cut(text, DEFINITION_CHARS_MAX);
            let confirmed = step.how_confirmed(checkpoint, index).map(confirmed);
            format!("{} {word}: {text}{}", step.path, confirmed.unwrap_or_default())
        })
    };
    let all = of(Checkpoint::Criteria, "criterion").chain(of(Checkpoint::Tests, "test"));
    let mut lines: Vec<ViewLine> = all.collect();
    if lines.len() > DEFINITION_LINES_MAX {
        let hidden = lines.len() - DEFINITION_LINES_MAX;
        lines.truncate(DEFINITION_LINES_MAX);
        lines.push(format!("+{hidden} more"));
    }
    lines
}

/// By what a line was confirmed. Who did it is in the confirmations of the step.
fn confirmed(how: HowConfirmed<'_>) -> String {
    match how {
        HowConfirmed::Item(item) => match &item.evidence {
            Some(evidence) => format!(" (confirmed: {})", text::cut(evidence, EVIDENCE_CHARS_MAX)),
            None => " (confirmed)".to_owned(),
        },
        HowConfirmed::Check(run) => format!(" (confirmed by {run})"),
        HowConfirmed::Bulk(_) => " (confirmed in bulk)".to_owned(),
    }
}

/// Missing confirmations and proofs, per checkpoint, over all steps.
pub(super) fn verify(task: &Task, summary: &StepsSummary) -> Vec<ViewLine> {
    let first = |test: &dyn Fn(&Step) -> bool| {
        task.steps.iter().find(|step| test(step)).map(|step| step.path.to_string())
    };
    let confirm = [
        (Checkpoint::Criteria, summary.missing_criteria),
        (Checkpoint::Tests, summary.missing_tests),
        (Checkpoint::Security, summary.missing_security),
        (Checkpoint::Perf, summary.missing_perf),
        (Checkpoint::Docs, summary.missing_docs),
    ];
    let attach = [
        (Checkpoint::Tests, summary.missing_proof_tests),
        (Checkpoint::Security, summary.missing_proof_security),
        (Checkpoint::Perf, summary.missing_proof_perf),
        (Checkpoint::Docs, summary.missing_proof_docs),
    ];
    let mut lines = Vec::new();
    for (checkpoint, count) in confirm.into_iter().filter(|(_, count)| *count > 0) {
        if let Some(path) = first(&|step| step.misses(checkpoint)) {
            lines.push(format!("Confirm {}: {count} step(s), first {path}", checkpoint.name()));
        }
    }
    for (checkpoint, count) in attach.into_iter().filter(|(_, count)| *count > 0) {
        if let Some(path) = first(&|step| step.misses_proof(checkpoint)) {
            let name = checkpoint.name();
            lines.push(format!("Attach proof for {name}: {count} step(s), first {path}"));
        }
    }
    lines
}

/// The next lines of a task (TASKS-VIEW-7).
pub(super) fn next(task: &Task) -> Vec<ViewLine> {
    if task.meta.status == TaskStatus::Done {
        return Vec::new();
    }
    let mut lines = if task.steps.is_empty() {
        vec![format!("Add steps to {}", task.id)]
    } else if let Some(step) = task.steps.first_open() {
        next_of_open_step(task, step)
    } else {
        next_of_closed_steps(task)
    };
    lines.truncate(NEXT_LINES_MAX);
    lines.iter().map(|line| text::cut(line, NEXT_CHARS_MAX)).collect()
}

/// The first of those lines as far as the steps alone give it.
pub(super) fn next_of_steps(task: &Task) -> Option<ViewLine> {
    let lines = match task.steps.first_open() {
        Some(step) => next_of_open_step(task, step),
        None => unmet_of_steps(task),
    };
    lines.first().map(|line| text::cut(line, NEXT_CHARS_MAX))
}

/// What a DONE task needs by now, because evidence or a proof mode came later (EASE-DONE-6).
pub(super) fn lapsed(task: &Task) -> Vec<ViewLine> {
    let mut lines = unmet_of_steps(task);
    lines.truncate(NEXT_LINES_MAX);
    lines.iter().map(|line| text::cut(line, NEXT_CHARS_MAX)).collect()
}

fn next_of_open_step(task: &Task, step: &Step) -> Vec<ViewLine> {
    let path = &step.path;
    let mut lines = Vec::new();
    if let Some(block) = &step.block {
        lines.push(format!("Unblock {path}: {}", reason(block.reason.as_deref())));
        lines.extend(workable(task).take(NEXT_LINES_MAX).map(|other| {
            format!("Or work on {}: {}", other.path, text::cut(&other.title, NEXT_TITLE_CHARS_MAX))
        }));
    }
    if let Some(node) = step.open_nodes().next() {
        lines.push(format!("Finish sub-task {}", step.node_path(node)));
    }
    lines.extend(gate_lines(step, ""));
    lines.push(format!("Close {path}: {}", text::cut(&step.title, NEXT_TITLE_CHARS_MAX)));
    lines
}

/// Open steps that nothing inside or on them holds up.
fn workable(task: &Task) -> impl Iterator<Item = &Step> {
    task.steps.iter().filter(|step| {
        !step.is_closed()
            && step.block.is_none()
            && task.steps.open_children(&step.path).next().is_none()
    })
}

fn unmet_of_steps(task: &Task) -> Vec<ViewLine> {
    let mut lines = Vec::new();
    for step in task.steps.iter() {
        let forced = if step.waiver.is_some() { " (closed by force)" } else { "" };
        lines.extend(gate_lines(step, forced));
    }
    lines
}

fn next_of_closed_steps(task: &Task) -> Vec<ViewLine> {
    let mut lines = unmet_of_steps(task);
    lines.extend(task.meta.waits().iter().map(|id| format!("Wait for {id}")));
    if lines.is_empty() {
        lines.push(format!("Finish {}", task.id));
    }
    lines
}

fn gate_lines(step: &Step, suffix: &str) -> Vec<ViewLine> {
    let missing = Checkpoint::names(&step.unconfirmed());
    let unproven = Checkpoint::names(&step.unproven());
    let mut lines = Vec::new();
    if !missing.is_empty() {
        lines.push(format!("Confirm {missing} for {}{suffix}", step.path));
    }
    if !unproven.is_empty() {
        lines.push(format!("Attach proof for {unproven} to {}{suffix}", step.path));
    }
    lines
}

/// Blockers of a task's own steps and nodes.
pub(super) fn blockers_inside(task: &Task) -> Vec<ViewLine> {
    let mut lines = Vec::new();
    let mut of_steps = Vec::new();
    let mut of_nodes = Vec::new();
    for step in task.steps.iter().filter(|step| !step.is_closed()) {
        if let Some(block) = &step.block {
            lines.push(format!("{} blocked: {}", step.path, reason(block.reason.as_deref())));
        }
        of_steps.extend(step.blockers.iter().map(|blocker| format!("{}: {blocker}", step.path)));
        for node in step.open_nodes() {
            let path = step.node_path(node);
            if node.blocked {
                of_nodes.push(format!("{path} blocked"));
            }
            of_nodes.extend(node.lists.blockers.iter().map(|blocker| format!("{path}: {blocker}")));
        }
    }
    lines.append(&mut of_steps);
    lines.append(&mut of_nodes);
    lines.iter().map(|line| text::cut(line, BLOCKER_CHARS_MAX)).collect()
}

/// Open blocker cards of a task.
pub(super) fn blocker_cards(task: &Task) -> impl Iterator<Item = ViewLine> {
    task.meta.blocker_cards.values().map(|line| text::cut(line, BLOCKER_CHARS_MAX))
}

/// Blockers of a task (TASKS-VIEW-6), complete.
pub(super) fn blockers(docs: &TaskDocs, task: &Task) -> TaskLookup<Vec<ViewLine>> {
    let mut lines = blockers_inside(task);
    lines.extend(waits(docs, &task.meta.waits())?);
    lines.extend(blocker_cards(task));
    Ok(lines)
}

/// One line per step closed by force.
pub(super) fn forced(task: &Task) -> Vec<ViewLine> {
    let waived = task.steps.iter().filter_map(|step| Some((step, step.waiver.as_ref()?)));
    let line = |(step, waiver): (&Step, &Waiver)| {
        format!("Forced: {} ({})", step.path, reason(waiver.reason.as_deref()))
    };
    waived.map(line).collect()
}

/// Checks that a person has set aside, each beside its last verdict (PROOF-WAIVE-1).
pub(super) fn waived(docs: &TaskDocs, task: &Task) -> TaskLookup<Vec<ViewLine>> {
    let of_steps = task.steps.iter().flat_map(|step| {
        step.check_waivers.iter().map(move |waiver| (format!(" of {}", step.path), waiver))
    });
    let all = task.check_waivers.iter().map(|waiver| (String::new(), waiver)).chain(of_steps);
    let mut lines = Vec::new();
    for (place, CheckWaiver { check, reason, by, scope, .. }) in all.take(WAIVER_LINES_MAX) {
        let verdict = match docs.get(&TaskKey::CheckLedger(check.clone()))? {
            Some(TaskDocument::CheckLedger(ledger)) => ledger.last(),
            Some(_) | None => None,
        };
        let verdict = verdict.map_or("it never ran".to_owned(), |last| {
            format!("last {} in {}", last.verdict.name(), last.run)
        });
        let until = if scope.is_some() { "for some files" } else { "for good" };
        let by = &by.name;
        let line = format!("Waived: {check}{place} {until} by {by}: {reason} ({verdict})");
        lines.push(text::cut(&line, BLOCKER_CHARS_MAX));
    }
    Ok(lines)
}

/// Risks of open nodes.
pub(super) fn risks(task: &Task) -> Vec<ViewLine> {
    let mut lines = Vec::new();
    for step in task.steps.iter() {
        for node in step.open_nodes() {
            let path = step.node_path(node);
            lines.extend(node.lists.risks.iter().map(|risk| format!("{path} risk: {risk}")));
            let problems = node.lists.problems.iter();
            lines.extend(problems.map(|problem| format!("{path} problem: {problem}")));
        }
    }
    lines
}

/// One line per open dependency.
pub(super) fn waits(docs: &TaskDocs, waits: &[EntityId]) -> TaskLookup<Vec<ViewLine>> {
    let mut lines = Vec::new();
    docs.have_all(waits.iter().map(|id| TaskKey::from(*id)))?;
    for id in waits {
        let title = docs
            .get(&TaskKey::from(*id))?
            .and_then(TaskDocument::meta)
            .map(|meta| meta.title.as_str());
        let line = format!("waits for {id}: {}", title.unwrap_or_default());
        lines.push(text::cut(&line, BLOCKER_CHARS_MAX));
    }
    Ok(lines)
}

fn reason(given: Option<&str>) -> &str {
    given.unwrap_or("no reason given")
}
