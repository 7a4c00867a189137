//! What the files of a project are, without running anything.

use std::path::Path;

use muster_core::checks::{changes::ChangesSince, record::TreeState};

use super::{CheckService, CheckServiceError, real};
use crate::checks::look::{ProjectLook, ProjectView};

impl CheckService {
    /// The files of a project, as they are now: for several checks, and the protected ones.
    pub fn look(&self, view: &ProjectView<'_>) -> Result<ProjectLook, CheckServiceError> {
        let directory = real(&view.directory)?;
        Ok(self.context.runner.look(&ProjectView { directory, ..view.clone() })?)
    }

    /// What changed in a project since a commit, as far as findings need it; `None` if that cannot
    /// be said.
    #[must_use]
    pub fn changes(&self, view: &ProjectView<'_>, commit: &str) -> Option<ChangesSince> {
        let directory = real(&view.directory).ok()?;
        self.context.changes(&ProjectView { directory, ..view.clone() }, commit)
    }

    /// Whether the files of a project are the ones of this state, and exactly those of its commit.
    pub fn is_commit(&self, root: &Path, state: &TreeState) -> Result<bool, CheckServiceError> {
        let tree = self.context.runner.trees().tree(root)?;
        let is_same = tree.whole().digest == state.tree && tree.commit == state.commit;
        Ok(is_same && tree.is_its_commit(root)?)
    }
}
