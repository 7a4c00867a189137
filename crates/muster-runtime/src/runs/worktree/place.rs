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
        Ask, Runs as Room,
        effect::is_isolated,
        id::{NodeId, RunId},
        lookup,
    },
};
use tokio::sync::OwnedMutexGuard;

use super::{FOLDER, branch, git::Git, of_run};
use crate::runs::{artifacts::make_private, shared::Shared};

/// Why a node has no worktree, with what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unplaced {
    /// The run's directory is gone.
    #[error("the run's directory {0} is not there: make it again")]
    NoDirectory(String),
    /// There is no git.
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
    #[error("git made no worktree: {0}")]
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

/// A node that shall have a worktree.
struct Wanted {
    /// Where the run was started.
    cwd: PathBuf,
    /// Its storage folder.
    home: PathBuf,
    run: RunId,
    node: NodeId,
}

/// Makes the worktree of a new node in the background. What goes wrong is told by its first turn.
pub(crate) fn make_soon(shared: &Arc<Shared>, run: RunId, node: NodeId) {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        if let Err(error) = settle(&shared, run, node).await {
            tracing::warn!(%run, %node, %error, "a node has no worktree of its own");
        }
    });
}

/// Makes sure that a node is where it shall work. A worktree that nobody has come to make is made.
pub(crate) async fn settle(shared: &Arc<Shared>, run: RunId, node: NodeId) -> Result<(), Unplaced> {
    let _alone = shared.placing.alone(node).await;
    let missed = move |docs: &Documents<Room>| {
        let record = lookup::run(docs)?;
        let found = lookup::find_node(docs, node)?;
        let is_missed =
            found.is_some_and(|node| is_isolated(record, node) && node.workdir == record.cwd);
        Ok(is_missed.then(|| PathBuf::from(&record.cwd)))
    };
    let untold = |error| Unplaced::Untold(format!("{error:?}"));
    let Some(cwd) = shared.view(run, missed).await.map_err(untold)? else { return Ok(()) };
    let wanted = Wanted { cwd, home: shared.settings.home.clone(), run, node };
    let made = tokio::task::spawn_blocking(move || wanted.make()).await;
    let workdir = made.map_err(|error| Unplaced::Refused(error.to_string()))??;
    let workdir = workdir.to_string_lossy().trim_end_matches('/').to_owned();
    shared.tell(run, Ask::PlaceNode { node, workdir }).await.map_err(untold)?;
    Ok(())
}

impl Wanted {
    /// Makes the worktree; answers where in it the node works.
    fn make(&self) -> Result<PathBuf, Unplaced> {
        let folder = of_run(&self.home, self.run).join(self.node.to_string());
        if folder.starts_with(std::env::temp_dir()) {
            tracing::warn!(folder = %folder.display(), "agents may write to all temporary folders");
        }
        let (repository, prefix) = repository(&self.cwd)?;
        make_private(&self.home.join(FOLDER)).map_err(|error| error.to_string())?;
        if folder.join(".git").exists() {
            // A server before this one has begun it, and nobody has worked in it.
            Git::at(&folder).ask(&["reset", "--hard", "--quiet"])?;
        } else {
            add(&repository, &folder, &branch(self.run, self.node))?;
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
    let words = match repository.has(&format!("refs/heads/{branch}"))? {
        true => vec!["worktree", "add", "--quiet", &name, branch],
        false => vec!["worktree", "add", "--quiet", "--no-track", "-b", branch, &name],
    };
    repository.ask(&words)?;
    Ok(())
}
