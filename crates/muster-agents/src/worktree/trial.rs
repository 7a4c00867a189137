//! The files that the checks of a run judge: those that its nodes have written. With worktrees that
//! is the only worktree with work in it, or a trial merge of all of them in a temporary one; the
//! checkout of the user has none of it yet.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use muster_core::run::{id::RunId, node::Node, record::Run, settings::Isolation};
use serde::Serialize;

use super::{
    WorktreeState,
    git::Git,
    list::{folders, state},
    of_run,
};
use crate::artifacts::make_private;

/// Name of the folder that holds trial merges.
const FOLDER: &str = "trials";

/// Where checks run.
#[derive(Debug)]
pub(crate) struct JudgedFiles {
    pub(crate) directory: PathBuf,
    pub(crate) source: JudgedSource,
    trial: Option<TrialMerge>,
}

/// Whose files they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum JudgedSource {
    /// The directory of the run.
    Checkout,
    /// The worktree of the only node with work that is not merged.
    Worktree { node: String },
    /// A merge of the worktrees of these nodes.
    Merge { nodes: Vec<String> },
}

/// Why there is nothing to judge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotJudged {
    /// The work of a node does not go with what came before it.
    #[error(
        "the work of {node} conflicts with {with} in {}: let one of them adapt to the other",
        files.join(", ")
    )]
    Conflict { node: String, with: String, files: Vec<String> },
    #[error("the worktree of {node} cannot be read: {reason}")]
    Unreadable { node: String, reason: String },
    #[error("git made no trial merge: {0}")]
    Git(String),
}

impl From<String> for NotJudged {
    fn from(complaint: String) -> Self {
        Self::Git(complaint)
    }
}

/// Number and label of nodes, by id.
pub(super) type NodeLabels = BTreeMap<String, (u64, String)>;

/// A worktree with work that is not in the checkout.
struct Work {
    node: String,
    folder: PathBuf,
}

impl JudgedFiles {
    /// The files of a run; blocks.
    pub(crate) fn of(home: &Path, run: &Run, nodes: &[Node]) -> Result<Self, NotJudged> {
        let cwd = PathBuf::from(&run.cwd);
        if run.settings.isolation != Isolation::Worktree {
            return Ok(Self::in_checkout(cwd));
        }
        let named = |node: &Node| (node.id.to_string(), (node.number, node.label.clone()));
        Self::in_worktrees(home, run.id, cwd, &nodes.iter().map(named).collect())
    }

    fn in_checkout(directory: PathBuf) -> Self {
        Self { directory, source: JudgedSource::Checkout, trial: None }
    }

    pub(super) fn in_worktrees(
        home: &Path,
        run: RunId,
        cwd: PathBuf,
        nodes: &NodeLabels,
    ) -> Result<Self, NotJudged> {
        let work = unmerged(&of_run(home, run), nodes)?;
        if work.is_empty() {
            return Ok(Self::in_checkout(cwd));
        }
        let prefix = Git::at(&cwd).ask(&["rev-parse", "--show-prefix"])?;
        if let [only] = &work[..] {
            let source = JudgedSource::Worktree { node: only.node.clone() };
            return Ok(Self { directory: part(&only.folder, &prefix), source, trial: None });
        }
        let trial = TrialMerge::make(home, run, &cwd, &work)?;
        let nodes = work.into_iter().map(|work| work.node).collect();
        let directory = part(&trial.folder, &prefix);
        Ok(Self { directory, source: JudgedSource::Merge { nodes }, trial: Some(trial) })
    }

    /// Removes what was made for the checks; blocks.
    pub(crate) fn clear(self) {
        if let Some(trial) = self.trial {
            trial.remove();
        }
    }
}

/// The part of a checkout that a run works in.
fn part(folder: &Path, prefix: &str) -> PathBuf {
    let part = folder.join(prefix);
    if part.is_dir() { part } else { folder.to_owned() }
}

/// The worktrees that hold work, in the order of their nodes.
fn unmerged(run: &Path, nodes: &NodeLabels) -> Result<Vec<Work>, NotJudged> {
    let mut found = Vec::new();
    for folder in folders(run) {
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let deleted = || (0, format!("a deleted node ({id})"));
        let (number, node) = nodes.get(&id).cloned().unwrap_or_else(deleted);
        match state(&folder) {
            Ok(WorktreeState::Merged) => {}
            Ok(WorktreeState::Unmerged { .. } | WorktreeState::Dirty { .. }) => {
                found.push((number, Work { node, folder }));
            }
            Ok(WorktreeState::Broken { reason }) | Err(reason) => {
                return Err(NotJudged::Unreadable { node, reason });
            }
        }
    }
    found.sort_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, work)| work).collect())
}

/// A temporary worktree with the work of several nodes.
#[derive(Debug)]
struct TrialMerge {
    folder: PathBuf,
    /// The repository that it belongs to.
    main: PathBuf,
}

impl TrialMerge {
    fn make(home: &Path, run: RunId, cwd: &Path, work: &[Work]) -> Result<Self, NotJudged> {
        let folder = home.join(FOLDER).join(run.to_string());
        make_private(&home.join(FOLDER)).map_err(|error| error.to_string())?;
        let main = Git::at(cwd).main()?;
        let trial = Self { folder, main };
        // An earlier server may have left one.
        trial.remove();
        let place = trial.folder.to_string_lossy().into_owned();
        Git::at(cwd).ask(&["worktree", "add", "--quiet", "--detach", &place, "HEAD"])?;
        match trial.merge(work) {
            Ok(()) => Ok(trial),
            Err(error) => {
                trial.remove();
                Err(error)
            }
        }
    }

    /// Merges one worktree after the other.
    fn merge(&self, work: &[Work]) -> Result<(), NotJudged> {
        let git = Git::at(&self.folder);
        let mut merged = vec!["the checkout"];
        for Work { node, folder } in work {
            let kept = Git::at(folder).snapshot("checked")?;
            let words = ["merge", "--quiet", "--no-edit", "--no-ff", "--no-verify", &kept];
            let ended = git.run(&git.signed(&words), None);
            Git::at(folder).ask(&["update-ref", "-d", &kept])?;
            let ended = ended?;
            if ended.code == Some(0) {
                merged.push(node);
                continue;
            }
            let files = git.names(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
            if files.is_empty() {
                return Err(NotJudged::Git(ended.complaint));
            }
            let with = merged.join(", ");
            return Err(NotJudged::Conflict { node: node.clone(), with, files });
        }
        Ok(())
    }

    /// Removes the worktree; nothing in it is anyone's work.
    fn remove(&self) {
        if !self.folder.exists() {
            return;
        }
        let git = Git::at(&self.main);
        let place = self.folder.to_string_lossy();
        if let Err(reason) = git.ask(&["worktree", "remove", "--force", "--force", &place]) {
            tracing::debug!(reason, "git did not remove a trial merge");
        }
        if self.folder.exists()
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            tracing::warn!(%error, folder = %place, "could not remove a trial merge");
        }
        if let Err(reason) = git.ask(&["worktree", "prune"]) {
            tracing::debug!(reason, "git did not forget a trial merge");
        }
    }
}
