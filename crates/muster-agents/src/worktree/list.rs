//! The existing worktrees, their size and what would be lost with them. That is read from the
//! folders, and their owners from the store, so no server has to run.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use muster_core::{
    Documents,
    run::{RunAggregate as Room, id::RunId, lookup, node::Node},
};

use serde::Serialize;

use super::{FOLDER, branch, git::Git};
use muster_engine::Engine;

use crate::{AskError, trash::bytes_below};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    pub run_id: String,
    pub node_id: String,
    /// The node's name, while the run is there.
    pub label: Option<String>,
    /// Whether the node works in it now.
    pub running: bool,
    pub folder: PathBuf,
    /// The branch that is checked out in it.
    pub branch: Option<String>,
    /// The checkout that its work is merged into.
    pub target: Option<PathBuf>,
    /// Its size on the disk.
    pub bytes: u64,
    /// Ignored files and folders in it: no merge includes them, and no snapshot keeps them.
    pub ignored: u64,
    /// What would be lost with it.
    #[serde(flatten)]
    pub state: WorktreeState,
}

/// What would be lost with a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorktreeState {
    /// Nothing that git knows: all of it is on another branch too.
    Merged,
    /// Commits that are on no other branch.
    Unmerged { commits: u64 },
    /// Changes that are in no commit.
    Dirty {
        changed_files: u64,
        /// Commits that are on no other branch.
        commits: u64,
    },
    /// It cannot be determined.
    Broken { reason: String },
}

/// `1 commit`, `2 commits`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl WorktreeState {
    pub fn words(&self) -> String {
        match self {
            Self::Merged => "merged".to_owned(),
            Self::Unmerged { commits } => format!("{} to merge", counted(*commits, "commit")),
            Self::Dirty { changed_files, commits: 0 } => {
                format!("{} changed", counted(*changed_files, "file"))
            }
            Self::Dirty { changed_files, commits } => {
                let files = counted(*changed_files, "file");
                format!("{files} changed, {} to merge", counted(*commits, "commit"))
            }
            Self::Broken { reason } => format!("broken: {reason}"),
        }
    }
}

#[derive(Default)]
pub(super) struct Owner {
    /// Where it was started.
    pub(super) cwd: Option<PathBuf>,
    /// The names of its nodes, and whether they work now.
    pub(super) nodes: BTreeMap<String, (String, bool)>,
}

/// Every worktree below a storage folder.
pub fn worktrees(home: &Path, engine: &Engine) -> Result<Vec<Worktree>, AskError> {
    let mut found = Vec::new();
    for run in folders(&home.join(FOLDER)) {
        let owner = owner(engine, &name(&run))?;
        found.extend(of_owner(&run, &owner));
    }
    Ok(found)
}

/// The run that a folder is named after; empty for one that was deleted.
fn owner(engine: &Engine, run: &str) -> Result<Owner, AskError> {
    let Ok(run) = run.parse::<RunId>() else { return Ok(Owner::default()) };
    let view = |docs: &Documents<Room>| {
        let Some(run) = lookup::find_run(docs)? else { return Ok(Owner::default()) };
        let node = |node: &Node| (node.id.to_string(), (node.label.clone(), node.turn.is_some()));
        let nodes = lookup::nodes(docs)?.into_iter().map(node).collect();
        Ok(Owner { cwd: Some(PathBuf::from(&run.cwd)), nodes })
    };
    engine.read::<Room, Owner>(&run.stream(), view)
}

pub(super) fn of_owner(run: &Path, owner: &Owner) -> Vec<Worktree> {
    folders(run).into_iter().map(|folder| look(&name(run), owner, folder)).collect()
}

fn look(run_id: &str, owner: &Owner, folder: PathBuf) -> Worktree {
    let git = Git::at(&folder);
    let node_id = name(&folder);
    let node = owner.nodes.get(&node_id);
    Worktree {
        run_id: run_id.to_owned(),
        label: node.map(|(label, _)| label.clone()),
        running: node.is_some_and(|(_, running)| *running),
        branch: git.branch().ok(),
        target: owner.cwd.clone().or_else(|| git.main().ok()),
        bytes: bytes_below(&folder),
        ignored: git.ignored().map_or(0, |names| names.len() as u64),
        state: state(&folder).unwrap_or_else(|reason| WorktreeState::Broken { reason }),
        node_id,
        folder,
    }
}

/// What would be lost with a worktree. Neither its checked-out branch nor those of nodes count as
/// elsewhere.
pub(super) fn state(folder: &Path) -> Result<WorktreeState, String> {
    let git = Git::at(folder);
    let changed_files = git.changed()?.len() as u64;
    let main = Git::at(&git.main()?);
    let mut words = vec!["rev-list".to_owned(), "--count".to_owned()];
    words.push(git.ask(&["rev-parse", "HEAD"])?);
    words.extend(own_branch(&main, folder)?);
    words.extend(["--not", "HEAD", "--exclude=muster/*"].map(str::to_owned));
    words.extend(git.branch().ok().map(|branch| format!("--exclude={branch}")));
    words.extend(["--branches", "--remotes"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let commits = main.ask(&words)?.parse().map_err(|_| "its commits cannot be counted")?;
    Ok(match (changed_files, commits) {
        (0, 0) => WorktreeState::Merged,
        (0, commits) => WorktreeState::Unmerged { commits },
        (changed_files, commits) => WorktreeState::Dirty { changed_files, commits },
    })
}

/// The branch that was created with a worktree, while it exists. Others may be checked out.
pub(super) fn own_branch(main: &Git, folder: &Path) -> Result<Option<String>, String> {
    let run = folder.parent().and_then(|run| name(run).parse().ok());
    let (Some(run), Ok(node)) = (run, name(folder).parse()) else { return Ok(None) };
    let name = branch(run, node);
    Ok(main.has(&format!("refs/heads/{name}"))?.then_some(name))
}

pub(super) fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
