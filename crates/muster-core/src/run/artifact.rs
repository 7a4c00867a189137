//! Artifacts: what is known of the files that a run produced. The files themselves are elsewhere.

pub(crate) mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{ArtifactId, NodeId, RunId, TurnId},
    moment::Moment,
    shape::words,
};

words! {
    /// What an artifact is.
    ArtifactKind {
        /// What a turn changed.
        Diff = "diff",
        /// What a turn was asked.
        Prompt = "prompt",
        /// Output of a program.
        Log = "log",
        /// The text of a turn.
        Transcript = "transcript",
        /// Knowledge that goes with a handoff.
        Contextpack = "contextpack",
        /// An outcome.
        Report = "report",
    }
    /// How a diff was made.
    DiffMethod {
        /// From trees of a shadow index.
        GitShadow = "git-shadow",
        /// From sizes and hashes of files.
        Snapshot = "snapshot",
        /// Not at all.
        None = "none",
    }
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its id.
    pub id: ArtifactId,
    /// Its run.
    pub run_id: RunId,
    /// The node that it came from; the runtime for artifacts of the run.
    pub node_id: NodeId,
    /// The turn that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// What it is.
    pub kind: ArtifactKind,
    /// Its file name for people.
    pub name: String,
    /// Where the file is.
    pub path: String,
    /// When it was created.
    pub created_at: Moment,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// Its media type.
    pub content_type: String,
    /// Whether something was left out.
    pub truncated: bool,
    /// Further facts.
    pub metadata: ArtifactMetadata,
    /// Which artifact of the run it is, counted from one.
    pub number: u64,
}

/// Further facts: filled for diffs, empty for others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Metadata")]
pub struct ArtifactMetadata {
    /// Of a diff.
    #[serde(flatten)]
    pub diff: Option<DiffMetadata>,
}

/// What is known of a diff (RUNS-DIFF-3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffMetadata {
    /// Changed paths, sorted and relative.
    pub files_changed: Vec<String>,
    /// The same in one line.
    pub summary: String,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// How it was made.
    pub method: DiffMethod,
    /// Tree before the turn.
    pub base: Option<String>,
    /// Tree after the turn.
    pub tree: Option<String>,
    /// Hash of the change itself; `None` when there is none.
    pub diff_hash: Option<String>,
    /// Whether others worked in the same directory.
    pub shared: bool,
    /// Their turns.
    pub overlap_turns: Vec<TurnId>,
    /// Files that were not examined.
    pub skipped: Vec<String>,
    /// Paths that the node was not allowed to change.
    pub violations: Vec<String>,
}

/// A file as its writer describes it; the run adds the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenFile {
    /// The id that its path already bears.
    pub id: ArtifactId,
    pub kind: ArtifactKind,
    /// Its file name for people.
    pub name: String,
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// Its media type.
    pub content_type: String,
    /// Whether something was left out.
    pub truncated: bool,
    pub diff: Option<DiffMetadata>,
}

/// A reference to an artifact inside text (RUNS-REF).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    pub id: ArtifactId,
    /// The kind that the reference claims.
    pub kind: Option<ArtifactKind>,
}

impl Reference {
    /// Reads `artifact://ID`, `artifact://KIND/ID` or `contextpack://pack/ID`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(id) = text.strip_prefix("contextpack://pack/") {
            let kind = Some(ArtifactKind::Contextpack);
            return id.parse().ok().map(|id| Self { id, kind });
        }
        let rest = text.strip_prefix("artifact://")?;
        let Some((kind, id)) = rest.split_once('/') else {
            return rest.parse().ok().map(|id| Self { id, kind: None });
        };
        let kind = ArtifactKind::ALL.iter().copied().find(|known| known.name() == kind)?;
        id.parse().ok().map(|id| Self { id, kind: Some(kind) })
    }

    /// Whether it may mean this artifact.
    pub fn fits(&self, artifact: &Artifact) -> bool {
        self.id == artifact.id && self.kind.is_none_or(|kind| kind == artifact.kind)
    }
}

/// The canonical reference to an artifact.
pub fn artifact_reference(id: ArtifactId) -> String {
    format!("artifact://{id}")
}

/// The reference to a context pack.
pub fn pack_reference(id: ArtifactId) -> String {
    format!("contextpack://pack/{id}")
}

/// A reference to an artifact as an envelope carries it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactLink {
    /// What it is, in the sender's words; the artifact's kind by default.
    #[serde(rename = "type")]
    pub kind: String,
    /// The reference.
    #[serde(rename = "ref")]
    pub reference: String,
}
