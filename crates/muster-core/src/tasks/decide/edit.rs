//! Changing fields of a plan or task, dependencies included.

use super::{Decision, entity_ref, reject, step::keeps_checks};
use crate::{
    CallFacts,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskKey, TaskLookup, TaskRejection, TaskResult,
        command::FieldsEdit, event::FieldsEdited, id::EntityId, lookup,
    },
};

pub(super) fn edit(docs: &TaskDocs, call: &CallFacts, edit: &FieldsEdit) -> Decision {
    if let Some(field) = foreign_field(edit) {
        return reject(TaskRejection::ForeignField { field, id: edit.id });
    }
    if let Some(depends_on) = &edit.meta.depends_on {
        check_dependencies(docs, edit.id, depends_on)?;
    }
    if let EntityId::Task(id) = edit.id {
        let before = &lookup::task(docs, id)?.checks;
        keeps_checks(call, None, before, edit.own.checks.as_deref())?;
    }
    let subject = entity_ref(docs, edit.id)?;
    let meta = edit.meta.clone();
    let own = edit.own.clone();
    Ok(vec![TaskEvent::Edited(FieldsEdited { subject, meta, own, manner: edit.manner.clone() })])
}

/// A given field that this kind of entity does not have (TASKS-EDIT-2).
fn foreign_field(edit: &FieldsEdit) -> Option<&'static str> {
    let own = &edit.own;
    let foreign = match edit.id {
        EntityId::Plan(_) => [
            ("new_domain", own.domain.is_some()),
            ("phase", own.phase.is_some()),
            ("component", own.component.is_some()),
            ("assignee", own.assignee.is_some()),
            ("checks", own.checks.is_some()),
        ],
        EntityId::Task(_) => [
            ("contract", own.contract.is_some()),
            ("contract_data", own.contract_data.is_some()),
            ("", false),
            ("", false),
            ("", false),
        ],
    };
    foreign.into_iter().find(|(_, given)| *given).map(|(field, _)| field)
}

/// TASKS-EDIT-3: new dependencies exist, and nothing waits for itself.
fn check_dependencies(docs: &TaskDocs, id: EntityId, depends_on: &[EntityId]) -> TaskResult<()> {
    let added = added(docs, id, depends_on)?;
    for dependency in &added {
        lookup::revision(docs, *dependency)?;
        if *dependency == id {
            return reject(TaskRejection::DependsOnItself { id });
        }
    }
    match leading_back(docs, id, &added)? {
        Some(through) => reject(TaskRejection::DependencyCircle { through }),
        None => Ok(()),
    }
}

/// Those that a plan or task does not depend on yet. The others do not matter: what they name may
/// have been deleted since.
pub(super) fn added(
    docs: &TaskDocs,
    id: EntityId,
    depends_on: &[EntityId],
) -> TaskLookup<Vec<EntityId>> {
    let meta = docs.get(&TaskKey::from(id))?.and_then(TaskDocument::meta);
    let before = meta.map(|meta| meta.depends_on.as_slice()).unwrap_or_default();
    Ok(depends_on.iter().copied().filter(|id| !before.contains(id)).collect())
}

/// The first of these dependencies that cannot be done before the plan or task itself.
pub(super) fn leading_back(
    docs: &TaskDocs,
    id: EntityId,
    added: &[EntityId],
) -> TaskLookup<Option<EntityId>> {
    if added.is_empty() {
        return Ok(None);
    }
    let waiters = lookup::waiters(docs, id)?;
    Ok(added.iter().copied().find(|dependency| waiters.contains(dependency)))
}
