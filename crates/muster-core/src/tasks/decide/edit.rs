//! Changing fields of a plan or task, dependencies included.

use std::collections::BTreeSet;

use super::{Decision, Docs, entity_ref, reject};
use crate::{
    Refusal,
    tasks::{
        Event, Key, Rejection, Tasks, command::Edit, entity::Meta, event::Edited, id::EntityId,
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
    let subject = entity_ref(docs, edit.id)?;
    let (meta, own) = (edit.meta.clone(), edit.own.clone());
    Ok(vec![Event::Edited(Edited { subject, meta, own, manner: edit.manner.clone() })])
}

/// A given field that entities of this kind do not have (TASKS-EDIT-2).
fn foreign_field(edit: &Edit) -> Option<&'static str> {
    let own = &edit.own;
    let foreign = match edit.id {
        EntityId::Plan(_) => [
            ("new_domain", own.domain.is_some()),
            ("phase", own.phase.is_some()),
            ("component", own.component.is_some()),
            ("assignee", own.assignee.is_some()),
        ],
        EntityId::Task(_) => [
            ("contract", own.contract.is_some()),
            ("contract_data", own.contract_data.is_some()),
            ("", false),
            ("", false),
        ],
    };
    foreign.into_iter().find(|(_, given)| *given).map(|(field, _)| field)
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
pub(super) fn reaches(
    docs: &Docs,
    start: EntityId,
    goal: EntityId,
) -> Result<bool, Refusal<Tasks>> {
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
