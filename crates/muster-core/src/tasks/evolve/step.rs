//! Steps and the nodes of their sub-plans.

use super::{
    Applied, Moment, apply_derived, apply_plan_move, change_task, change_workspace,
    memory::leave_stacks, touch_task,
};
use crate::{
    Author, ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskKey,
        event::{
            Derived, NodeAdded, NodeDefined, StepBlockSet, StepDefined, StepDeleted, StepDone,
            StepNodeDeleted, StepNoted, StepRef, StepReopened, StepVerified, StepsAdded,
            StopAnswered,
        },
        id::EntityId,
        step::{Checkpoint, ConfirmationSource, NodeFields, Step, StepBlock, StepNode, Waiver},
    },
};

pub(super) fn added(docs: &mut TaskDocs, added: &StepsAdded, moment: Moment) -> Applied {
    change_task(docs, added.task.task, |task| {
        for new in &added.steps {
            let mut step = Step::new(new.id, new.path.clone(), new.title.clone(), moment.at);
            step.added_seq = moment.seq;
            step.graph_seq = moment.seq;
            new.fields.apply(&mut step);
            task.steps.insert(step);
        }
        task.meta.revision = added.task.revision;
        task.meta.updated_at = moment.at;
        apply_derived(task, &added.derived, moment);
    })?;
    apply_plan_move(docs, &added.derived, moment)?;
    change_workspace(docs, |workspace| {
        if let Some(last) = added.steps.last() {
            workspace.last_step = last.id.0;
        }
    })
}

pub(super) fn defined(docs: &mut TaskDocs, defined: &StepDefined, moment: Moment) -> Applied {
    change_step(docs, &defined.step, &defined.derived, moment, |step| {
        if let Some(title) = &defined.title {
            step.title.clone_from(title);
            step.graph_seq = moment.seq;
        }
        defined.fields.apply(step);
        for checkpoint in &defined.cleared {
            set_confirmed(step, *checkpoint, false);
            step.items.retain(|item| item.checkpoint != *checkpoint);
        }
    })
}

pub(super) fn noted(docs: &mut TaskDocs, noted: &StepNoted, moment: Moment) -> Applied {
    let StepRef { task, path, .. } = &noted.step;
    touch_task(docs, task.task, |document| {
        document.steps.count_note(path, noted.note_seq, moment.at);
        document.meta.revision = task.revision;
        document.meta.updated_at = moment.at;
        document.meta.memory.notes += 1;
    })
}

pub(super) fn stop_answered(
    docs: &mut TaskDocs,
    answered: &StopAnswered,
    moment: Moment,
) -> Applied {
    change_step(docs, &answered.step, &Derived::default(), moment, |step| {
        let stop = step.unproven_stop.get_or_insert_default();
        stop.add(answered.reply, &answered.checks, moment.at);
    })?;
    change_task(docs, answered.step.task.task, |task| task.needs_person |= answered.listed)
}

pub(super) fn verified(docs: &mut TaskDocs, verified: &StepVerified, moment: Moment) -> Applied {
    change_step(docs, &verified.step, &verified.derived, moment, |step| {
        for (checkpoint, confirmed) in &verified.confirmations {
            set_confirmed(step, *checkpoint, *confirmed);
            if !confirmed {
                step.items.retain(|item| item.checkpoint != *checkpoint);
            }
        }
        for (checkpoint, source) in &verified.sources {
            // Runs of another store are unknown here.
            let run = source.run.filter(|_| !verified.imported);
            let source = ConfirmationSource { run, ..source.clone() };
            step.confirmed_by.insert(*checkpoint, source);
        }
        step.add_items(&verified.items);
        if !verified.imported {
            step.proofs.extend(verified.proofs.clone());
        }
    })
}

fn set_confirmed(step: &mut Step, checkpoint: Checkpoint, confirmed: bool) {
    step.confirmed_by.remove(&checkpoint);
    if confirmed {
        step.confirmed.insert(checkpoint);
    } else {
        step.confirmed.remove(&checkpoint);
    }
}

pub(super) fn done(
    docs: &mut TaskDocs,
    done: &StepDone,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    change_step(docs, &done.step, &done.derived, moment, |step| {
        step.completed_at = Some(moment.at);
        step.closed_by = by.cloned();
        step.set_aside.clone_from(&done.set_aside);
        // A pass of an earlier closing does not back this one.
        step.proofs.retain(|name, _| !done.set_aside.contains(name));
        step.unproven_stop = None;
        step.waiver = done.waiver.clone().map(|waiver| Waiver { at: moment.at, ..waiver });
        step.graph_seq = moment.seq;
    })
}

pub(super) fn reopened(docs: &mut TaskDocs, reopened: &StepReopened, moment: Moment) -> Applied {
    change_step(docs, &reopened.step, &reopened.derived, moment, |step| {
        step.reopen();
        step.graph_seq = moment.seq;
    })
}

