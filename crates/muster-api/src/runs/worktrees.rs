//! What a person judges before saying yes: the worktrees of a run with the merge that would result,
//! and the present content of a file that a call would overwrite.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use muster_agents::{Merged, NotMerged, Worktree, WorktreeState};
use muster_core::{
    Json,
    run::{
        id::{ApprovalId, NodeId, RunId},
        lookup,
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    RunDesk, RunTold,
    fault::{RunCode, RunFault},
};
use crate::Caller;

/// A larger file is not compared with what would replace it.
const PRESENT_BYTES_MAX: u64 = 1024 * 1024;
/// Arguments that name the file of a call.
const PATH_ARGUMENTS: [&str; 3] = ["file_path", "path", "notebook_path"];

/// The worktrees of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct WorktreesAnswer {
    pub worktrees: Vec<WorktreeView>,
}

/// The worktree of a node, and what merging it would do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeView {
    pub node_id: String,
    /// The node's name, while it exists.
    pub label: Option<String>,
    /// Whether the node works in it now.
    pub running: bool,
    pub folder: PathBuf,
    /// The branch that is checked out in it.
    pub branch: Option<String>,
    /// What is in it, in words.
    pub state: String,
    /// Whether all of its work is on another branch, too.
    pub merged: bool,
    #[serde(flatten)]
    pub outcome: MergeOutcome,
}

/// What a merge did, or would do.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct MergeOutcome {
    /// The checkout that it goes to.
    pub target: Option<PathBuf>,
    /// The branch that is checked out there.
    pub into: Option<String>,
    /// Files that change there.
    pub files: Vec<String>,
    /// Why it cannot be merged now.
    pub obstacle: Option<String>,
    /// The commit of a merge that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The file that a call would overwrite, as it is now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PresentFile {
    /// Its path, as the call names it.
    pub path: Option<String>,
    /// Its content; empty for a file that does not exist, null if it cannot be shown.
    pub content: Option<String>,
}

impl RunDesk<'_> {
    /// The worktrees of a run; merging is checked without touching anything.
    pub fn worktrees_of(self, run: RunId) -> RunTold<Json> {
        let found = self.of_run(run)?;
        let worktrees = found.into_iter().map(viewed).collect();
        Ok(Json::of(&WorktreesAnswer { worktrees }))
    }

    /// Merges the work of a node into the checkout where its run was started. The task of the run
    /// gets the commit as evidence.
    pub fn merge_worktree(self, run: RunId, node: NodeId, caller: &Caller) -> RunTold<Json> {
        let name = node.to_string();
        let unknown =
            || RunFault::new(RunCode::UnknownNode, format!("node {node} has no worktree"));
        let found = self.of_run(run)?.into_iter().find(|worktree| worktree.node_id == name);
        let worktree = found.ok_or_else(unknown)?;
        let merged = worktree.merge();
        let outcome =
            merged.map_err(|error| RunFault::new(RunCode::NotMergeable, error.to_string()))?;
        self.note_merge(run, &worktree, &outcome, caller);
        Ok(Json::of(&MergeOutcome {
            target: Some(outcome.target),
            into: Some(outcome.into),
            files: outcome.files,
            obstacle: None,
            commit: outcome.commit,
        }))
    }

    /// Attaches the commit to the task that the run works on. The work is merged by now: what goes
    /// wrong here is logged, not returned.
    fn note_merge(self, run: RunId, worktree: &Worktree, merged: &Merged, caller: &Caller) {
        let bound = self.read(run, |docs| {
            let run = lookup::run(docs)?;
            Ok((run.workspace.clone(), run.task_id))
        });
        let Ok((Some(workspace), Some(task))) = bound else { return };
        let Some(commit) = &merged.commit else { return };
        let name = worktree.label.as_deref().unwrap_or("a deleted node");
        let title = format!("Merged the work of {name} into {}", merged.into);
        let item = json!({ "kind": "commit", "title": title, "content": merged.files.join("\n") });
        let arguments = json!({
            "workspace": workspace,
            "task": task,
            "items": [item],
            "checks": [format!("commit {commit}")],
        });
        let Value::Object(arguments) = arguments else { return };
        let answer = self.0.call_as(caller, "tasks_evidence_capture", arguments);
        if !answer.success {
            tracing::warn!(%run, commit, "could not attach the merge to the task");
        }
    }

    fn of_run(self, run: RunId) -> RunTold<Vec<Worktree>> {
        self.read(run, |docs| lookup::run(docs).map(|_| ()))?;
        let name = run.to_string();
        let all = self.worktrees(&self.driver()?.settings().home)?;
        Ok(all.into_iter().filter(|worktree| worktree.run_id == name).collect())
    }

    /// The file that the call of an approval would overwrite, if it is below the node's directory.
    pub fn present_file(self, approval: ApprovalId) -> RunTold<Json> {
        let run = self.run_of(approval, None)?;
        let (args, workdir) = self.read(run, |docs| {
            let approval = lookup::approval(docs, approval)?;
            let node = lookup::node(docs, approval.node_id)?;
            Ok((approval.tool.args.clone(), PathBuf::from(&node.workdir)))
        })?;
        let named = PATH_ARGUMENTS.iter().find_map(|name| args.get(*name)?.as_str());
        let content = named.and_then(|path| content_below(&workdir, Path::new(path)));
        Ok(Json::of(&PresentFile { path: named.map(str::to_owned), content }))
    }
}

