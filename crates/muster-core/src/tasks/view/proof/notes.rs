//! What the proof of a task adds to views of the task: lines about closed steps whose checks do not
//! hold any more, flaky checks, findings and protected files (PROOF-GATE-5).
//!
//! They depend on the files, so a view has them only if the call has read those. Whether there is
//! anything to read for is known from the documents.

use std::collections::BTreeMap;

use super::{CheckProof, ProtectedProof, TaskProof};
use crate::{
    checks::{ledger::Flakiness, project::AcceptedProject},
    tasks::{
        TaskDocs, TaskResult,
        check_gate::CheckState,
        entity::TaskStatus,
        id::{EntityId, TaskId},
        lookup,
        view::ViewLine,
    },
    text,
};

/// Lines of one kind.
const LINES_MAX: usize = 5;
/// Characters of a line.
const LINE_CHARS_MAX: usize = 200;
/// Steps or files that a line names.
const NAMED_MAX: usize = 3;

/// Lines for views of a task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProofNotes {
    /// What has to be proven again, for the radar.
    pub verify: Vec<ViewLine>,
    /// Everything a successor has to know, for the shift report.
    pub risks: Vec<ViewLine>,
}

impl ProofNotes {
    /// Whether the files can say anything about a plan or task: about an open task that has checks
    /// or a project with protected files.
    pub fn are_asked(docs: &TaskDocs, id: EntityId) -> TaskResult<bool> {
        let EntityId::Task(id) = id else { return Ok(false) };
        let Some(projects) = lookup::projects(docs)? else { return Ok(false) };
        let task = lookup::task(docs, id)?;
        let demands = |project: &AcceptedProject| {
            project.required().next().is_some() || !project.protected.is_empty()
        };
        let has_checks = !task.checks.is_empty()
            || task.steps.iter().any(|step| !step.checks.is_empty())
            || projects.accepted.iter().any(demands);
        Ok(has_checks && task.meta.status != TaskStatus::Done)
    }

    #[must_use]
    pub fn of(proof: &TaskProof) -> Self {
        let stale = lapsed_on_closed_steps(proof);
        let protected = proof.protected.as_ref();
        let protected = protected.and_then(|protected| unseen(protected, proof.target.id));
        let all = proof.checks.iter().chain(proof.steps.iter().flat_map(|step| &step.checks));
        let flaky: BTreeMap<&str, Flakiness> =
            all.filter_map(|check| Some((check.name.as_str(), check.standing.flaky?))).collect();
        let flaky = flaky.into_iter().map(|(name, Flakiness { passed, failed })| {
            format!(
                "Check {name} is flaky: passed {passed} and failed {failed} times on these files"
            )
        });
        let findings = proof.findings.iter();
        let findings =
            findings.map(|found| format!("{} ({}): {}", found.check, found.run, found.message));
        let verify: Vec<ViewLine> = stale.into_iter().chain(protected).collect();
        let risks = verify.iter().cloned();
        let risks = risks.chain(flaky.take(LINES_MAX)).chain(findings.take(LINES_MAX));
        let risks = risks.map(|line| text::cut(&line, LINE_CHARS_MAX)).collect();
        Self { verify, risks }
    }
}

/// One line for each check that does not hold any more for a step that was closed with it.
fn lapsed_on_closed_steps(proof: &TaskProof) -> Vec<ViewLine> {
    let mut lapsed: BTreeMap<(&str, CheckState), Vec<&str>> = BTreeMap::new();
    for step in proof.steps.iter().filter(|step| step.completed) {
        for CheckProof { name, standing, .. } in &step.checks {
            if !standing.state.holds() {
                lapsed.entry((name, standing.state)).or_default().push(&step.path);
            }
        }
    }
    let line = |((name, state), paths): ((&str, CheckState), Vec<&str>)| {
        let state = state.name().replace('_', " ");
        let verb = if paths.len() == 1 { "was" } else { "were" };
        format!("Check {name} is {state}: files changed since {} {verb} closed", named(&paths))
    };
    lapsed.into_iter().take(LINES_MAX).map(line).collect()
}

/// Protected files that a person has to look at.
fn unseen(protected: &ProtectedProof, task: TaskId) -> Option<ViewLine> {
    if protected.state.holds() {
        return None;
    }
    let paths: Vec<&str> = protected.changes.iter().map(|change| change.path.as_str()).collect();
    let which = if paths.is_empty() { String::new() } else { format!(": {}", named(&paths)) };
    Some(format!("Protected files need a person's look (`muster review {task}`){which}"))
}

fn named(names: &[&str]) -> String {
    let more = if names.len() > NAMED_MAX { ", …" } else { "" };
    let first = names.get(..NAMED_MAX).unwrap_or(names);
    format!("{}{more}", first.join(", "))
}
