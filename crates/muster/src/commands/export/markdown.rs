//! A plan or task as a page of Markdown with front matter.

use std::fmt::Write as _;

use muster_api::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    commands::tasks::{CliTaskRow, EvidenceRow, StepRow},
    people::read,
    screen::Screen,
};

/// Facts of the front matter, in this order; those without a value are left out.
const FACTS: [&str; 14] = [
    "id",
    "kind",
    "title",
    "status",
    "revision",
    "progress",
    "parent",
    "priority",
    "tags",
    "depends_on",
    "domain",
    "phase",
    "component",
    "assignee",
];

/// The texts of a plan or task.
#[derive(Deserialize)]
struct Texts {
    id: String,
    title: String,
    description: Option<String>,
    context: Option<String>,
    contract: Option<String>,
    contract_data: Option<Value>,
    checklist: Option<Checklist>,
    created_at_ms: Timestamp,
    updated_at_ms: Timestamp,
}

/// A plan's checklist.
#[derive(Deserialize)]
struct Checklist {
    doc: Option<String>,
    current: usize,
    steps: Vec<String>,
}

/// The page of a whole plan or task.
pub(super) fn page(whole: &Value) -> anyhow::Result<String> {
    let texts: Texts = read(&whole["target"])?;
    let mut page = front_matter(&whole["target"], &texts)?;
    writeln!(page, "# {} {}", texts.id, texts.title)?;
    let sections = [
        ("Contract", texts.contract),
        ("Description", texts.description),
        ("Context", texts.context),
    ];
    for (heading, text) in sections {
        if let Some(text) = text {
            write!(page, "\n## {heading}\n\n{}\n", text.trim_end())?;
        }
    }
    if let Some(agreed) = texts.contract_data {
        let agreed = serde_json::to_string_pretty(&agreed)?;
        write!(page, "\n## Contract terms\n\n```json\n{agreed}\n```\n")?;
    }
    page += &checklist(texts.checklist.as_ref())?;
    let steps: Vec<StepRow> = whole.get("steps").map(read).transpose()?.unwrap_or_default();
    page += &step_list(&steps)?;
    let tasks: Vec<CliTaskRow> = whole.get("tasks").map(read).transpose()?.unwrap_or_default();
    page += &task_list(&tasks)?;
    page += &evidence_list(&read::<Vec<EvidenceRow>>(&whole["evidence"])?)?;
    Ok(page)
}

/// Values as JSON, which YAML reads as they are.
fn front_matter(target: &Value, texts: &Texts) -> anyhow::Result<String> {
    let mut text = "---\n".to_owned();
    for name in FACTS {
        let value = &target[name];
        let empty = value.is_null() || value == &json!([]);
        if !empty {
            writeln!(text, "{name}: {value}")?;
        }
    }
    let created = texts.created_at_ms.rfc3339();
    let updated = texts.updated_at_ms.rfc3339();
    write!(text, "created: {created}\nupdated: {updated}\n---\n\n")?;
    Ok(text)
}

fn tick(done: bool) -> &'static str {
    if done { "[x]" } else { "[ ]" }
}

fn checklist(checklist: Option<&Checklist>) -> anyhow::Result<String> {
    let mut text = String::new();
    let Some(Checklist { doc, current, steps }) = checklist else { return Ok(text) };
    if steps.is_empty() && doc.is_none() {
        return Ok(text);
    }
    write!(text, "\n## Checklist\n\n")?;
    for (at, step) in steps.iter().enumerate() {
        writeln!(text, "- {} {step}", tick(at < *current))?;
    }
    if let Some(doc) = doc {
        write!(text, "\n{}\n", doc.trim_end())?;
    }
    Ok(text)
}

fn step_list(steps: &[StepRow]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !steps.is_empty() {
        write!(text, "\n## Steps\n\n")?;
    }
    for step in steps {
        let indent = "  ".repeat(step.depth());
        writeln!(text, "{indent}- {} `{}` {}", tick(step.completed), step.path, step.title)?;
        let mut facts = vec![step.marks(Screen::PLAIN)];
        facts.extend(step.success_criteria.iter().map(|item| format!("criterion: {item}")));
        facts.extend(step.tests.iter().map(|item| format!("test: {item}")));
        facts.extend(step.blockers.iter().map(|item| format!("blocker: {item}")));
        facts.extend(step.troubles());
        let nodes = step.nodes.iter();
        facts.extend(nodes.map(|node| format!("{} `{}` {}", node.status, node.path, node.title)));
        if step.notes_count > 0 {
            facts.push(format!("notes: {}", step.notes_count));
        }
        for fact in facts {
            writeln!(text, "{indent}  - {}", fact.replace('\n', " "))?;
        }
    }
    Ok(text)
}

fn task_list(tasks: &[CliTaskRow]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !tasks.is_empty() {
        write!(text, "\n## Tasks\n\n")?;
    }
    for task in tasks {
        let CliTaskRow { id, title, status, steps_count, steps_open, .. } = task;
        let closed = steps_count - steps_open;
        let mark = tick(status == "DONE");
        writeln!(text, "- {mark} [{id}](../tasks/{id}.md) {title} ({closed}/{steps_count})")?;
    }
    Ok(text)
}

fn evidence_list(evidence: &[EvidenceRow]) -> anyhow::Result<String> {
    let mut text = String::new();
    if !evidence.is_empty() {
        write!(text, "\n## Evidence\n\n")?;
    }
    for one in evidence {
        writeln!(text, "- {}", one.line())?;
        for receipt in one.checks.iter().chain(&one.attachments) {
            writeln!(text, "  - {}", receipt.replace('\n', " "))?;
        }
    }
    Ok(text)
}
