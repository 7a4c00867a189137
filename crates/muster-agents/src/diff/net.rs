//! What a run has changed as a whole: the files of each directory now, against the tree before its
//! first turn there. Trees are those that the diffs of turns recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use muster_core::{
    Documents, ListQuery,
    run::{
        RunAggregate as Room, RunDocument,
        id::{NodeId, RunId, TurnId},
        lookup::{self, Found},
        moment::Moment,
        settings::Isolation,
        turn::NodeTurn,
    },
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{TreeStore, git, place};
use crate::shared::{AskError, RunsContext};

/// What a run has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetChanges {
    /// The directory of the run first, then the worktrees of its nodes.
    pub directories: Vec<ChangedDirectory>,
}

/// What was changed in one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedDirectory {
    /// The node whose worktree it is; absent for the directory of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub directory: PathBuf,
    /// By path; a moved file is one that was removed and one that was added.
    pub files: Vec<NetFile>,
    pub insertions: u64,
    pub deletions: u64,
    /// Files that are too large to be compared.
    pub skipped: Vec<String>,
    /// Why nothing can be said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether a turn is changing it now.
    pub running: bool,
    #[serde(skip)]
    trees: Option<(String, String)>,
}

/// A file that differs from before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetFile {
    /// Relative to the directory.
    pub path: String,
    pub change: NetChangeKind,
    /// Absent for a file that is not text.
    pub insertions: Option<u64>,
    pub deletions: Option<u64>,
    /// The turns that changed it, oldest first.
    pub touches: Vec<TurnTouch>,
    /// Whether it was changed while no turn ran, for example by you.
    pub changed_outside: bool,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum NetChangeKind {
    Added,
    Changed,
    Removed,
}

/// A turn that changed a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnTouch {
    pub turn_id: TurnId,
    pub node_id: NodeId,
    pub at: Moment,
}

/// What the log says about the turns in one directory.
#[derive(Clone, Debug)]
struct DirectoryTurns {
    node: Option<(NodeId, String)>,
    directory: PathBuf,
    turns: Vec<TurnTrees>,
}

#[derive(Clone, Debug)]
struct TurnTrees {
    touch: TurnTouch,
    started_at: Moment,
    ended_at: Option<Moment>,
    before: String,
    after: Option<String>,
    files: Vec<String>,
}

/// The net changes of a run.
pub(crate) async fn changes(shared: &Arc<RunsContext>, run: RunId) -> Result<NetChanges, AskError> {
    let found = shared.view_large(run, directories).await?;
    let mut directories = Vec::new();
    for known in found {
        directories.push(of_directory(shared, run, known).await);
    }
    Ok(NetChanges { directories })
}

/// The directories in which turns recorded trees.
fn directories(docs: &Documents<Room>) -> Found<Vec<DirectoryTurns>> {
    let run = lookup::run(docs)?;
    let isolated = run.settings.isolation == Isolation::Worktree;
    let mut found: BTreeMap<Option<NodeId>, DirectoryTurns> = BTreeMap::new();
    let turns = docs.list(&ListQuery::of("turn"))?.into_iter().filter_map(RunDocument::as_turn);
    for turn in turns {
        let node = lookup::find_node(docs, turn.node_id)?;
        let (key, directory) = match node {
            Some(node) if node.workdir != run.cwd => (Some(node), &node.workdir),
            None if isolated => continue,
            Some(_) | None => (None, &run.cwd),
        };
        let Some(trees) = trees(docs, turn)? else { continue };
        let entry = found.entry(key.map(|node| node.id)).or_insert_with(|| DirectoryTurns {
            node: key.map(|node| (node.id, node.label.clone())),
            directory: PathBuf::from(directory),
            turns: Vec::new(),
        });
        entry.turns.push(trees);
    }
    Ok(found.into_values().collect())
}