pub(super) fn block_set(
    docs: &mut TaskDocs,
    set: &StepBlockSet,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    let by_person = by.is_some_and(Author::is_person);
    change_step(docs, &set.step, &Derived::default(), moment, |step| {
        let reason = set.reason.clone();
        step.block = set.blocked.then_some(StepBlock { reason, by_person });
    })
}

pub(super) fn deleted(docs: &mut TaskDocs, deleted: &StepDeleted, moment: Moment) -> Applied {
    let place = &deleted.step;
    let task_id = EntityId::Task(place.task.task);
    let query = ListQuery { parent: Some(task_id.to_string()), ..ListQuery::of("evidence") };
    let mut gone = Vec::new();
    for document in docs.list(&query)? {
        let TaskDocument::Evidence(evidence) = document else { continue };
        let below = evidence.step.as_ref();
        if below.is_some_and(|(_, path)| *path == place.path || path.is_below(&place.path)) {
            gone.push(TaskKey::Evidence(evidence.id));
        }
    }
    gone.into_iter().for_each(|key| docs.remove(key));
    leave_stacks(docs, task_id, |operation| {
        let path = operation.path.as_ref();
        path.is_some_and(|path| *path == place.path || path.is_below(&place.path))
    })?;
    change_task(docs, place.task.task, |task| {
        // A deleted step must not take the checks of unfinished work away with it.
        let open = task.steps.subtree(&place.path).filter(|step| !step.is_closed());
        let checks: Vec<String> = open.flat_map(|step| step.checks.clone()).collect();
        for check in checks {
            if !task.checks.contains(&check) {
                task.checks.push(check);
            }
        }
        task.steps.remove(&place.path);
        task.meta.revision = place.task.revision;
        task.meta.updated_at = moment.at;
        apply_derived(task, &deleted.derived, moment);
    })?;
    apply_plan_move(docs, &deleted.derived, moment)
}

pub(super) fn node_added(docs: &mut TaskDocs, added: &NodeAdded, moment: Moment) -> Applied {
    let node = StepNode { created_at: moment.at, updated_at: moment.at, ..added.node.clone() };
    change_step(docs, &added.step, &added.derived, moment, |step| {
        step.next_node = node.ordinal + 1;
        step.nodes.push(node);
    })?;
    change_workspace(docs, |workspace| workspace.last_node = added.node.id.0)
}

pub(super) fn node_defined(docs: &mut TaskDocs, defined: &NodeDefined, moment: Moment) -> Applied {
    change_step(docs, &defined.step, &defined.derived, moment, |step| {
        let node = step.nodes.iter_mut().find(|node| node.ordinal == defined.ordinal);
        if let Some(node) = node {
            apply_node_fields(node, &defined.fields);
            node.updated_at = moment.at;
        }
    })
}

fn apply_node_fields(node: &mut StepNode, fields: &NodeFields) {
    fn set<T: Clone>(slot: &mut T, given: Option<&T>) {
        if let Some(value) = given {
            slot.clone_from(value);
        }
    }
    set(&mut node.title, fields.title.as_ref());
    set(&mut node.status, fields.status.as_ref());
    set(&mut node.status_manual, fields.status_manual.as_ref());
    set(&mut node.priority, fields.priority.as_ref());
    set(&mut node.blocked, fields.blocked.as_ref());
    set(&mut node.description, fields.description.as_ref());
    set(&mut node.context, fields.context.as_ref());
    set(&mut node.lists.blockers, fields.blockers.as_ref());
    set(&mut node.lists.dependencies, fields.dependencies.as_ref());
    set(&mut node.lists.next_steps, fields.next_steps.as_ref());
    set(&mut node.lists.problems, fields.problems.as_ref());
    set(&mut node.lists.risks, fields.risks.as_ref());
    set(&mut node.lists.success_criteria, fields.success_criteria.as_ref());
}

pub(super) fn node_deleted(
    docs: &mut TaskDocs,
    deleted: &StepNodeDeleted,
    moment: Moment,
) -> Applied {
    let StepRef { task, path, .. } = &deleted.step;
    leave_stacks(docs, task.task.into(), |operation| {
        operation.path.as_ref() == Some(path) && operation.node == Some(deleted.ordinal)
    })?;
    change_step(docs, &deleted.step, &Derived::default(), moment, |step| {
        step.nodes.retain(|node| node.ordinal != deleted.ordinal);
    })
}

/// Changes one step and its task, then applies the consequences.
pub(super) fn change_step(
    docs: &mut TaskDocs,
    place: &StepRef,
    derived: &Derived,
    moment: Moment,
    change: impl FnOnce(&mut Step),
) -> Applied {
    change_task(docs, place.task.task, |task| {
        if let Some(step) = task.steps.at_mut(&place.path) {
            change(step);
            step.updated_at = moment.at;
        }
        task.meta.revision = place.task.revision;
        task.meta.updated_at = moment.at;
        apply_derived(task, derived, moment);
    })?;
    apply_plan_move(docs, derived, moment)
}
