//! Projects and the definitions of their checks that a person has accepted.

use std::convert::Infallible;

use muster_agents::checks::{CheckServiceError, ProjectView, project::PROJECT_FILE};
use muster_core::{
    Aggregate as _, Documents,
    checks::{
        definition::ProjectDefinition,
        project::AcceptedProject,
        protected::{ProtectedFiles, ProtectedState},
        trust::{ProjectTrust, TrustDecision, TrustedProjects},
    },
    tasks::{TaskAggregate, TaskCommand, id::WorkspaceId},
};
use muster_engine::ExecuteError;
use muster_store::StoreError;

use crate::{ApiError, App, Caller};

impl App {
    /// What a person decided about the project in a directory.
    pub fn project_trust(&self, root: &str) -> Result<ProjectTrust, StoreError> {
        self.trust_in(&ProjectTrust::stream(root))
    }

    /// All projects that a person decided about.
    pub(crate) fn known_projects(&self) -> Result<Vec<ProjectTrust>, StoreError> {
        let prefix = format!("{}/", TrustedProjects::STREAM);
        let streams = self.engine().store().snapshot()?.streams(&prefix)?;
        streams.iter().map(|stream| self.trust_in(&stream.name)).collect()
    }

    fn trust_in(&self, stream: &str) -> Result<ProjectTrust, StoreError> {
        let view = |docs: &Documents<TrustedProjects>| Ok(docs.get(&())?.cloned());
        let found = self.engine().read::<TrustedProjects, _>(stream, view);
        Ok(found.map_err(store_error)?.unwrap_or_default())
    }

    /// Records what a person decided. What is accepted is in force for the tasks of the workspace
    /// from then on.
    pub fn decide_trust(
        &self,
        caller: &Caller,
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
        let seen = match &decision {
            TrustDecision::Accepted { root, definition, .. } => {
                self.seen_with(workspace, root, definition)?
            }
            TrustDecision::Declined { .. } => None,
        };
        let workspace = workspace.stream();
        let facts = caller.facts();
        let done = self.engine().transact_for(facts, move |streams| {
            let decided = streams.on::<TrustedProjects, _>(project.clone(), |draft| {
                draft.apply(&decision).map(|_| ())
            })?;
            if let Err(never) = decided {
                match *never {}
            }
            let Some(accepted) = accepted else { return Ok(Ok(())) };
            let seen = seen.map(TaskCommand::ReviewProtected);
            let commands = [TaskCommand::AcceptProject(accepted)].into_iter().chain(seen);
            let commands: Vec<TaskCommand> = commands.collect();
            streams.on::<TaskAggregate, _>(workspace.clone(), |draft| {
                commands.iter().try_for_each(|command| draft.apply(command).map(|_| ()))
            })
        });
        done?.map_err(|_| TrustError::PersonRequired)
    }

    /// The protected files that a person has seen by accepting a definition: all of them if nothing
    /// was left to look at, else only the project file. So accepting a definition does not accept
    /// changes that the person has not seen.
    fn seen_with(
        &self,
        workspace: &WorkspaceId,
        root: &str,
        definition: &ProjectDefinition,
    ) -> Result<Option<ProtectedState>, TrustError> {
        let Some(present) = self.protected_now(root, definition)? else { return Ok(None) };
        let state = |files| ProtectedState { directory: root.to_owned(), files };
        let baseline = self.protected_baseline(workspace, root, root);
        let Some(baseline) = baseline.map_err(|failure| TrustError::Refused(failure.error))? else {
            return Ok(Some(state(present)));
        };
        let accepted = self.project_trust(root)?.accepted;
        let before = match &accepted {
            Some(accepted) => self.protected_now(root, &accepted.definition)?,
            None => None,
        };
        let known = baseline.files.with_file_of(&present, PROJECT_FILE);
        let found = before.map(|before| before.with_file_of(&present, PROJECT_FILE));
        let is_all_seen = found.is_none_or(|found| found.digest == known.digest);
        Ok(Some(state(if is_all_seen { present } else { known })))
    }

    /// The protected files of a project as they are now.
    fn protected_now(
        &self,
        root: &str,
        definition: &ProjectDefinition,
    ) -> Result<Option<ProtectedFiles>, TrustError> {
        if definition.protected.is_empty() {
            return Ok(None);
        }
        let view = ProjectView { directory: root.into(), definition, checks: Vec::new() };
        Ok(self.checks().look(&view)?.protected)
    }
}

/// Why a decision was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("only a person accepts checks, at a terminal or on the page")]
    PersonRequired,
    #[error(transparent)]
    Files(#[from] CheckServiceError),
    #[error("{}", .0.message)]
    Refused(Box<ApiError>),
}

fn store_error(error: ExecuteError<Infallible>) -> StoreError {
    match error {
        ExecuteError::Rejected(never) => match *never {},
        ExecuteError::Store(failure) => failure.0,
    }
}
