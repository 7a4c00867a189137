//! Worktrees: a directory of its own for each node that writes code (RUNS-DIFF-6). They lie below
//! the storage folder, beside the files of runs, because those go to the trash with their run and
//! work must not. None is removed that holds work which is nowhere else; merging is asked for by a
//! person.

mod git;
mod list;
mod merge;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
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
use tokio::sync::watch;

use self::{git::Git, list::state};
pub use self::{
    list::{Worktree, WorktreeState, worktrees},
    merge::{Merged, NotMerged},
};
use super::{artifacts::make_private, shared::Shared};

/// Name of the folder that holds all of them.
const FOLDER: &str = "worktrees";

/// Where the worktrees of a run are.
fn of_run(home: &Path, run: RunId) -> PathBuf {
    home.join(FOLDER).join(run.to_string())
}

/// How far the worktrees are that this server knows of. No turn of a node begins while its own is
/// being made: it would work in the directory that the worktree shall keep it out of.
#[derive(Default)]
pub(crate) struct Placing(watch::Sender<BTreeMap<NodeId, Stage>>);

/// How far a worktree is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    InWork,
    /// It is there, not wanted, or cannot be made.
    Settled,
}

impl Placing {
    /// Takes the making of a worktree on; false if somebody has.
    fn take_on(&self, node: NodeId) -> bool {
        self.0.send_if_modified(|placing| {
            let is_first = !placing.contains_key(&node);
            placing.entry(node).or_insert(Stage::InWork);
            is_first
        })
    }

    fn settle(&self, node: NodeId) {
        self.0.send_modify(|placing| {
            placing.insert(node, Stage::Settled);
        });
    }

    /// Waits for whoever makes it.
    async fn wait(&self, node: NodeId) {
        let is_settled =
            |placing: &BTreeMap<NodeId, Stage>| placing.get(&node) != Some(&Stage::InWork);
        if self.0.subscribe().wait_for(is_settled).await.is_err() {
            tracing::debug!(%node, "nobody says any more where nodes are");
        }
    }
}

/// Makes the worktree of a new node in the background.
pub(crate) fn make_soon(shared: &Arc<Shared>, run: RunId, node: NodeId) {
    if shared.placing.take_on(node) {
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            make(&shared, run, node).await;
            shared.placing.settle(node);
        });
    }
}

/// Makes sure that a node is where it shall work. A worktree that a server before this one did not
/// come to make is made now.
pub(crate) async fn settle(shared: &Arc<Shared>, run: RunId, node: NodeId) {
    if !shared.placing.take_on(node) {
        return shared.placing.wait(node).await;
    }
    let is_missed = move |docs: &Documents<Room>| {
        let record = lookup::run(docs)?;
        let found = lookup::find_node(docs, node)?;
        Ok(found.is_some_and(|node| is_isolated(record, node) && node.workdir == record.cwd))
    };
    if let Ok(true) = shared.view(run, is_missed).await {
        make(shared, run, node).await;
    }
    shared.placing.settle(node);
}

/// Makes the worktree of a node; where it cannot be made the node stays in the run's directory.
async fn make(shared: &Arc<Shared>, run: RunId, node: NodeId) {
    let Ok(record) = shared.view(run, |docs| lookup::run(docs).cloned()).await else { return };
    let folder = of_run(&shared.settings.home, run).join(node.to_string());
    if folder.starts_with(std::env::temp_dir()) {
        tracing::warn!(folder = %folder.display(), "agents may write to all temporary folders");
    }
    let (private, made) = (shared.settings.home.join(FOLDER), folder);
    let add = move || {
        make_private(&private).map_err(|error| error.to_string())?;
        let home = Git::at(Path::new(&record.cwd));
        let (branch, name) = (branch(run, node), made.to_string_lossy());
        if made.join(".git").exists() {
            // A server before this one has begun it, and nobody has worked in it.
            Git::at(&made).ask(&["reset", "--hard", "--quiet"])?;
        } else {
            home.ask(&["worktree", "add", "--quiet", "-b", &branch, &name])?;
        }
        // A run that works in a part of the repository works in the same part here.
        let part = made.join(home.ask(&["rev-parse", "--show-prefix"])?);
        Ok::<_, String>(if part.is_dir() { part } else { made })
    };
    match tokio::task::spawn_blocking(add).await {
        Ok(Ok(workdir)) => {
            let workdir = workdir.to_string_lossy().trim_end_matches('/').to_owned();
            shared.report(run, Ask::PlaceNode { node, workdir }).await;
        }
        Ok(Err(error)) => tracing::warn!(%run, %node, error, "a node has no worktree of its own"),
        Err(error) => tracing::warn!(%run, %node, %error, "a node has no worktree of its own"),
    }
}

/// Removes the worktree of a node that is gone, if nothing in it is only there (RUNS-NODE-7).
pub(crate) async fn remove(shared: Arc<Shared>, run: RunId, node: NodeId) {
    clear(vec![of_run(&shared.settings.home, run).join(node.to_string())]).await;
}

/// Removes the worktrees of a run that is gone, but for those that hold work.
pub(crate) async fn remove_all(shared: &Shared, run: RunId) {
    let Ok(entries) = std::fs::read_dir(of_run(&shared.settings.home, run)) else { return };
    clear(entries.flatten().map(|entry| entry.path()).collect()).await;
}

async fn clear(folders: Vec<PathBuf>) {
    let removing = tokio::task::spawn_blocking(move || {
        for folder in folders.iter().filter(|folder| folder.exists()) {
            if let Err(reason) = remove_merged(folder) {
                tracing::info!(folder = %folder.display(), reason, "a worktree stays");
            }
        }
    });
    if let Err(error) = removing.await {
        tracing::warn!(%error, "worktrees were not looked at");
    }
}

/// Removes a worktree whose work is elsewhere too; an error says why it stays.
pub(crate) fn remove_merged(folder: &Path) -> Result<(), String> {
    let worktree = Git::at(folder);
    let state = state(&worktree)?;
    if state != WorktreeState::Merged {
        return Err(format!("it holds work that is nowhere else ({})", state.words()));
    }
    let (branch, home) = (worktree.branch()?, Git::at(&worktree.main()?));
    worktree.snapshot("removed")?;
    // Without force git removes no worktree that holds changes.
    home.ask(&["worktree", "remove", &folder.to_string_lossy()])?;
    home.ask(&["branch", "--delete", "--force", &branch])?;
    // The folder of the run goes when nothing is left in it.
    if let Some(Err(error)) = folder.parent().map(std::fs::remove_dir) {
        tracing::debug!(%error, "other worktrees of the run are there");
    }
    Ok(())
}

/// The branch of a node.
fn branch(run: RunId, node: NodeId) -> String {
    // The end of an id is random; its beginning is the time.
    let (run, node) = (run.to_string(), node.to_string());
    format!("muster/{}/{}", &run[run.len() - 8..], &node[node.len() - 8..])
}
