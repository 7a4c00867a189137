//! Events of the runs of checks.

use serde::{Deserialize, Serialize};

use crate::{
    checks::record::{CheckResult, CheckedWork, TreeState},
    run::node::Process,
    tasks::{
        event::TaskRef,
        id::{CheckRunId, StepId},
        path::StepPath,
    },
};

/// A check is going to be run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckRequested {
    pub run: CheckRunId,
    /// Name of the check.
    pub check: String,
    /// Digest of its definition.
    pub definition: String,
    /// The command line.
    pub command: String,
    pub directory: String,
    /// The Muster process that is going to run it.
    pub runner: Process,
    /// The files at that time.
    pub files: TreeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_for: Option<CheckedWork>,
    /// Set when the event is imported: then the whole run proves nothing in this store, whatever
    /// the later events of it say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// The process of a check has started; a second time if it runs once more.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckStarted {
    pub run: CheckRunId,
    pub process: Process,
}

/// A run of a check has ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckFinished {
    pub run: CheckRunId,
    pub ending: CheckEnding,
}

/// How a run of a check ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckEnding {
    Judged(Box<CheckResult>),
    /// By the verdict of another run on the same files.
    Answered {
        by: CheckRunId,
    },
    /// Without a verdict.
    Interrupted {
        reason: String,
    },
}

/// The waiver of a check was asked for, given or taken back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckWaiverSet {
    pub task: TaskRef,
    /// The step; without one it is about the whole task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<(StepId, StepPath)>,
    /// Name of the check.
    pub check: String,
    pub change: WaiverChange,
    /// Whether the task is listed as waiting for a person; not in events before there was a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaiverChange {
    /// An agent wants a person to decide.
    Asked {
        reason: String,
    },
    /// A person has set the check aside: for the files with this digest, or for good.
    Given {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
    },
    TakenBack,
}
