//! What worktrees there are, how large they are and what would be lost with them. Everything is
//! read off the folders, so no server has to run.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::run::node::NodeStatus;
use serde::{Deserialize, Serialize};

use super::{FOLDER, git::Git};

/// A worktree of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Its run.
    pub run_id: String,
    /// Its node.
    pub node_id: String,
    /// The node's name, while the run is there.
    pub label: Option<String>,
    /// Whether the node works in it now.
    pub running: bool,
    /// Where it is.
    pub folder: PathBuf,
    /// Its branch.
    pub branch: Option<String>,
    /// The checkout that its work is merged into.
    pub target: Option<PathBuf>,
    /// How much it takes on the disk.
    pub bytes: u64,
    /// What would be lost with it.
    #[serde(flatten)]
    pub state: WorktreeState,
}

/// What would be lost with a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorktreeState {
    /// Nothing: all of it is on another branch too.
    Merged,
    /// Commits that are on no other branch.
    Unmerged {
        /// How many.
        commits: u64,
    },
    /// Changes that are in no commit.
    Dirty {
        /// Files that changed.
        changed_files: u64,
        /// Commits that are on no other branch.
        commits: u64,
    },
    /// Nobody can tell.
    Broken {
        /// Why.
        reason: String,
    },
}

impl WorktreeState {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Merged => "merged".to_owned(),
            Self::Unmerged { commits } => format!("{commits} commits to merge"),
            Self::Dirty { changed_files, commits: 0 } => format!("{changed_files} files changed"),
            Self::Dirty { changed_files, commits } => {
                format!("{changed_files} files changed, {commits} commits to merge")
            }
            Self::Broken { reason } => format!("broken: {reason}"),
        }
    }
}

/// What the file of a run says of its nodes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RunFile {
    cwd: Option<PathBuf>,
    nodes: BTreeMap<String, NodeFile>,
}

#[derive(Deserialize)]
struct NodeFile {
    label: String,
    status: NodeStatus,
}

/// Every worktree below a storage folder.
pub fn worktrees(home: &Path) -> io::Result<Vec<Worktree>> {
    let mut found = Vec::new();
    for run in folders(&home.join(FOLDER))? {
        let run_id = name(&run);
        let file = fs::read(home.join("runs").join(&run_id).join("run.json"));
        let file: RunFile =
            file.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        for folder in folders(&run)? {
            found.push(look(&run_id, &file, folder));
        }
    }
    Ok(found)
}

fn look(run_id: &str, file: &RunFile, folder: PathBuf) -> Worktree {
    let (git, node_id) = (Git::at(&folder), name(&folder));
    let node = file.nodes.get(&node_id);
    Worktree {
        run_id: run_id.to_owned(),
        label: node.map(|node| node.label.clone()),
        running: node.is_some_and(|node| node.status == NodeStatus::Running),
        branch: git.branch().ok(),
        target: file.cwd.clone().or_else(|| git.main().ok()),
        bytes: size(&folder),
        state: state(&git).unwrap_or_else(|reason| WorktreeState::Broken { reason }),
        node_id,
        folder,
    }
}

/// What would be lost with a worktree. Branches of other nodes do not count as elsewhere.
pub(super) fn state(git: &Git) -> Result<WorktreeState, String> {
    let changed_files = git.changed()?.len() as u64;
    let branch = git.branch()?;
    let main = Git::at(&git.main()?);
    let elsewhere = ["--not", "HEAD", "--exclude=muster/*", "--branches", "--remotes"];
    let count = ["rev-list", "--count", &branch].into_iter().chain(elsewhere).collect::<Vec<_>>();
    let commits = main.ask(&count)?.parse().map_err(|_| "its commits cannot be counted")?;
    Ok(match (changed_files, commits) {
        (0, 0) => WorktreeState::Merged,
        (0, commits) => WorktreeState::Unmerged { commits },
        (changed_files, commits) => WorktreeState::Dirty { changed_files, commits },
    })
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Bytes of all files below a folder; links are not followed.
fn size(folder: &Path) -> u64 {
    let (mut bytes, mut left) = (0, vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(known) if known.is_dir() => left.push(entry.path()),
                Ok(known) => bytes += known.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}
