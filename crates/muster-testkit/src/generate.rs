//! Fills a store with plans, tasks and steps, through the real engine: for measurements and growth
//! tests.
//!
//! What comes out depends on the size alone: the same call makes the same workspace. Of every ten
//! tasks three are under way with some steps closed and a note, three have every step closed, one
//! is blocked, and three are untouched.

mod run;
mod session;
mod shape;

use muster_core::{
    Draft, WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskRejection,
        command::{
            AddSteps, CreatePlan, CreateTask, DefineStep, NewStep, StepSelector, StepTarget,
        },
        event::StepFields,
        id::{PlanId, TaskId, WorkspaceId},
        lookup,
        path::StepPath,
        step::{Checkpoint, Checkpoints},
    },
};
use muster_engine::{Engine, ExecuteError};

pub use run::add_run;
pub use session::add_session;
pub use shape::{Shape, add_shape};

type Filled = Result<(), ExecuteError<TaskRejection>>;
type Drafted = Result<(), WorkRefusal<TaskAggregate>>;

/// How much to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub tasks: u64,
    /// Tasks in one plan; the last plan may have fewer.
    pub tasks_per_plan: u64,
    pub steps_per_task: u32,
}

impl Size {
    /// So many tasks of five steps, a hundred in a plan.
    pub fn of_tasks(tasks: u64) -> Self {
        Self { tasks, tasks_per_plan: 100, steps_per_task: 5 }
    }

    /// Plans that hold the tasks.
    fn plans(&self) -> u64 {
        self.tasks.div_ceil(self.tasks_per_plan)
    }
}

/// Plans that there are at least, the last of them without tasks: lists of plans are as long in a
/// small store as in a large one.
const PLANS_MIN: u64 = 50;

/// Fills a workspace, one plan with all its tasks per transaction.
pub fn fill(engine: &Engine, workspace: &WorkspaceId, size: Size) -> Filled {
    for number in 0..size.plans() {
        let count = size.tasks_per_plan.min(size.tasks - number * size.tasks_per_plan);
        let steps = size.steps_per_task;
        engine.execute::<TaskAggregate, _>(workspace.stream(), move |draft| {
            add_plan(draft, count, steps)
        })?;
    }
    for _ in size.plans()..PLANS_MIN {
        engine.execute::<TaskAggregate, _>(workspace.stream(), |draft| add_plan(draft, 0, 0))?;
    }
    Ok(())
}

fn add_plan(draft: &mut Draft<'_, TaskAggregate>, tasks: u64, steps: u32) -> Drafted {
    let last_task = lookup::workspace(draft.documents())?.last_task;
    let plan = create_plan(draft)?;
    for number in last_task + 1..=last_task + tasks {
        add_task(draft, plan, TaskId(number), steps)?;
        draft.next_call();
        work_on(draft, TaskId(number), steps)?;
    }
    Ok(())
}

fn create_plan(draft: &mut Draft<'_, TaskAggregate>) -> Result<PlanId, WorkRefusal<TaskAggregate>> {
    let plan = PlanId(lookup::workspace(draft.documents())?.last_plan + 1);
    draft.apply(&TaskCommand::CreatePlan(CreatePlan {
        title: format!("Milestone {}: make the importer resume after a crash", plan.0),
        description: None,
        contract: Some("Every acknowledged row survives a restart, proven by a test.".to_owned()),
        contract_data: None,
    }))?;
    draft.next_call();
    Ok(plan)
}

fn add_task(
    draft: &mut Draft<'_, TaskAggregate>,
    parent: PlanId,
    task: TaskId,
    steps: u32,
) -> Drafted {
    draft.apply(&TaskCommand::CreateTask(CreateTask {
        parent,
        title: format!("Task {}: keep the cursor of the batch beside the rows", task.0),
        description: Some("The cursor and the rows have to be written together.".to_owned()),
    }))?;
    let steps = (0..steps).map(|step| step_to_add(task, step)).collect();
    draft.apply(&TaskCommand::AddSteps(AddSteps { task, parent: None, steps }))?;
    Ok(())
}

fn step_to_add(task: TaskId, step: u32) -> NewStep {
    NewStep {
        title: format!("Step {step} of {}: write, read back, compare", task.0),
        fields: StepFields {
            success_criteria: Some(vec![
                "the cursor equals the last row that was written".to_owned(),
                "a restart continues behind it".to_owned(),
            ]),
            tests: Some(vec!["kill the importer between two batches".to_owned()]),
            blockers: None,
            proof_modes: None,
            checks: None,
        },
    }
}

/// Brings the task to the state that belongs to its number.
fn work_on(draft: &mut Draft<'_, TaskAggregate>, task: TaskId, steps: u32) -> Drafted {
    let closed = match task.0 % 10 {
        0..=2 => steps,
        3..=5 => steps / 2,
        6 => return block(draft, task),
        _ => 0,
    };
    for step in 0..closed {
        close(draft, at(task, step))?;
        draft.next_call();
    }
    if closed > 0 && closed < steps {
        let note = "The batch of 500 rows took 40 ms; the cursor was right.".to_owned();
        draft.apply(&TaskCommand::NoteStep { step: at(task, closed), note })?;
        draft.next_call();
    }
    Ok(())
}

fn close(draft: &mut Draft<'_, TaskAggregate>, step: StepTarget) -> Drafted {
    let confirmations = Checkpoint::GATE.map(|checkpoint| (checkpoint, true)).to_vec();
    draft.apply(&TaskCommand::VerifyStep { step: step.clone(), confirmations })?;
    draft.apply(&TaskCommand::CloseStep {
        step,
        named: Checkpoints::from(Checkpoint::GATE),
        force: None,
    })?;
    Ok(())
}

fn block(draft: &mut Draft<'_, TaskAggregate>, task: TaskId) -> Drafted {
    draft.apply(&TaskCommand::DefineStep(DefineStep {
        step: at(task, 0),
        title: None,
        success_criteria: None,
        tests: None,
        blockers: Some(vec!["waits for the schema of the new table".to_owned()]),
        proof_modes: None,
        checks: None,
    }))?;
    draft.next_call();
    Ok(())
}

fn at(task: TaskId, step: u32) -> StepTarget {
    StepTarget { task, selector: StepSelector::Path(StepPath::child_of(None, step)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::{App, AppOptions};
    use muster_core::Timestamp;
    use muster_engine::FixedClock;
    use muster_store::MemoryStore;

    use super::{Size, fill};

    #[test]
    fn a_filled_store_is_sound_and_of_the_size_asked_for() {
        let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
        let app = App::over(Arc::new(MemoryStore::new()), clock, AppOptions::default());
        fill(app.engine(), &"bench".parse().unwrap(), Size::of_tasks(250)).unwrap();
        let status = app.status().unwrap();
        assert_eq!((status.workspaces[0].plans, status.workspaces[0].tasks), (50, 250));
        let report = app.doctor().unwrap();
        assert_eq!(report.damage, vec![]);
        assert!(report.documents >= 301, "{} documents", report.documents);
    }
}
