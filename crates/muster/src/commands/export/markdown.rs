//! A plan or task as a page of Markdown with front matter.

use std::fmt::Write as _;

use muster_core::{
    Timestamp,
    tasks::{
        entity::{Checklist, TaskStatus},
        view::{TargetView, context::TaskRow, evidence::EvidenceView, step_object::StepObject},
    },
};
use serde::Serialize;

use crate::{
    commands::tasks::{
        WholeEntity, evidence_line, receipts,
        step::{StepState, troubles},
    },
    screen::Screen,
};

/// The page of a whole plan or task.
pub(super) fn page(whole: &WholeEntity) -> anyhow::Result<String> {
    let target = &whole.resume.standing.target;
    let plan = target.plan.as_ref();
    let mut page = front_matter(target)?;
    writeln!(page, "# {} {}", target.id, target.title)?;
    let sections = [
        ("Contract", plan.and_then(|plan| plan.contract.as_ref())),
        ("Description", target.description.as_ref()),
        ("Context", target.context.as_ref()),
    ];
    for (heading, text) in sections {
        if let Some(text) = text {
            write!(page, "\n## {heading}\n\n{}\n", text.trim_end())?;
        }
    }
    let agreed = plan.and_then(|plan| plan.contract_data.as_ref());
    if let Some(agreed) = agreed.filter(|agreed| !agreed.is_null()) {
        let agreed = serde_json::to_string_pretty(agreed)?;
        write!(page, "\n## Contract terms\n\n```json\n{agreed}\n```\n")?;
    }
    if let Some(plan) = plan {
        page += &checklist(&plan.checklist)?;
    }
    if let Some(task) = &whole.resume.of_task {
        page += &step_list(&task.steps)?;
    }
    if let Some(plan) = &whole.resume.of_plan {
        page += &task_list(&plan.tasks)?;
    }
    page += &evidence_list(&whole.evidence)?;
    Ok(page)
}

fn front_matter(target: &TargetView) -> anyhow::Result<String> {
    let task = target.task.as_ref();
    let created = Timestamp(target.created_at_ms).rfc3339();
    let updated = Timestamp(target.updated_at_ms).rfc3339();
    Ok("---\n".to_owned()
        + &fact("id", &target.id)?
        + &fact("kind", &target.kind)?
        + &fact("title", &target.title)?
        + &fact("status", &target.status)?
        + &fact("revision", &target.revision)?
        + &fact("progress", &target.progress)?
        + &fact("parent", &task.map(|task| &task.parent))?
        + &fact("priority", &target.priority)?
        + &fact("tags", &target.tags)?
        + &fact("depends_on", &target.depends_on)?
        + &fact("domain", &task.map(|task| &task.domain))?
        + &fact("phase", &task.map(|task| &task.phase))?
        + &fact("component", &task.map(|task| &task.component))?
        + &fact("assignee", &task.map(|task| &task.assignee))?
        + &format!("created: {created}\nupdated: {updated}\n---\n\n"))
}

/// A value as JSON, which is valid YAML; nothing when there is none.
fn fact(name: &str, value: &impl Serialize) -> serde_json::Result<String> {
    Ok(match serde_json::to_string(value)?.as_str() {
        "null" | "[]" => String::new(),
        value => format!("{name}: {value}\n"),
    })
}

fn tick(done: bool) -> &'static str {
    if done { "[x]" } else { "[ ]" }
}

fn checklist(Checklist { doc, current, steps }: &Checklist) -> anyhow::Result<String> {
    let mut text = String::new();
    if steps.is_empty() && doc.is_none() {
        return Ok(text);
    }
    write!(text, "\n## Checklist\n\n")?;
    for (at, step) in steps.iter().enumerate() {
        writeln!(text, "- {} {step}", tick(at < *current as usize))?;
    }
    if let Some(doc) = doc {
        write!(text, "\n{}\n", doc.trim_end())?;
    }
    Ok(text)
}

fn step_list(steps: &[StepObject]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !steps.is_empty() {
        write!(text, "\n## Steps\n\n")?;
    }
    for step in steps {
        let state = StepState::from(step);
        let indent = "  ".repeat(state.depth());
        writeln!(text, "{indent}- {} `{}` {}", tick(step.completed), step.path, step.title)?;
        let mut facts = vec![state.marks(Screen::PLAIN)];
        facts.extend(step.success_criteria.iter().map(|item| format!("criterion: {item}")));
        facts.extend(step.tests.iter().map(|item| format!("test: {item}")));
        facts.extend(step.blockers.iter().map(|item| format!("blocker: {item}")));
        facts.extend(troubles(step));
        for node in &step.nodes {
            facts.push(format!("{} `{}` {}", node.status.name(), node.path, node.title));
        }
        if step.notes_count > 0 {
            facts.push(format!("notes: {}", step.notes_count));
        }
        for fact in facts {
            writeln!(text, "{indent}  - {}", fact.replace('\n', " "))?;
        }
    }
    Ok(text)
}

fn task_list(tasks: &[TaskRow]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !tasks.is_empty() {
        write!(text, "\n## Tasks\n\n")?;
    }
    for task in tasks {
        let TaskRow { id, title, status, steps_count, steps_open, .. } = task;
        let closed = steps_count - steps_open;
        let mark = tick(*status == TaskStatus::Done);
        writeln!(text, "- {mark} [{id}](../tasks/{id}.md) {title} ({closed}/{steps_count})")?;
    }
    Ok(text)
}

fn evidence_list(evidence: &[EvidenceView]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !evidence.is_empty() {
        write!(text, "\n## Evidence\n\n")?;
    }
    for one in evidence {
        writeln!(text, "- {}", evidence_line(one))?;
        for receipt in receipts(one) {
            writeln!(text, "  - {}", receipt.replace('\n', " "))?;
        }
    }
    Ok(text)
}
