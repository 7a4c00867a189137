//! What the documents look like after an event. Every fact applies; nothing is decided here.
//!
//! Sums are kept in one place: `change_task` and `change_plan` compare an entity before and after and pass
//! the difference on to its plan, to the workspace and to those who wait for it.

use std::collections::BTreeSet;

use super::{
    Document, Event, Key, Tasks,
    entity::{KeptAnswer, Meta, Plan, PlanSums, Status, Task, Workspace},
    event::{
        Derived, MetaPatch, PlanCreated, PlanEdited, StepDefined, StepFields, StepRef, StepsAdded,
        TaskCreated, TaskEdited,
    },
    id::{EntityId, PlanId, TaskId},
    lookup,
    step::{Checkpoint, Step},
    tree::StepTree,
};
use crate::{Documents, Recorded, Timestamp, Unloaded};

type Docs = Documents<Tasks>;
type Applied = Result<(), Unloaded<Tasks>>;

/// Applies one event.
pub(super) fn evolve(docs: &mut Docs, recorded: &Recorded<Event>) -> Applied {
    let at = recorded.at;
    match &recorded.event {
        Event::PlanCreated(created) => plan_created(docs, created, at),
        Event::TaskCreated(created) => task_created(docs, created, at),
        Event::PlanEdited(edited) => plan_edited(docs, edited, at),
        Event::TaskEdited(edited) => task_edited(docs, edited, at),
        Event::StepsAdded(added) => steps_added(docs, added, at),
        Event::StepDefined(defined) => step_defined(docs, defined, at),
        Event::StepNoted(noted) => {
            change_step(docs, &noted.step, &Derived::default(), at, |step| {
                step.notes = noted.note_seq;
            })
        }
        Event::StepVerified(verified) => {
            change_step(docs, &verified.step, &verified.derived, at, |step| {
                for (checkpoint, confirmed) in &verified.confirmations {
                    set_confirmed(step, *checkpoint, *confirmed);
                }
            })
        }
        Event::StepDone(done) => change_step(docs, &done.step, &done.derived, at, |step| {
            step.completed_at = Some(at);
        }),
        Event::FocusMoved { to } => change_workspace(docs, |workspace| workspace.focus = *to),
        Event::AnswerKept { key, kept } => {
            keep_answer(docs, key, kept);
            Ok(())
        }
    }
}

fn plan_created(docs: &mut Docs, created: &PlanCreated, at: Timestamp) -> Applied {
    let plan = Plan {
        id: created.id,
        meta: Meta::new(created.title.clone(), created.description.clone(), at),
        contract: created.contract.clone(),
        contract_data: created.contract_data.clone(),
        checklist: Default::default(),
        sums: PlanSums::default(),
    };
    docs.create(Key::Plan(created.id), Document::Plan(plan));
    change_workspace(docs, |workspace| {
        workspace.last_plan = created.id.0;
        *workspace.plans.slot(Status::Todo) += 1;
    })
}

fn task_created(docs: &mut Docs, created: &TaskCreated, at: Timestamp) -> Applied {
    let task = Task {
        id: created.id,
        parent: created.parent,
        meta: Meta::new(created.title.clone(), created.description.clone(), at),
        domain: None,
        phase: None,
        component: None,
        assignee: None,
        steps: StepTree::default(),
    };
    let tally = task.tally();
    docs.create(Key::Task(created.id), Document::Task(task));
    change_plan(docs, created.parent, |plan| plan.sums.add(&tally))?;
    apply_plan_move(docs, &created.derived, at)?;
    change_workspace(docs, |workspace| {
        workspace.last_task = created.id.0;
        *workspace.tasks.slot(Status::Todo) += 1;
    })
}

