//! Kiro: `.kiro/specs/<spec>/tasks.md`. A numbered item is a task, the numbered items in it are its
//! steps.

use super::{
    ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanFile, PlanFileFault, SourceState,
    checklist,
    outline::{self, item_of},
    tree::{keep, said},
};

/// How the line begins that names the requirements of an item.
const REQUIREMENTS: &str = "_Requirements:";

/// Whether the file is such a list: by its path, or by its numbers and requirements.
pub(super) fn is_like(path: &str, text: &str) -> bool {
    let is_there = path.contains(".kiro/") || path.contains(".kiro\\");
    let mut items = text.lines().filter_map(item_of).peekable();
    let has_items = items.peek().is_some();
    let is_numbered = items.any(|item| numbered(item.text).is_some());
    has_items && (is_there || (is_numbered && text.contains(REQUIREMENTS)))
}

/// The number at the beginning of an item, and the rest of it.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let (number, rest) = text.split_once(' ')?;
    let number = number.strip_suffix('.').unwrap_or(number);
    let is_number = number
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number.then_some((number, rest.trim()))
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans = Vec::new();
    for file in files {
        let plan = plan_of(file);
        if plan.tasks.is_empty() {
            return Err(file.fault(None, "there is no item such as \"- [ ] 1. text\" in it"));
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn plan_of(file: &PlanFile) -> ImportedPlan {
    let spec = file.folder().unwrap_or("tasks");
    let mut plan = ImportedPlan::default();
    plan.item.id = spec.to_owned();
    plan.item.title = format!("{spec}: implementation plan");
    let mut said_above = Vec::new();
    let mut steps = Vec::new();
    for section in outline::sections(&file.text) {
        said_above.push(section.text);
        steps.extend(checklist::steps(section.items));
    }
    plan.item.description = said(Some(outline::trimmed_block(&said_above.join("\n"))));
    let mut tasks: Vec<ImportedTask> = Vec::new();
    for step in steps {
        // Lists that are not indented put 1.1 beside 1.
        let title = step.title.trim_start_matches('*').trim_start();
        let above = numbered(title).and_then(|(number, _)| number.rsplit_once('.'));
        let above = above.map(|(above, _)| format!("{spec}/{above}"));
        let parent = above.and_then(|id| tasks.iter_mut().find(|task| task.item.id == id));
        match parent {
            Some(task) => task.steps.push(detailed(step)),
            None => tasks.push(task_of(spec, detailed(step))),
        }
    }
    plan.tasks = tasks;
    plan
}

/// A step with its number as its id, and what its last line says.
fn detailed(mut step: ImportedStep) -> ImportedStep {
    let is_optional = step.title.starts_with('*');
    let title = step.title.trim_start_matches('*').trim_start().to_owned();
    if is_optional {
        keep(&mut step.meta, "optional", true);
    }
    step.title = title;
    if let Some((number, rest)) = numbered(&step.title) {
        step.id = number.to_owned();
        step.title = rest.to_owned();
    }
    let is_requirement = |line: &String| line.starts_with(REQUIREMENTS);
    let requirements = step.success_criteria.iter().filter(|line| is_requirement(line));
    let numbers = requirements.flat_map(|line| {
        let list = line.trim_start_matches(REQUIREMENTS).trim_end_matches('_');
        list.split(',').map(|one| one.trim().to_owned())
    });
    let numbers: Vec<String> = numbers.filter(|number| !number.is_empty()).collect();
    keep(&mut step.meta, "requirements", numbers);
    step.success_criteria.retain(|line| !is_requirement(line));
    step.steps = step.steps.into_iter().map(detailed).collect();
    step
}

fn task_of(spec: &str, step: ImportedStep) -> ImportedTask {
    let number = if step.id.is_empty() { super::fit::slug(&step.title) } else { step.id };
    let is_over =
        step.state.is_over() || (!step.steps.is_empty() && ImportedStep::are_over(&step.steps));
    let item = ImportedItem {
        id: format!("{spec}/{number}"),
        title: step.title,
        state: if is_over { SourceState::Closed } else { step.state },
        meta: step.meta,
        ..ImportedItem::default()
    };
    ImportedTask {
        item,
        success_criteria: step.success_criteria,
        tests: step.tests,
        steps: step.steps,
        ..ImportedTask::default()
    }
}
