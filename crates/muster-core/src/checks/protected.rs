//! Protected files: those whose change a person has to look at before a task is done
//! (PROOF-GUARD-3).
//!
//! ```text
//!   accepted by a person ──► baseline: what the files were when a person last looked
//!   read for a call ───────► present:  what they are now
//!   present differs from the baseline ──► no task is done until a person has looked
//! ```

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Author, Timestamp, run::hash::sha256_hex};

/// Paths that are kept of a state; of more files only the digest is.
pub const PROTECTED_PATHS_MAX: usize = 5_000;
/// Name of the gate of protected files among those of checks. No check can have it: names of
/// checks have no space.
pub const PROTECTED_GATE: &str = "protected files";

/// The protected files of a project at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProtectedFiles {
    /// Identifies all of them.
    pub digest: String,
    pub count: u64,
    /// Kind, mode and hash by path, which is relative to the project; empty if there are too many.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The commit that was checked out; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
}

/// The protected files as a person last looked at them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProtectedBaseline {
    pub files: ProtectedFiles,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    pub at: Timestamp,
}

/// The protected files of a directory, as a call found them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProtectedState {
    /// The directory that the call works in: that of the project or a worktree of it.
    pub directory: String,
    pub files: ProtectedFiles,
}

/// A protected file that is not what a person has seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedChange {
    /// Relative to the project.
    pub path: String,
    pub kind: ProtectedChangeKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProtectedChangeKind {
    Added,
    Changed,
    Removed,
}

impl ProtectedChangeKind {
    /// The word in arguments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl ProtectedFiles {
    /// The state that these files are.
    #[must_use]
    pub fn of(files: BTreeMap<String, String>, commit: String) -> Self {
        let digest = digest(&files);
        let count = files.len() as u64;
        let files = if files.len() > PROTECTED_PATHS_MAX { BTreeMap::new() } else { files };
        Self { digest, count, files, commit }
    }

    /// Whether its paths are kept.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.files.len() as u64 == self.count
    }

    /// What differs from an earlier state; nothing if the paths of one of them are not kept.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> Vec<ProtectedChange> {
        if self.digest == before.digest || !(self.is_listed() && before.is_listed()) {
            return Vec::new();
        }
        let paths: BTreeSet<&String> = self.files.keys().chain(before.files.keys()).collect();
        let change = |path: &String| {
            let kind = match (before.files.get(path), self.files.get(path)) {
                (Some(then), Some(now)) if then == now => return None,
                (Some(_), Some(_)) => ProtectedChangeKind::Changed,
                (None, _) => ProtectedChangeKind::Added,
                (Some(_), None) => ProtectedChangeKind::Removed,
            };
            Some(ProtectedChange { path: path.clone(), kind })
        };
        paths.into_iter().filter_map(change).collect()
    }

    /// The same state with one file as it is in another one.
    #[must_use]
    pub fn with_file_of(&self, other: &Self, path: &str) -> Self {
        if !(self.is_listed() && other.is_listed()) {
            return self.clone();
        }
        let mut files = self.files.clone();
        match other.files.get(path) {
            Some(now) => files.insert(path.to_owned(), now.clone()),
            None => files.remove(path),
        };
        Self::of(files, self.commit.clone())
    }
}

fn digest(files: &BTreeMap<String, String>) -> String {
    let mut bytes = Vec::new();
    for word in files.iter().flat_map(|(path, state)| [path, state]) {
        bytes.extend((word.len() as u64).to_le_bytes());
        bytes.extend(word.as_bytes());
    }
    sha256_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::{
        PROTECTED_PATHS_MAX,
        ProtectedChangeKind::{self, Added, Changed, Removed},
        ProtectedFiles,
    };

    fn state(files: &[(&str, &str)]) -> ProtectedFiles {
        let files = files.iter().map(|(path, state)| ((*path).to_owned(), (*state).to_owned()));
        ProtectedFiles::of(files.collect(), String::new())
    }

    fn changes(now: &ProtectedFiles, then: &ProtectedFiles) -> Vec<(String, ProtectedChangeKind)> {
        let changes = now.changes_since(then).into_iter();
        changes.map(|change| (change.path, change.kind)).collect()
    }

    #[test]
    fn changes_name_what_was_added_changed_and_removed() {
        let then = state(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = state(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let expected = [("b", Changed), ("c", Removed), ("d", Added)];
        assert_eq!(changes(&now, &then), expected.map(|(path, kind)| (path.to_owned(), kind)));
        assert_eq!(changes(&now, &now), []);
    }

    #[test]
    fn a_digest_tells_names_from_contents() {
        assert_ne!(state(&[("ab", "c")]).digest, state(&[("a", "bc")]).digest);
        assert_ne!(state(&[]).digest, state(&[("", "")]).digest);
    }

    #[test]
    fn of_too_many_files_only_the_digest_is_kept() {
        let names: Vec<String> = (0..=PROTECTED_PATHS_MAX).map(|n| n.to_string()).collect();
        let all = |of: &str| -> ProtectedFiles {
            let files = names.iter().map(|name| (name.clone(), of.to_owned())).collect();
            ProtectedFiles::of(files, String::new())
        };
        let (then, now) = (all("1"), all("2"));
        assert_eq!((now.is_listed(), now.files.len(), now.count), (false, 0, 5_001));
        assert_ne!(now.digest, then.digest);
        assert_eq!(changes(&now, &then), []);
    }

    #[test]
    fn one_file_can_be_taken_over() {
        let then = state(&[("a", "1"), ("b", "1")]);
        let now = state(&[("a", "2"), ("b", "2")]);
        assert_eq!(then.with_file_of(&now, "b"), state(&[("a", "1"), ("b", "2")]));
        assert_eq!(then.with_file_of(&state(&[]), "b"), state(&[("a", "1")]));
    }
}
