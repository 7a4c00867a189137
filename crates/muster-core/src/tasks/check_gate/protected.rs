//! The gate of protected files: a task is done only on files that a person has seen.
//!
//! No waiver, force or verdict stands in for the person's look, and a call that has not read the
//! files passes as little as one that found them changed.

use super::{CheckGate, CheckState, ProjectGate};
use crate::{
    checks::{
        project::AcceptedProject,
        protected::{
            PROTECTED_GATE, ProtectedBaseline, ProtectedChange, ProtectedFiles, ProtectedState,
        },
    },
    tasks::{TaskLookup, lookup},
};

/// Changed files named in a refusal.
const NAMED_CHANGES_MAX: usize = 5;

/// What a person has to look at.
pub(in crate::tasks) struct ProtectedStanding<'a> {
    pub(in crate::tasks) state: CheckState,
    /// What the person last saw.
    pub(in crate::tasks) baseline: Option<&'a ProtectedBaseline>,
    /// Against the baseline.
    pub(in crate::tasks) changes: Vec<ProtectedChange>,
}

impl<'a> ProjectGate<'a> {
    /// The gate, if it is closed.
    pub fn protected(&self) -> TaskLookup<Option<CheckGate>> {
        let standing = self.protected_standing()?.filter(|standing| !standing.state.holds());
        Ok(standing.map(|standing| {
            let changed = standing.changes.into_iter().take(NAMED_CHANGES_MAX).collect();
            CheckGate { changed, ..CheckGate::plain(PROTECTED_GATE, standing.state) }
        }))
    }

    /// Where the protected files stand; `None` in a project without any.
    pub(in crate::tasks) fn protected_standing(&self) -> TaskLookup<Option<ProtectedStanding<'a>>> {
        let has_any = |project: &&AcceptedProject| !project.protected.is_empty();
        let Some(project) = self.project.filter(has_any) else { return Ok(None) };
        let present = self.files.and_then(|files| files.protected.as_ref());
        // The files were not read, so the baseline is not needed either.
        let Some(ProtectedState { directory, files }) = present else {
            let unseen = ProtectedStanding {
                state: CheckState::Review,
                baseline: None,
                changes: Vec::new(),
            };
            return Ok(Some(unseen));
        };
        let baseline = lookup::protected(self.docs, directory, &project.root)?;
        let is_seen = baseline.is_some_and(|baseline| baseline.files.digest == files.digest);
        let unknown = ProtectedFiles::default();
        let before = baseline.map_or(&unknown, |baseline| &baseline.files);
        let state = if is_seen { CheckState::Passed } else { CheckState::Review };
        let changes = files.changes_since(before);
        Ok(Some(ProtectedStanding { state, baseline, changes }))
    }
}
