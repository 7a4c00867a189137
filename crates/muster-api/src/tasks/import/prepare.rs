//! Makes a tree ready: without secrets, and with a step in every task.

use muster_core::{
    plan_files::{ImportedItem, ImportedPlan, ImportedStep, WHOLE_STEP},
    redact,
};

/// Replaces secrets in every text; returns whether there was one.
pub(super) fn redact(plans: &mut [ImportedPlan]) -> bool {
    let mut found = false;
    for plan in plans {
        found |= redact_item(&mut plan.item);
        for task in &mut plan.tasks {
            found |= redact_item(&mut task.item);
            let words = [&mut task.phase, &mut task.assignee];
            found |= words.into_iter().flatten().fold(false, |any, text| redact_text(text) | any);
            found |= redact_lines(&mut task.success_criteria) | redact_lines(&mut task.tests);
            found |= redact_steps(&mut task.steps);
        }
    }
    found
}

fn redact_item(item: &mut ImportedItem) -> bool {
    let texts = [&mut item.description, &mut item.context];
    let in_texts = texts.into_iter().flatten().fold(false, |any, text| redact_text(text) | any);
    in_texts
        | redact_text(&mut item.title)
        | redact_lines(&mut item.tags)
        | redact::object(&mut item.meta)
}

fn redact_steps(steps: &mut [ImportedStep]) -> bool {
    steps.iter_mut().fold(false, |any, step| {
        let found = redact_text(&mut step.title)
            | redact_lines(&mut step.success_criteria)
            | redact_lines(&mut step.tests)
            | redact::object(&mut step.meta)
            | redact_steps(&mut step.steps);
        any | found
    })
}

fn redact_lines(lines: &mut [String]) -> bool {
    lines.iter_mut().fold(false, |any, line| redact_text(line) | any)
}

fn redact_text(text: &mut String) -> bool {
    match redact::text(text) {
        Some(clean) => {
            *text = clean;
            true
        }
        None => false,
    }
}

/// A task is closed by closing its steps, so each needs one. Criteria of a whole task are those of
/// such a step.
pub(super) fn add_whole_steps(plans: &mut [ImportedPlan]) {
    for task in plans.iter_mut().flat_map(|plan| &mut plan.tasks) {
        let has_own = !task.success_criteria.is_empty() || !task.tests.is_empty();
        if !task.steps.is_empty() && !has_own {
            continue;
        }
        task.steps.push(ImportedStep {
            id: WHOLE_STEP.to_owned(),
            title: task.item.title.clone(),
            success_criteria: std::mem::take(&mut task.success_criteria),
            tests: std::mem::take(&mut task.tests),
            ..ImportedStep::default()
        });
    }
}
