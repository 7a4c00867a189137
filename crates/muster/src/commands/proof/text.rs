//! The proof of a task as Markdown, which people read and paste.

use muster_api::Timestamp;
use muster_core::{
    checks::{
        finding::CheckFinding, ledger::Flakiness, protected::PROTECTED_GATE, verdict::Verdict,
    },
    tasks::{
        check_gate::{CheckState, WaiverRequest},
        view::proof::{
            CheckProof, CheckStanding, ProtectedProof, StepProof, TaskProof, VerdictFiles,
            WaiverView,
        },
    },
};

use crate::screen::spelled_out;

/// The whole proof.
pub(super) fn markdown(proof: &TaskProof) -> String {
    let target = &proof.target;
    let mut text = format!("# Proof of {}: {}\n\n", target.id, spelled_out(&target.title));
    text += &summary(proof);
    text.push('\n');
    if !proof.checks.is_empty() || proof.protected.is_some() {
        text += "\n## The task\n\n";
        text += &proof.checks.iter().map(check_lines).collect::<String>();
        text += &proof.protected.as_ref().map(protected_lines).unwrap_or_default();
    }
    text += &proof.steps.iter().map(step_section).collect::<String>();
    if !proof.findings.is_empty() {
        text += "\n## Findings\n\n";
        text += &proof.findings.iter().map(finding_line).collect::<String>();
    }
    if !proof.waivers_asked.is_empty() {
        text += "\n## Waivers asked for\n\n";
        text += &proof.waivers_asked.iter().map(asked_line).collect::<String>();
    }
    text
}

/// One line on all of it. What a closed step was closed with may have become stale since.
fn summary(proof: &TaskProof) -> String {
    let is_asked =
        !(proof.checks.is_empty() && proof.steps.is_empty() && proof.protected.is_none());
    if !is_asked {
        return "Nothing is asked for: neither the task nor its steps have checks.".to_owned();
    }
    if !proof.holds {
        return "Not all checks hold on the present files.".to_owned();
    }
    let closed = proof.steps.iter().filter(|step| step.completed).flat_map(|step| &step.checks);
    match closed.filter(|check| !check.standing.state.holds()).count() {
        0 => "All checks hold on the present files.".to_owned(),
        1 => "A check of a closed step no longer holds on the present files.".to_owned(),
        count => format!("{count} checks of closed steps no longer hold on the present files."),
    }
}

fn step_section(step: &StepProof) -> String {
    let state = if step.completed { "closed" } else { "open" };
    let checks: String = step.checks.iter().map(check_lines).collect();
    format!("\n## Step {} ({state}): {}\n\n{checks}", step.path, spelled_out(&step.title))
}

/// A check: its state, its verdict and what replaces it.
pub(in crate::commands) fn check_lines(check: &CheckProof) -> String {
    let CheckProof { name, standing, waivers, closed_with } = check;
    let mut text = format!("- {name}: {}", state(standing.state));
    text += &verdict(standing);
    text.push('\n');
    if let Some(Flakiness { passed, failed }) = standing.flaky {
        text += &format!("  - flaky: passed {passed} and failed {failed} times on these files\n");
    }
    for test in &standing.failed_tests {
        text += &format!("  - failed: {}\n", spelled_out(test));
    }
    text += &waivers.iter().map(waiver_line).collect::<String>();
    if let Some(run) = closed_with
        && Some(*run) != standing.run
    {
        text += &format!("  - the step was closed with {run}\n");
    }
    text
}

/// The protected files: whether a person has seen them, and what changed since.
fn protected_lines(protected: &ProtectedProof) -> String {
    let seen = match (&protected.seen_by, protected.seen_at_ms) {
        (Some(by), Some(at)) => {
            format!("last seen by {} on {}", spelled_out(&by.name), Timestamp(at).rfc3339())
        }
        (_, _) => "no person has seen them".to_owned(),
    };
    let is_seen = protected.state == CheckState::Passed;
    let state = if is_seen { "seen by a person" } else { state(protected.state) };
    let mut text = format!("- {PROTECTED_GATE}: {state} ({seen})\n");
    for change in &protected.changes {
        text += &format!("  - {}: {}\n", change.kind.name(), spelled_out(&change.path));
    }
    let more = protected.changed.unwrap_or(0).saturating_sub(protected.changes.len() as u64);
    if more > 0 {
        text += &format!("  - and {more} more\n");
    }
    text
}

fn state(state: CheckState) -> &'static str {
    match state {
        CheckState::Passed => "passed",
        CheckState::Waived => "waived",
        CheckState::Missing => "never run",
        CheckState::Running => "running",
        CheckState::Failed => "failed",
        CheckState::TimedOut => "timed out",
        CheckState::Empty => "empty: no test ran",
        CheckState::Stale => "stale: its verdict is about other files",
        CheckState::Untrusted => "not accepted by a person",
        CheckState::Review => "a person has to look",
    }
}

fn verdict(standing: &CheckStanding) -> String {
    let Some((verdict, files)) = standing.verdict.zip(standing.files) else {
        return String::new();
    };
    let mut parts = Vec::new();
    if standing.state != CheckState::Passed || verdict != Verdict::Passed {
        let about = match files {
            VerdictFiles::These => "on these files",
            VerdictFiles::Older => "on older files",
        };
        parts.push(format!("{} {about}", verdict.name()));
    }
    parts.extend(standing.run.map(|run| run.to_string()));
    parts.extend(standing.at_ms.map(|at| Timestamp(at).rfc3339()));
    parts.extend(
        standing.duration_ms.map(|spent| format!("{}.{} s", spent / 1000, spent / 100 % 10)),
    );
    if let Some(counts) = standing.counts {
        parts.push(format!(
            "{} passed, {} failed, {} skipped",
            counts.passed, counts.failed, counts.skipped
        ));
    }
    format!(" ({})", parts.join("; "))
}

fn waiver_line(view: &WaiverView) -> String {
    let WaiverView { waiver, of_task, holds } = view;
    let until = match (&waiver.scope, holds) {
        (None, _) => "for good",
        (Some(_), true) => "for these files",
        (Some(_), false) => "for other files, so it does not count now",
    };
    let place = if *of_task { " for the whole task" } else { "" };
    format!(
        "  - waived{place} by {} on {}, {until}: {}\n",
        spelled_out(&waiver.by.name),
        waiver.at.rfc3339(),
        spelled_out(&waiver.reason)
    )
}

fn finding_line(finding: &CheckFinding) -> String {
    format!("- {} ({}): {}\n", finding.check, finding.run, spelled_out(&finding.message))
}

fn asked_line(asked: &WaiverRequest) -> String {
    let by = asked.by.as_ref().map_or("an agent", |by| by.name.as_str());
    let step = asked.step.map(|step| format!(" of {step}")).unwrap_or_default();
    let reason = spelled_out(&asked.reason);
    format!("- {}{step}, asked for by {}: {reason}\n", asked.check, spelled_out(by))
}
