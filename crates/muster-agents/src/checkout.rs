//! Finds the repository of a directory by its files, without starting git, and its hooks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::checks::is_repository;

/// The root of the checkout that a directory is in.
#[must_use]
pub fn root(directory: &Path) -> Option<PathBuf> {
    let mut above = directory.ancestors();
    above.find(|folder| is_repository(&folder.join(".git"))).map(Path::to_owned)
}

/// The directory that the repository is known by: all its worktrees share the one of the first.
#[must_use]
pub fn main_root(directory: &Path) -> Option<PathBuf> {
    let own = root(directory)?;
    let git = git_directory(directory).and_then(|git| git.canonicalize().ok());
    // Submodules and bare repositories keep their commits in directories with other names.
    match git.filter(|git| git.ends_with(".git")).as_deref().and_then(Path::parent) {
        Some(main) => Some(main.to_owned()),
        None => Some(own),
    }
}

/// The directory with the hooks that git runs in the repository of a directory, as its
/// configuration says.
#[must_use]
pub fn hooks(directory: &Path) -> Option<PathBuf> {
    let root = root(directory)?;
    let asked = ["rev-parse", "--git-path", "hooks"];
    let output = Command::new("git").args(asked).current_dir(&root).output().ok()?;
    let named = String::from_utf8(output.stdout).ok()?;
    let named = named.trim_end_matches('\n');
    (output.status.success() && !named.is_empty()).then(|| root.join(named))
}

/// Where the repository of a directory keeps its commits. That of a worktree is elsewhere.
pub(crate) fn git_directory(directory: &Path) -> Option<PathBuf> {
    let entry = directory.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    if entry.is_dir() {
        return Some(entry);
    }
    let text = fs::read_to_string(&entry).ok()?;
    let own = entry.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::{git_directory, main_root, root};

    fn repository(root: &Path) {
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_worktree_belongs_to_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        repository(&base.join("main"));
        let own = base.join("main/.git/worktrees/one");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = base.join("tree/sub");
        fs::create_dir_all(&tree).unwrap();
        fs::write(base.join("tree/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        let found = |path: PathBuf| git_directory(&path).map(|path| path.canonicalize().unwrap());
        assert_eq!(found(tree.clone()), Some(base.join("main/.git")));
        assert_eq!(found(base.join("main")), Some(base.join("main/.git")));
        assert_eq!(root(&tree), Some(base.join("tree")));
        assert_eq!(main_root(&tree), Some(base.join("main")));
        assert_eq!(main_root(&base.join("main")), Some(base.join("main")));
    }

    #[test]
    fn a_submodule_has_a_directory_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        repository(&base.join("main"));
        let sub = base.join("main/libs/parser");
        fs::create_dir_all(&sub).unwrap();
        fs::create_dir_all(base.join("main/.git/modules/parser")).unwrap();
        fs::write(sub.join(".git"), "gitdir: ../../.git/modules/parser\n").unwrap();
        assert_eq!(main_root(&sub), Some(sub));
    }

    #[test]
    fn a_directory_outside_of_any_repository_has_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(root(&dir.path().canonicalize().unwrap()), None, "an empty .git is not one");
    }
}
