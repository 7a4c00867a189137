//! Protected files that changed since a person last looked, and the person's ok (PROOF-GUARD-3).

use muster_core::tasks::id::WorkspaceId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    WorkDesk,
    request::{ReviewInput, workspace},
};
use crate::{
    Caller, ProtectedChanges, ProtectedDiff,
    runs::{RunFault, RunTold},
};

/// Changes that are shown as text.
const DIFFS_MAX: usize = 50;

/// The protected files of a workspace against what a person last saw.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProtectedView {
    #[serde(flatten)]
    changes: ProtectedChanges,
    /// The first changes as text.
    diffs: Vec<ProtectedDiff>,
}

impl WorkDesk<'_> {
    /// What changed in the protected files of the accepted project of a workspace.
    pub fn protected(self, caller: &Caller, workspace: &WorkspaceId) -> RunTold<ProtectedView> {
        caller.confirm_workspace(workspace)?;
        let fault = |error: Box<crate::ApiError>| RunFault::from(*error);
        let changes = self.0.protected_changes(caller, workspace).map_err(fault)?;
        let diffs = self.0.protected_diffs(caller, workspace, DIFFS_MAX).map_err(fault)?;
        Ok(ProtectedView { changes, diffs })
    }

    /// Records that a person has seen the protected files with this digest.
    pub fn review(self, caller: &Caller, input: &ReviewInput) -> RunTold<ProtectedView> {
        let workspace = workspace(&input.workspace)?;
        caller.confirm_workspace(&workspace)?;
        let done = self.0.accept_protected(caller, &workspace, &input.digest);
        done.map_err(|error| RunFault::from(*error).at("digest"))?;
        self.0.protected_looks().forget();
        self.protected(caller, &workspace)
    }
}
