//! What a run has changed as a whole, and what a person does with it.

use muster_agents::{AskError, MadeBranch, NetChanges, NotReverted, RevertedFiles};
use muster_core::{
    Json,
    run::id::{ArtifactId, NodeId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    RunTold,
    fault::{RunCode, RunFault},
};

/// What a run has changed, compared with its start.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NetChangesAnswer {
    pub changes: NetChanges,
}

/// A branch to make of the changes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchInput {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The node whose worktree is meant; without it the directory of the run.
    #[serde(default)]
    pub node_id: Option<NodeId>,
}

/// A branch that was made. Nothing was checked out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct BranchAnswer {
    pub branch: String,
    pub commit: String,
}

/// What to take back.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RevertInput {
    /// Files, relative to the directory; empty for everything that the run changed there.
    pub paths: Vec<String>,
    /// The node whose worktree is meant; without it the directory of the run.
    pub node_id: Option<NodeId>,
}

/// What was taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct RevertAnswer {
    pub files: Vec<String>,
    /// The artifact with the patch that makes the changes again.
    pub artifact_id: Option<ArtifactId>,
}

/// The response about all changes.
pub fn changes(found: Result<NetChanges, AskError>) -> RunTold<Json> {
    Ok(Json::of(&NetChangesAnswer { changes: found? }))
}

/// The text of a patch.
pub fn patch(found: Result<Result<String, NotReverted>, AskError>) -> RunTold<String> {
    found?.map_err(|refusal| refused(&refusal))
}

/// The response about a branch.
pub fn branch(made: Result<Result<MadeBranch, NotReverted>, AskError>) -> RunTold<Json> {
    let MadeBranch { branch, commit } = made?.map_err(|refusal| refused(&refusal))?;
    Ok(Json::of(&BranchAnswer { branch, commit }))
}

/// The response about what was taken back.
pub fn reverted(made: Result<Result<RevertedFiles, NotReverted>, AskError>) -> RunTold<Json> {
    let RevertedFiles { files, patch } = made?.map_err(|refusal| refused(&refusal))?;
    Ok(Json::of(&RevertAnswer { files, artifact_id: patch }))
}

fn refused(refusal: &NotReverted) -> RunFault {
    let code = match refusal {
        NotReverted::Running => RunCode::NodeRunning,
        NotReverted::Outside(_) => RunCode::ChangedSince,
        NotReverted::NoDirectory | NotReverted::Unchanged(_) => RunCode::BadValue,
        NotReverted::Impossible(_) => RunCode::NotMergeable,
    };
    RunFault::new(code, refusal.to_string())
}
