//! One plan or task in full.

use std::fmt::Write as _;

use clap::Args;
use muster_core::tasks::{
    entity::Checklist,
    step::Checkpoint,
    view::{
        TargetView, context::TaskRow, evidence::EvidenceView, overview::TargetStanding,
        resume::ResumeView, step_object::StepObject,
    },
    wire::EventView,
};
use serde::Serialize;

use super::{
    calls::{EvidenceCall, PAGE_ROWS, ResumeCall},
    history::event_line,
    radar::{self, RadarProgress, paragraph, section},
    step::{self, StepState},
};
use crate::{
    commands::completions::entity_ids,
    people::{Look, OpenWorkspace},
    screen::{Screen, Tone, counted, cut, fill},
};

/// Events at the end of the page.
const EVENTS_SHOWN: u32 = 8;

/// Show one plan or task in full: steps, checkpoints, proofs, blockers, evidence
#[derive(Args)]
pub(crate) struct Show {
    /// Plan or task; the focused one by default
    #[arg(value_name = "ID", add = entity_ids())]
    id: Option<String>,
}

/// A plan or task with all of its steps and evidence.
#[derive(Serialize)]
pub(crate) struct WholeEntity {
    #[serde(flatten)]
    pub(crate) resume: ResumeView,
    /// A plan has no steps, but programs may rely on this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_pagination: Option<NoMoreSteps>,
    pub(crate) evidence: Vec<EvidenceView>,
}

#[derive(Serialize)]
struct NoMoreSteps {
    next_cursor: Option<String>,
}

pub(crate) fn run(desk: &OpenWorkspace, look: &Look, show: &Show) -> anyhow::Result<()> {
    let whole = whole(desk, show.id.as_deref())?;
    look.print(&whole, |screen| Page { screen, text: String::new() }.render(&whole))
}

/// The result of `tasks_resume` with the steps of all its pages, and all evidence. The focus
/// does not change.
pub(crate) fn whole(desk: &OpenWorkspace, id: Option<&str>) -> anyhow::Result<WholeEntity> {
    let resume = resumed(desk, id)?;
    let mut evidence = Vec::new();
    let mut cursor = None;
    loop {
        let target = &resume.standing.target.id;
        let page = desk.ask(&EvidenceCall { target, limit: PAGE_ROWS, cursor })?;
        evidence.extend(page.evidence);
        cursor = page.pagination.next_cursor;
        if cursor.is_none() {
            let is_plan = resume.of_plan.is_some();
            let steps_pagination = is_plan.then_some(NoMoreSteps { next_cursor: None });
            return Ok(WholeEntity { resume, steps_pagination, evidence });
        }
    }
}

/// The complete result of `tasks_resume`.
pub(crate) fn resumed(desk: &OpenWorkspace, id: Option<&str>) -> anyhow::Result<ResumeView> {
    let mut call = ResumeCall {
        target: id,
        read_only: true,
        events_limit: EVENTS_SHOWN,
        steps_limit: PAGE_ROWS,
        steps_cursor: None,
    };
    let mut whole = desk.ask(&call)?;
    let Some(known) = &mut whole.of_task else { return Ok(whole) };
    while let Some(cursor) = known.steps_pagination.next_cursor.take() {
        call.steps_cursor = Some(cursor);
        if let Some(page) = desk.ask(&call)?.of_task {
            known.steps.extend(page.steps);
            known.steps_pagination = page.steps_pagination;
        }
    }
    Ok(whole)
}

/// The page being built.
struct Page {
    screen: Screen,
    text: String,
}

impl Page {
    fn render(mut self, whole: &WholeEntity) -> anyhow::Result<String> {
        let ResumeView { standing, timeline, of_task, of_plan, .. } = &whole.resume;
        let TargetStanding { target, radar, .. } = standing;
        self.head(target)?;
        let of_plan_progress =
            of_plan.as_ref().and_then(|plan| RadarProgress::of_tasks(&plan.rollup));
        let of_task_progress =
            of_task.as_ref().and_then(|task| RadarProgress::of_steps(&task.steps_summary));
        if let Some(progress) = of_plan_progress.or(of_task_progress) {
            self.text += &progress.line(self.screen);
        }
        for (heading, words) in [
            ("Contract", target.plan.as_ref().and_then(|plan| plan.contract.as_ref())),
            ("Description", target.description.as_ref()),
            ("Context", target.context.as_ref()),
        ] {
            if let Some(words) = words {
                write!(self.text, "\n{}", self.screen.paint(Tone::Strong, heading))?;
                self.text += &paragraph(self.screen, words);
            }
        }
        if let Some(plan) = &target.plan {
            self.checklist(&plan.checklist);
        }
        self.text += &radar::lists(self.screen, radar);
        if let Some(task) = of_task {
            self.steps(&task.steps)?;
        }
        if let Some(plan) = of_plan {
            self.tasks(&plan.tasks)?;
        }
        self.evidence(&whole.evidence);
        self.events(&target.id, &timeline.events)?;
        Ok(self.text)
    }

