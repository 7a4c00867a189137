//! spec-kit: `tasks.md` of a feature. A phase is a task, an item such as `T001 [P] [US1] text` a
//! step.

use serde_json::Value;

use super::{
    ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanFile, PlanFileFault, SourceState,
    checklist,
    fit::slug,
    outline::{self, OutlineSection, item_of},
    tree::{keep, said},
};
use crate::tasks::entity::Urgency;

/// Whether the file has an item with such an id.
pub(super) fn is_like(text: &str) -> bool {
    text.lines().filter_map(item_of).any(|item| step_id(item.text).is_some())
}

/// The id at the beginning of an item, and the rest of it.
fn step_id(text: &str) -> Option<(&str, &str)> {
    let (id, rest) = text.split_once(' ').unwrap_or((text, ""));
    let digits = id.strip_prefix('T')?.trim_end_matches(|last: char| last.is_ascii_lowercase());
    let is_id = digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then_some((id, rest.trim()))
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans = Vec::new();
    for file in files {
        let plan = plan_of(file);
        if plan.tasks.is_empty() {
            return Err(file.fault(None, "there is no item such as \"- [ ] T001 text\" in it"));
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn plan_of(file: &PlanFile) -> ImportedPlan {
    let mut plan = ImportedPlan::default();
    let feature = file.folder().unwrap_or("tasks");
    plan.item.id = feature.to_owned();
    plan.item.title = feature.to_owned();
    for section in outline::sections(&file.text) {
        match section.level {
            0 => {}
            1 => {
                let title = section.title.trim_start_matches("Tasks:").trim();
                if !title.is_empty() {
                    plan.item.title = title.to_owned();
                }
                plan.item.description = said(Some(section.text));
            }
            2 => plan.tasks.push(phase_of(feature, section)),
            _ => add_to_phase(&mut plan, section),
        }
    }
    // Sections without items explain the list.
    let (phases, prose): (Vec<_>, Vec<_>) =
        plan.tasks.into_iter().partition(|task| !task.steps.is_empty());
    plan.tasks = phases;
    for task in &mut plan.tasks {
        if ImportedStep::are_over(&task.steps) {
            task.item.state = SourceState::Closed;
        }
    }
    let sections = prose.into_iter().map(|task| {
        let text = task.item.description.unwrap_or_default();
        Value::String(format!("## {}\n\n{text}", task.item.title))
    });
    keep(&mut plan.item.meta, "sections", sections.collect::<Vec<_>>());
    plan
}

fn phase_of(feature: &str, section: OutlineSection) -> ImportedTask {
    let (name, _) = section.title.split_once(':').unwrap_or((&section.title, ""));
    let priority = ["P1", "P2", "P3"]
        .into_iter()
        .position(|mark| section.title.contains(&format!("(Priority: {mark})")));
    let item = ImportedItem {
        id: format!("{feature}/{}", slug(name)),
        priority: priority.map(|at| [Urgency::High, Urgency::Medium, Urgency::Low][at]),
        title: section.title.clone(),
        description: said(Some(section.text)),
        ..ImportedItem::default()
    };
    let steps = checklist::steps(section.items).into_iter().map(|step| detailed(step, None));
    ImportedTask { item, steps: steps.collect(), ..ImportedTask::default() }
}

/// A heading inside of a phase: its items are steps of the phase.
fn add_to_phase(plan: &mut ImportedPlan, section: OutlineSection) {
    let Some(task) = plan.tasks.last_mut() else { return };
    if section.items.is_empty() || !section.text.is_empty() {
        let said = task.item.description.take().unwrap_or_default();
        let text = format!("{said}\n\n### {}\n\n{}", section.title, section.text);
        task.item.description = Some(outline::trimmed_block(&text));
    }
    let title = section.title.as_str();
    let steps = checklist::steps(section.items).into_iter();
    task.steps.extend(steps.map(|step| detailed(step, Some(title))));
}

/// A step with what its marks say.
fn detailed(mut step: ImportedStep, section: Option<&str>) -> ImportedStep {
    keep(&mut step.meta, "section", section);
    let Some((id, rest)) = step_id(&step.title) else { return step };
    step.id = id.to_owned();
    let mut rest = rest.to_owned();
    while let Some((mark, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        match mark {
            "P" => keep(&mut step.meta, "parallel", true),
            story if story.starts_with("US") => keep(&mut step.meta, "story", story),
            _ => break,
        }
        rest = after.trim_start().to_owned();
    }
    let paths = rest.split_whitespace().map(|word| {
        word.trim_matches(|edge: char| matches!(edge, '`' | ',' | '.' | '(' | ')' | '"' | ':'))
    });
    let paths = paths.filter(|word| word.contains('/') && word.len() > 2 && !word.contains("//"));
    let paths: Vec<Value> = paths.map(Value::from).collect();
    keep(&mut step.meta, "paths", paths);
    let title = format!("{id} {rest}");
    step.title = title.trim_end().to_owned();
    step
}
