//! Context packs: the knowledge that is sent with a handoff (RUNS-PACK), filled in a fixed order
//! until its characters are used up. The same sources give the same pack.

use serde::Serialize;

use super::{
    RunAggregate, RunDocument,
    artifact::{Artifact, ArtifactKind},
    id::{ArtifactId, ItemId, NodeId, RunId},
    lookup::{self, Lookup},
    moment::Moment,
    node::Node,
    record::{GlobalMode, Mode, Run},
};
use crate::{
    Documents, ListOrder, ListQuery,
    ctree::{CollapsePolicy, Compiler, Digest, tree::Compiled},
    tasks::id::TaskId,
    text::{chars, cut},
};

type Docs = Documents<RunAggregate>;

/// Artifacts of the sender that are considered.
const ARTIFACTS_MAX: u32 = 50;
/// Characters of a goal.
const GOAL_CHARS_MAX: usize = 2_000;

/// What a pack needs besides the documents of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct PackSource {
    /// The id of its artifact.
    pub id: ArtifactId,
    /// When it is made.
    pub now: Moment,
    /// The sender's task.
    pub task: Option<PackTask>,
    /// Facts about the repository.
    pub repo_facts: RepoFacts,
    /// Excerpts of documentation, the most useful first.
    pub docs: Vec<DocRef>,
}

/// Facts about the repository that the sender works in.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepoFacts {
    /// Directory of the run.
    pub cwd: String,
    /// Directory of the sender.
    pub workdir: String,
    /// The branch that is checked out; none without a repository.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Files that differ from it.
    pub changed_files: Option<usize>,
}

/// A task with its capsule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PackTask {
    pub workspace: String,
    pub id: TaskId,
    /// What it is, in short.
    pub capsule: String,
}

/// An excerpt of documentation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DocRef {
    pub path: String,
    pub excerpt: String,
}

/// A file that the sender changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RelevantFile {
    pub path: String,
    /// In which change.
    pub summary: String,
}

/// An artifact of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PackArtifact {
    pub id: ArtifactId,
    pub kind: ArtifactKind,
}

/// An input of the sender's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackInput {
    /// The message or envelope.
    pub payload_id: ItemId,
}

/// The compiled context tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PackTree {
    /// Hash of the whole tree.
    pub z1: Digest,
    /// Hash of the compiled part.
    pub z2: Digest,
    /// Hash of the text.
    pub z3: Digest,
    pub text: String,
    pub policy: CollapsePolicy,
    /// How many were.
    pub dropped: u64,
}

impl From<Compiled> for PackTree {
    fn from(compiled: Compiled) -> Self {
        let Compiled { text, compiler: Compiler { z1, z2, z3 }, collapse, .. } = compiled;
        Self { z1, z2, z3, text, policy: collapse.policy, dropped: collapse.dropped }
    }
}

/// How much of the budget is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackBudget {
    /// Characters that there are.
    pub max_chars: usize,
    /// Characters that are used.
    pub used_chars: usize,
    /// Whether something was left out.
    pub truncated: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunContextPack {
    pub pack_id: ArtifactId,
    pub run_id: RunId,
    /// The sender.
    pub node_id: NodeId,
    /// When it was created.
    pub created_at: Moment,
    /// What the user wants.
    pub goal: Option<String>,
    pub definition_of_done: Vec<String>,
    /// Write access of the nodes.
    pub global_mode: GlobalMode,
    pub node_mode: Mode,
    /// Where documentation is.
    pub docs_root: Option<String>,
    /// Excerpts of documentation.
    pub doc_refs: Vec<DocRef>,
    /// Facts about the repository.
    pub repo_facts: RepoFacts,
    /// Files that the sender changed.
    pub relevant_files: Vec<RelevantFile>,
    /// Inputs of the sender's turn.
    pub inputs: Vec<PackInput>,
    /// Artifacts of the sender.
    pub artifacts: Vec<PackArtifact>,
    /// What is not allowed.
    pub constraints: Vec<String>,
    /// The sender's task.
    pub task: Option<PackTask>,
    /// The compiled context tree of the sender.
    pub ctree: Option<PackTree>,
    /// How much of the budget is used.
    pub budget: PackBudget,
}

/// A pack in the making.
#[derive(Clone, Debug)]
pub struct Builder {
    pack: RunContextPack,
    docs: Vec<DocRef>,
}

