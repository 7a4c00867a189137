//! Views that move the focus to what they show (TASKS-FOC-1).

use muster_core::{
    access::AccessRole,
    tasks::{
        TaskAggregate, TaskCommand, TaskDocs, TaskResult,
        id::{EntityId, WorkspaceId},
        lookup::{self, Accepts, LookupRequest, Target},
        view::focus::FocusRestored,
    },
};

use super::work::failure;
use crate::call::{CallAction, CallFailure, CallReply, CheckedCall};

type Shown = TaskResult<CallReply>;

/// The request for a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Showing {
    /// The plan or task.
    pub(crate) named: LookupRequest,
    /// Whether the focus must not move.
    pub(crate) read_only: bool,
}

impl Showing {
    /// Whether showing it would move the focus, and to where.
    fn destination(
        self,
        docs: &TaskDocs,
    ) -> Result<Option<EntityId>, muster_core::Unloaded<TaskAggregate>> {
        match self.named.named {
            Some(id) if !self.read_only && lookup::workspace(docs)?.focus != Some(id) => {
                Ok(Some(id))
            }
            Some(_) | None => Ok(None),
        }
    }
}

impl CheckedCall<'_> {
    /// The focus is everybody's, so a viewer does not move it.
    fn may_move_focus(&self) -> bool {
        self.scene.caller.rights.role > AccessRole::Viewer
    }

    /// Returns a view. It is a plain read unless the focus has to move; then view and move are
    /// one transaction, and the view includes the previous focus.
    pub(crate) fn show(
        &self,
        workspace: &WorkspaceId,
        showing: Showing,
        view: impl Fn(&TaskDocs, Target, Option<FocusRestored>) -> Shown + Send + Sync + 'static,
    ) -> Result<CallAction, CallFailure> {
        // A view that is not of a named target moves nothing.
        let named = LookupRequest { changes: false, ..showing.named };
        let read_only = showing.read_only || !self.may_move_focus();
        let showing = Showing { named, read_only };
        let read = self.app.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            if showing.destination(docs)?.is_some() {
                return Ok(None);
            }
            let target = lookup::target(docs, showing.named, Accepts::Any)?;
            Ok(Some(view(docs, target, None)?.about(target)))
        });
        if let Some(reply) = read.map_err(|error| failure(workspace, error))? {
            let envelope = self.scene.success(workspace.as_str(), self.app.now(), reply);
            return Ok(CallAction::Answered(Box::new(envelope)));
        }
        self.write(workspace, None, move |draft| {
            // The focus moves only after the target was found (TASKS-FOC-2).
            let target = lookup::target(draft.documents(), showing.named, Accepts::Any)?;
            let Some(to) = showing.destination(draft.documents())? else {
                return Ok(view(draft.documents(), target, None)?.about(target));
            };
            let from = lookup::workspace(draft.documents())?.focus;
            draft.apply(&TaskCommand::MoveFocus { to: Some(to) })?;
            let reply = view(draft.documents(), target, Some(FocusRestored::away_from(from)))?;
            Ok(reply.about(target).moved_focus(from))
        })
    }
}