fn trees(docs: &Documents<Room>, turn: &NodeTurn) -> Found<Option<TurnTrees>> {
    let Some(before) = turn.tree.clone() else { return Ok(None) };
    let diff = match turn.artifacts.diff {
        Some(id) => lookup::find_artifact(docs, id)?.and_then(|file| file.metadata.diff.as_ref()),
        None => None,
    };
    let at = turn.ended_at.unwrap_or(turn.started_at);
    Ok(Some(TurnTrees {
        touch: TurnTouch { turn_id: turn.id, node_id: turn.node_id, at },
        started_at: turn.started_at,
        ended_at: turn.ended_at,
        before,
        after: diff.and_then(|diff| diff.tree.clone()),
        files: diff.map(|diff| diff.files_changed.clone()).unwrap_or_default(),
    }))
}

async fn of_directory(
    shared: &Arc<RunsContext>,
    run: RunId,
    mut known: DirectoryTurns,
) -> ChangedDirectory {
    known.turns.sort_by_key(|turn| turn.started_at);
    let running = known.turns.iter().any(|turn| turn.ended_at.is_none());
    let (node_id, label) = known.node.clone().unzip();
    let blank = ChangedDirectory {
        node_id,
        label,
        directory: known.directory.clone(),
        files: Vec::new(),
        insertions: 0,
        deletions: 0,
        skipped: Vec::new(),
        problem: None,
        running,
        trees: None,
    };
    match compared(shared, run, &known, blank.clone()).await {
        Ok(changed) => changed,
        Err(problem) => ChangedDirectory { problem: Some(problem), ..blank },
    }
}

async fn compared(
    shared: &Arc<RunsContext>,
    run: RunId,
    known: &DirectoryTurns,
    blank: ChangedDirectory,
) -> Result<ChangedDirectory, String> {
    if !git::is_there() {
        return Err("comparing with the start needs git, which is not installed".to_owned());
    }
    let first = known.turns.first().map(|turn| turn.before.clone());
    let base = first.ok_or_else(|| "no turn has recorded its files".to_owned())?;
    let now = shared.shadows.snapshot(shared, run, &known.directory).await?;
    let store = place(shared, run, &known.directory)?;
    let outside = outside(&store, &known.turns, &now.id).await?;
    let mut files = git::net(&store, &base, &now.id).await?;
    for file in &mut files {
        file.changed_outside = outside.contains(&file.path);
        let touched = known.turns.iter().filter(|turn| turn.files.contains(&file.path));
        file.touches = touched.map(|turn| turn.touch.clone()).collect();
    }
    let sum = |count: fn(&NetFile) -> Option<u64>| files.iter().filter_map(count).sum();
    Ok(ChangedDirectory {
        insertions: sum(|file| file.insertions),
        deletions: sum(|file| file.deletions),
        skipped: now.skipped,
        trees: Some((base, now.id)),
        files,
        ..blank
    })
}

/// Files that changed while no turn ran in the directory.
async fn outside(
    store: &TreeStore<'_>,
    turns: &[TurnTrees],
    now: &str,
) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for (before, after) in idle(turns, now) {
        if before != after {
            found.extend(git::net(store, &before, &after).await?.into_iter().map(|file| file.path));
        }
    }
    Ok(found)
}

/// The trees at the ends of each stretch in which no turn ran. Turns are sorted by their start.
fn idle(turns: &[TurnTrees], now: &str) -> Vec<(String, String)> {
    let mut stretches = Vec::new();
    // The end of the turn that ends last so far; none while one is running.
    let mut last: Option<(Moment, Option<&String>)> = None;
    for (at, turn) in turns.iter().enumerate() {
        if at > 0
            && let Some((end, Some(tree))) = last
            && end <= turn.started_at
        {
            stretches.push((tree.clone(), turn.before.clone()));
        }
        match (turn.ended_at, last) {
            (None, _) => return stretches,
            (Some(end), Some((latest, _))) if end < latest => {}
            (Some(end), _) => last = Some((end, turn.after.as_ref())),
        }
    }
    if let Some((_, Some(tree))) = last {
        stretches.push((tree.clone(), now.to_owned()));
    }
    stretches
}

/// Writes files of a directory as they were before the run.
pub(crate) async fn restore(
    shared: &Arc<RunsContext>,
    run: RunId,
    changed: &ChangedDirectory,
    names: &[&str],
) -> Result<(), String> {
    let Some((base, _)) = changed.trees.as_ref().filter(|_| !names.is_empty()) else {
        return Ok(());
    };
    let store = place(shared, run, &changed.directory)?;
    git::restore(&store, base, names).await
}

