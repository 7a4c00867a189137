//! What the documents look like after an event. Every fact applies; nothing is decided here.
//!
//! Sums are kept in one place: `change_task` and `change_plan` compare an entity before and after
//! and pass the difference on to its plan, to the workspace and to its dependents.

mod check;
mod claim;
mod entity;
mod memory;
mod origin;
mod restore;
mod step;
mod waiver;

use super::{
    TaskDocument, TaskEvent, TaskKey,
    entity::{Meta, Plan, Task, TaskStatus, Workspace},
    event::Derived,
    id::{EntityId, PlanId, TaskId},
    lookup, todos,
};
use crate::{
    Recorded, Timestamp,
    tasks::{TaskDocs, TaskLookup},
};

type Applied = TaskLookup<()>;

pub(super) use memory::operation_begun;

/// Time and position of an event.
#[derive(Clone, Copy)]
struct Moment {
    at: Timestamp,
    seq: u64,
}

/// Applies one event.
pub(super) fn evolve(docs: &mut TaskDocs, recorded: &Recorded<TaskEvent>) -> Applied {
    let moment = Moment { at: recorded.at, seq: recorded.global };
    let by = recorded.by.as_deref();
    match &recorded.event {
        TaskEvent::PlanCreated(created) => entity::plan_created(docs, created, moment),
        TaskEvent::TaskCreated(created) => entity::task_created(docs, created, moment),
        TaskEvent::Edited(edited) => entity::edited(docs, edited, moment),
        TaskEvent::TaskMoved(moved) => entity::task_moved(docs, moved, moment),
        TaskEvent::StatusSet(set) => entity::status_set(docs, set, moment),
        TaskEvent::Deleted(deleted) => entity::deleted(docs, deleted),
        TaskEvent::ChecklistSet(set) => entity::checklist_set(docs, set, moment),
        TaskEvent::ContractSet(set) => entity::contract_set(docs, set, moment),
        TaskEvent::StepsAdded(added) => step::added(docs, added, moment),
        TaskEvent::StepDefined(defined) => step::defined(docs, defined, moment),
        TaskEvent::StepNoted(noted) => step::noted(docs, noted, moment),
        TaskEvent::StopAnswered(answered) => step::stop_answered(docs, answered, moment),
        TaskEvent::StepVerified(verified) => step::verified(docs, verified, moment),
        TaskEvent::StepDone(done) => step::done(docs, done, by, moment),
        TaskEvent::StepReopened(reopened) => step::reopened(docs, reopened, moment),
        TaskEvent::StepBlockSet(set) => step::block_set(docs, set, by, moment),
        TaskEvent::StepDeleted(deleted) => step::deleted(docs, deleted, moment),
        TaskEvent::NodeAdded(added) => step::node_added(docs, added, moment),
        TaskEvent::NodeDefined(defined) => step::node_defined(docs, defined, moment),
        TaskEvent::NodeDeleted(deleted) => step::node_deleted(docs, deleted, moment),
        TaskEvent::EvidenceCaptured(captured) => memory::evidence_captured(docs, captured, moment),
        TaskEvent::CardKept(kept) => memory::card_kept(docs, kept, moment),
        TaskEvent::NoteKept(kept) => memory::note_kept(docs, kept, moment),
        TaskEvent::OperationRecorded(operation) => memory::recorded(docs, operation, by, moment),
        TaskEvent::Restored(restored) => restore::restored(docs, restored, moment),
        TaskEvent::CardsCommitted(_) | TaskEvent::NoteCommitted(_) => Ok(()),
        TaskEvent::CheckRequested(requested) => check::requested(docs, requested, by, moment),
        TaskEvent::CheckStarted(started) => check::started(docs, started, moment),
        TaskEvent::ProjectAccepted(project) => waiver::accepted(docs, project),
        TaskEvent::ProtectedReviewed(state) => waiver::reviewed(docs, state, by, moment),
        TaskEvent::CheckWaiverSet(set) => waiver::set(docs, set, by, moment),
        TaskEvent::ClaimSet(set) => claim::set(docs, set, by, moment),
        TaskEvent::CheckFinished(finished) => check::finished(docs, finished, moment),
        TaskEvent::FocusMoved { to } => change_workspace(docs, |workspace| workspace.focus = *to),
        TaskEvent::OriginNoted(noted) => origin::noted(docs, noted, moment),
        TaskEvent::TodosWritten(written) => todos::evolve(docs, written),
        TaskEvent::AnswerKept { key, kept } => {
            docs.put(TaskKey::Answer(key.clone()), TaskDocument::Answer(kept.clone()));
            Ok(())
        }
    }
}

