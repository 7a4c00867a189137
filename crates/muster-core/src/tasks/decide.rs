//! What a command means: the events it would cause, or the rule that refuses it.
//!
//! Events state facts, derived changes included, so that `evolve` has nothing to work out.

mod derive;
mod edit;

use super::{
    Command, Document, Event, Key, Rejection, Tasks,
    command::{AddSteps, CreatePlan, CreateTask, DefineStep, NewStep, StepTarget},
    entity::Task,
    event::{
        AddedStep, PlanCreated, StepDefined, StepDone, StepFields, StepNoted, StepRef,
        StepVerified, StepsAdded, TaskCreated, TaskRef,
    },
    id::{PlanId, StepId, TaskId},
    lookup,
    path::{STEP_DEPTH_MAX, StepPath},
    rejection::GateReport,
    step::{Checkpoint, Checkpoints, ProofModes, Step},
};
use crate::{Documents, Refusal, Unloaded};

type Docs = Documents<Tasks>;
type Decision = Result<Vec<Event>, Refusal<Tasks>>;

/// Decides one command.
pub(super) fn decide(docs: &Docs, command: &Command) -> Decision {
    match command {
        Command::CreatePlan(create) => create_plan(docs, create),
        Command::CreateTask(create) => create_task(docs, create),
        Command::Edit(edit) => edit::edit(docs, edit),
        Command::AddSteps(add) => add_steps(docs, add),
        Command::DefineStep(define) => define_step(docs, define),
        Command::NoteStep { step, note } => note_step(docs, step, note),
        Command::VerifyStep { step, confirmations } => verify_step(docs, step, confirmations),
        Command::CloseStep { step, named } => close_step(docs, step, named),
        Command::MoveFocus { to } => move_focus(docs, *to),
        Command::KeepAnswer { key, kept } => {
            Ok(vec![Event::AnswerKept { key: key.clone(), kept: kept.clone() }])
        }
    }
}

fn reject<T>(rejection: Rejection) -> Result<T, Refusal<Tasks>> {
    Err(Refusal::rejected(rejection))
}

/// The entity's revision after this call: one more than at its start, zero when the call creates it
/// (TASKS-REV-1, TASKS-REV-2).
fn next_revision(docs: &Docs, key: &Key) -> Result<u64, Unloaded<Tasks>> {
    Ok(match docs.original(key)? {
        Some(Document::Plan(plan)) => plan.meta.revision + 1,
        Some(Document::Task(task)) => task.meta.revision + 1,
        Some(Document::Workspace(_) | Document::Answer(_)) | None => 0,
    })
}

fn task_ref(docs: &Docs, task: &Task) -> Result<TaskRef, Unloaded<Tasks>> {
    let revision = next_revision(docs, &Key::Task(task.id))?;
    Ok(TaskRef { task: task.id, parent: task.parent, revision })
}

fn step_ref(docs: &Docs, task: &Task, step: &Step) -> Result<StepRef, Unloaded<Tasks>> {
    Ok(StepRef { task: task_ref(docs, task)?, step_id: step.id, path: step.path.clone() })
}

fn create_plan(docs: &Docs, create: &CreatePlan) -> Decision {
    let id = PlanId(lookup::workspace(docs)?.last_plan + 1);
    Ok(vec![Event::PlanCreated(PlanCreated {
        id,
        title: create.title.clone(),
        description: create.description.clone(),
        contract: create.contract.clone(),
        contract_data: create.contract_data.clone(),
    })])
}

fn create_task(docs: &Docs, create: &CreateTask) -> Decision {
    let plan = lookup::plan(docs, create.parent)?;
    let id = TaskId(lookup::workspace(docs)?.last_task + 1);
    Ok(vec![Event::TaskCreated(TaskCreated {
        id,
        parent: plan.id,
        title: create.title.clone(),
        description: create.description.clone(),
        derived: derive::open_task_appears(docs, plan)?,
    })])
}

