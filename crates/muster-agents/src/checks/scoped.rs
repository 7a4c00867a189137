//! The files of a project and the part of them that a check depends on.

use std::path::{Path, PathBuf};

use muster_core::checks::record::TreeState;

use super::{
    globs::Globs,
    runner::CheckOrder,
    tree::{Scope, Tree, TreeError, is_repository},
};

/// A tree as a check sees it.
#[derive(Default)]
pub(super) struct ScopedTree {
    pub(super) state: TreeState,
    pub(super) scope: Scope,
}

impl ScopedTree {
    /// The part of a tree that a check depends on.
    pub(super) fn of(tree: &Tree, root: &Path, order: &CheckOrder) -> Self {
        let globs = globs_below(root, &order.root, &order.definition.paths);
        let scope = tree.scope(globs.as_ref());
        let state = TreeState {
            tree: tree.whole().digest.clone(),
            scope: scope.digest.clone(),
            unbound: tree.unbound.clone(),
            commit: tree.commit.clone(),
            branch: tree.branch.clone(),
        };
        Self { state, scope }
    }

    /// Nothing can be said about these files.
    pub(super) fn unreadable(error: &TreeError) -> Self {
        let state = TreeState { unbound: Some(error.to_string()), ..TreeState::default() };
        Self { state, ..Self::default() }
    }
}

/// The root of the repository that a project is in, else of the project.
pub(super) fn tree_root(project: &Path) -> PathBuf {
    let repository = project.ancestors().find(|folder| is_repository(&folder.join(".git")));
    repository.unwrap_or(project).to_owned()
}

/// Globs of a project, relative to the root of the tree; `None` without any.
pub(super) fn globs_below(root: &Path, project: &Path, globs: &[String]) -> Option<Globs> {
    let prefix = project.strip_prefix(root).unwrap_or(Path::new(""));
    let below = globs.iter().map(|glob| prefix.join(glob).to_string_lossy().into_owned());
    let below: Vec<String> = below.collect();
    (!below.is_empty()).then(|| Globs::new(&below))
}
