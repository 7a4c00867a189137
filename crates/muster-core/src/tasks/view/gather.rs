//! What the views of one plan or task need, asked for before anything is worked out.
//!
//! Work starts over whenever something is missing. A view that first names all it will need starts
//! over while it has done nothing yet.

use crate::{
    Documents, Refusal,
    tasks::{Document, Key, Tasks, entity::Meta, id::EntityId, lookup},
};

/// Makes sure that the entity, its plan and what it waits for are at hand.
pub(super) fn surroundings(docs: &Documents<Tasks>, id: EntityId) -> Result<(), Refusal<Tasks>> {
    docs.have_all([Key::Workspace, id.into(), Key::Memory(id)].into_iter())?;
    lookup::revision(docs, id)?;
    let document = docs.get(&id.into())?;
    let parent = document.and_then(Document::as_task).map(|task| Key::Plan(task.parent));
    let waits = document.and_then(Document::meta).map(Meta::waits).unwrap_or_default();
    docs.have_all(parent.into_iter().chain(waits.into_iter().map(Key::from)))?;
    Ok(())
}
