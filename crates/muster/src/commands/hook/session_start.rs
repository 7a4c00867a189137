//! The resume capsule as a short text: what an agent needs to continue, most important lines first.

use std::process::ExitCode;

use muster_core::{
    Json,
    tasks::{
        entity::TaskStatus,
        view::capsule::{Capsule, LastEvent, NextAction},
    },
    text,
};
use serde_json::json;

use crate::{
    commands::tasks::calls::{ContextCall, FocusCall, SnapshotCall},
    output,
    people::OpenWorkspace,
    screen::cut,
};

/// The text stays below this many bytes.
const CAPSULE_BYTES_MAX: usize = 2_000;
/// Characters of a title; a capsule's own lines are shorter.
const TITLE_CHARS_MAX: usize = 120;
/// Open tasks listed when none is focused.
const TASKS_NAMED_MAX: u32 = 5;

/// Prints the capsule.
pub(super) fn run(desk: &OpenWorkspace) -> anyhow::Result<ExitCode> {
    output::print(&fit(&lines(desk)?))?;
    Ok(ExitCode::SUCCESS)
}

fn lines(desk: &OpenWorkspace) -> anyhow::Result<Vec<String>> {
    if desk.ask(&FocusCall {})?.focus.is_none() {
        return without_focus(desk);
    }
    let capsule = desk.ask(&SnapshotCall { read_only: true })?.capsule;
    let mut lines = in_order(desk, &capsule);
    if capsule.radar.next.is_empty() {
        // A finished task is not where to continue, so other open work follows right after it.
        let open = open_tasks(desk)?.into_iter().map(|task| format!("Open: {task}"));
        lines.splice(2..2, open);
    }
    Ok(lines)
}

/// The most important lines first: which task, what is next, how to close it.
fn in_order(desk: &OpenWorkspace, capsule: &Capsule) -> Vec<String> {
    let Capsule { target, radar, handoff, action, last_event, .. } = capsule;
    let workspace = desk.workspace();
    let mut lines = vec![
        format!("Muster, workspace {workspace}. {}", radar.now),
        format!("Next: {}", radar.next.first().map_or("nothing is left to do", String::as_str)),
    ];
    lines.extend(action.as_ref().map(action_line));
    lines.extend(radar.blockers.iter().map(|line| format!("In the way: {line}")));
    lines.extend(radar.next.iter().skip(1).map(|line| format!("Then: {line}")));
    lines.extend(radar.verify.iter().map(|line| format!("To verify: {line}")));
    if !radar.why.is_empty() {
        lines.push(format!("Why: {}", radar.why));
    }
    lines.extend(handoff.remaining.iter().map(|line| format!("Remaining: {line}")));
    lines.extend(handoff.done.iter().map(|line| format!("Done: {line}")));
    let known = |risk: &&String| !radar.blockers.contains(risk) && !radar.verify.contains(risk);
    lines.extend(handoff.risks.iter().filter(known).map(|line| format!("Risk: {line}")));
    if let Some(LastEvent { ts, kind, path, .. }) = last_event {
        lines.push(format!("Last: {kind} {} at {ts}", path.as_deref().unwrap_or(&target.id)));
    }
    lines.push(format!(
        "More: tasks_snapshot {} (revision {})",
        json!({"workspace": workspace.as_str()}),
        target.revision
    ));
    lines
}

fn action_line(action: &NextAction) -> String {
    let arguments = Json::of(&action.args.as_ref().or(action.args_hint.as_ref()));
    format!("To {}: {} {arguments}", action.purpose, action.tool)
}

/// Tasks that could be worked on, active ones first.
fn open_tasks(desk: &OpenWorkspace) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for status in [TaskStatus::Active, TaskStatus::Todo] {
        let call = ContextCall {
            status: Some(status),
            tasks_limit: TASKS_NAMED_MAX,
            ..ContextCall::default()
        };
        for task in desk.ask(&call)?.tasks {
            let title = cut(&task.title, TITLE_CHARS_MAX);
            lines.push(format!("{} ({}): {title}", task.id, status.name()));
        }
    }
    lines.truncate(TASKS_NAMED_MAX as usize);
    Ok(lines)
}

fn without_focus(desk: &OpenWorkspace) -> anyhow::Result<Vec<String>> {
    let mut lines = open_tasks(desk)?;
    let workspace = json!(desk.workspace().as_str());
    let first = match &lines[..] {
        [] => format!(
            "Muster, workspace {workspace}: no open task. Start one with tasks_macro_start \
             {{\"workspace\":{workspace},\"task_title\":…}}"
        ),
        _ => format!(
            "Muster, workspace {workspace}: no task is focused. Continue one with tasks_snapshot \
             {{\"workspace\":{workspace},\"task\":…}}:"
        ),
    };
    lines.insert(0, first);
    Ok(lines)
}

/// As many lines from the start as fit the limit.
fn fit(lines: &[String]) -> String {
    let mut capsule = String::new();
    for line in lines {
        // A line break in user text must not start a line that looks like ours.
        let line = text::join_words(line, ' ');
        if capsule.len() + line.len() + 1 >= CAPSULE_BYTES_MAX {
            break;
        }
        capsule += &line;
        capsule.push('\n');
    }
    capsule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stays_below_its_limit_and_keeps_the_first_lines() {
        let lines: Vec<String> = (0..50).map(|n| format!("{n} {}", "ü".repeat(160))).collect();
        let text = fit(&lines);
        assert!(text.len() < CAPSULE_BYTES_MAX, "{}", text.len());
        assert!(text.starts_with("0 ü") && text.contains("\n1 ü"), "{text}");
    }
}
