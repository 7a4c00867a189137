//! What can be worked on now.

use clap::Args;
use muster_core::tasks::{
    entity::Urgency,
    view::next_tasks::{NextTask, NextTasks},
};

use super::{calls::NextCall, step};
use crate::{
    people::{Look, OpenWorkspace},
    screen::{Screen, Tone},
};

/// List the tasks that can be worked on now, most urgent first
#[derive(Args)]
pub(crate) struct NextCommand {
    /// Only tasks of this plan
    #[arg(long, value_name = "PLAN-ID")]
    plan: Option<String>,

    /// Tasks at most, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,
}

/// Prints the list.
pub(crate) fn run(desk: &OpenWorkspace, look: &Look, next: &NextCommand) -> anyhow::Result<()> {
    let view = desk.ask(&NextCall { plan: next.plan.as_deref(), limit: next.limit })?;
    look.print(&view, |screen| Ok(render(screen, &view)))
}

fn render(screen: Screen, view: &NextTasks) -> String {
    if view.tasks.is_empty() {
        return "No task is ready: `muster tasks` shows all, `muster add` makes one.\n".to_owned();
    }
    let mut text: String = view.tasks.iter().map(|task| entry(screen, task)).collect();
    if view.has_more {
        text += &screen.paint(Tone::Faint, "there are more: --limit shows up to 100\n");
    }
    text
}

fn entry(screen: Screen, task: &NextTask) -> String {
    let (glyph, tone) = step::status_glyph(task.status);
    let priority = if task.priority == Urgency::Medium {
        String::new()
    } else {
        format!("  {} priority", task.priority.word())
    };
    let next = match &task.step {
        Some(step) => format!("{} {}", step.path, step.title),
        None => "no open step".to_owned(),
    };
    let claim = match &task.claim {
        Some(claim) if claim.lapsed == Some(true) => format!("  left by {}", claim.holder()),
        Some(claim) => format!("  claimed by {}", claim.holder()),
        None => String::new(),
    };
    format!(
        "{} {} {}{priority}{claim}\n    {} {next}\n",
        screen.paint(tone, glyph),
        screen.paint(Tone::Strong, &task.id.to_string()),
        task.title,
        screen.paint(Tone::Active, "›"),
    )
}
