//! One screen about a plan or task: now, why, verify, next, blockers.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    people::{Look, OpenWorkspace, read},
    screen::{Screen, Tone},
};

/// Show where a plan or task stands and what to do next
#[derive(Args)]
pub(super) struct RadarCommand {
    /// Plan or task; without it the focused one
    #[arg(value_name = "ID")]
    id: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct RadarLines {
    now: String,
    why: String,
    verify: Vec<String>,
    next: Vec<String>,
    blockers: Vec<String>,
}

/// How far a plan or task is.
#[derive(Clone, Copy)]
pub(crate) struct RadarProgress {
    percent: u64,
    done: u64,
    total: u64,
    noun: &'static str,
}

/// Prints the radar.
pub(super) fn run(desk: &OpenWorkspace, look: &Look, radar: &RadarCommand) -> anyhow::Result<()> {
    let raw = desk.ask("tasks_radar", target(radar.id.as_deref()))?;
    look.print(&raw, |screen| {
        let lines: RadarLines = read(&raw["radar"])?;
        Ok(render(screen, &lines, RadarProgress::of(&raw)))
    })
}

/// Arguments that name a plan or task, or nothing to mean the focused one.
pub(crate) fn target(id: Option<&str>) -> Value {
    match id {
        Some(id) => json!({"target": id}),
        None => json!({}),
    }
}

impl RadarProgress {
    /// Reads the summary that a view has of its steps or of its tasks.
    pub(crate) fn of(view: &Value) -> Option<Self> {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let steps = &view["steps"];
        let rollup = &view["rollup"];
        let (done, total, noun) = if rollup.is_object() {
            (number(&rollup["tasks_done"]), number(&rollup["tasks_total"]), "tasks done")
        } else {
            (number(&steps["completed"]), number(&steps["total"]), "steps closed")
        };
        let percent = (done * 100).checked_div(total)?;
        Some(Self { percent, done, total, noun })
    }

    /// The bar and the numbers.
    pub(crate) fn line(self, screen: Screen) -> String {
        let Self { percent, done, total, noun } = self;
        format!("{} {percent} %  {done} of {total} {noun}\n", screen.bar(percent))
    }
}

/// The radar as text.
fn render(screen: Screen, lines: &RadarLines, progress: Option<RadarProgress>) -> String {
    let why = match &*lines.why {
        "" => String::new(),
        why => paragraph(screen, why),
    };
    head(screen, lines, progress) + &why + &lists(screen, lines)
}

/// What it is about and how far it is, and the next thing to do.
pub(crate) fn report_head(
    screen: Screen,
    lines: &RadarLines,
    progress: Option<RadarProgress>,
) -> String {
    head(screen, lines, progress) + &section(screen, Tone::Active, "Next", "›", &lines.next)
}

fn head(screen: Screen, lines: &RadarLines, progress: Option<RadarProgress>) -> String {
    let mut text = screen.paint(Tone::Strong, &lines.now) + "\n";
    if let Some(progress) = progress {
        text += &progress.line(screen);
    }
    text
}

/// What is next, what has to be verified, what is in the way.
pub(crate) fn lists(screen: Screen, lines: &RadarLines) -> String {
    section(screen, Tone::Active, "Next", "›", &lines.next)
        + &section(screen, Tone::Warning, "To verify", "·", &lines.verify)
        + &section(screen, Tone::Bad, "In the way", "⊘", &lines.blockers)
}

/// A wrapped text with an empty line before it.
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
        let wrapped = screen.wrapped(line, "    ").join("\n");
        text += &format!("  {} {}\n", screen.paint(tone, glyph), wrapped.trim_start());
    }
    text
}
