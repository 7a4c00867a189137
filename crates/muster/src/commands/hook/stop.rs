//! Keeps an agent from stopping in the middle of a step.

use std::{fmt::Write as _, process::ExitCode};

use muster_core::text;
use serde_json::json;

use super::input::HookInput;
use crate::{
    USAGE,
    commands::tasks::{StepRow, resumed},
    output,
    people::{OpenWorkspace, read},
};

/// Steps named in the reason.
const STEPS_NAMED_MAX: usize = 5;

/// Says whether the agent may stop.
pub(super) fn run(desk: &OpenWorkspace, said: &HookInput) -> anyhow::Result<ExitCode> {
    let focus = desk.ask("tasks_focus_get", json!({}))?;
    let Some(task) = focus["focus"].as_str().filter(|id| id.starts_with("TASK-")) else {
        return Ok(ExitCode::SUCCESS);
    };
    let steps: Vec<StepRow> = read(&resumed(desk, Some(task))?["steps"])?;
    let begun: Vec<&StepRow> =
        steps.iter().filter(|step| step.in_progress() && !step.missing().is_empty()).collect();
    if begun.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let reason = reason(desk, task, &begun)?;
    output::remark(&reason);
    // Told once in this turn already: keeping on would never end.
    Ok(if said.stop_hook_active { ExitCode::SUCCESS } else { ExitCode::from(USAGE) })
}

fn reason(desk: &OpenWorkspace, task: &str, begun: &[&StepRow]) -> anyhow::Result<String> {
    let mut text = format!("{task} has begun work that has not passed its gate:\n");
    for step in begun.iter().take(STEPS_NAMED_MAX) {
        let missing = step.missing().join(", ");
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
    let first = begun.first().map(|step| step.step_id.as_str()).unwrap_or_default();
    let target = json!({"workspace": desk.workspace().as_str(), "task": task, "step_id": first});
    writeln!(
        text,
        "Finish the work, then confirm with tasks_verify and close with tasks_close_step,"
    )?;
    writeln!(text, "arguments {target} and checkpoints, with proof where it is asked for.")?;
    write!(text, "If it cannot go on, say why with tasks_note or tasks_block and tell the user.")?;
    Ok(text)
}

/// What somebody wrote, so that it cannot look like a line of this reason.
fn in_one_line(words: &str) -> String {
    text::join_words(words, ' ')
}
