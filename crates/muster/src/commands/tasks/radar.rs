//! One screen about a plan or task: now, why, verify, next, blockers.

use clap::Args;
use muster_core::tasks::view::{Rollup, StepsSummary, StepsView, radar::Radar};

use super::calls::RadarCall;
use crate::{
    people::{Look, OpenWorkspace},
    screen::{Screen, Tone, with_plurals},
};

/// What is counted, for one and for several.
type Nouns = [&'static str; 2];
const STEPS: Nouns = ["step closed", "steps closed"];
const TASKS: Nouns = ["task done", "tasks done"];

/// Show the state of a plan or task and what to do next
#[derive(Args)]
pub(super) struct RadarCommand {
    /// Plan or task; the focused one by default
    #[arg(value_name = "ID")]
    id: Option<String>,
}

/// Progress of a plan or task.
#[derive(Clone, Copy)]
pub(crate) struct RadarProgress {
    percent: u64,
    done: u64,
    total: u64,
    nouns: Nouns,
}

/// Prints the radar.
pub(super) fn run(desk: &OpenWorkspace, look: &Look, radar: &RadarCommand) -> anyhow::Result<()> {
    let view = desk.ask(&RadarCall { target: radar.id.as_deref() })?;
    look.print(&view, |screen| {
        let progress = RadarProgress::of(&view.progress.steps, view.progress.rollup.as_ref());
        Ok(render(screen, &view.standing.radar, progress))
    })
}

impl RadarProgress {
    /// Counts the tasks of a plan, or the steps of a task.
    pub(crate) fn of(steps: &StepsView, rollup: Option<&Rollup>) -> Option<Self> {
        match (rollup, steps) {
            (Some(rollup), _) => Self::of_tasks(rollup),
            (None, StepsView::Task(steps)) => Self::of_steps(steps),
            (None, StepsView::Plan(steps)) => Self::new(steps.completed, steps.total, STEPS),
        }
    }

    pub(super) fn of_tasks(rollup: &Rollup) -> Option<Self> {
        Self::new(rollup.tasks_done, rollup.tasks_total, TASKS)
    }

    pub(super) fn of_steps(steps: &StepsSummary) -> Option<Self> {
        Self::new(steps.completed as u64, steps.total as u64, STEPS)
    }

    fn new(done: u64, total: u64, nouns: Nouns) -> Option<Self> {
        let percent = (done * 100).checked_div(total)?;
        Some(Self { percent, done, total, nouns })
    }

    pub(crate) fn line(self, screen: Screen) -> String {
        let Self { percent, done, total, nouns: [one, several] } = self;
        let noun = if total == 1 { one } else { several };
        format!("{} {percent} %  {done} of {total} {noun}\n", screen.bar(percent))
    }
}

fn render(screen: Screen, lines: &Radar, progress: Option<RadarProgress>) -> String {
    let why = match &*lines.why {
        "" => String::new(),
        why => paragraph(screen, why),
    };
    head(screen, lines, progress) + &why + &lists(screen, lines)
}

/// Title, progress, and the next thing to do.
pub(crate) fn report_head(
    screen: Screen,
    lines: &Radar,
    progress: Option<RadarProgress>,
) -> String {
    head(screen, lines, progress) + &section(screen, Tone::Active, "Next", "›", &lines.next)
}

fn head(screen: Screen, lines: &Radar, progress: Option<RadarProgress>) -> String {
    let mut text = screen.paint(Tone::Strong, &lines.now) + "\n";
    if let Some(progress) = progress {
        text += &progress.line(screen);
    }
    text
}

/// What is next, what has to be verified, what is in the way.
pub(crate) fn lists(screen: Screen, lines: &Radar) -> String {
    section(screen, Tone::Active, "Next", "›", &lines.next)
        + &section(screen, Tone::Warning, "To verify", "·", &lines.verify)
        + &section(screen, Tone::Bad, "In the way", "⊘", &lines.blockers)
}

/// Wrapped text with an empty line before it.
pub(crate) fn paragraph(screen: Screen, text: &str) -> String {
    format!("\n{}\n", screen.wrapped(text, "").join("\n"))
}

/// A heading and its lines; nothing when there are none.
pub(crate) fn section(
    screen: Screen,
    tone: Tone,
    heading: &str,
    glyph: &str,
    lines: &[String],
) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", screen.paint(tone, heading));
    for line in lines {
        let wrapped = screen.wrapped(&with_plurals(line), "    ").join("\n");
        text += &format!("  {} {}\n", screen.paint(tone, glyph), wrapped.trim_start());
    }
    text
}
