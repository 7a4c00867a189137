//! One plan or task in full.

use std::fmt::Write as _;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    radar::{self, RadarLines, RadarProgress, paragraph, section},
    rows::{CliTaskRow, EvidenceRow},
    step::{self, StepRow},
};
use crate::{
    people::{Look, OpenWorkspace, read},
    screen::{Screen, Tone, cut, fill},
};

/// Rows of one page of steps or evidence.
const PAGE_ROWS: u32 = 1_000;
/// Events at the end of the page.
const EVENTS_SHOWN: u32 = 8;

/// Show one plan or task in full: steps, checkpoints, proofs, blockers, evidence
#[derive(Args)]
pub(super) struct Show {
    /// Plan or task; without it the focused one
    #[arg(value_name = "ID")]
    id: Option<String>,
}

/// What is shown of the plan or task itself.
#[derive(Deserialize)]
struct Target {
    id: String,
    title: String,
    status: String,
    revision: u64,
    priority: String,
    tags: Vec<String>,
    parent: Option<String>,
    domain: Option<String>,
    phase: Option<String>,
    component: Option<String>,
    assignee: Option<String>,
    waiting_on: Vec<String>,
    description: Option<String>,
    context: Option<String>,
    contract: Option<String>,
    checklist: Option<Checklist>,
}

/// A plan's checklist.
#[derive(Deserialize)]
struct Checklist {
    current: usize,
    steps: Vec<String>,
}

/// What is shown of an event.
#[derive(Deserialize)]
struct Event {
    ts: String,
    #[serde(rename = "type")]
    kind: String,
    task: String,
    path: Option<String>,
}

/// Prints everything about it.
pub(super) fn run(desk: &OpenWorkspace, look: &Look, show: &Show) -> anyhow::Result<()> {
    let raw = whole(desk, show.id.as_deref())?;
    look.print(&raw, |screen| Page { screen, text: String::new() }.render(&raw))
}

/// The answer of `tasks_resume` with the steps of all its pages, and all evidence beside it. Focus
/// stays where it is.
pub(crate) fn whole(desk: &OpenWorkspace, id: Option<&str>) -> anyhow::Result<Value> {
    let mut whole = resumed(desk, id)?;
    let mut arguments = json!({"target": whole["target"]["id"], "limit": PAGE_ROWS});
    let mut evidence = Vec::new();
    loop {
        let mut page = desk.ask("tasks_evidence_get", arguments.clone())?;
        evidence.extend(page["evidence"].as_array_mut().map(std::mem::take).unwrap_or_default());
        let cursor = page["pagination"]["next_cursor"].take();
        if cursor.is_null() {
            whole["evidence"] = Value::Array(evidence);
            return Ok(whole);
        }
        arguments["cursor"] = cursor;
    }
}

/// The whole answer of `tasks_resume`.
pub(crate) fn resumed(desk: &OpenWorkspace, id: Option<&str>) -> anyhow::Result<Value> {
    let mut arguments = radar::target(id);
    arguments["read_only"] = json!(true);
    arguments["events_limit"] = json!(EVENTS_SHOWN);
    arguments["steps_limit"] = json!(PAGE_ROWS);
    let mut whole = desk.ask("tasks_resume", arguments.clone())?;
    loop {
        let cursor = whole["steps_pagination"]["next_cursor"].take();
        if cursor.is_null() {
            return Ok(whole);
        }
        arguments["steps_cursor"] = cursor;
        let mut page = desk.ask("tasks_resume", arguments.clone())?;
        let rows = page["steps"].as_array_mut().map(std::mem::take).unwrap_or_default();
        whole["steps_pagination"] = page["steps_pagination"].take();
        whole["steps"].as_array_mut().into_iter().for_each(|steps| steps.extend(rows.clone()));
    }
}

/// The page in the making.
struct Page {
    screen: Screen,
    text: String,
}

impl Page {
    fn render(mut self, raw: &Value) -> anyhow::Result<String> {
        let target: Target = read(&raw["target"])?;
        self.head(&target)?;
        let summary = json!({"steps": raw["steps_summary"], "rollup": raw["rollup"]});
        if let Some(progress) = RadarProgress::of(&summary) {
            self.text += &progress.line(self.screen);
        }
        let texts = [
            ("Contract", &target.contract),
            ("Description", &target.description),
            ("Context", &target.context),
        ];
        for (heading, words) in texts {
            if let Some(words) = words {
                write!(self.text, "\n{}", self.screen.paint(Tone::Strong, heading))?;
                self.text += &paragraph(self.screen, words);
            }
        }
        self.checklist(target.checklist.as_ref());
        let lines: RadarLines = read(&raw["radar"])?;
        self.text += &radar::lists(self.screen, &lines);
        let steps: Vec<StepRow> = raw.get("steps").map(read).transpose()?.unwrap_or_default();
        self.steps(&steps)?;
        let tasks: Vec<CliTaskRow> = raw.get("tasks").map(read).transpose()?.unwrap_or_default();
        self.tasks(&tasks)?;
        self.evidence(&read::<Vec<EvidenceRow>>(&raw["evidence"])?);
        self.events(&target.id, &read::<Vec<Event>>(&raw["timeline"]["events"])?)?;
        Ok(self.text)
    }