fn plan_edited(docs: &mut Docs, edited: &PlanEdited, at: Timestamp) -> Applied {
    link_dependencies(docs, edited.id.into(), &edited.meta)?;
    change_plan(docs, edited.id, |plan| {
        apply_meta(&mut plan.meta, &edited.meta);
        plan.meta.revision = edited.revision;
        plan.meta.updated_at = at;
        if let Some(contract) = &edited.contract {
            plan.contract.clone_from(contract);
        }
        if let Some(contract_data) = &edited.contract_data {
            plan.contract_data = Some(contract_data.clone());
        }
    })
}

fn task_edited(docs: &mut Docs, edited: &TaskEdited, at: Timestamp) -> Applied {
    link_dependencies(docs, edited.id.into(), &edited.meta)?;
    change_task(docs, edited.id, |task| {
        apply_meta(&mut task.meta, &edited.meta);
        task.meta.revision = edited.revision;
        task.meta.updated_at = at;
        if let Some(domain) = &edited.domain {
            task.domain.clone_from(domain);
        }
    })
}

fn apply_meta(meta: &mut Meta, patch: &MetaPatch) {
    if let Some(title) = &patch.title {
        meta.title.clone_from(title);
    }
    if let Some(description) = &patch.description {
        meta.description.clone_from(description);
    }
    if let Some(context) = &patch.context {
        meta.context.clone_from(context);
    }
    if let Some(priority) = patch.priority {
        meta.priority = priority;
    }
    if let Some(tags) = &patch.tags {
        meta.tags.clone_from(tags);
    }
    if let Some(depends_on) = &patch.depends_on {
        meta.depends_on.clone_from(depends_on);
    }
}

/// Keeps both directions of dependencies: who waits for whom, and who has to be told.
fn link_dependencies(docs: &mut Docs, id: EntityId, patch: &MetaPatch) -> Applied {
    let Some(depends_on) = &patch.depends_on else { return Ok(()) };
    let new: BTreeSet<EntityId> = depends_on.iter().copied().collect();
    let meta = docs.get(&id.into())?.and_then(Document::meta);
    let old: BTreeSet<EntityId> =
        meta.map(|meta| meta.depends_on.iter().copied().collect()).unwrap_or_default();
    for dropped in old.difference(&new) {
        change_meta(docs, *dropped, |meta| {
            meta.dependents.remove(&id);
        })?;
    }
    for added in new.difference(&old) {
        change_meta(docs, *added, |meta| {
            meta.dependents.insert(id);
        })?;
    }
    let mut waiting_on = BTreeSet::new();
    for dependency in &new {
        if lookup::status(docs, *dependency)?.is_some_and(|status| status != Status::Done) {
            waiting_on.insert(*dependency);
        }
    }
    change_meta(docs, id, |meta| meta.waiting_on = waiting_on)
}

fn steps_added(docs: &mut Docs, added: &StepsAdded, at: Timestamp) -> Applied {
    change_task(docs, added.task.task, |task| {
        for new in &added.steps {
            let mut step = Step::new(new.id, new.path.clone(), new.title.clone(), at);
            apply_fields(&mut step, &new.fields);
            task.steps.insert(step);
        }
        task.meta.revision = added.task.revision;
        task.meta.updated_at = at;
        apply_derived(task, &added.derived);
    })?;
    apply_plan_move(docs, &added.derived, at)?;
    change_workspace(docs, |workspace| {
        if let Some(last) = added.steps.last() {
            workspace.last_step = last.id.0;
        }
    })
}

fn step_defined(docs: &mut Docs, defined: &StepDefined, at: Timestamp) -> Applied {
    change_step(docs, &defined.step, &defined.derived, at, |step| {
        if let Some(title) = &defined.title {
            step.title.clone_from(title);
        }
        apply_fields(step, &defined.fields);
        for checkpoint in &defined.cleared {
            set_confirmed(step, *checkpoint, false);
        }
    })
}

fn apply_fields(step: &mut Step, fields: &StepFields) {
    if let Some(criteria) = &fields.success_criteria {
        step.success_criteria.clone_from(criteria);
    }
    if let Some(tests) = &fields.tests {
        step.tests.clone_from(tests);
    }
    if let Some(blockers) = &fields.blockers {
        step.blockers.clone_from(blockers);
    }
    if let Some(modes) = fields.proof_modes {
        step.proof_modes = modes;
    }
}

