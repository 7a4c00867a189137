//! What the views of one plan or task need, requested before anything is computed.
//!
//! Work starts over whenever something is missing. A view that first names all it will need starts
//! over while it has done nothing yet.

use crate::tasks::{
    TaskDocs, TaskDocument, TaskKey, TaskResult, entity::Meta, id::EntityId, lookup,
};

/// Makes sure that the entity, its plan and its dependencies are loaded.
pub(super) fn surroundings(docs: &TaskDocs, id: EntityId) -> TaskResult<()> {
    docs.have_all([TaskKey::Workspace, id.into()].into_iter())?;
    lookup::revision(docs, id)?;
    let document = docs.get(&id.into())?;
    let parent = document.and_then(TaskDocument::as_task).map(|task| TaskKey::Plan(task.parent));
    let waits = document.and_then(TaskDocument::meta).map(Meta::waits).unwrap_or_default();
    docs.have_all(parent.into_iter().chain(waits.into_iter().map(TaskKey::from)))?;
    Ok(())
}
