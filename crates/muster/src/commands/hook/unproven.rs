//! The message to an agent that wants to stop although checks of its step do not hold.

use std::time::Duration;

use muster_api::{AgentStop, Caller, Toolset, UnprovenStep};
use muster_core::{
    AuthorKind, AuthorSurface,
    tasks::{
        check_gate::{CheckGate, CheckState},
        stop::{STOP_REFUSALS_MAX, StopReply},
    },
    text,
};
use serde_json::json;

use crate::people::OpenWorkspace;

/// Steps whose checks do not hold, after those that fit the time were run.
pub(super) fn steps(desk: &OpenWorkspace, wait: Duration) -> anyhow::Result<Vec<UnprovenStep>> {
    let mut caller = Caller::of(AuthorKind::Server, "stop hook", AuthorSurface::Hook);
    caller.directory = std::env::current_dir().ok();
    let stop = AgentStop { workspace: desk.workspace(), caller: &caller, wait };
    desk.app().answer_stop(&stop).map_err(|error| anyhow::anyhow!(error.message))
}

/// Why the agent may not stop; `None` if it may.
pub(super) fn refusal(
    desk: &OpenWorkspace,
    steps: &[UnprovenStep],
    toolset: Toolset,
) -> Option<String> {
    let is_refused = |step: &&UnprovenStep| step.reply == Some(StopReply::Refused);
    let refused: Vec<&UnprovenStep> = steps.iter().filter(is_refused).collect();
    let first = refused.first()?;
    let mut reason = format!("{} is in progress and its checks do not hold:\n", first.task);
    for step in &refused {
        let title = text::join_words(&step.title, ' ');
        for check in &step.checks {
            reason += &format!("- {} {title}: {}\n", step.path, standing(check));
            reason += &details(check);
        }
    }
    let target = json!({
        "workspace": desk.workspace().as_str(), "task": first.task, "step_id": first.step,
    });
    let advice = format!(
        "Correct the cause, then call tasks_close_step with {target} and checkpoints: it runs the \
         checks and closes the step.\n\
         If you cannot go on, record why with tasks_block and tell the user. (Refusal {} of \
         {STOP_REFUSALS_MAX} for this step.)",
        first.refusals
    );
    reason += &desk.app().registry().in_toolset(&advice, toolset);
    Some(reason)
}

/// One line about steps whose agent is let go now.
pub(super) fn release(steps: &[UnprovenStep]) -> Option<String> {
    let is_released = |step: &&UnprovenStep| step.reply == Some(StopReply::Allowed);
    let step = steps.iter().find(is_released)?;
    let checks: Vec<String> = step.checks.iter().map(standing).collect();
    Some(format!(
        "Muster: {} {} stays open for a person to look at: {}",
        step.task,
        step.path,
        checks.join(", ")
    ))
}

/// A check, its state and its run.
fn standing(check: &CheckGate) -> String {
    let state = match check.state {
        CheckState::Passed => "passed",
        CheckState::Waived => "was waived",
        CheckState::Missing => "has not run on these files",
        CheckState::Running => "is still running",
        CheckState::Failed => "failed",
        CheckState::TimedOut => "timed out",
        CheckState::Empty => "ran no test",
        CheckState::Review => "need a person's look",
        CheckState::Stale => "has not run since the files changed",
        CheckState::Untrusted => "is not accepted by a person yet",
    };
    match check.run {
        Some(run) => format!("check {} {state} ({run})", check.name),
        None => format!("check {} {state}", check.name),
    }
}

/// The failed tests, and the end of the output as quoted lines.
fn details(check: &CheckGate) -> String {
    let mut lines = String::new();
    for test in &check.failed_tests {
        lines += &format!("    failed: {}\n", text::join_words(test, ' '));
    }
    for line in check.tail.iter().flat_map(|tail| tail.lines()) {
        // Quoted, so that output of a check cannot look like a line of ours.
        lines += &format!("    | {line}\n");
    }
    lines
}
