//! The history of operations: what undo and redo go by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{id::EntityId, path::StepPath};
use crate::Timestamp;

/// Values of fields by name.
pub type Fields = BTreeMap<String, Value>;

/// One accepted mutation of a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// The plan or task.
    pub entity: EntityId,
    /// Step that was addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<StepPath>,
    /// Ordinal of the node that was addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// What it was.
    pub intent: String,
    /// What can be undone; `None` when it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Where it stands.
    #[serde(default)]
    pub state: OperationState,
    /// Position; zero until it is recorded.
    #[serde(default)]
    pub seq: u64,
    /// When it was accepted.
    #[serde(default)]
    pub at: Timestamp,
    /// Position of the undo that took it back last.
    #[serde(default)]
    pub undone_at: u64,
}

/// What an undoable operation changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Changed fields before.
    pub before: Fields,
    /// Changed fields after.
    pub after: Fields,
    /// Changes on other entities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedChange>,
    /// Whether it closed a step by force.
    #[serde(default)]
    pub forced: bool,
}

/// A change that followed on another entity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DerivedChange {
    /// Plan or task.
    pub id: EntityId,
    /// Step, if it was one.
    pub path: Option<StepPath>,
    /// The field.
    pub field: String,
    /// Before.
    pub before: Value,
    /// After.
    pub after: Value,
}

/// Where an operation stands on the stacks of undo and redo.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// It cannot be undone.
    #[default]
    Final,
    /// It can be undone.
    Undoable,
    /// It was undone and can be redone.
    Redoable,
    /// It was undone, and new work has taken the chance to redo it.
    Undone,
}

impl OperationState {
    /// The word in the list column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Undoable => "undoable",
            Self::Redoable => "redoable",
            Self::Undone => "undone",
        }
    }
}
