//! What the commands have in common: a plan or task as it is now, and the step that is meant.

use anyhow::bail;
use muster_core::tasks::view::{TargetView, step_object::StepObject};

use crate::{
    commands::tasks::resumed,
    people::OpenWorkspace,
    screen::{cut, spelled_out},
};

/// Columns of a title in a list of choices.
const TITLE_COLUMNS: usize = 60;

/// A plan or task with its steps.
pub(super) struct EntityNow {
    pub(super) target: TargetView,
    /// Steps in path order; a plan has none.
    pub(super) steps: Vec<StepObject>,
    /// Tasks of a plan.
    pub(super) tasks: u64,
}

impl EntityNow {
    pub(super) fn read(desk: &OpenWorkspace, id: &str) -> anyhow::Result<Self> {
        let view = resumed(desk, Some(id))?;
        let tasks = view.of_plan.as_ref().map_or(0, |plan| plan.rollup.tasks_total);
        let steps = view.of_task.map(|task| task.steps).unwrap_or_default();
        Ok(Self { target: view.standing.target, steps, tasks })
    }

    /// A task; plans have no steps to work on.
    pub(super) fn read_task(desk: &OpenWorkspace, id: &str) -> anyhow::Result<Self> {
        let entity = Self::read(desk, id)?;
        if entity.target.task.is_none() {
            bail!("{id} is a plan: name one of its tasks, `muster show {id}` lists them");
        }
        Ok(entity)
    }

    pub(super) fn id(&self) -> &str {
        &self.target.id
    }

    /// Its id and title.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.target.id, spelled_out(&self.target.title))
    }

    /// The step that was named by its path or id, else the first open one.
    pub(super) fn step(&self, named: Option<&str>) -> anyhow::Result<&StepObject> {
        let id = self.id();
        let Some(named) = named else {
            let open = in_closing_order(&self.steps).into_iter().find(|step| !step.completed);
            return match open.or(self.steps.last()) {
                Some(step) => Ok(step),
                None => bail!("{id} has no steps yet: add some with `muster edit {id}`"),
            };
        };
        match self.steps.iter().find(|step| step.path == named || step.step_id == named) {
            Some(step) => Ok(step),
            None => bail!("{id} has no step {named:?}; it has:\n{}", choices(self.steps.iter())),
        }
    }
}

/// A step, by its path and title.
pub(super) fn step_name(step: &StepObject) -> String {
    format!("{} {}", step.path, spelled_out(&step.title))
}

/// Steps to choose from, one per line.
pub(super) fn choices<'a>(steps: impl Iterator<Item = &'a StepObject>) -> String {
    let lines = steps.map(|step| format!("  {}", cut(&step_name(step), TITLE_COLUMNS)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Steps in an order in which they can be closed: each after those below it.
pub(super) fn in_closing_order(steps: &[StepObject]) -> Vec<&StepObject> {
    let mut ordered = Vec::with_capacity(steps.len());
    let mut above: Vec<&StepObject> = Vec::new();
    for step in steps {
        while let Some(last) = above.pop_if(|last| !is_below(step, last)) {
            ordered.push(last);
        }
        above.push(step);
    }
    ordered.extend(above.into_iter().rev());
    ordered
}

fn is_below(step: &StepObject, above: &StepObject) -> bool {
    step.path.strip_prefix(above.path.as_str()).is_some_and(|rest| rest.starts_with('.'))
}
