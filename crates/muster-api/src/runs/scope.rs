//! Which runs a caller may see: all, or those that are bound to a workspace of its token.

use muster_core::{
    access::{AccessRights, WorkspaceGlob},
    run::{
        id::{ApprovalId, RunId},
        lookup,
    },
};

use super::{RunCode, RunDesk, RunTold};

impl RunDesk<'_> {
    /// Whether a caller may see a run, if it exists.
    pub fn is_open_to(self, rights: &AccessRights, run: RunId) -> RunTold<bool> {
        if rights.workspaces.is_everything() {
            return Ok(true);
        }
        let bound = self.read(run, |docs| Ok(lookup::run(docs)?.workspace.clone()));
        match bound {
            Ok(bound) => Ok(is_bound_within(&rights.workspaces, bound.as_deref())),
            Err(fault) if fault.code == RunCode::UnknownRun => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// The same for the run of an approval.
    pub fn approval_is_open_to(self, rights: &AccessRights, approval: ApprovalId) -> RunTold<bool> {
        match self.run_of(approval, None) {
            Ok(run) => self.is_open_to(rights, run),
            Err(fault) if fault.code == RunCode::UnknownApproval => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

/// Whether a run is of these workspaces. One that is bound to none is only for callers of all.
pub(super) fn is_bound_within(workspaces: &WorkspaceGlob, bound: Option<&str>) -> bool {
    workspaces.is_everything() || bound.is_some_and(|workspace| workspaces.admits(workspace))
}
