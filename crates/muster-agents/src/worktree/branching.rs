//! Makes a branch of what a run changed, without touching a file or the user's index.

use std::path::Path;

use super::git::Git;

/// A branch that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeBranch {
    pub branch: String,
    pub commit: String,
}

/// Commits files as they are now on top of what is checked out, as a new branch; blocks.
pub(crate) fn make_branch(
    directory: &Path,
    files: &[String],
    (branch, message): (&str, &str),
) -> Result<MadeBranch, String> {
    let git = Git::at(directory);
    let named = git.run(&["check-ref-format", "--branch", branch], None)?;
    if named.code != Some(0) || branch.starts_with('-') {
        return Err(format!("{branch:?} is not a name for a branch"));
    }
    let name = format!("refs/heads/{branch}");
    if git.has(&name)? {
        return Err(format!("there is already a branch {branch}: choose another name"));
    }
    if !git.has("HEAD")? {
        return Err("the repository has no commit yet: make the first".to_owned());
    }
    if files.is_empty() {
        return Err("the run has changed nothing here".to_owned());
    }
    let commit = git.commit_of(files, message)?;
    // Only if it still does not exist.
    git.ask(&["update-ref", &name, &commit, ""])?;
    Ok(MadeBranch { branch: branch.to_owned(), commit })
}