/// Why changes were not reverted, or a branch not made. Nothing was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReverted {
    #[error("the run has changed nothing in that directory")]
    NoDirectory,
    #[error("a turn is running there: stop it, or wait until it is over")]
    Running,
    #[error("the run has not changed {0}")]
    Unchanged(String),
    /// They were changed while no turn ran.
    #[error(
        "{} changed while no turn ran, which would be lost: revert other files one by one",
        .0.join(", ")
    )]
    Outside(Vec<String>),
    #[error("{0}")]
    Impossible(String),
}

impl From<String> for NotReverted {
    fn from(cause: String) -> Self {
        Self::Impossible(cause)
    }
}

impl NetChanges {
    /// The directory of the run, or the worktree of a node.
    pub fn of(&self, node: Option<NodeId>) -> Result<&ChangedDirectory, NotReverted> {
        let found = self.directories.iter().find(|directory| directory.node_id == node);
        found.ok_or(NotReverted::NoDirectory)
    }
}

impl ChangedDirectory {
    /// The paths that are meant: those, or all.
    pub(crate) fn chosen(&self, paths: &[String]) -> Result<Vec<&NetFile>, NotReverted> {
        if let Some(problem) = &self.problem {
            return Err(NotReverted::Impossible(problem.clone()));
        }
        if paths.is_empty() {
            return Ok(self.files.iter().collect());
        }
        let find = |path: &String| {
            let found = self.files.iter().find(|file| file.path == *path);
            found.ok_or_else(|| NotReverted::Unchanged(path.clone()))
        };
        paths.iter().map(find).collect()
    }
}

/// The patch of a directory against its start, or of some of its files.
pub(crate) async fn patch(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: Option<NodeId>,
    paths: &[String],
) -> Result<Result<String, NotReverted>, AskError> {
    let changes = changes(shared, run).await?;
    let made = async {
        let changed = changes.of(node)?;
        let chosen = changed.chosen(paths)?;
        let names: Vec<&str> = chosen.iter().map(|file| file.path.as_str()).collect();
        Ok(patch_of(shared, run, changed, &names).await?)
    };
    Ok(made.await)
}

pub(crate) async fn patch_of(
    shared: &Arc<RunsContext>,
    run: RunId,
    changed: &ChangedDirectory,
    names: &[&str],
) -> Result<String, String> {
    let Some((base, now)) = &changed.trees else { return Ok(String::new()) };
    let store = place(shared, run, &changed.directory)?;
    git::patch(&store, (base, now), names).await
}

#[cfg(test)]
mod tests {
    use muster_core::{
        Timestamp,
        run::{
            id::{NodeId, TurnId},
            moment::Moment,
        },
    };

    use super::{TurnTouch, TurnTrees, idle};

    fn turn(start: i64, end: Option<i64>, before: &str, after: &str) -> TurnTrees {
        let at = Moment(Timestamp(start));
        TurnTrees {
            touch: TurnTouch { turn_id: TurnId(1), node_id: NodeId(2), at },
            started_at: at,
            ended_at: end.map(|end| Moment(Timestamp(end))),
            before: before.to_owned(),
            after: Some(after.to_owned()),
            files: Vec::new(),
        }
    }

    #[test]
    fn people_run_2_what_changes_between_turns_is_not_the_run_s() {
        let turns = [turn(1, Some(2), "a", "b"), turn(5, Some(6), "c", "d")];
        let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        assert_eq!(idle(&turns, "e"), [pair("b", "c"), pair("d", "e")]);
        // Between turns that overlap there is no time for changes of others.
        let overlapping = [turn(1, Some(9), "a", "d"), turn(5, Some(6), "b", "c")];
        assert_eq!(idle(&overlapping, "e"), [pair("d", "e")]);
        let live = [turn(1, Some(2), "a", "b"), turn(5, None, "b", "b")];
        assert_eq!(idle(&live, "e"), [pair("b", "b")]);
    }
}
