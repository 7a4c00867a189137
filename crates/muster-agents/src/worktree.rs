//! Worktrees: a separate directory for each node that writes code (RUNS-DIFF-6). They are in the
//! storage folder, next to the files of runs, because those go to the trash with their run and work
//! must not. None is removed that holds work which is nowhere else; merging is requested by a
//! person.

mod branching;
mod changes;
mod git;
mod list;
mod merge;
mod place;
#[cfg(test)]
mod tests;
mod trial;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_core::run::{
    Ask,
    id::{NodeId, RunId},
};

pub use self::{
    branching::MadeBranch,
    list::{Worktree, WorktreeState, worktrees},
    merge::{Merged, NotMerged},
};
pub(crate) use self::{
    branching::make_branch,
    place::{Placing, make_soon, settle},
    trial::{JudgedFiles, JudgedSource},
};
use self::{
    git::Git,
    list::{own_branch, state},
};
use super::shared::RunsContext;

/// Name of the folder that holds all of them.
pub(crate) const FOLDER: &str = "worktrees";

/// Where the worktrees of a run are.
fn of_run(home: &Path, run: RunId) -> PathBuf {
    home.join(FOLDER).join(run.to_string())
}

/// Removes the worktree of a removed node, if nothing in it would be lost; one that stays is named
/// in the node's log (RUNS-NODE-7).
pub(crate) async fn remove(shared: Arc<RunsContext>, run: RunId, node: NodeId) {
    for line in clear(vec![of_run(&shared.settings.home, run).join(node.to_string())]).await {
        shared.report(run, Ask::NoteLeft { node, line }).await;
    }
}

/// Removes the worktrees of a deleted run, except for those that hold work.
pub(crate) async fn remove_all(shared: &RunsContext, run: RunId) {
    let Ok(entries) = std::fs::read_dir(of_run(&shared.settings.home, run)) else { return };
    for line in clear(entries.flatten().map(|entry| entry.path()).collect()).await {
        tracing::info!(%run, line, "kept a worktree of a deleted run");
    }
}

/// Removes worktrees; returns for each that stays where it is and why.
async fn clear(folders: Vec<PathBuf>) -> Vec<String> {
    let removing = crate::background::blocking(move || {
        let there = folders.iter().filter(|folder| folder.exists());
        let stays = |folder: &PathBuf| {
            let reason = remove_merged(folder, IgnoredFiles::Kept).err()?;
            Some(format!("the worktree {} stays: {reason}", folder.display()))
        };
        there.filter_map(stays).collect()
    });
    removing.await.unwrap_or_else(|error| vec![format!("worktrees were not looked at: {error}")])
}

/// How to treat files that git ignores, which are nowhere else and in no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// A worktree with some is kept.
    Kept,
    /// They are removed with the worktree.
    Removed,
}

/// Removes a worktree whose work is elsewhere too, and the branch that was made with it; an error
/// gives the reason why it stays.
pub(crate) fn remove_merged(folder: &Path, ignored: IgnoredFiles) -> Result<(), String> {
    let worktree = Git::at(folder);
    let state = state(folder)?;
    if state != WorktreeState::Merged {
        return Err(format!("it holds work that is nowhere else ({})", state.words()));
    }
    let left = worktree.ignored()?;
    if ignored == IgnoredFiles::Kept && !left.is_empty() {
        let named = merge::named(&left);
        return Err(format!(
            "it holds files that git ignores and that no snapshot keeps ({named}): \
             look at them, then remove it with --ignored"
        ));
    }
    let home = Git::at(&worktree.main()?);
    let own = own_branch(&home, folder)?;
    worktree.snapshot("removed")?;
    // Without force git removes no worktree that holds changes.
    home.ask(&["worktree", "remove", &folder.to_string_lossy()])?;
    // It may be checked out elsewhere by now; then it belongs to the user.
    if let Some(Err(reason)) = own.map(|own| home.ask(&["branch", "--delete", "--force", &own])) {
        tracing::debug!(reason, "could not delete the branch of a worktree");
    }
    // The folder of the run is removed when nothing is left in it.
    if let Some(Err(error)) = folder.parent().map(std::fs::remove_dir) {
        tracing::debug!(%error, "kept the folder of the run's worktrees");
    }
    Ok(())
}

fn branch(run: RunId, node: NodeId) -> String {
    // Ids differ in their ends; their beginning is the time.
    let run = run.to_string();
    let node = node.to_string();
    format!("muster/{}/{}", &run[run.len() - 8..], &node[node.len() - 8..])
}