    fn head(&mut self, target: &TargetView) -> anyhow::Result<()> {
        let screen = self.screen;
        let (glyph, tone) = step::status_glyph(target.status);
        let status = screen.paint(tone, &format!("{glyph} {}", target.status.name()));
        let title = screen.paint(Tone::Strong, &format!("{} {}", target.id, target.title));
        writeln!(self.text, "{title}")?;
        let mut facts = vec![status, format!("revision {}", target.revision)];
        facts.extend(target.task.as_ref().map(|task| task.parent.clone()));
        facts.push(format!("{} priority", target.priority.word()));
        if let Some(task) = &target.task {
            for (name, value) in [
                ("domain", &task.domain),
                ("phase", &task.phase),
                ("component", &task.component),
                ("assignee", &task.assignee),
            ] {
                facts.extend(value.as_ref().map(|value| format!("{name} {value}")));
            }
        }
        facts.extend(target.tags.iter().map(|tag| format!("#{tag}")));
        writeln!(self.text, "{}", facts.join(" · "))?;
        if !target.waiting_on.is_empty() {
            let waits = format!("⧗ waiting for {}", joined(&target.waiting_on));
            writeln!(self.text, "{}", screen.paint(Tone::Warning, &waits))?;
        }
        Ok(())
    }

    fn checklist(&mut self, Checklist { current, steps, .. }: &Checklist) {
        let tick = |at: usize| if at < *current as usize { "✔" } else { "○" };
        let items = steps.iter().enumerate().map(|(at, item)| format!("{} {item}", tick(at)));
        let items: Vec<String> = items.collect();
        let heading = format!("Checklist {current}/{}", steps.len());
        self.text += &section(self.screen, Tone::Strong, &heading, "", &items);
    }

    fn steps(&mut self, steps: &[StepObject]) -> anyhow::Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        let screen = self.screen;
        writeln!(self.text, "\n{}", screen.paint(Tone::Strong, "Steps"))?;
        for step in steps {
            let state = StepState::from(step);
            let inner = "  ".repeat(state.depth());
            let (glyph, tone) = state.glyph();
            let title = screen.wrapped(&format!("{} {}", step.path, step.title), "    ").join("\n");
            writeln!(self.text, "{inner}  {} {}", screen.paint(tone, glyph), title.trim_start())?;
            let below = format!("{inner}      ");
            writeln!(self.text, "{below}{}", state.marks(screen))?;
            if let Some(closing) = step::closing(screen, step) {
                writeln!(self.text, "{below}{closing}")?;
            }
            for (word, texts) in [
                ("criterion", &step.success_criteria),
                ("test", &step.tests),
                ("blocker", &step.blockers),
            ] {
                for text in texts {
                    self.lines(&below, &format!("{word}: {text}"));
                }
            }
            for trouble in step::troubles(step) {
                self.lines(&below, &trouble);
            }
            for node in &step.nodes {
                let glyph = step::node_glyph(node.status, node.blocked);
                let line = step::node_line(screen, below.len(), glyph, &node.path, &node.title);
                writeln!(self.text, "{below}{line}")?;
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

    fn tasks(&mut self, tasks: &[TaskRow]) -> anyhow::Result<()> {
        if !tasks.is_empty() {
            writeln!(self.text, "\n{}", self.screen.paint(Tone::Strong, "Tasks"))?;
        }
        for task in tasks {
            let (glyph, tone) = step::status_glyph(task.status);
            let id = task.id.to_string();
            let room = self.screen.columns().saturating_sub(id.len() + 24);
            let closed = task.steps_count - task.steps_open;
            writeln!(
                self.text,
                "  {} {} {} {} {:>7}",
                self.screen.paint(tone, glyph),
                id,
                fill(&task.title, room),
                self.screen.bar(task.progress),
                format!("{closed}/{}", task.steps_count)
            )?;
        }
        Ok(())
    }

    fn evidence(&mut self, evidence: &[EvidenceView]) {
        if evidence.is_empty() {
            return;
        }
        self.text += &format!("\n{}\n", self.screen.paint(Tone::Strong, "Evidence"));
        for one in evidence {
            self.text += &format!("  {}\n", cut(&evidence_line(one), self.screen.columns() - 2));
            for receipt in receipts(one) {
                self.text += &self.screen.wrapped(receipt, "      ").join("\n");
                self.text.push('\n');
            }
        }
    }

    fn events(&mut self, id: &str, events: &[EventView]) -> anyhow::Result<()> {
        if !events.is_empty() {
            writeln!(self.text, "\n{}", self.screen.paint(Tone::Strong, "Latest"))?;
        }
        for event in events {
            writeln!(self.text, "  {}", event_line(self.screen, event, Some(id)))?;
        }
        Ok(())
    }
}

/// Its id, path, purpose and size.
pub(crate) fn evidence_line(evidence: &EvidenceView) -> String {
    let names: Vec<&str> = evidence.checkpoints.iter().map(|it| Checkpoint::name(*it)).collect();
    let linked = match &names[..] {
        [] => String::new(),
        names => format!("for {}", names.join(", ")),
    };
    let place = evidence.path.as_deref().unwrap_or_default();
    let words = [evidence.evidence_id.as_str(), place, &linked, &evidence.summary];
    let words = words.into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("  ")
}

/// The checks and attachments of evidence.
pub(crate) fn receipts(evidence: &EvidenceView) -> impl Iterator<Item = &String> {
    let bodies = evidence.bodies.as_ref();
    bodies.into_iter().flat_map(|bodies| bodies.checks.iter().chain(&bodies.attachments))
}

/// Names with commas between them.
pub(super) fn joined(names: &[impl ToString]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