/// Applies the consequences of an event to its task.
fn apply_derived(task: &mut Task, derived: &Derived, moment: Moment) {
    for path in &derived.reopened {
        if let Some(step) = task.steps.at_mut(path) {
            step.reopen();
            step.graph_seq = moment.seq;
            step.updated_at = moment.at;
        }
    }
    if let Some(status) = derived.status {
        task.meta.status = status.to;
    }
}

/// Applies the consequences of an event to the plan.
fn apply_plan_move(docs: &mut TaskDocs, derived: &Derived, moment: Moment) -> Applied {
    let Some(moved) = derived.plan else { return Ok(()) };
    change_plan(docs, moved.id, |plan| {
        plan.meta.status = moved.to;
        plan.meta.revision = moved.revision;
        plan.meta.updated_at = moment.at;
    })
}

pub(super) fn change_workspace(
    docs: &mut TaskDocs,
    change: impl FnOnce(&mut Workspace),
) -> Applied {
    let mut workspace = lookup::workspace(docs)?;
    change(&mut workspace);
    docs.put(TaskKey::Workspace, TaskDocument::Workspace(workspace));
    Ok(())
}

/// Changes a task and passes the difference on to its plan's sums, the counts and its dependents.
fn change_task(docs: &mut TaskDocs, id: TaskId, change: impl FnOnce(&mut Task)) -> Applied {
    let Some(TaskDocument::Task(task)) = docs.edit(&TaskKey::Task(id))? else { return Ok(()) };
    let before = task.tally();
    let parent = task.parent;
    change(task);
    task.needs_person &= task.has_questions();
    let after = task.tally();
    if before == after {
        return Ok(());
    }
    change_plan(docs, parent, |plan| {
        plan.sums.subtract(&before);
        plan.sums.add(&after);
    })?;
    if before.status == after.status {
        return Ok(());
    }
    change_workspace(docs, |workspace| {
        *workspace.tasks.slot(before.status) -= 1;
        *workspace.tasks.slot(after.status) += 1;
    })?;
    update_dependents(docs, id.into(), before.status, after.status)
}

/// Puts a task under another plan, whose sums count it from then on.
fn change_parent(docs: &mut TaskDocs, id: TaskId, to: PlanId) -> Applied {
    let Some(TaskDocument::Task(task)) = docs.edit(&TaskKey::Task(id))? else { return Ok(()) };
    let tally = task.tally();
    let from = std::mem::replace(&mut task.parent, to);
    change_plan(docs, from, |plan| plan.sums.subtract(&tally))?;
    change_plan(docs, to, |plan| plan.sums.add(&tally))
}

/// Changes what no sum counts.
fn touch_task(docs: &mut TaskDocs, id: TaskId, change: impl FnOnce(&mut Task)) -> Applied {
    if let Some(TaskDocument::Task(task)) = docs.edit(&TaskKey::Task(id))? {
        let before = task.tally();
        change(task);
        debug_assert_eq!(before, task.tally(), "{id} counts otherwise");
    }
    Ok(())
}

/// Changes a plan and passes a new status on to the counts and its dependents.
fn change_plan(docs: &mut TaskDocs, id: PlanId, change: impl FnOnce(&mut Plan)) -> Applied {
    let Some(TaskDocument::Plan(plan)) = docs.edit(&TaskKey::Plan(id))? else { return Ok(()) };
    let before = plan.meta.status;
    change(plan);
    let after = plan.meta.status;
    if before == after {
        return Ok(());
    }
    change_workspace(docs, |workspace| {
        *workspace.plans.slot(before) -= 1;
        *workspace.plans.slot(after) += 1;
    })?;
    update_dependents(docs, id.into(), before, after)
}

fn change_meta(docs: &mut TaskDocs, id: EntityId, change: impl FnOnce(&mut Meta)) -> Applied {
    match id {
        EntityId::Plan(id) => change_plan(docs, id, |plan| change(&mut plan.meta)),
        EntityId::Task(id) => change_task(docs, id, |task| change(&mut task.meta)),
    }
}

/// Dependents of `id` start or stop waiting when it leaves or reaches DONE.
fn update_dependents(
    docs: &mut TaskDocs,
    id: EntityId,
    before: TaskStatus,
    after: TaskStatus,
) -> Applied {
    if (before == TaskStatus::Done) == (after == TaskStatus::Done) {
        return Ok(());
    }
    let dependents =
        docs.get(&id.into())?.and_then(TaskDocument::meta).map(|meta| meta.dependents.clone());
    for dependent in dependents.unwrap_or_default() {
        change_meta(docs, dependent, |meta| {
            if after == TaskStatus::Done {
                meta.waiting_on.remove(&id);
            } else {
                meta.waiting_on.insert(id);
            }
        })?;
    }
    Ok(())
}
