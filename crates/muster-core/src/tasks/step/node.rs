//! The nodes of a step's sub-plan.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    tasks::{
        entity::{TaskStatus, Urgency},
        id::NodeId,
        optional,
    },
};

/// A sub-task inside a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepNode {
    /// Stable id.
    pub id: NodeId,
    /// Ordinal inside the step.
    pub ordinal: u32,
    /// What is to be done.
    pub title: String,
    /// How far it is.
    pub status: TaskStatus,
    /// Stored and shown, without effect.
    #[serde(default)]
    pub status_manual: bool,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Urgency,
    #[serde(default)]
    pub blocked: bool,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default)]
    pub lists: NodeLists,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeLists {
    pub blockers: Vec<String>,
    pub dependencies: Vec<String>,
    pub next_steps: Vec<String>,
    pub problems: Vec<String>,
    pub risks: Vec<String>,
    pub success_criteria: Vec<String>,
}

/// Fields of a node to change; absent means unchanged, `Some(None)` clears.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_manual: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Urgency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<bool>,
    #[serde(with = "optional", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    #[serde(with = "optional", skip_serializing_if = "Option::is_none")]
    pub context: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blockers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<String>>,
}