fn set_confirmed(step: &mut Step, checkpoint: Checkpoint, confirmed: bool) {
    if confirmed {
        step.confirmed.insert(checkpoint);
    } else {
        step.confirmed.remove(&checkpoint);
    }
}

fn keep_answer(docs: &mut Docs, key: &str, kept: &KeptAnswer) {
    docs.put(Key::Answer(key.to_owned()), Document::Answer(kept.clone()));
}

/// Changes one step and its task, then what follows from it.
fn change_step(
    docs: &mut Docs,
    place: &StepRef,
    derived: &Derived,
    at: Timestamp,
    change: impl FnOnce(&mut Step),
) -> Applied {
    change_task(docs, place.task.task, |task| {
        if let Some(step) = task.steps.at_mut(&place.path) {
            change(step);
            step.updated_at = at;
        }
        task.meta.revision = place.task.revision;
        task.meta.updated_at = at;
        apply_derived(task, derived);
    })?;
    apply_plan_move(docs, derived, at)
}

fn apply_derived(task: &mut Task, derived: &Derived) {
    for path in &derived.reopened {
        if let Some(step) = task.steps.at_mut(path) {
            step.reopen();
        }
    }
    if let Some(status) = derived.status {
        task.meta.status = status.to;
    }
}

fn apply_plan_move(docs: &mut Docs, derived: &Derived, at: Timestamp) -> Applied {
    let Some(moved) = derived.plan else { return Ok(()) };
    change_plan(docs, moved.id, |plan| {
        plan.meta.status = moved.to;
        plan.meta.revision = moved.revision;
        plan.meta.updated_at = at;
    })
}

fn change_workspace(docs: &mut Docs, change: impl FnOnce(&mut Workspace)) -> Applied {
    let mut workspace = lookup::workspace(docs)?;
    change(&mut workspace);
    docs.put(Key::Workspace, Document::Workspace(workspace));
    Ok(())
}

/// Changes a task and passes the difference on to its plan's sums, the counts and its dependents.
fn change_task(docs: &mut Docs, id: TaskId, change: impl FnOnce(&mut Task)) -> Applied {
    let Some(Document::Task(task)) = docs.edit(&Key::Task(id))? else { return Ok(()) };
    let (before, parent) = (task.tally(), task.parent);
    change(task);
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
    tell_dependents(docs, id.into(), before.status, after.status)
}

/// Changes a plan and passes a new status on to the counts and its dependents.
fn change_plan(docs: &mut Docs, id: PlanId, change: impl FnOnce(&mut Plan)) -> Applied {
    let Some(Document::Plan(plan)) = docs.edit(&Key::Plan(id))? else { return Ok(()) };
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
    tell_dependents(docs, id.into(), before, after)
}

fn change_meta(docs: &mut Docs, id: EntityId, change: impl FnOnce(&mut Meta)) -> Applied {
    match id {
        EntityId::Plan(id) => change_plan(docs, id, |plan| change(&mut plan.meta)),
        EntityId::Task(id) => change_task(docs, id, |task| change(&mut task.meta)),
    }
}

/// Whoever depends on `id` starts or stops waiting when it leaves or reaches DONE.
fn tell_dependents(docs: &mut Docs, id: EntityId, before: Status, after: Status) -> Applied {
    if (before == Status::Done) == (after == Status::Done) {
        return Ok(());
    }
    let dependents =
        docs.get(&id.into())?.and_then(Document::meta).map(|meta| meta.dependents.clone());
    for dependent in dependents.unwrap_or_default() {
        change_meta(docs, dependent, |meta| {
            if after == Status::Done {
                meta.waiting_on.remove(&id);
            } else {
                meta.waiting_on.insert(id);
            }
        })?;
    }
    Ok(())
}
