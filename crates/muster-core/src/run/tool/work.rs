//! Tools that Muster executes for an agent: those that look at the run, and those that work in the
//! node's directory. The comment of a tool is what a model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{
    artifact::ArtifactKind,
    command::{NodeRef, ToolRequest},
    id::TurnId,
    node::NodeStatus,
    tool::arguments::tools,
};

tools! {
    /// A tool that only looks, with its arguments.
    LookRequest;
    /// Nodes.
    ListNodes(ListNodes) = "list_nodes",
    /// One node.
    GetNode(GetNode) = "get_node",
    /// What an artifact holds.
    ReadArtifact(ReadArtifact) = "read_artifact",
    /// Artifacts.
    ListArtifacts(ListArtifacts) = "list_artifacts",
}

tools! {
    /// A tool that works in the node's directory, with its arguments.
    WorkRequest;
    /// Run a command.
    Command(ExecuteCommand) = "command",
    /// Read a file.
    ReadFile(ReadFile) = "read_file",
    /// Write a file.
    WriteFile(WriteFile) = "write_file",
    /// List a folder.
    ListFiles(ListFiles) = "list_files",
    /// Delete a file.
    DeleteFile(DeleteFile) = "delete_file",
}

/// List the nodes of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListNodes {
    /// Only nodes with this status.
    pub status: Option<NodeStatus>,
    /// Only nodes with this role.
    pub role: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
}

/// Show one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetNode {
    /// Its id or alias.
    pub node: NodeRef,
}

/// Read an artifact by its reference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadArtifact {
    /// `artifact://ID`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Characters to skip.
    #[serde(default)]
    pub offset: Option<u64>,
    /// Characters to read at most.
    #[serde(default)]
    pub max_chars: Option<u64>,
}

/// List artifacts of the run, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListArtifacts {
    /// Only those of this node: its id or alias.
    pub node: Option<NodeRef>,
    /// Only those of this kind.
    pub kind: Option<ArtifactKind>,
    /// Only those of this turn.
    pub turn: Option<TurnId>,
    /// At most this many.
    pub limit: Option<u64>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
}

/// Run a command through sh in your directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecuteCommand {
    /// The command.
    pub cmd: String,
    /// A folder below your directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Seconds after which it is killed.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// Read a file of your directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFile {
    /// The file.
    pub path: String,
    /// Bytes to skip.
    #[serde(default)]
    pub offset: Option<u64>,
    /// Bytes to read at most.
    #[serde(default)]
    pub max_bytes: Option<u64>,
}

/// Write a file whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFile {
    /// The file.
    pub path: String,
    /// All that it holds afterwards.
    pub content: String,
}

/// List a folder of your directory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListFiles {
    /// The folder; your directory by default.
    pub path: Option<String>,
    /// Levels below it.
    pub depth: Option<u64>,
}

/// Delete a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteFile {
    /// The file.
    pub path: String,
}

/// Names of every tool of runs.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    let all = [ToolRequest::NAMES, LookRequest::NAMES, WorkRequest::NAMES];
    all.into_iter().flatten().copied()
}

/// Whether the arguments of one of these tools fit it; `None` for other tools.
pub(crate) fn check(
    name: &str,
    args: &serde_json::Map<String, serde_json::Value>,
) -> Option<Result<(), String>> {
    let looked = LookRequest::read(name, args).map(|read| read.map(|_| ()));
    looked.or_else(|| WorkRequest::read(name, args).map(|read| read.map(|_| ())))
}
