//! Undo and redo: fields are written back, and what the operation added goes or comes back with it.

use super::{
    Applied, Moment, apply_derived, apply_plan_move, change_meta, change_parent, change_plan,
    change_task, change_workspace, claim, entity::link_dependencies, memory::change_counts,
};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskKey, TaskLookup,
        entity::{Meta, Task, TaskStatus},
        event::Restored,
        fields,
        history::{AddedParts, HistoryOperation, OperationState, WithdrawnParts},
        id::{EntityId, PlanId, TaskId},
        path::StepPath,
        step::{Checkpoints, Step},
    },
};

/// Writes the fields of an undone or redone operation and moves it between the stacks.
pub(super) fn restored(docs: &mut TaskDocs, restored: &Restored, moment: Moment) -> Applied {
    let (added, withdrawn) = parts(docs, restored.op_seq)?;
    if let Some(parts) = withdrawn.filter(|_| !restored.undo) {
        bring_back(docs, restored, parts, moment)?;
    }
    write_fields(docs, restored, moment)?;
    let withdrawn = if restored.undo { withdraw(docs, restored, &added, moment)? } else { None };
    apply_plan_move(docs, &restored.derived, moment)?;
    if let Some(TaskDocument::Operation(operation)) =
        docs.edit(&TaskKey::Operation(restored.op_seq))?
    {
        operation.state =
            if restored.undo { OperationState::Redoable } else { OperationState::Undoable };
        operation.undone_at = if restored.undo { moment.seq } else { 0 };
        operation.withdrawn = withdrawn.map(Box::new);
    }
    let left = redo_left(docs, restored.subject.id)?;
    change_meta(docs, restored.subject.id, |meta| meta.redoable = left)
}

/// What the operation added, and what its last undo has taken away.
fn parts(docs: &TaskDocs, seq: u64) -> TaskLookup<(AddedParts, Option<WithdrawnParts>)> {
    let Some(TaskDocument::Operation(operation)) = docs.get(&TaskKey::Operation(seq))? else {
        return Ok((AddedParts::default(), None));
    };
    let HistoryOperation { change, withdrawn, .. } = operation;
    let added = change.as_ref().and_then(|change| change.added.as_deref());
    Ok((added.cloned().unwrap_or_default(), withdrawn.as_deref().cloned()))
}

fn redo_left(docs: &TaskDocs, id: EntityId) -> TaskLookup<bool> {
    let query = ListQuery {
        parent: Some(id.to_string()),
        statuses: vec![OperationState::Redoable.name()],
        limit: Some(1),
        ..ListQuery::of("operation")
    };
    Ok(!docs.list(&query)?.is_empty())
}

fn write_fields(docs: &mut TaskDocs, restored: &Restored, moment: Moment) -> Applied {
    let values = &restored.fields;
    let subject = restored.subject;
    let derived = &restored.derived;
    let touch = |meta: &mut Meta| {
        meta.revision = subject.revision;
        meta.updated_at = moment.at;
    };
    if values.contains_key("depends_on") && restored.path.is_none() {
        let mut depends_on = Vec::new();
        fields::read(values, "depends_on", &mut depends_on);
        link_dependencies(docs, subject.id, &depends_on)?;
    }
    if let (EntityId::Task(id), Some(plan)) = (subject.id, restored.other_plan()) {
        change_parent(docs, id, plan)?;
    }
    match (subject.id, &restored.path) {
        (EntityId::Plan(id), _) => change_plan(docs, id, |plan| {
            fields::write_plan(plan, values);
            touch(&mut plan.meta);
        }),
        (EntityId::Task(id), None) => {
            let mut ends_claim = false;
            change_task(docs, id, |task| {
                fields::write_task(task, values);
                touch(&mut task.meta);
                apply_derived(task, derived, moment);
                ends_claim = values.contains_key("status")
                    && task.meta.status == TaskStatus::Done
                    && task.claim.is_some();
            })?;
            if ends_claim { claim::release(docs, id) } else { Ok(()) }
        }
        (EntityId::Task(id), Some(path)) => change_task(docs, id, |task| {
            if let Some(step) = task.steps.at_mut(path) {
                let node = restored.node;
                match node.and_then(|at| step.nodes.iter_mut().find(|node| node.ordinal == at)) {
                    Some(node) => {
                        fields::write_node(node, values);
                        node.updated_at = moment.at;
                    }
                    None => fields::write_step(step, values),
                }
                step.updated_at = moment.at;
                step.graph_seq = moment.seq;
            }
            touch(&mut task.meta);
            apply_derived(task, derived, moment);
        }),
    }
}

