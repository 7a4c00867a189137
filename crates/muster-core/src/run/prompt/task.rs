//! The head of the task block: run, goal, the node itself, the bound task.

use super::View;
use crate::text::cut;

const GOAL_CHARS_MAX: usize = 2_000;
const CAPSULE_CHARS_MAX: usize = 1_500;

/// The parts of a task block that rarely change.
pub(super) struct TaskHeader {
    pub(super) run: String,
    pub(super) goal: String,
    pub(super) own: String,
    pub(super) task: String,
}

pub(super) fn head(view: &View<'_>) -> TaskHeader {
    let run = view.run;
    TaskHeader {
        run: format!("Run: {} ({})", run.name, run.id),
        goal: goal(view),
        own: own(view),
        task: task(view),
    }
}

fn goal(view: &View<'_>) -> String {
    let goal = view.run.goal.as_deref().map(|goal| cut(goal, GOAL_CHARS_MAX));
    let mut text = goal.map(|goal| format!("Goal:\n{goal}")).unwrap_or_default();
    if !view.run.definition_of_done.is_empty() {
        let separator = if text.is_empty() { "" } else { "\n\n" };
        let lines = view.run.definition_of_done.join("\n- ");
        text.push_str(&format!("{separator}Done when:\n- {lines}"));
    }
    text
}

fn own(view: &View<'_>) -> String {
    let node = view.node;
    let alias = node.alias.as_deref().map(|alias| format!(", alias {alias}")).unwrap_or_default();
    let able = [
        (node.capabilities.spawn_nodes, "change the graph"),
        (node.capabilities.write_code, "write code"),
        (node.capabilities.write_docs, "write docs"),
        (node.capabilities.run_commands, "run commands"),
        (node.orchestrator, "complete the run"),
    ];
    let able: Vec<&str> = able.into_iter().filter(|(can, _)| *can).map(|(_, what)| what).collect();
    format!(
        "You: {}{alias}, id {}, role {}, provider {}, directory {}\nCapabilities: {}; permissions: \
         {}, spawning {}",
        node.label,
        node.id,
        node.role_template,
        node.provider,
        node.workdir,
        if able.is_empty() { "none".to_owned() } else { able.join(", ") },
        node.permissions.cli_permissions_mode,
        if node.permissions.spawn_requires_approval { "needs approval" } else { "is free" },
    )
}

fn task(view: &View<'_>) -> String {
    let Some(task) = &view.source.task else { return String::new() };
    format!("Task {}:\n{}", task.id, cut(task.capsule.trim(), CAPSULE_CHARS_MAX))
}
