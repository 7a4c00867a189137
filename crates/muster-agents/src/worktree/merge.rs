//! Merges the work of a node into the user's checkout. Everything that could go wrong is checked
//! before anything is touched, and the user's changes stay as they are.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{IgnoredFiles, Worktree, changes, git::Git, list::own_branch, remove_merged};

/// Files that an error names.
const FILES_NAMED_MAX: usize = 10;

/// Merged work, or work that can be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// Where it is merged into.
    pub target: PathBuf,
    /// The branch that is checked out there.
    pub into: String,
    /// Files that change there.
    pub files: Vec<String>,
    /// Refs that keep both sides as they were before.
    pub snapshots: Vec<String>,
    /// The commit of the merge, once it was made.
    pub commit: Option<String>,
}

/// Why work was not merged. Nothing was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMerged {
    /// The node is running.
    #[error("the node is at work: stop it, or wait until its turn is over")]
    Running,
    #[error("it is not known where the work belongs")]
    Homeless,
    #[error("there is nothing to merge")]
    Nothing,
    /// What is checked out is merged, and the branch that it began on is not.
    #[error("what is checked out is merged already, but {0} is not: merge that branch with git")]
    Aside(String),
    /// The user has staged changes.
    #[error("there are staged changes in {0}: commit or unstage them first")]
    Staged(PathBuf),
    /// The user has a merge or rebase in progress.
    #[error("{0} is in the middle of a merge, a rebase or a cherry-pick: finish it first")]
    Unfinished(PathBuf),
    /// The user has changed the same files, or has untracked files in their place.
    #[error("you have files that the work would overwrite: {}", named(.0))]
    Yours(Vec<String>),
    /// The work conflicts with the checkout.
    #[error("the work conflicts with what is there now, in {}", named(.0))]
    Conflict(Vec<String>),
    /// The work holds repositories whose content would be left out.
    #[error(
        "the work holds git repositories of its own, whose files a merge leaves out: {}; \
         remove their .git folders, or merge by hand",
        named(.0)
    )]
    Repositories(Vec<String>),
    /// Git refused.
    #[error("git: {0}")]
    Git(String),
}

impl From<String> for NotMerged {
    fn from(complaint: String) -> Self {
        Self::Git(complaint)
    }
}

