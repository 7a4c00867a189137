//! Markdown checklists: headings are tasks, items are steps.
//!
//! The first heading of the highest level, if there is only one of it, is the plan. A heading above
//! others is their phase.

use super::{
    ImportedItem, ImportedPlan, ImportedTask, PlanFile, PlanFileFault, SourceState, checklist,
    fit::slug,
    outline::{self, Enclosure, OutlineSection, heading_of, item_of},
    tree::said,
};

/// Title of the task for items without a heading.
const LOOSE: &str = "Tasks";

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans = Vec::new();
    for file in files {
        let found = plans_of(file);
        if found.iter().all(|plan| plan.tasks.is_empty()) {
            return Err(file.fault(None, "there is no item such as \"- [ ] text\" in it"));
        }
        plans.extend(found);
    }
    Ok(plans)
}

fn plans_of(file: &PlanFile) -> Vec<ImportedPlan> {
    let sections = outline::sections(&file.text);
    let highest = sections.iter().map(|section| section.level).filter(|level| *level > 0).min();
    let tops = sections.iter().filter(|section| Some(section.level) == highest);
    let tops: Vec<&OutlineSection> = tops.collect();
    // Several headings of the highest level are plans only if each has headings below it.
    let has_tasks_below = sections.iter().any(|section| Some(section.level) > highest);
    let are_plans = highest == Some(1) && (tops.len() == 1 || has_tasks_below);
    let mut plans: Vec<ImportedPlan> = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    for section in sections {
        if are_plans && section.level == 1 {
            above.clear();
            plans.push(plan_of(&section.title, &section.text));
            let loose = OutlineSection { text: String::new(), title: LOOSE.to_owned(), ..section };
            add_task(&mut plans, loose, None);
            continue;
        }
        if plans.is_empty() {
            let text = if section.level == 0 { section.text.as_str() } else { "" };
            plans.push(plan_of(file.stem(), text));
        }
        if section.level == 0 {
            let loose = OutlineSection { text: String::new(), title: LOOSE.to_owned(), ..section };
            add_task(&mut plans, loose, None);
            continue;
        }
        above.retain(|(level, _)| *level < section.level);
        let phase = above.last().map(|(_, title)| title.clone());
        above.push((section.level, section.title.clone()));
        add_task(&mut plans, section, phase);
    }
    plans.retain(|plan| !plan.tasks.is_empty());
    plans
}

fn plan_of(title: &str, text: &str) -> ImportedPlan {
    let item = ImportedItem {
        id: slug(title),
        title: title.to_owned(),
        description: said(Some(unmarked(text))),
        ..ImportedItem::default()
    };
    ImportedPlan { item, tasks: Vec::new() }
}

/// Adds the task of a section that has items.
fn add_task(plans: &mut [ImportedPlan], section: OutlineSection, phase: Option<String>) {
    let Some(plan) = plans.last_mut() else { return };
    if section.items.is_empty() {
        return;
    }
    let steps = checklist::steps(section.items);
    let is_over = super::ImportedStep::are_over(&steps);
    let below = phase.as_deref().map(|phase| slug(phase) + "/").unwrap_or_default();
    let item = ImportedItem {
        id: format!("{}/{below}{}", plan.item.id, slug(&section.title)),
        title: section.title,
        description: said(Some(unmarked(&section.text))),
        state: if is_over { SourceState::Closed } else { SourceState::Open },
        ..ImportedItem::default()
    };
    plan.tasks.push(ImportedTask { item, phase, steps, ..ImportedTask::default() });
}

/// Writes plans, each under a heading of its own.
pub(super) fn write(plans: &[ImportedPlan]) -> PlanFile {
    let mut text = String::new();
    for plan in plans {
        write_heading(&mut text, 1, &plan.item);
        let mut phase: Option<&str> = None;
        for task in &plan.tasks {
            if task.phase.as_deref() != phase
                && let Some(title) = task.phase.as_deref()
            {
                text.push_str(&format!("## {}\n\n", checklist::one_line(title)));
            }
            phase = task.phase.as_deref();
            write_heading(&mut text, if phase.is_some() { 3 } else { 2 }, &task.item);
            checklist::write(&whole_steps(task), 0, &mut text);
            text.push('\n');
        }
    }
    PlanFile { path: "tasks.md".to_owned(), text: text.trim_end().to_owned() + "\n" }
}

/// The steps of a task, with one for what is about all of it.
pub(super) fn whole_steps(task: &ImportedTask) -> Vec<super::ImportedStep> {
    let mut steps = task.steps.clone();
    let has_own = !task.success_criteria.is_empty() || !task.tests.is_empty();
    if steps.is_empty() || has_own {
        steps.push(super::ImportedStep {
            title: task.item.title.clone(),
            success_criteria: task.success_criteria.clone(),
            tests: task.tests.clone(),
            state: task.item.state.clone(),
            ..super::ImportedStep::default()
        });
    }
    steps
}

fn write_heading(text: &mut String, level: usize, item: &ImportedItem) {
    let marks = "#".repeat(level);
    text.push_str(&format!("{marks} {}\n\n", checklist::one_line(&item.title)));
    for said in [&item.description, &item.context].into_iter().flatten() {
        text.push_str(&marked(said));
        text.push_str("\n\n");
    }
}

/// Text so that none of its lines is read as a heading or an item.
fn marked(text: &str) -> String {
    let mut whole = Enclosure::default();
    for line in text.lines() {
        whole.holds(line);
    }
    let mut enclosure = Enclosure::default();
    let lines = text.lines().map(|line| {
        // A block that is never closed would swallow all that follows.
        let is_enclosed = !whole.is_open() && enclosure.holds(line);
        let begins_block = whole.is_open() && Enclosure::default().holds(line);
        let is_special = heading_of(line).is_some()
            || item_of(line).is_some()
            || begins_block
            || line.trim_start().starts_with('\\');
        if is_special && !is_enclosed { mark_line(line) } else { line.to_owned() }
    });
    outline::trimmed_block(&lines.collect::<Vec<_>>().join("\n"))
}

fn mark_line(line: &str) -> String {
    let rest = line.trim_start();
    format!("{}\\{rest}", &line[..line.len() - rest.len()])
}

fn unmarked(text: &str) -> String {
    let mut enclosure = Enclosure::default();
    let lines = text.lines().map(|line| {
        let rest = line.trim_start();
        let is_enclosed = enclosure.holds(line);
        match rest.strip_prefix('\\').filter(|_| !is_enclosed) {
            Some(plain) => format!("{}{plain}", &line[..line.len() - rest.len()]),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