/// Begins a pack with the run's own data: goal, task, changed files, artifacts (RUNS-PACK-3).
pub fn begin(docs: &Docs, sender: &Node, source: PackSource) -> Lookup<Option<Builder>> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(None) };
    let found = recent_artifacts(docs, sender.id)?;
    let inputs = match sender.live_turn() {
        Some(id) => lookup::find_turn(docs, id)?,
        None => None,
    };
    let mut builder = Builder { pack: blank(run, sender, &source), docs: source.docs };
    builder.add(|pack| pack.goal = run.goal.as_deref().map(|goal| cut(goal, GOAL_CHARS_MAX)));
    builder.add(|pack| pack.definition_of_done.clone_from(&run.definition_of_done));
    builder.add(|pack| pack.task.clone_from(&source.task));
    let taken = inputs.map(|turn| turn.consumed.as_slice()).unwrap_or_default();
    for input in taken {
        builder.add(|pack| pack.inputs.push(PackInput { payload_id: input.id }));
    }
    for (path, summary) in found.iter().flat_map(|artifact| changed(artifact)) {
        if builder.pack.relevant_files.iter().all(|file| file.path != path) {
            builder.add(|pack| pack.relevant_files.push(RelevantFile { path, summary }));
        }
    }
    for artifact in &found {
        let known = PackArtifact { id: artifact.id, kind: artifact.kind };
        builder.add(|pack| pack.artifacts.push(known));
    }
    Ok(Some(builder))
}

fn blank(run: &Run, sender: &Node, source: &PackSource) -> RunContextPack {
    let mut constraints = Vec::new();
    if run.global_mode == GlobalMode::Planning {
        constraints.push("PLANNING: only documentation may be written".to_owned());
    }
    let max_chars = run.settings.context_max_chars as usize;
    RunContextPack {
        pack_id: source.id,
        run_id: run.id,
        node_id: sender.id,
        created_at: source.now,
        goal: None,
        definition_of_done: Vec::new(),
        global_mode: run.global_mode,
        node_mode: run.mode,
        docs_root: run.docs_paths.first().cloned(),
        doc_refs: Vec::new(),
        repo_facts: source.repo_facts.clone(),
        relevant_files: Vec::new(),
        inputs: Vec::new(),
        artifacts: Vec::new(),
        constraints,
        task: None,
        ctree: None,
        budget: PackBudget { max_chars, used_chars: 0, truncated: false },
    }
}

fn recent_artifacts(docs: &Docs, node: NodeId) -> Lookup<Vec<&Artifact>> {
    let query = ListQuery {
        parent: Some(node.to_string()),
        order: ListOrder::Descending,
        limit: Some(ARTIFACTS_MAX),
        ..ListQuery::of("artifact")
    };
    let found = docs.list(&query)?.into_iter().filter_map(RunDocument::as_artifact);
    Ok(found.filter(|artifact| artifact.kind != ArtifactKind::Prompt).collect())
}

/// Paths of a diff, each with the summary of the whole.
fn changed(artifact: &Artifact) -> Vec<(String, String)> {
    let Some(diff) = &artifact.metadata.diff else { return Vec::new() };
    diff.files_changed.iter().map(|path| (path.clone(), diff.summary.clone())).collect()
}

impl Builder {
    /// Makes a change if the pack still fits.
    fn add(&mut self, change: impl FnOnce(&mut RunContextPack)) {
        let mut larger = self.pack.clone();
        change(&mut larger);
        if size(&larger) <= self.pack.budget.max_chars {
            self.pack = larger;
        } else {
            self.pack.budget.truncated = true;
        }
    }

    /// Characters that are left for the context tree.
    pub fn left(&self) -> usize {
        self.pack.budget.max_chars.saturating_sub(size(&self.pack))
    }

    /// Adds the compiled context tree, then excerpts as long as they fit.
    pub fn finish(mut self, ctree: Option<PackTree>) -> RunContextPack {
        if let Some(ctree) = ctree {
            self.add(|pack| pack.ctree = Some(ctree));
        }
        for excerpt in std::mem::take(&mut self.docs) {
            self.add(|pack| pack.doc_refs.push(excerpt));
        }
        self.pack.budget.used_chars = size(&self.pack);
        self.pack
    }
}

/// Characters of the compact JSON, with room for the digits of its own size.
fn size(pack: &RunContextPack) -> usize {
    let digits = RunContextPack {
        budget: PackBudget { used_chars: pack.budget.max_chars, ..pack.budget },
        ..pack.clone()
    };
    serde_json::to_string(&digits).map_or(usize::MAX, |text| chars(&text))
}
