//! The files of a project, read once for all of its checks and its protected files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use muster_core::checks::{definition::ProjectDefinition, protected::ProtectedFiles};

use super::{
    protected,
    runner::CheckRunner,
    scoped::{globs_below, tree_root},
    tree::TreeError,
};

/// What to look at.
#[derive(Clone, Debug)]
pub struct ProjectView<'a> {
    /// The directory of the project, or a worktree of it.
    pub directory: PathBuf,
    pub definition: &'a ProjectDefinition,
    /// Names of checks; those that the definition does not have are left out.
    pub checks: Vec<&'a str>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct ProjectLook {
    /// Digest of the files that each check depends on; empty if a verdict on the files could hold
    /// for no other call.
    pub scopes: BTreeMap<String, String>,
    /// `None` if the project protects nothing, or not all files could be read.
    pub protected: Option<ProtectedFiles>,
}

impl CheckRunner {
    /// Reads the files of a project as they are now.
    pub(super) fn look(&self, view: &ProjectView<'_>) -> Result<ProjectLook, TreeError> {
        let project: &Path = &view.directory;
        let root = tree_root(project);
        let tree = self.trees().tree(&root)?;
        let mut scopes = BTreeMap::new();
        for name in &view.checks {
            if let Some(check) = view.definition.checks.get(*name)
                && tree.unbound.is_none()
            {
                let scope = tree.scope(globs_below(&root, project, &check.paths).as_ref());
                scopes.insert((*name).to_owned(), scope.digest);
            }
        }
        let globs = globs_below(&root, project, &view.definition.protected);
        let protected = match globs.filter(|_| tree.is_complete) {
            Some(globs) => Some(protected::files(&tree, (&root, project), &globs)?),
            None => None,
        };
        Ok(ProjectLook { scopes, protected })
    }
}