fn add_steps(docs: &Docs, add: &AddSteps) -> Decision {
    let task = lookup::task(docs, add.task)?;
    let parent = match &add.parent {
        None => None,
        Some(selector) => match lookup::step(task, selector) {
            Ok(step) => Some(step.path.clone()),
            Err(rejection) => return Err(Refusal::Rejected(rejection)),
        },
    };
    if parent.as_ref().map_or(0, StepPath::depth) >= STEP_DEPTH_MAX {
        return reject(Rejection::TooDeep);
    }
    let ordinals = task.steps.next_ordinal(parent.as_ref())..;
    let numbers = lookup::workspace(docs)?.last_step + 1..;
    let added = |((new, ordinal), number): ((&NewStep, u32), u64)| AddedStep {
        id: StepId(number),
        path: StepPath::child_of(parent.as_ref(), ordinal),
        title: new.title.clone(),
        fields: new.fields.clone(),
    };
    let steps = add.steps.iter().zip(ordinals).zip(numbers).map(added).collect();
    let derived = derive::steps_appear(docs, task, parent.as_ref())?;
    let task = task_ref(docs, task)?;
    Ok(vec![Event::StepsAdded(StepsAdded { task, parent_path: parent, steps, derived })])
}

fn define_step(docs: &Docs, define: &DefineStep) -> Decision {
    let (task, step) = lookup::task_and_step(docs, &define.step)?;
    let fields = StepFields {
        success_criteria: define.success_criteria.clone(),
        tests: define.tests.clone(),
        blockers: define.blockers.clone(),
        proof_modes: define.proof_modes.as_ref().map(|changes| {
            let mut modes: ProofModes = step.proof_modes;
            for (checkpoint, mode) in changes {
                modes.set(*checkpoint, *mode);
            }
            modes
        }),
    };
    // TASKS-STATE-7: a list that really differs takes its confirmation back.
    let differs = |new: &Option<Vec<String>>, old: &[String]| {
        new.as_ref().is_some_and(|new| new.as_slice() != old)
    };
    let changed = [
        (Checkpoint::Criteria, differs(&fields.success_criteria, &step.success_criteria)),
        (Checkpoint::Tests, differs(&fields.tests, &step.tests)),
    ];
    let cleared: Vec<Checkpoint> =
        changed.into_iter().filter(|(_, differs)| *differs).map(|(cp, _)| cp).collect();
    let derived = if !cleared.is_empty() && step.is_closed() {
        derive::step_opens(docs, task, &step.path)?
    } else {
        derive::nothing()
    };
    Ok(vec![Event::StepDefined(StepDefined {
        step: step_ref(docs, task, step)?,
        title: define.title.clone(),
        given: given_fields(define),
        fields,
        cleared,
        derived,
    })])
}

/// Names of the fields a definition sets, in the order of the step object.
fn given_fields(define: &DefineStep) -> Vec<String> {
    let given = [
        ("title", define.title.is_some()),
        ("success_criteria", define.success_criteria.is_some()),
        ("tests", define.tests.is_some()),
        ("blockers", define.blockers.is_some()),
    ];
    let mut names: Vec<String> =
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect();
    for (checkpoint, _) in define.proof_modes.iter().flatten() {
        names.push(format!("proof_{}_mode", checkpoint.name()));
    }
    names
}

fn note_step(docs: &Docs, target: &StepTarget, note: &str) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    Ok(vec![Event::StepNoted(StepNoted {
        step: step_ref(docs, task, step)?,
        note_seq: step.notes + 1,
        note: note.to_owned(),
    })])
}

fn verify_step(docs: &Docs, target: &StepTarget, confirmations: &[(Checkpoint, bool)]) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    let confirms = confirmations.iter().any(|(_, confirmed)| *confirmed);
    let withdraws = confirmations
        .iter()
        .any(|(checkpoint, confirmed)| !confirmed && step.requires(*checkpoint));
    let derived = if withdraws && step.is_closed() {
        derive::step_opens(docs, task, &step.path)?
    } else if confirms {
        derive::work_begins(docs, task)?
    } else {
        derive::nothing()
    };
    Ok(vec![Event::StepVerified(StepVerified {
        step: step_ref(docs, task, step)?,
        confirmations: confirmations.to_vec(),
        derived,
    })])
}

fn close_step(docs: &Docs, target: &StepTarget, named: &Checkpoints) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    if step.is_closed() {
        return reject(Rejection::AlreadyClosed { step_id: step.id, path: step.path.clone() });
    }
    let report = GateReport::of(task, step, named);
    if let Some(gate) = report.first_open() {
        return reject(Rejection::GateOpen { gate, report });
    }
    Ok(vec![Event::StepDone(StepDone {
        step: step_ref(docs, task, step)?,
        derived: derive::work_begins(docs, task)?,
    })])
}

fn move_focus(docs: &Docs, to: Option<super::id::EntityId>) -> Decision {
    if let Some(id) = to {
        lookup::revision(docs, id)?;
    }
    if lookup::workspace(docs)?.focus == to {
        return Ok(Vec::new());
    }
    Ok(vec![Event::FocusMoved { to }])
}
