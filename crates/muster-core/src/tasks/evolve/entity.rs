//! Plans and tasks as wholes.

use std::collections::BTreeSet;

use super::{
    Applied, Moment, apply_plan_move, change_meta, change_parent, change_plan, change_task,
    change_workspace, claim, memory::leave_stacks, update_dependents,
};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskKey,
        entity::{Checklist, Meta, Plan, PlanSums, Task, TaskStatus},
        event::{
            ChecklistSet, ContractSet, Deleted, FieldsEdited, MetaPatch, OwnPatch, PlanCreated,
            StatusSet, TaskCreated, TaskMoved, TaskRef,
        },
        id::EntityId,
        lookup,
        tree::StepTree,
    },
};

pub(super) fn plan_created(docs: &mut TaskDocs, created: &PlanCreated, moment: Moment) -> Applied {
    let mut plan = Plan {
        id: created.id,
        meta: Meta::new(created.title.clone(), created.description.clone(), moment.at),
        contract: created.contract.clone(),
        contract_data: created.contract_data.clone(),
        checklist: Checklist::default(),
        sums: PlanSums::default(),
    };
    plan.meta.created_seq = moment.seq;
    docs.create(TaskKey::Plan(created.id), TaskDocument::Plan(plan));
    change_workspace(docs, |workspace| {
        workspace.last_plan = created.id.0;
        *workspace.plans.slot(TaskStatus::Todo) += 1;
    })
}

pub(super) fn task_created(docs: &mut TaskDocs, created: &TaskCreated, moment: Moment) -> Applied {
    let mut task = Task {
        id: created.id,
        parent: created.parent,
        meta: Meta::new(created.title.clone(), created.description.clone(), moment.at),
        domain: None,
        phase: None,
        component: None,
        assignee: None,
        checks: Vec::new(),
        check_waivers: Vec::new(),
        waivers_asked: Vec::new(),
        claim: None,
        needs_person: false,
        steps: StepTree::default(),
    };
    task.meta.created_seq = moment.seq;
    let tally = task.tally();
    docs.create(TaskKey::Task(created.id), TaskDocument::Task(task));
    change_plan(docs, created.parent, |plan| plan.sums.add(&tally))?;
    apply_plan_move(docs, &created.derived, moment)?;
    change_workspace(docs, |workspace| {
        workspace.last_task = created.id.0;
        *workspace.tasks.slot(TaskStatus::Todo) += 1;
    })
}

pub(super) fn edited(docs: &mut TaskDocs, edited: &FieldsEdited, moment: Moment) -> Applied {
    if let Some(depends_on) = &edited.meta.depends_on {
        link_dependencies(docs, edited.subject.id, depends_on)?;
    }
    let revision = edited.subject.revision;
    match edited.subject.id {
        EntityId::Plan(id) => change_plan(docs, id, |plan| {
            apply_meta(&mut plan.meta, &edited.meta, revision, moment);
            apply_plan_fields(plan, &edited.own);
        }),
        EntityId::Task(id) => change_task(docs, id, |task| {
            apply_meta(&mut task.meta, &edited.meta, revision, moment);
            apply_task_fields(task, &edited.own);
        }),
    }
}

fn apply_meta(meta: &mut Meta, patch: &MetaPatch, revision: u64, moment: Moment) {
    set(&mut meta.title, patch.title.as_ref());
    set(&mut meta.description, patch.description.as_ref());
    set(&mut meta.context, patch.context.as_ref());
    set(&mut meta.priority, patch.priority.as_ref());
    set(&mut meta.tags, patch.tags.as_ref());
    set(&mut meta.depends_on, patch.depends_on.as_ref());
    meta.revision = revision;
    meta.updated_at = moment.at;
}

fn apply_plan_fields(plan: &mut Plan, own: &OwnPatch) {
    set(&mut plan.contract, own.contract.as_ref());
    set(&mut plan.contract_data, own.contract_data.as_ref());
}

fn apply_task_fields(task: &mut Task, own: &OwnPatch) {
    set(&mut task.domain, own.domain.as_ref());
    set(&mut task.phase, own.phase.as_ref());
    set(&mut task.component, own.component.as_ref());
    set(&mut task.assignee, own.assignee.as_ref());
    set(&mut task.checks, own.checks.as_ref());
}

/// Sets a value if it is given.
fn set<T: Clone>(slot: &mut T, given: Option<&T>) {
    if let Some(value) = given {
        slot.clone_from(value);
    }
}

