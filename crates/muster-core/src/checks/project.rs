//! The projects of a workspace: what a person has accepted, and the files as a call found them.
//!
//! Which checks a task has to pass follows from what was accepted, never from the call: a caller
//! without a project directory can close nothing that needs a check.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    changes::ChangesSince,
    definition::{GatePolicy, ProjectDefinition},
    protected::ProtectedState,
};
use crate::tasks::{id::CheckRunId, step::Checkpoints};

/// Projects that a workspace remembers.
pub const WORKSPACE_PROJECTS_MAX: usize = 50;

/// The accepted projects of a workspace, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WorkspaceProjects {
    pub accepted: Vec<AcceptedProject>,
}

/// What gates need to know of an accepted definition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AcceptedProject {
    /// The directory of the project file.
    pub root: String,
    /// Digest of the whole definition.
    pub digest: String,
    pub gates: GatePolicy,
    pub checks: BTreeMap<String, AcceptedCheck>,
    /// Globs of files whose change a person has to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AcceptedCheck {
    /// Digest of the definition.
    pub definition: String,
    /// Whether every task has to pass it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Checkpoints that a pass confirms.
    pub proves: Checkpoints,
    /// Whether fewer tests than before are a finding.
    #[serde(default = "counts_are_guarded", skip_serializing_if = "Clone::clone")]
    pub guard_count: bool,
}

/// As long as the project does not say otherwise.
fn counts_are_guarded() -> bool {
    true
}

/// The files of a project at the time of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectFiles {
    /// The root that was accepted.
    pub root: String,
    /// Digest of the files in the scope of each check; a check whose files could not be read is
    /// not here, so nothing holds for it.
    pub scopes: BTreeMap<String, String>,
    /// The protected files, if the project has any and they could be read.
    pub protected: Option<ProtectedState>,
    /// What changed since the commits that the call was asked to compare with.
    pub changes: BTreeMap<String, ChangesSince>,
    /// Runs that this call has waited for. An unbound pass counts for no other call.
    pub ran: BTreeSet<CheckRunId>,
}

impl AcceptedProject {
    #[must_use]
    pub fn of(root: &str, definition: &ProjectDefinition) -> Self {
        let checks = definition.checks.iter().map(|(name, check)| {
            let accepted = AcceptedCheck {
                definition: check.digest(),
                required: check.required,
                proves: check.proves.clone(),
                guard_count: check.guard_count,
            };
            (name.clone(), accepted)
        });
        Self {
            root: root.to_owned(),
            digest: definition.digest(),
            gates: definition.gates,
            checks: checks.collect(),
            protected: definition.protected.clone(),
        }
    }

    /// Names of the checks that every task has to pass.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.checks.iter().filter(|(_, check)| check.required);
        required.map(|(name, _)| name.as_str())
    }
}

impl WorkspaceProjects {
    /// Adds what was accepted now; it replaces what was accepted for the same directory.
    pub fn accept(&mut self, project: AcceptedProject) {
        self.accepted.retain(|known| known.root != project.root);
        self.accepted.insert(0, project);
        self.accepted.truncate(WORKSPACE_PROJECTS_MAX);
    }

    /// The project with this root; without a root, the one accepted last.
    #[must_use]
    pub fn find(&self, root: Option<&str>) -> Option<&AcceptedProject> {
        match root {
            Some(root) => self.accepted.iter().find(|project| project.root == root),
            None => self.accepted.first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AcceptedProject, WorkspaceProjects};
    use crate::checks::definition::ProjectDefinition;

    #[test]
    fn the_newest_acceptance_of_a_directory_counts() {
        let mut projects = WorkspaceProjects::default();
        for root in ["/a", "/b", "/a"] {
            projects.accept(AcceptedProject::of(root, &ProjectDefinition::default()));
        }
        let roots: Vec<&str> = projects.accepted.iter().map(|known| known.root.as_str()).collect();
        assert_eq!(roots, ["/a", "/b"]);
        assert_eq!(projects.find(None).unwrap().root, "/a");
        assert_eq!(projects.find(Some("/b")).unwrap().root, "/b");
        assert!(projects.find(Some("/c")).is_none());
    }
}
