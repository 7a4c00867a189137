//! What a merge would do to the user's checkout, file by file, and what is in its way there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::git::Git;

/// Mode of a file that is not there.
const ABSENT: &str = "000000";

/// A file that differs between two trees, from the root of the checkout. A renamed file is two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) file: String,
    before: String,
}

impl Change {
    /// Whether the file comes to be.
    fn is_new(&self) -> bool {
        self.before == ABSENT
    }
}

/// What changes from one tree to another.
pub(super) fn between(git: &Git, before: &str, after: &str) -> Result<Vec<Change>, String> {
    let words = ["diff-tree", "-r", "--raw", "--no-renames", "-z", before, after];
    let told = git.names(&words)?;
    let change = |pair: &[String]| {
        let [modes, file] = pair else { return None };
        let mut modes = modes.trim_start_matches(':').split(' ');
        Some(Change { file: file.clone(), before: modes.next()?.to_owned() })
    };
    let changes: Option<Vec<Change>> = told.chunks(2).map(change).collect();
    changes.ok_or_else(|| "what changes cannot be read".to_owned())
}

/// Files of the user that the changes would overwrite: changed ones, and those that the last
/// commit does not know, ignored ones among them.
pub(super) fn in_the_way(
    git: &Git,
    root: &Path,
    changes: &[Change],
) -> Result<Vec<String>, String> {
    let touched: BTreeSet<&str> = changes.iter().map(|change| change.file.as_str()).collect();
    let changed = git.changed()?;
    let mut found: BTreeSet<String> =
        changed.into_iter().filter(|file| touched.contains(file.as_str())).collect();
    let fresh: Vec<&Change> = changes.iter().filter(|change| change.is_new()).collect();
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
    /// What is where a new file shall be, or where a folder above it shall be.
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

    /// A file below a folder that git does not know.
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
