//! The workspace's own document.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{EntityId, StatusCounts, TaskId};
use crate::{session::SessionId, tasks::optional};

/// Data of the workspace as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Workspace {
    /// Number of the newest plan; ids are never reused.
    pub last_plan: u64,
    /// Number of the newest task.
    pub last_task: u64,
    /// Number of the newest step.
    pub last_step: u64,
    /// Number of the newest node.
    pub last_node: u64,
    /// Number of the newest record of evidence.
    pub last_evidence: u64,
    /// Number of the newest card.
    pub last_card: u64,
    /// Number of the newest run of a check.
    #[serde(skip_serializing_if = "optional::is_zero")]
    pub last_check: u64,
    /// The target of calls without one.
    pub focus: Option<EntityId>,
    /// Whether a person has accepted the definitions of a project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_projects: bool,
    /// Tasks with a claim, lapsed or not, so that a list need not read every task.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub claimed: BTreeSet<TaskId>,
    pub plans: StatusCounts,
    pub tasks: StatusCounts,
    /// The sessions that wrote a todo list here last, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todo_sessions: Vec<SessionId>,
}
