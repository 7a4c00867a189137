//! Changes that follow from an event and have no event of their own (TASKS-STATE-6).

use serde::{Deserialize, Serialize};

use crate::tasks::{entity::TaskStatus, id::PlanId, path::StepPath};

/// Changes that follow from an event and have no event of their own (TASKS-STATE-6).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Derived {
    /// The task's own status moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusMove>,
    /// Closed steps that were opened again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<StepPath>,
    /// The plan's status moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanMove>,
}

impl Derived {
    /// Whether nothing followed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A status before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StatusMove {
    /// Before.
    pub from: TaskStatus,
    /// After.
    pub to: TaskStatus,
}

/// A plan's status before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlanMove {
    pub id: PlanId,
    /// Before.
    pub from: TaskStatus,
    /// After.
    pub to: TaskStatus,
    /// Its revision afterwards.
    pub revision: u64,
}