/// Takes away what the operation added, and returns it.
fn withdraw(
    docs: &mut TaskDocs,
    restored: &Restored,
    added: &AddedParts,
    moment: Moment,
) -> TaskLookup<Option<WithdrawnParts>> {
    let mut gone = WithdrawnParts::default();
    if let EntityId::Task(task) = restored.subject.id
        && !restored.steps.is_empty()
    {
        withdraw_steps(docs, task, &restored.steps, &mut gone)?;
    }
    withdraw_records(docs, restored, added, &mut gone, moment)?;
    for id in restored.entities.iter().rev() {
        match id {
            EntityId::Task(id) => withdraw_task(docs, *id, added.focus_before, &mut gone)?,
            EntityId::Plan(id) => withdraw_plan(docs, *id, &mut gone)?,
        }
    }
    Ok((gone != WithdrawnParts::default()).then_some(gone))
}

/// Removes steps. As with a deletion, the checks of unfinished work stay with the task.
fn withdraw_steps(
    docs: &mut TaskDocs,
    task: TaskId,
    paths: &[StepPath],
    gone: &mut WithdrawnParts,
) -> Applied {
    change_task(docs, task, |task| {
        for path in paths {
            gone.steps.extend(task.steps.subtree(path).cloned());
            task.steps.remove(path);
        }
        let open = gone.steps.iter().filter(|step| !step.is_closed());
        for check in open.flat_map(|step| &step.checks) {
            if !task.checks.contains(check) {
                task.checks.push(check.clone());
                gone.checks.push(check.clone());
            }
        }
    })
}

/// Removes evidence and notes.
fn withdraw_records(
    docs: &mut TaskDocs,
    restored: &Restored,
    added: &AddedParts,
    gone: &mut WithdrawnParts,
    moment: Moment,
) -> Applied {
    for evidence in &added.evidence {
        let key = TaskKey::Evidence(*evidence);
        if let Some(TaskDocument::Evidence(evidence)) = docs.get(&key)? {
            gone.evidence.push(evidence.clone());
            docs.remove(key);
        }
    }
    for note in &added.notes {
        let key = TaskKey::Note(*note);
        match docs.get(&key)? {
            Some(TaskDocument::Note(note)) => {
                gone.notes.push(note.clone());
                docs.remove(key);
            }
            Some(_) | None => gone.step_notes.push(*note),
        }
    }
    let on_step = gone.step_notes.len();
    if gone.evidence.is_empty() && gone.notes.is_empty() && on_step == 0 {
        return Ok(());
    }
    change_counts(docs, restored.subject.id, |counts| {
        counts.captures -= gone.evidence.len() as u64;
        counts.notes -= (gone.notes.len() + on_step) as u64;
    })?;
    recount_step(docs, restored, -i64::try_from(on_step).unwrap_or(0), moment)
}

/// Evidence and notes count on their step as long as they are there.
fn recount_step(docs: &mut TaskDocs, restored: &Restored, notes: i64, moment: Moment) -> Applied {
    let (EntityId::Task(id), Some(path)) = (restored.subject.id, &restored.path) else {
        return Ok(());
    };
    let parent = Some(restored.subject.id.to_string());
    let mut proven = Checkpoints::new();
    let mut count = 0;
    for document in docs.list(&ListQuery { parent, ..ListQuery::of("evidence") })? {
        if let TaskDocument::Evidence(evidence) = document
            && evidence.step.as_ref().is_some_and(|(_, at)| at == path)
        {
            proven.extend(evidence.checkpoints.iter().copied());
            count += 1;
        }
    }
    change_task(docs, id, |task| {
        if let Some(step) = task.steps.at_mut(path) {
            step.proven = proven;
            step.evidence = count;
            step.notes = u32::try_from(i64::from(step.notes) + notes).unwrap_or(0);
            step.updated_at = moment.at;
        }
    })
}

/// Removes a task that was not worked on, as if it had never been created. Its number is not
/// used again.
fn withdraw_task(
    docs: &mut TaskDocs,
    id: TaskId,
    focus_before: Option<EntityId>,
    gone: &mut WithdrawnParts,
) -> Applied {
    let Some(TaskDocument::Task(task)) = docs.get(&TaskKey::Task(id))? else { return Ok(()) };
    let mut task = task.clone();
    let tally = task.tally();
    change_plan(docs, task.parent, |plan| plan.sums.subtract(&tally))?;
    let focus = match focus_before {
        Some(before) if docs.get(&before.into())?.is_some() => Some(before),
        Some(_) | None => None,
    };
    change_workspace(docs, |workspace| {
        *workspace.tasks.slot(tally.status) -= 1;
        workspace.claimed.remove(&id);
        if workspace.focus == Some(id.into()) {
            workspace.focus = focus;
        }
    })?;
    task.claim = None;
    gone.task = Some(task);
    withdraw_memory(docs, id.into(), gone)?;
    docs.remove(TaskKey::Task(id));
    Ok(())
}