pub(super) fn named(files: &[String]) -> String {
    let mut text = files.iter().take(FILES_NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > FILES_NAMED_MAX {
        text += &format!(" and {} more", files.len() - FILES_NAMED_MAX);
    }
    text
}

impl Worktree {
    /// Checks whether the work could be merged, without touching anything. Uncommitted work is
    /// treated as if it were committed.
    pub fn preflight(&self) -> Result<Merged, NotMerged> {
        let mut merged = self.judged()?;
        forget(&Git::at(&merged.target), &merged.snapshots)?;
        merged.snapshots.clear();
        Ok(merged)
    }

    /// Commits what the node left uncommitted and merges what is checked out in its worktree. Refs
    /// keep both sides as they were.
    pub fn merge(&self) -> Result<Merged, NotMerged> {
        let mut merged = self.judged()?;
        let worktree = Git::at(&self.folder);
        let home = Git::at(&merged.target);
        let name = self.label.as_deref().unwrap_or(&self.node_id);
        if !worktree.changed()?.is_empty() {
            worktree.ask(&["add", "--all"])?;
            let message = format!("muster: work of {name}");
            worktree.ask(&worktree.signed(&["commit", "--quiet", "--message", &message]))?;
        }
        let work = worktree.ask(&["rev-parse", "HEAD"])?;
        let message = format!("muster: merge the work of {name}");
        let words = ["merge", "--quiet", "--no-ff", "--message", &message, &work];
        if let Err(complaint) = home.ask(&home.signed(&words)) {
            // The user's checkout is restored; git keeps their changes.
            if let Err(error) = home.ask(&["merge", "--abort"]) {
                tracing::debug!(error, "could not abort the merge");
            }
            return Err(NotMerged::Git(complaint));
        }
        merged.commit = Some(home.ask(&["rev-parse", "HEAD"])?);
        Ok(merged)
    }

    /// The merge that would result, with snapshots of both sides; a rejection leaves none.
    fn judged(&self) -> Result<Merged, NotMerged> {
        if self.running {
            return Err(NotMerged::Running);
        }
        let target = self.target.clone().ok_or(NotMerged::Homeless)?;
        // File names are relative to the root of the checkout.
        let target = PathBuf::from(Git::at(&target).ask(&["rev-parse", "--show-toplevel"])?);
        let worktree = Git::at(&self.folder);
        let home = Git::at(&target);
        let inner = worktree.repositories()?;
        if !inner.is_empty() {
            return Err(NotMerged::Repositories(inner));
        }
        let work = worktree.snapshot("merged")?;
        let mut snapshots = vec![work.clone()];
        let judged = checked(&home, &work, &target).and_then(|files| {
            snapshots.push(home.snapshot("merged into")?);
            Ok(files)
        });
        let files = match judged {
            Ok(files) => files,
            Err(refusal) => {
                forget(&home, &snapshots)?;
                return Err(self.explained(&home, refusal)?);
            }
        };
        let into = home.branch().unwrap_or_else(|_| "a detached HEAD".to_owned());
        Ok(Merged { target, into, files, snapshots, commit: None })
    }

    /// An error that the user can act on: the node may have left its branch with work on it.
    fn explained(&self, home: &Git, refusal: NotMerged) -> Result<NotMerged, String> {
        let own = own_branch(home, &self.folder)?.filter(|_| refusal == NotMerged::Nothing);
        let Some(own) = own else { return Ok(refusal) };
        let left = home.ask(&["rev-list", "--count", &own, "--not", "HEAD"])?;
        Ok(if left == "0" { refusal } else { NotMerged::Aside(own) })
    }

    /// Removes the worktree if its work is elsewhere too; an error gives the reason why it stays.
    pub fn remove(&self, ignored: IgnoredFiles) -> Result<(), String> {
        if self.running {
            return Err("the node is at work".to_owned());
        }
        remove_merged(&self.folder, ignored)
    }
}

/// The files that a merge changes, if it is possible and overwrites nothing.
fn checked(home: &Git, work: &str, target: &Path) -> Result<Vec<String>, NotMerged> {
    if home.names(&["diff", "--name-only", "-z", &format!("HEAD...{work}")])?.is_empty() {
        return Err(NotMerged::Nothing);
    }
    for other in ["MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD"] {
        if home.has(other)? {
            return Err(NotMerged::Unfinished(target.to_owned()));
        }
    }
    if !home.names(&["diff", "--cached", "--name-only", "-z"])?.is_empty() {
        return Err(NotMerged::Staged(target.to_owned()));
    }
    // What counts is how the user's files would change, whatever the work is based on.
    let tree = merged_tree(home, work)?;
    let changes = changes::between(home, "HEAD", &tree)?;
    let inner = changes::repositories(home, &tree, &changes);
    if !inner.is_empty() {
        return Err(NotMerged::Repositories(inner));
    }
    let yours = changes::in_the_way(home, target, &changes)?;
    if !yours.is_empty() {
        return Err(NotMerged::Yours(yours));
    }
    Ok(changes.into_iter().map(|change| change.file).collect())
}

fn forget(git: &Git, snapshots: &[String]) -> Result<(), String> {
    for name in snapshots {
        git.ask(&["update-ref", "-d", name])?;
    }
    Ok(())
}

/// The tree of a merge, without touching a file; conflicts are the error.
fn merged_tree(home: &Git, work: &str) -> Result<String, NotMerged> {
    let words = ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", "HEAD", work];
    let ended = home.run(&words, None)?;
    // The first name is that of the tree.
    let mut names = ended.output.split('\0').filter(|name| !name.is_empty()).map(str::to_owned);
    match (ended.code, names.next()) {
        (Some(0), Some(tree)) => Ok(tree),
        (Some(1), Some(_)) => {
            let files: BTreeSet<String> = names.collect();
            Err(NotMerged::Conflict(files.into_iter().collect()))
        }
        (Some(_) | None, _) => Err(NotMerged::Git(ended.complaint)),
    }
}
