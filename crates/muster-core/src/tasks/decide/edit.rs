//! Changing fields of a plan or task, dependencies included.

use std::collections::BTreeSet;

use super::{Decision, Docs, next_revision, reject};
use crate::{
    Refusal,
    tasks::{
        Event, Key, Rejection, Tasks,
        command::Edit,
        entity::Meta,
        event::{PlanEdited, TaskEdited},
        id::EntityId,
        lookup,
    },
};

pub(super) fn edit(docs: &Docs, edit: &Edit) -> Decision {
    if let Some(field) = foreign_field(edit) {
        return reject(Rejection::ForeignField { field, id: edit.id });
    }
    if let Some(depends_on) = &edit.meta.depends_on {
        check_dependencies(docs, edit.id, depends_on)?;
    }
    let revision = next_revision(docs, &edit.id.into())?;
    let event = match edit.id {
        EntityId::Plan(id) => Event::PlanEdited(PlanEdited {
            id,
            revision,
            meta: edit.meta.clone(),
            contract: edit.own.contract.clone(),
            contract_data: edit.own.contract_data.clone(),
        }),
        EntityId::Task(id) => Event::TaskEdited(TaskEdited {
            id,
            parent: lookup::task(docs, id)?.parent,
            revision,
            meta: edit.meta.clone(),
            domain: edit.own.domain.clone(),
        }),
    };
    Ok(vec![event])
}

/// A given field that entities of this kind do not have (TASKS-EDIT-2).
fn foreign_field(edit: &Edit) -> Option<&'static str> {
    match edit.id {
        EntityId::Plan(_) => edit.own.domain.is_some().then_some("new_domain"),
        EntityId::Task(_) if edit.own.contract.is_some() => Some("contract"),
        EntityId::Task(_) => edit.own.contract_data.is_some().then_some("contract_data"),
    }
}

/// TASKS-EDIT-3: dependencies exist, and following them never leads back.
fn check_dependencies(
    docs: &Docs,
    id: EntityId,
    depends_on: &[EntityId],
) -> Result<(), Refusal<Tasks>> {
    for dependency in depends_on {
        lookup::revision(docs, *dependency)?;
        if *dependency == id {
            return reject(Rejection::DependsOnItself { id });
        }
    }
    for dependency in depends_on {
        if reaches(docs, *dependency, id)? {
            return reject(Rejection::DependencyCircle { through: *dependency });
        }
    }
    Ok(())
}

/// Whether following dependencies from `start` arrives at `goal`.
fn reaches(docs: &Docs, start: EntityId, goal: EntityId) -> Result<bool, Refusal<Tasks>> {
    let mut seen = BTreeSet::from([start]);
    let mut pending = vec![start];
    while let Some(id) = pending.pop() {
        if id == goal {
            return Ok(true);
        }
        for next in dependencies(docs, id)? {
            if seen.insert(next) {
                pending.push(next);
            }
        }
    }
    Ok(false)
}

fn dependencies(docs: &Docs, id: EntityId) -> Result<Vec<EntityId>, Refusal<Tasks>> {
    let meta: Option<&Meta> = match docs.get(&Key::from(id))? {
        Some(document) => document.meta(),
        None => None,
    };
    Ok(meta.map(|meta| meta.depends_on.clone()).unwrap_or_default())
}