fn viewed(worktree: Worktree) -> WorktreeView {
    let merged = worktree.state == WorktreeState::Merged;
    let outcome = match worktree.preflight() {
        Ok(found) => MergeOutcome {
            target: Some(found.target),
            into: Some(found.into),
            files: found.files,
            obstacle: None,
            commit: None,
        },
        Err(NotMerged::Nothing) => MergeOutcome::default(),
        Err(error) => MergeOutcome { obstacle: Some(error.to_string()), ..MergeOutcome::default() },
    };
    WorktreeView {
        state: worktree.state.words(),
        node_id: worktree.node_id,
        label: worktree.label,
        running: worktree.running,
        folder: worktree.folder,
        branch: worktree.branch,
        merged,
        outcome,
    }
}

/// The text of a file below a directory; links that lead out of it are not followed.
fn content_below(directory: &Path, path: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let path = directory.join(path);
    let Ok(found) = path.canonicalize() else {
        // A new file has a folder, which must be below the directory, too.
        let folder = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok())?;
        return folder.starts_with(&directory).then(String::new);
    };
    if !found.starts_with(&directory) || !found.is_file() {
        return None;
    }
    let file = File::open(found).ok()?;
    if file.metadata().ok()?.len() > PRESENT_BYTES_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(PRESENT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::content_below;

    #[test]
    fn only_text_below_the_directory_is_read() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("project");
        fs::create_dir_all(inside.join("src")).unwrap();
        fs::write(home.path().join("secret"), "x").unwrap();
        fs::write(inside.join("src/a.rs"), "fn a() {}\n").unwrap();
        fs::write(inside.join("raw"), [0xff, 0xfe]).unwrap();
        let read = |path: &str| content_below(&inside, path.as_ref());
        assert_eq!(read("src/a.rs").as_deref(), Some("fn a() {}\n"));
        assert_eq!(read("src/new/b.rs").as_deref(), Some(""));
        assert_eq!(read("raw"), None);
        assert_eq!(read("../secret"), None);
        assert_eq!(read("../new"), None);
        assert_eq!(read(&home.path().join("secret").display().to_string()), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_directory_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("project");
        fs::create_dir_all(&inside).unwrap();
        fs::write(home.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(home.path().join("secret"), inside.join("link")).unwrap();
        assert_eq!(content_below(&inside, "link".as_ref()), None);
    }
}
