//! Where a node works: its worktree is created with the node, or before its next turn at the
//! latest. A turn whose worktree cannot be created does not begin, because it would work in the
//! very directory that the worktree keeps it out of.

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
use crate::{
    artifacts::make_private,
    background,
    calls::unmade,
    shared::{AskError, RunsContext},
};

/// Why a node has no worktree, and what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unplaced {
    /// The run's directory does not exist.
    #[error("the run's directory {0} is not there: make it again")]
    NoDirectory(String),
    #[error("git cannot be run ({0}): install it, or set the run's isolation to shared")]
    NoGit(String),
    /// The run's directory is in no usable git repository.
    #[error(
        "the run's directory {cwd} is in no git repository ({complaint}): \
         make one with a commit, or set the run's isolation to shared"
    )]
    NoRepository {
        cwd: String,
        /// Git's message.
        complaint: String,
    },
    /// A worktree needs a commit to start from.
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

/// Serializes the creation of worktrees in one directory: two `git worktree add` at once read each
/// other's half-written records, and one of them fails.
#[derive(Default)]
pub(crate) struct Placing(Mutex<BTreeMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>);

impl Placing {
    async fn alone(&self, cwd: &Path) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(cwd.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}

/// Where a node is, and where it should be.
struct Placement {
    run: RunId,
    node: NodeId,
    /// The storage folder.
    home: PathBuf,
    /// Where the run was started.
    cwd: PathBuf,
    workdir: PathBuf,
    /// Whether it needs a worktree.
    is_isolated: bool,
}

/// Creates the worktree of a new node in the background. Its first turn reports failures.
pub(crate) fn make_soon(shared: &Arc<RunsContext>, run: RunId, node: NodeId) {
    let shared = Arc::clone(shared);
    background::spawn(async move {
        if let Err(error) = settle(&shared, run, node).await {
            tracing::warn!(%run, %node, %error, "could not create the node's worktree");
        }
    });
}

/// Makes sure that a node is where it should work. A worktree that is missing or was removed is
/// created.
pub(crate) async fn settle(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: NodeId,
) -> Result<(), Unplaced> {
    let Some(placement) = Placement::read(shared, run, node).await? else { return Ok(()) };
    if placement.is_settled() {
        return Ok(());
    }
    let _alone = shared.placing.alone(&placement.cwd).await;
    // Another call may have placed it in the meantime.
    let Some(placement) = Placement::read(shared, run, node).await? else { return Ok(()) };
    let settled = background::blocking(move || placement.settle()).await;
    let Some(workdir) = settled.map_err(|error| Unplaced::Refused(error.to_string()))?? else {
        return Ok(());
    };
    let workdir = workdir.to_string_lossy().trim_end_matches('/').to_owned();
    shared.submit(run, Ask::PlaceNode { node, workdir }).await.map_err(unknown_to_run)?;
    Ok(())
}

fn unknown_to_run(error: AskError) -> Unplaced {
    Unplaced::Untold(unmade(error).message)
}

impl Placement {
    /// What the run says about a node, if it has that node.
    async fn read(
        shared: &Arc<RunsContext>,
        run: RunId,
        node: NodeId,
    ) -> Result<Option<Self>, Unplaced> {
        let home = shared.settings.home.clone();
        let view = move |docs: &Documents<Room>| {
            let record = lookup::run(docs)?;
            let found = lookup::find_node(docs, node)?;
            Ok(found.map(|found| Self {
                run,
                node,
                home: home.clone(),
                cwd: PathBuf::from(&record.cwd),
                workdir: PathBuf::from(&found.workdir),
                is_isolated: is_isolated(record, found),
            }))
        };
        shared.view(run, view).await.map_err(unknown_to_run)
    }

    fn is_placed(&self) -> bool {
        self.workdir != self.cwd
    }

    /// Whether the node is where it should work.
    fn is_settled(&self) -> bool {
        match self.is_placed() {
            true => self.workdir.is_dir(),
            false => !self.is_isolated,
        }
    }

    /// Returns where the node works from now on, if that has changed.
    fn settle(&self) -> Result<Option<PathBuf>, Unplaced> {
        if self.is_settled() {
            return Ok(None);
        }
        match self.is_isolated {
            true => self.make().map(Some),
            false => Ok(Some(self.cwd.clone())),
        }
    }

    /// Creates the worktree; returns where in it the node works.
    fn make(&self) -> Result<PathBuf, Unplaced> {
        let folder = of_run(&self.home, self.run).join(self.node.to_string());
        if folder.starts_with(std::env::temp_dir()) {
            tracing::warn!(folder = %folder.display(), "agents may write to all temporary folders");
        }
        let (repository, prefix) = repository(&self.cwd)?;
        make_private(&self.home.join(FOLDER)).map_err(|error| error.to_string())?;
        match (folder.join(".git").exists(), self.is_placed()) {
            (false, _) => add(&repository, &folder, &branch(self.run, self.node))?,
            // An earlier server has begun it, and nothing was done in it.
            (true, false) => {
                Git::at(&folder).ask(&["reset", "--hard", "--quiet"])?;
            }
            // Only the part that the node worked in is missing.
            (true, true) => {}
        }
        // A run in a part of the repository uses the same part here.
        let part = folder.join(prefix);
        Ok(if part.is_dir() { part } else { folder })
    }
}

/// The repository of a directory, and the directory's path in it.
fn repository(cwd: &Path) -> Result<(Git, String), Unplaced> {
    let shown = cwd.display().to_string();
    if !cwd.is_dir() {
        return Err(Unplaced::NoDirectory(shown));
    }
    let git = Git::at(cwd);
    let prefix = git.run(&["rev-parse", "--show-prefix"], None).map_err(Unplaced::NoGit)?;
    if prefix.code != Some(0) {
        return Err(Unplaced::NoRepository { cwd: shown, complaint: prefix.complaint });
    }
    if !git.has("HEAD")? {
        return Err(Unplaced::NoCommit(shown));
    }
    Ok((git, prefix.output.trim_end_matches('\n').to_owned()))
}

/// Adds a worktree. A branch that an earlier one left is reused.
fn add(repository: &Git, folder: &Path, branch: &str) -> Result<(), Unplaced> {
    let name = folder.to_string_lossy();
    if !folder.exists() {
        // Git may still have a record of one that was deleted by hand.
        repository.run(&["worktree", "remove", &name], None)?;
    }
    let words = match repository.has(&format!("refs/heads/{branch}"))? {
        true => vec!["worktree", "add", "--quiet", &name, branch],
        false => vec!["worktree", "add", "--quiet", "--no-track", "-b", branch, &name],
    };
    repository.ask(&words)?;
    Ok(())
}
