//! Worktrees: a directory of its own for each node that writes code (RUNS-DIFF-6). Muster makes
//! them, merges nothing, and removes none that holds work which is nowhere else.

use std::{path::Path, process::Stdio, sync::Arc};

use muster_core::run::{
    Ask,
    id::{NodeId, RunId},
    lookup,
};
use tokio::process::Command;

use super::shared::Shared;

/// Makes the worktree of a node; where it cannot be made the node stays in the run's directory.
pub(crate) async fn make(shared: Arc<Shared>, run: RunId, node: NodeId) {
    let Ok(record) = shared.view(run, |docs| lookup::run(docs).cloned()).await else { return };
    let folder = shared.files.of_run(run).join("worktrees").join(node.to_string());
    let branch = branch(run, node);
    let arguments = ["worktree", "add", "--quiet", "-b", &branch];
    match git(Path::new(&record.cwd), &arguments, &folder).await {
        Ok(()) => {
            let workdir = folder.to_string_lossy().into_owned();
            shared.report(run, Ask::PlaceNode { node, workdir }).await;
        }
        Err(error) => tracing::warn!(%run, %node, error, "a node has no worktree of its own"),
    }
}

/// Removes the worktree of a node that is gone, if nothing in it is only there: no changes, and
/// every commit on another branch too (RUNS-NODE-7).
pub(crate) async fn remove(shared: Arc<Shared>, run: RunId, node: NodeId) {
    let folder = shared.files.of_run(run).join("worktrees").join(node.to_string());
    if !folder.exists() {
        return;
    }
    let Ok(record) = shared.view(run, |docs| lookup::run(docs).cloned()).await else { return };
    let (cwd, branch) = (Path::new(&record.cwd), branch(run, node));
    let elsewhere = output(cwd, &["branch", "--all", "--contains", &branch]).await;
    let others = |text: String| text.lines().any(|line| !line.ends_with(&branch));
    if !elsewhere.is_ok_and(others) {
        let folder = folder.display();
        tracing::info!(%run, %folder, "a worktree stays: its commits are nowhere else");
        return;
    }
    // Without force git removes no worktree that holds changes.
    match git(cwd, &["worktree", "remove"], &folder).await {
        Ok(()) => {
            if let Err(error) = output(cwd, &["branch", "-D", &branch]).await {
                tracing::debug!(%run, error, "a branch stays");
            }
        }
        Err(error) => tracing::info!(%run, error, folder = %folder.display(), "a worktree stays"),
    }
}

async fn output(cwd: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The branch of a node.
fn branch(run: RunId, node: NodeId) -> String {
    // The end of an id is random; its beginning is the time.
    let (run, node) = (run.to_string(), node.to_string());
    format!("muster/{}/{}", &run[run.len() - 8..], &node[node.len() - 8..])
}

async fn git(cwd: &Path, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let folder = folder.to_string_lossy();
    let all: Vec<&str> = arguments.iter().copied().chain([&*folder]).collect();
    output(cwd, &all).await.map(drop)
}
