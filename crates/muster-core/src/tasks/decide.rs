//! What a command means: the events it would cause, or the rule that refuses it.
//!
//! Events state facts, derived changes included, so that `evolve` has nothing to work out.

mod closing;
mod derive;
mod edit;
mod memory;
mod node;
mod plan;
mod removal;
mod restore;
mod status;
mod step;

pub use status::{lapsed_gates, open_gates};

use super::{
    Command, Event, Key, Rejection, Tasks,
    command::{CreatePlan, CreateTask},
    entity::Task,
    event::{EntityRef, PlanCreated, StepRef, TaskCreated, TaskRef},
    id::{EntityId, PlanId, TaskId},
    lookup,
    step::Step,
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
        Command::SetStatus { id, to } => status::set(docs, *id, *to),
        Command::Delete { id } => removal::entity(docs, *id),
        Command::SetChecklist(set) => plan::checklist(docs, set),
        Command::SetContract(set) => plan::contract(docs, set),
        Command::AddSteps(add) => step::add(docs, add),
        Command::DefineStep(define) => step::define(docs, define),
        Command::NoteStep { step, note } => step::note(docs, step, note),
        Command::VerifyStep { step, confirmations } => step::verify(docs, step, confirmations),
        Command::CloseStep { step, named, force } => {
            closing::close(docs, step, named, force.as_ref())
        }
        Command::ReopenStep { step } => closing::reopen(docs, step),
        Command::BlockStep { step, blocked, reason } => {
            closing::block(docs, step, *blocked, reason.as_deref())
        }
        Command::DeleteStep { step } => removal::step(docs, step),
        Command::AddNode { step, title, fields } => node::add(docs, step, title, fields),
        Command::DefineNode { node, fields, given } => node::define(docs, node, fields, given),
        Command::DeleteNode { node } => node::delete(docs, node),
        Command::CaptureEvidence(capture) => memory::capture(docs, capture),
        Command::CommitCard(commit) => memory::card(docs, commit),
        Command::CommitNote(note) => memory::note(docs, note),
        Command::AnnounceCards { id, cards, decision_note_seq } => {
            memory::announce_cards(docs, *id, cards, *decision_note_seq)
        }
        Command::AnnounceNote { id, seq, title } => {
            memory::announce_note(docs, *id, *seq, title.as_deref())
        }
        Command::RecordOperation(operation) => {
            Ok(vec![Event::OperationRecorded(operation.clone())])
        }
        Command::Restore { op_seq, undo } => restore::restore(docs, *op_seq, *undo),
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
        Some(document) => document.meta().map_or(0, |meta| meta.revision + 1),
        None => 0,
    })
}

fn task_ref(docs: &Docs, task: &Task) -> Result<TaskRef, Unloaded<Tasks>> {
    let revision = next_revision(docs, &Key::Task(task.id))?;
    Ok(TaskRef { task: task.id, parent: task.parent, revision })
}

fn step_ref(docs: &Docs, task: &Task, step: &Step) -> Result<StepRef, Unloaded<Tasks>> {
    Ok(StepRef { task: task_ref(docs, task)?, step_id: step.id, path: step.path.clone() })
}

/// The plan or task, its plan and its next revision.
fn entity_ref(docs: &Docs, id: EntityId) -> Result<EntityRef, Refusal<Tasks>> {
    let plan = lookup::plan_of(docs, id)?;
    Ok(EntityRef { id, plan, revision: next_revision(docs, &id.into())? })
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

fn move_focus(docs: &Docs, to: Option<EntityId>) -> Decision {
    if let Some(id) = to {
        lookup::revision(docs, id)?;
    }
    if lookup::workspace(docs)?.focus == to {
        return Ok(Vec::new());
    }
    Ok(vec![Event::FocusMoved { to }])
}
