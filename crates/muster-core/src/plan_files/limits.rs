//! Bounds of a source. Exceeding one is an error that names it; nothing is cut.

use super::{ImportedPlan, ImportedStep, PlanFile, PlanFileFault};

/// Bytes of all files of a source.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files of a source.
pub const FILES_MAX: usize = 20_000;
/// Plans of a source.
const PLANS_MAX: usize = 1_000;
/// Tasks of a source.
const TASKS_MAX: usize = 50_000;
const TASK_STEPS_MAX: usize = 2_000;
/// Steps of a source.
const STEPS_MAX: usize = 200_000;
/// Characters of an id.
pub(super) const ID_CHARS_MAX: usize = 200;

pub(super) fn check_source(files: &[PlanFile], bytes: usize) -> Result<(), PlanFileFault> {
    let name = files.first().map_or("the source", |file| file.path.as_str());
    if files.is_empty() {
        return Err(PlanFileFault::new(name, None, "there is no file to import"));
    }
    check(name, "files", files.len(), FILES_MAX)?;
    check(name, "bytes", bytes, SOURCE_BYTES_MAX)
}

pub(super) fn check_tree(name: &str, plans: &[ImportedPlan]) -> Result<(), PlanFileFault> {
    check(name, "plans", plans.len(), PLANS_MAX)?;
    check(name, "tasks", plans.iter().map(|plan| plan.tasks.len()).sum(), TASKS_MAX)?;
    check(name, "steps", plans.iter().map(ImportedPlan::steps).sum(), STEPS_MAX)?;
    for task in plans.iter().flat_map(|plan| &plan.tasks) {
        let steps = ImportedStep::count(&task.steps);
        if steps > TASK_STEPS_MAX {
            let id = &task.item.id;
            let cause = format!("{id} has {steps} steps; {TASK_STEPS_MAX} is the most");
            return Err(PlanFileFault::new(name, None, cause));
        }
    }
    Ok(())
}

fn check(name: &str, what: &str, count: usize, max: usize) -> Result<(), PlanFileFault> {
    if count <= max {
        return Ok(());
    }
    let cause = format!("the source has {count} {what}; {max} is the most");
    Err(PlanFileFault::new(name, None, cause))
}