fn withdraw_plan(docs: &mut TaskDocs, id: PlanId, gone: &mut WithdrawnParts) -> Applied {
    let Some(TaskDocument::Plan(plan)) = docs.get(&TaskKey::Plan(id))? else { return Ok(()) };
    let plan = plan.clone();
    let status = plan.meta.status;
    change_workspace(docs, |workspace| {
        *workspace.plans.slot(status) -= 1;
        if workspace.focus == Some(id.into()) {
            workspace.focus = None;
        }
    })?;
    gone.plan = Some(plan);
    withdraw_memory(docs, id.into(), gone)?;
    mark_creation(docs, id, OperationState::Final, OperationState::Undone)?;
    docs.remove(TaskKey::Plan(id));
    Ok(())
}

/// Cards of a memory; its notes and its trace show nothing without the plan or task.
fn withdraw_memory(docs: &mut TaskDocs, id: EntityId, gone: &mut WithdrawnParts) -> Applied {
    let query = ListQuery { parent: Some(id.to_string()), ..ListQuery::of("card") };
    let cards = docs.list(&query)?.into_iter().filter_map(TaskDocument::as_card);
    let cards: Vec<_> = cards.cloned().collect();
    for card in cards {
        docs.remove(TaskKey::Card(card.id));
        gone.cards.push(card);
    }
    Ok(())
}

/// The creation of a plan is an operation of its own in its history.
fn mark_creation(
    docs: &mut TaskDocs,
    id: PlanId,
    from: OperationState,
    to: OperationState,
) -> Applied {
    let query = ListQuery {
        parent: Some(EntityId::Plan(id).to_string()),
        statuses: vec![from.name()],
        ..ListQuery::of("operation")
    };
    let mut positions = Vec::new();
    for document in docs.list(&query)? {
        if let TaskDocument::Operation(operation) = document
            && operation.change.is_none()
        {
            positions.push(operation.seq);
        }
    }
    for seq in positions {
        if let Some(TaskDocument::Operation(operation)) = docs.edit(&TaskKey::Operation(seq))? {
            operation.state = to;
        }
    }
    Ok(())
}

/// Brings back what an undo has taken away.
fn bring_back(
    docs: &mut TaskDocs,
    restored: &Restored,
    parts: WithdrawnParts,
    moment: Moment,
) -> Applied {
    if let Some(plan) = parts.plan {
        let id = plan.id;
        change_workspace(docs, |workspace| *workspace.plans.slot(plan.meta.status) += 1)?;
        docs.put(TaskKey::Plan(id), TaskDocument::Plan(plan));
        mark_creation(docs, id, OperationState::Undone, OperationState::Final)?;
    }
    if let Some(task) = parts.task {
        bring_back_task(docs, task)?;
    }
    for card in parts.cards {
        docs.put(TaskKey::Card(card.id), TaskDocument::Card(card));
    }
    if let EntityId::Task(id) = restored.subject.id {
        bring_back_steps(docs, id, parts.steps, &parts.checks)?;
    }
    let captures = parts.evidence.len() as u64;
    let on_step = parts.step_notes.len();
    let notes = (parts.notes.len() + on_step) as u64;
    if captures + notes == 0 {
        return Ok(());
    }
    for evidence in parts.evidence {
        docs.put(TaskKey::Evidence(evidence.id), TaskDocument::Evidence(evidence));
    }
    for note in parts.notes {
        docs.put(TaskKey::Note(note.seq), TaskDocument::Note(note));
    }
    change_counts(docs, restored.subject.id, |counts| {
        counts.captures += captures;
        counts.notes += notes;
    })?;
    recount_step(docs, restored, i64::try_from(on_step).unwrap_or(0), moment)
}

fn bring_back_task(docs: &mut TaskDocs, task: Task) -> Applied {
    let id = task.id;
    let tally = task.tally();
    change_plan(docs, task.parent, |plan| plan.sums.add(&tally))?;
    docs.put(TaskKey::Task(id), TaskDocument::Task(task));
    change_workspace(docs, |workspace| {
        *workspace.tasks.slot(tally.status) += 1;
        workspace.focus = Some(id.into());
    })
}

fn bring_back_steps(
    docs: &mut TaskDocs,
    task: TaskId,
    steps: Vec<Step>,
    checks: &[String],
) -> Applied {
    if steps.is_empty() {
        return Ok(());
    }
    change_task(docs, task, |task| {
        task.checks.retain(|check| !checks.contains(check));
        for step in steps {
            task.steps.put_back(step);
        }
    })
}