    fn head(&mut self, target: &Target) -> anyhow::Result<()> {
        let screen = self.screen;
        let (glyph, tone) = step::status_glyph(&target.status);
        let status = screen.paint(tone, &format!("{glyph} {}", target.status));
        let title = screen.paint(Tone::Strong, &format!("{} {}", target.id, target.title));
        writeln!(self.text, "{title}")?;
        let mut facts = vec![status, format!("revision {}", target.revision)];
        facts.extend(target.parent.clone());
        facts.push(format!("{} priority", target.priority.to_lowercase()));
        for (name, value) in [
            ("domain", &target.domain),
            ("phase", &target.phase),
            ("component", &target.component),
            ("assignee", &target.assignee),
        ] {
            facts.extend(value.as_ref().map(|value| format!("{name} {value}")));
        }
        facts.extend(target.tags.iter().map(|tag| format!("#{tag}")));
        writeln!(self.text, "{}", facts.join(" · "))?;
        if !target.waiting_on.is_empty() {
            let waits = format!("⧗ waits for {}", target.waiting_on.join(", "));
            writeln!(self.text, "{}", screen.paint(Tone::Warning, &waits))?;
        }
        Ok(())
    }

    fn checklist(&mut self, checklist: Option<&Checklist>) {
        let Some(Checklist { current, steps }) = checklist else { return };
        let tick = |at: usize| if at < *current { "✔" } else { "○" };
        let items = steps.iter().enumerate().map(|(at, item)| format!("{} {item}", tick(at)));
        let items: Vec<String> = items.collect();
        let heading = format!("Checklist {current}/{}", steps.len());
        self.text += &section(self.screen, Tone::Strong, &heading, "", &items);
    }

    fn steps(&mut self, steps: &[StepRow]) -> anyhow::Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        let screen = self.screen;
        writeln!(self.text, "\n{}", screen.paint(Tone::Strong, "Steps"))?;
        for step in steps {
            let inner = "  ".repeat(step.depth());
            let (glyph, tone) = step.glyph();
            let title = screen.wrapped(&format!("{} {}", step.path, step.title), "    ").join("\n");
            writeln!(self.text, "{inner}  {} {}", screen.paint(tone, glyph), title.trim_start())?;
            let below = format!("{inner}      ");
            writeln!(self.text, "{below}{}", step.marks(screen))?;
            for (word, texts) in [
                ("criterion", &step.success_criteria),
                ("test", &step.tests),
                ("blocker", &step.blockers),
            ] {
                for text in texts {
                    self.lines(&below, &format!("{word}: {text}"));
                }
            }
            for trouble in step.troubles() {
                self.lines(&below, &trouble);
            }
            for node in &step.nodes {
                writeln!(self.text, "{below}{}", node.line(screen, below.len()))?;
            }
            let kept = [(step.notes_count, "note"), (step.evidence_count, "evidence record")];
            let kept = kept.iter().filter(|(count, _)| *count > 0);
            let kept: Vec<String> = kept.map(|(count, noun)| counted(*count, noun)).collect();
            if !kept.is_empty() {
                let kept = screen.paint(Tone::Faint, &kept.join(", "));
                writeln!(self.text, "{below}{kept}")?;
            }
        }
        Ok(())
    }

    fn lines(&mut self, indent: &str, text: &str) {
        for line in self.screen.wrapped(text, indent) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn tasks(&mut self, tasks: &[CliTaskRow]) -> anyhow::Result<()> {
        if !tasks.is_empty() {
            writeln!(self.text, "\n{}", self.screen.paint(Tone::Strong, "Tasks"))?;
        }
        for task in tasks {
            let (glyph, tone) = step::status_glyph(&task.status);
            let room = self.screen.columns().saturating_sub(task.id.len() + 24);
            let closed = task.steps_count - task.steps_open;
            writeln!(
                self.text,
                "  {} {} {} {} {:>7}",
                self.screen.paint(tone, glyph),
                task.id,
                fill(&task.title, room),
                self.screen.bar(task.progress),
                format!("{closed}/{}", task.steps_count)
            )?;
        }
        Ok(())
    }

    fn evidence(&mut self, evidence: &[EvidenceRow]) {
        if evidence.is_empty() {
            return;
        }
        self.text += &format!("\n{}\n", self.screen.paint(Tone::Strong, "Evidence"));
        for one in evidence {
            self.text += &format!("  {}\n", cut(&one.line(), self.screen.columns() - 2));
            for receipt in one.checks.iter().chain(&one.attachments) {
                self.text += &self.screen.wrapped(receipt, "      ").join("\n");
                self.text.push('\n');
            }
        }
    }

    fn events(&mut self, id: &str, events: &[Event]) -> anyhow::Result<()> {
        if !events.is_empty() {
            writeln!(self.text, "\n{}", self.screen.paint(Tone::Strong, "Latest"))?;
        }
        for event in events {
            let moment = event.ts.get(..16).unwrap_or(&event.ts).replace('T', " ");
            let task = if event.task == id { "" } else { &event.task };
            let words = [event.kind.as_str(), task, event.path.as_deref().unwrap_or("")];
            let words = words.into_iter().filter(|word| !word.is_empty());
            let moment = self.screen.paint(Tone::Faint, &moment);
            writeln!(self.text, "  {moment}  {}", words.collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
