//! Projects and the definitions of their checks that a person has accepted.

use std::convert::Infallible;

use muster_core::{
    Documents,
    checks::trust::{ProjectTrust, TrustDecision, TrustedProjects},
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

    /// Records what a person decided; only for commands that a person typed.
    pub fn decide_trust(&self, decision: TrustDecision) -> Result<(), StoreError> {
        let root = match &decision {
            TrustDecision::Accepted { root, .. } | TrustDecision::Declined { root, .. } => root,
        };
        let stream = ProjectTrust::stream(root);
        self.engine()
            .execute::<TrustedProjects, _>(stream, move |draft| draft.apply(&decision).map(|_| ()))
            .map_err(store_error)
    }
}

fn store_error(error: ExecuteError<Infallible>) -> StoreError {
    match error {
        ExecuteError::Rejected(never) => match *never {},
        ExecuteError::Store(failure) => failure.0,
    }
}
