//! Keeps an agent from stopping in the middle of a step.

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use muster_api::{Toolset, UnprovenStep};
use muster_core::{
    tasks::{
        id::{EntityId, TaskId},
        view::step_object::StepObject,
    },
    text,
};
use serde_json::json;

use super::{input::HookInput, unproven};
use crate::{
    USAGE,
    commands::tasks::{calls::FocusCall, resumed, step::StepState},
    output,
    people::OpenWorkspace,
};

/// Steps named in the reason.
const STEPS_NAMED_MAX: usize = 5;

/// Decides whether the agent may stop.
pub(super) fn run(
    desk: &OpenWorkspace,
    said: &HookInput,
    (toolset, wait): (Toolset, Duration),
) -> anyhow::Result<ExitCode> {
    let unproven = unproven::steps(desk, wait)?;
    if let Some(code) = answered(desk, &unproven, toolset) {
        return Ok(code);
    }
    let Some(EntityId::Task(task)) = desk.ask(&FocusCall {})?.focus else {
        return Ok(ExitCode::SUCCESS);
    };
    let steps = resumed(desk, Some(&task.to_string()))?.of_task.map(|task| task.steps);
    let is_begun = |step: &&StepObject| {
        let state = StepState::from(*step);
        // An agent that was let go is not held because of what the same checks would confirm.
        let is_let_go = unproven.iter().any(|known| known.step.to_string() == step.step_id);
        state.in_progress() && !state.missing().is_empty() && !is_let_go
    };
    let begun: Vec<&StepObject> = steps.iter().flatten().filter(is_begun).collect();
    if begun.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let reason = reason(task, &begun)? + &advice(desk, task, begun[0], toolset);
    output::remark(&reason);
    // It was held back once in this turn already: doing so again could go on forever.
    Ok(if said.stop_hook_active { ExitCode::SUCCESS } else { ExitCode::from(USAGE) })
}

/// Decides whether the agent may call something done: only the checks of its step count.
pub(super) fn task_completed(
    desk: &OpenWorkspace,
    (toolset, wait): (Toolset, Duration),
) -> anyhow::Result<ExitCode> {
    let unproven = unproven::steps(desk, wait)?;
    Ok(answered(desk, &unproven, toolset).unwrap_or(ExitCode::SUCCESS))
}

/// The reply about checks that do not hold, written for the agent; `None` if the agent may stop.
fn answered(desk: &OpenWorkspace, unproven: &[UnprovenStep], toolset: Toolset) -> Option<ExitCode> {
    if let Some(reason) = unproven::refusal(desk, unproven, toolset) {
        output::remark(&reason);
        return Some(ExitCode::from(USAGE));
    }
    output::remark(&unproven::release(unproven)?);
    Some(ExitCode::SUCCESS)
}

fn reason(task: TaskId, begun: &[&StepObject]) -> anyhow::Result<String> {
    let mut text = format!("{task} has started work that has not passed its gate:\n");
    for step in begun.iter().take(STEPS_NAMED_MAX) {
        let missing = StepState::from(*step).missing().join(", ");
        write!(text, "- {} {} needs {missing}", step.path, in_one_line(&step.title))?;
        if step.blocked {
            let reason = step.block_reason.as_deref().unwrap_or("no reason given");
            write!(text, "; blocked: {}", in_one_line(reason))?;
        }
        text.push('\n');
    }
    if begun.len() > STEPS_NAMED_MAX {
        writeln!(text, "- and {} more", begun.len() - STEPS_NAMED_MAX)?;
    }
    Ok(text)
}

/// What to do about it, with tools that agents of this store are shown.
fn advice(desk: &OpenWorkspace, task: TaskId, step: &StepObject, toolset: Toolset) -> String {
    let workspace = desk.workspace().as_str();
    let target = json!({"workspace": workspace, "task": task, "step_id": step.step_id});
    let advice = format!(
        "Finish the work, then confirm with tasks_verify and close with tasks_close_step,\n\
         arguments {target} and checkpoints, with proof where it is asked for.\n\
         If you cannot go on, record why with tasks_note or tasks_block and tell the user."
    );
    desk.app().registry().in_toolset(&advice, toolset)
}

/// User text on one line, so that it cannot look like a line of this message.
fn in_one_line(words: &str) -> String {
    text::join_words(words, ' ')
}
