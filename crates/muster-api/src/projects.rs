//! Projects and the definitions of their checks that a person has accepted.

use std::convert::Infallible;

use muster_core::{
    Documents,
    checks::{
        project::AcceptedProject,
        trust::{ProjectTrust, TrustDecision, TrustedProjects},
    },
    tasks::{TaskAggregate, TaskCommand, id::WorkspaceId},
};
use muster_engine::ExecuteError;
use muster_store::StoreError;

use crate::App;

impl App {
    /// What a person decided about the project in a directory.
    pub fn project_trust(&self, root: &str) -> Result<ProjectTrust, StoreError> {
        let view = |docs: &Documents<TrustedProjects>| Ok(docs.get(&())?.cloned());
        let found = self.engine().read::<TrustedProjects, _>(&ProjectTrust::stream(root), view);
        Ok(found.map_err(store_error)?.unwrap_or_default())
    }

    /// Records what a person decided; only for commands that a person typed. What is accepted is
    /// from then on in force for the tasks of the workspace.
    pub fn decide_trust(
        &self,
        workspace: &WorkspaceId,
        decision: TrustDecision,
    ) -> Result<(), TrustError> {
        let root = match &decision {
            TrustDecision::Accepted { root, .. } | TrustDecision::Declined { root, .. } => root,
        };
        let project = ProjectTrust::stream(root);
        let accepted = match &decision {
            TrustDecision::Accepted { root, definition, .. } => {
                Some(AcceptedProject::of(root, definition))
            }
            TrustDecision::Declined { .. } => None,
        };
        let workspace = workspace.stream();
        let facts = self.caller().facts();
        let done = self.engine().transact_for(facts, move |streams| {
            let decided = streams.on::<TrustedProjects, _>(project.clone(), |draft| {
                draft.apply(&decision).map(|_| ())
            })?;
            if let Err(never) = decided {
                match *never {}
            }
            let Some(accepted) = accepted else { return Ok(Ok(())) };
            let command = TaskCommand::AcceptProject(accepted);
            streams.on::<TaskAggregate, _>(workspace.clone(), |draft| {
                draft.apply(&command).map(|_| ())
            })
        });
        done?.map_err(|_| TrustError::PersonRequired)
    }
}

/// Why a decision was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("only a person accepts checks, at a terminal")]
    PersonRequired,
}

fn store_error(error: ExecuteError<Infallible>) -> StoreError {
    match error {
        ExecuteError::Rejected(never) => match *never {},
        ExecuteError::Store(failure) => failure.0,
    }
}
