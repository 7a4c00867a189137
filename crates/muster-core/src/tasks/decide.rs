//! Decides commands: the events of each, or the rule that rejects it.
//!
//! Events include derived changes, so that `evolve` has nothing to compute.

mod check;
pub(super) mod claim;
mod closing;
mod derive;
mod edit;
mod memory;
mod moving;
mod node;
mod origin;
mod plan;
mod removal;
mod restore;
mod status;
mod step;
mod waiver;

pub use status::{lapsed_gates, open_gates};

use super::{
    TaskCommand, TaskEvent, TaskKey, TaskRejection,
    command::{CreatePlan, CreateTask},
    entity::Task,
    event::{EntityRef, PlanCreated, StepRef, TaskCreated, TaskRef},
    history::HistoryOperation,
    id::{EntityId, PlanId, TaskId},
    lookup,
    step::Step,
    todos,
};
use crate::{
    Env, WorkRefusal,
    tasks::{TaskDocs, TaskLookup, TaskResult},
};

type Decision = TaskResult<Vec<TaskEvent>>;

pub(super) fn decide(docs: &TaskDocs, env: &Env, command: &TaskCommand) -> Decision {
    claim::check_command(docs, env, command)?;
    let call = &env.call;
    match command {
        TaskCommand::CreatePlan(create) => create_plan(docs, create),
        TaskCommand::CreateTask(create) => create_task(docs, create),
        TaskCommand::Edit(edit) => edit::edit(docs, call, edit),
        TaskCommand::MoveTask { task, to } => moving::decide(docs, *task, *to),
        TaskCommand::SetStatus { id, to } => status::set(docs, call, *id, *to),
        TaskCommand::Delete { id } => removal::entity(docs, *id),
        TaskCommand::SetChecklist(set) => plan::checklist(docs, set),
        TaskCommand::SetContract(set) => plan::contract(docs, set),
        TaskCommand::AddSteps(add) => step::add(docs, add),
        TaskCommand::DefineStep(define) => step::define(docs, call, define),
        TaskCommand::NoteStep { step, note } => step::note(docs, step, note),
        TaskCommand::VerifyStep { step, confirmations } => {
            step::verify(docs, call, step, confirmations)
        }
        TaskCommand::ConfirmItems { step, items } => step::confirm_items(docs, call, step, items),
        TaskCommand::CloseStep { step, named, force } => {
            closing::close(docs, call, (step, named), force.as_ref())
        }
        TaskCommand::ReopenStep { step } => closing::reopen(docs, step),
        TaskCommand::BlockStep { step, blocked, reason } => {
            closing::block(docs, call, step, (*blocked, reason.as_deref()))
        }
        TaskCommand::AnswerStop { step, checks } => step::answer_stop(docs, step, checks),
        TaskCommand::DeleteStep { step } => removal::step(docs, step),
        TaskCommand::AddNode { step, title, fields } => node::add(docs, step, title, fields),
        TaskCommand::DefineNode { node, fields, given } => node::define(docs, node, fields, given),
        TaskCommand::DeleteNode { node } => node::delete(docs, node),
        TaskCommand::CaptureEvidence(capture) => memory::capture(docs, capture),
        TaskCommand::CommitCard(commit) => memory::card(docs, commit),
        TaskCommand::CommitNote(note) => memory::note(docs, note),
        TaskCommand::AnnounceCards { id, cards, decision_note_seq } => {
            memory::announce_cards(docs, *id, cards, *decision_note_seq)
        }
        TaskCommand::AnnounceNote { id, seq, title } => {
            memory::announce_note(docs, *id, *seq, title.as_deref())
        }
        TaskCommand::RecordOperation(operation) => {
            let connection = call.connection.clone();
            let operation = HistoryOperation { connection, ..operation.clone() };
            Ok(vec![TaskEvent::OperationRecorded(operation)])
        }
        TaskCommand::Restore { op_seq, undo } => restore::restore(docs, env, *op_seq, *undo),
        TaskCommand::AcceptProject(project) => waiver::accept(call, project),
        TaskCommand::ReviewProtected(state) => waiver::review(call, state),
        TaskCommand::WaiveCheck(waive) => waiver::waive(docs, call, waive),
        TaskCommand::RequestCheck(request) => check::request(docs, request),
        TaskCommand::StartCheck { run, process } => check::start(docs, *run, *process),
        TaskCommand::FinishCheck { run, result } => check::finish(docs, *run, result),
        TaskCommand::AnswerCheck { run, by } => check::answer(docs, *run, *by),
        TaskCommand::InterruptCheck { run, reason } => check::interrupt(docs, *run, reason),
        TaskCommand::ClaimTask { task, lease_seconds, directory } => {
            claim::take(docs, env, *task, (*lease_seconds, directory.as_ref()))
        }
        TaskCommand::ReleaseClaim { task } => claim::release(docs, env, *task),
        TaskCommand::NoteOrigin(note) => origin::note(docs, note),
        TaskCommand::CloseImportedStep { step, reason } => {
            origin::close_step(docs, call, step, reason)
        }
        TaskCommand::CompleteImported { task } => origin::complete(docs, call, *task),
        TaskCommand::MoveFocus { to } => move_focus(docs, *to),
        TaskCommand::NoteTodos { session, steps } => todos::written(docs, session, steps),
        TaskCommand::KeepAnswer { key, kept } => {
            Ok(vec![TaskEvent::AnswerKept { key: key.clone(), kept: kept.clone() }])
        }
    }
}

