//! What a merge would do to the user's checkout, file by file, and what blocks it there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::git::Git;

/// Mode of a missing file.
const ABSENT: &str = "000000";
/// Mode of a commit of another repository.
const REPOSITORY: &str = "160000";

/// A file that differs between two trees, from the root of the checkout. A renamed file is two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedFile {
    pub(super) file: String,
    before: String,
    after: String,
}

impl ChangedFile {
    /// Whether the file is created.
    fn is_new(&self) -> bool {
        self.before == ABSENT
    }

    /// Whether another repository replaces what was there.
    fn is_new_repository(&self) -> bool {
        self.after == REPOSITORY && self.before != REPOSITORY
    }
}

/// What changes from one tree to another.
pub(super) fn between(git: &Git, before: &str, after: &str) -> Result<Vec<ChangedFile>, String> {
    let words = ["diff-tree", "-r", "--raw", "--no-renames", "-z", before, after];
    let names = git.names(&words)?;
    let change = |pair: &[String]| {
        let [modes, file] = pair else { return None };
        let mut modes = modes.trim_start_matches(':').split(' ');
        let before = modes.next()?.to_owned();
        let after = modes.next()?.to_owned();
        Some(ChangedFile { file: file.clone(), before, after })
    };
    let changes: Option<Vec<ChangedFile>> = names.chunks(2).map(change).collect();
    changes.ok_or_else(|| "what changes cannot be read".to_owned())
}

/// Repositories inside the changes, whose content would be left out, because a tree holds only the
/// name of their commit. Submodules record where their content is.
pub(super) fn repositories(git: &Git, tree: &str, changes: &[ChangedFile]) -> Vec<String> {
    let fresh = changes.iter().filter(|change| change.is_new_repository());
    let fresh: Vec<String> = fresh.map(|change| change.file.clone()).collect();
    if fresh.is_empty() {
        return fresh;
    }
    let modules = format!("{tree}:.gitmodules");
    let words = ["config", "--blob", &modules, "--get-regexp", r"^submodule\..*\.path$"];
    // Without such a file there are none.
    let known = git.ask(&words).unwrap_or_default();
    let known: BTreeSet<&str> =
        known.lines().filter_map(|line| line.split_once(' ').map(|(_, path)| path)).collect();
    fresh.into_iter().filter(|file| !known.contains(file.as_str())).collect()
}

/// Files of the user that the changes would overwrite: changed ones, and untracked ones, including
/// ignored files.
pub(super) fn in_the_way(
    git: &Git,
    root: &Path,
    changes: &[ChangedFile],
) -> Result<Vec<String>, String> {
    let touched: BTreeSet<&str> = changes.iter().map(|change| change.file.as_str()).collect();
    let changed = git.changed()?;
    let mut found: BTreeSet<String> =
        changed.into_iter().filter(|file| touched.contains(file.as_str())).collect();
    let fresh: Vec<&ChangedFile> = changes.iter().filter(|change| change.is_new()).collect();
    if !fresh.is_empty() {
        let tracked = git.names(&["ls-files", "-z"])?.into_iter().collect();
        let checkout = Checkout { root, tracked };
        found.extend(fresh.iter().filter_map(|change| checkout.obstacle(&change.file)));
    }
    Ok(found.into_iter().collect())
}

/// The user's files.
struct Checkout<'a> {
    root: &'a Path,
    tracked: BTreeSet<String>,
}

impl Checkout<'_> {
    /// What blocks the path of a new file, or of a folder above it.
    fn obstacle(&self, file: &str) -> Option<String> {
        let above = file.match_indices('/').map(|(at, _)| &file[..at]);
        let blocking = above.into_iter().find(|folder| {
            let known = fs::symlink_metadata(self.root.join(folder));
            known.is_ok_and(|known| !known.is_dir()) && !self.tracked.contains(*folder)
        });
        if let Some(folder) = blocking {
            return Some(folder.to_owned());
        }
        let known = fs::symlink_metadata(self.root.join(file)).ok()?;
        if known.is_dir() { self.untracked(file) } else { Some(file.to_owned()) }
    }

    /// An untracked file below a folder.
    fn untracked(&self, folder: &str) -> Option<String> {
        let mut left = vec![PathBuf::from(folder)];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(self.root.join(&folder)).into_iter().flatten().flatten() {
                let path = folder.join(entry.file_name());
                let name = path.to_string_lossy().into_owned();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => left.push(path),
                    Ok(_) | Err(_) if self.tracked.contains(&name) => {}
                    Ok(_) | Err(_) => return Some(name),
                }
            }
        }
        None
    }
}