/// Keeps both directions of dependencies: who waits for whom, and who has to be updated.
pub(super) fn link_dependencies(
    docs: &mut TaskDocs,
    id: EntityId,
    depends_on: &[EntityId],
) -> Applied {
    let new: BTreeSet<EntityId> = depends_on.iter().copied().collect();
    let meta = docs.get(&id.into())?.and_then(TaskDocument::meta);
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
        if lookup::status(docs, *dependency)?.is_some_and(|status| status != TaskStatus::Done) {
            waiting_on.insert(*dependency);
        }
    }
    change_meta(docs, id, |meta| meta.waiting_on = waiting_on)
}

pub(super) fn task_moved(docs: &mut TaskDocs, moved: &TaskMoved, moment: Moment) -> Applied {
    let TaskRef { task, parent, revision } = moved.task;
    change_parent(docs, task, parent)?;
    change_meta(docs, task.into(), |meta| {
        meta.revision = revision;
        meta.updated_at = moment.at;
    })?;
    apply_plan_move(docs, &moved.derived, moment)
}

pub(super) fn status_set(docs: &mut TaskDocs, set: &StatusSet, moment: Moment) -> Applied {
    let to = set.moved.to;
    let revision = set.subject.revision;
    let apply = |meta: &mut Meta| {
        meta.status = to;
        meta.revision = revision;
        meta.updated_at = moment.at;
    };
    change_meta(docs, set.subject.id, apply)?;
    if let (EntityId::Task(id), TaskStatus::Done) = (set.subject.id, to)
        && lookup::find_task(docs, id)?.is_some_and(|task| task.claim.is_some())
    {
        claim::release(docs, id)?;
    }
    apply_plan_move(docs, &set.derived, moment)
}

/// Removes a plan or task with everything attached to it; its events stay in the log.
pub(super) fn deleted(docs: &mut TaskDocs, deleted: &Deleted) -> Applied {
    let id = deleted.id;
    link_dependencies(docs, id, &[])?;
    let Some(document) = docs.get(&id.into())? else { return Ok(()) };
    let status = document.meta().map(|meta| meta.status).unwrap_or_default();
    let tally = document.as_task().map(Task::tally);
    // A deleted entity blocks nothing, as if it were done (TASKS-EDIT-3).
    update_dependents(docs, id, status, TaskStatus::Done)?;
    if let Some(tally) = tally {
        change_plan(docs, deleted.plan, |plan| plan.sums.subtract(&tally))?;
    }
    change_workspace(docs, |workspace| {
        let counts = match id {
            EntityId::Plan(_) => &mut workspace.plans,
            EntityId::Task(_) => &mut workspace.tasks,
        };
        *counts.slot(status) -= 1;
        if workspace.focus == Some(id) {
            workspace.focus = None;
        }
        if let EntityId::Task(id) = id {
            workspace.claimed.remove(&id);
        }
    })?;
    remove_attached(docs, id)?;
    docs.remove(id.into());
    Ok(())
}

/// TASKS-DEL-2, TASKS-UNDO-4: evidence and cards are removed, operations leave the stacks.
fn remove_attached(docs: &mut TaskDocs, id: EntityId) -> Applied {
    let attached = |kind| ListQuery { parent: Some(id.to_string()), ..ListQuery::of(kind) };
    let mut keys = Vec::new();
    for document in docs.list(&attached("evidence"))? {
        if let TaskDocument::Evidence(evidence) = document {
            keys.push(TaskKey::Evidence(evidence.id));
        }
    }
    for document in docs.list(&attached("card"))? {
        if let TaskDocument::Card(card) = document {
            keys.push(TaskKey::Card(card.id));
        }
    }
    leave_stacks(docs, id, |_| true)?;
    keys.into_iter().for_each(|key| docs.remove(key));
    Ok(())
}

pub(super) fn checklist_set(docs: &mut TaskDocs, set: &ChecklistSet, moment: Moment) -> Applied {
    change_plan(docs, set.plan, |plan| {
        plan.checklist = set.checklist.clone();
        plan.meta.revision = set.revision;
        plan.meta.updated_at = moment.at;
    })
}

pub(super) fn contract_set(docs: &mut TaskDocs, set: &ContractSet, moment: Moment) -> Applied {
    change_plan(docs, set.plan, |plan| {
        plan.contract.clone_from(&set.contract);
        plan.contract_data.clone_from(&set.contract_data);
        plan.meta.revision = set.revision;
        plan.meta.updated_at = moment.at;
    })
}