fn reject<T>(rejection: TaskRejection) -> TaskResult<T> {
    Err(WorkRefusal::rejected(rejection))
}

/// The entity's revision after this call: one more than at its start, zero when the call creates it
/// (TASKS-REV-1, TASKS-REV-2).
fn next_revision(docs: &TaskDocs, key: &TaskKey) -> TaskLookup<u64> {
    Ok(match docs.original(key)? {
        Some(document) => document.meta().map_or(0, |meta| meta.revision + 1),
        None => 0,
    })
}

fn task_ref(docs: &TaskDocs, task: &Task) -> TaskLookup<TaskRef> {
    let revision = next_revision(docs, &TaskKey::Task(task.id))?;
    Ok(TaskRef { task: task.id, parent: task.parent, revision })
}

fn step_ref(docs: &TaskDocs, task: &Task, step: &Step) -> TaskLookup<StepRef> {
    Ok(StepRef { task: task_ref(docs, task)?, step_id: step.id, path: step.path.clone() })
}

/// The plan or task, its plan and its next revision.
fn entity_ref(docs: &TaskDocs, id: EntityId) -> TaskResult<EntityRef> {
    let plan = lookup::plan_of(docs, id)?;
    Ok(EntityRef { id, plan, revision: next_revision(docs, &id.into())? })
}

fn create_plan(docs: &TaskDocs, create: &CreatePlan) -> Decision {
    let id = PlanId(lookup::workspace(docs)?.last_plan + 1);
    Ok(vec![TaskEvent::PlanCreated(PlanCreated {
        id,
        title: create.title.clone(),
        description: create.description.clone(),
        contract: create.contract.clone(),
        contract_data: create.contract_data.clone(),
    })])
}

fn create_task(docs: &TaskDocs, create: &CreateTask) -> Decision {
    let plan = lookup::plan(docs, create.parent)?;
    let id = TaskId(lookup::workspace(docs)?.last_task + 1);
    Ok(vec![TaskEvent::TaskCreated(TaskCreated {
        id,
        parent: plan.id,
        title: create.title.clone(),
        description: create.description.clone(),
        derived: derive::open_task_appears(docs, plan)?,
    })])
}

fn move_focus(docs: &TaskDocs, to: Option<EntityId>) -> Decision {
    if let Some(id) = to {
        lookup::revision(docs, id)?;
    }
    if lookup::workspace(docs)?.focus == to {
        return Ok(Vec::new());
    }
    Ok(vec![TaskEvent::FocusMoved { to }])
}
