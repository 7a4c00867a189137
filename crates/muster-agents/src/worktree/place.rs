//! Where a node works: its worktree is made when the node comes to be, or before its next turn at
//! the latest. A turn whose worktree cannot be made does not begin, because it would work in the
//! directory that the worktree shall keep it out of.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        effect::is_isolated,
        id::{NodeId, RunId},
        lookup,
    },
};
use tokio::sync::OwnedMutexGuard;

use super::{FOLDER, branch, git::Git, of_run};
use crate::{artifacts::make_private, shared::RunsContext};

/// Why a node has no worktree, with what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unplaced {
    /// The run's directory is gone.
    #[error("the run's directory {0} is not there: make it again")]
    NoDirectory(String),
    #[error("git cannot be run ({0}): install it, or set the run's isolation to shared")]
    NoGit(String),
    /// The run works in no repository that git takes.
    #[error(
        "the run's directory {cwd} is in no git repository ({complaint}): \
         make one with a commit, or set the run's isolation to shared"
    )]
    NoRepository {
        /// The directory.
        cwd: String,
        /// What git says.
        complaint: String,
    },
    /// A worktree begins with a commit.
    #[error("{0} has no commit yet: make the first, or set the run's isolation to shared")]
    NoCommit(String),
    /// Git refused.
    #[error("git made no worktree ({0}): mend that, or set the run's isolation to shared")]
    Refused(String),
    /// The run cannot be read or written.
    #[error("the worktree is not known to the run: {0}")]
    Untold(String),
}

impl From<String> for Unplaced {
    fn from(complaint: String) -> Self {
        Self::Refused(complaint)
    }
}

/// Whoever makes the worktree of a node does so alone.
#[derive(Default)]
pub(crate) struct Placing(Mutex<BTreeMap<NodeId, Arc<tokio::sync::Mutex<()>>>>);

impl Placing {
    async fn alone(&self, node: NodeId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(node).or_default())
        };
        lock.lock_owned().await
    }
}

/// Where a node is, and where it shall be.
struct Standing {
    run: RunId,
    node: NodeId,
    /// The storage folder.
    home: PathBuf,
    /// Where the run was started.
    cwd: PathBuf,
    /// Where the node works.
    workdir: PathBuf,
    /// Whether it shall have a worktree.
    is_isolated: bool,
}

/// Makes the worktree of a new node in the background. What goes wrong is told by its first turn.
pub(crate) fn make_soon(shared: &Arc<RunsContext>, run: RunId, node: NodeId) {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        if let Err(error) = settle(&shared, run, node).await {
            tracing::warn!(%run, %node, %error, "a node has no worktree of its own");
        }
    });
}

/// Makes sure that a node is where it shall work. A worktree that nobody has come to make, or that
/// was removed, is made.
pub(crate) async fn settle(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: NodeId,
) -> Result<(), Unplaced> {
    let _alone = shared.placing.alone(node).await;
    let home = shared.settings.home.clone();
    let standing = move |docs: &Documents<Room>| {
        let record = lookup::run(docs)?;
        let found = lookup::find_node(docs, node)?;
        Ok(found.map(|found| Standing {
            run,
            node,
            home: home.clone(),
            cwd: PathBuf::from(&record.cwd),
            workdir: PathBuf::from(&found.workdir),
            is_isolated: is_isolated(record, found),
        }))
    };
    let untold = |error| Unplaced::Untold(format!("{error:?}"));
    let Some(standing) = shared.view(run, standing).await.map_err(untold)? else { return Ok(()) };
    let settled = tokio::task::spawn_blocking(move || standing.settle()).await;
    let Some(workdir) = settled.map_err(|error| Unplaced::Refused(error.to_string()))?? else {
        return Ok(());
    };
    let workdir = workdir.to_string_lossy().trim_end_matches('/').to_owned();
    shared.tell(run, Ask::PlaceNode { node, workdir }).await.map_err(untold)?;
    Ok(())
}

impl Standing {
    /// Answers where the node works from now on, if it has to be told.
    fn settle(&self) -> Result<Option<PathBuf>, Unplaced> {
        let is_placed = self.workdir != self.cwd;
        match (self.is_isolated, is_placed) {
            (_, true) if self.workdir.is_dir() => Ok(None),
            (true, _) => self.make(is_placed).map(Some),
            (false, true) => Ok(Some(self.cwd.clone())),
            (false, false) => Ok(None),
        }
    }

    /// Makes the worktree; answers where in it the node works.
    fn make(&self, is_placed: bool) -> Result<PathBuf, Unplaced> {
        let folder = of_run(&self.home, self.run).join(self.node.to_string());
        if folder.starts_with(std::env::temp_dir()) {
            tracing::warn!(folder = %folder.display(), "agents may write to all temporary folders");
        }
        let (repository, prefix) = repository(&self.cwd)?;
        make_private(&self.home.join(FOLDER)).map_err(|error| error.to_string())?;
        match (folder.join(".git").exists(), is_placed) {
            (false, _) => add(&repository, &folder, &branch(self.run, self.node))?,
            // A server before this one has begun it, and nobody has worked in it.
            (true, false) => {
                Git::at(&folder).ask(&["reset", "--hard", "--quiet"])?;
            }
            // Only the part that the node worked in is gone.
            (true, true) => {}
        }
        // A run that works in a part of the repository works in the same part here.
        let part = folder.join(prefix);
        Ok(if part.is_dir() { part } else { folder })
    }
}

/// The repository that a directory is in, and which part of it the directory is.
fn repository(cwd: &Path) -> Result<(Git, String), Unplaced> {
    let told = cwd.display().to_string();
    if !cwd.is_dir() {
        return Err(Unplaced::NoDirectory(told));
    }
    let git = Git::at(cwd);
    let prefix = git.run(&["rev-parse", "--show-prefix"], None).map_err(Unplaced::NoGit)?;
    if prefix.code != Some(0) {
        return Err(Unplaced::NoRepository { cwd: told, complaint: prefix.complaint });
    }
    if !git.has("HEAD")? {
        return Err(Unplaced::NoCommit(told));
    }
    Ok((git, prefix.output.trim_end_matches('\n').to_owned()))
}

/// Adds a worktree. A branch that is left of an earlier one is taken up again.
fn add(repository: &Git, folder: &Path, branch: &str) -> Result<(), Unplaced> {
    let name = folder.to_string_lossy();
    if !folder.exists() {
        // Git may still know of one there that was deleted without it.
        repository.run(&["worktree", "remove", &name], None)?;
    }
    let words = match repository.has(&format!("refs/heads/{branch}"))? {
        true => vec!["worktree", "add", "--quiet", &name, branch],
        false => vec!["worktree", "add", "--quiet", "--no-track", "-b", branch, &name],
    };
    repository.ask(&words)?;
    Ok(())
}
