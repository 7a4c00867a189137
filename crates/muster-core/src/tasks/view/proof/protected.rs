//! The protected files in the proof of a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Author,
    checks::protected::ProtectedChange,
    tasks::{
        TaskLookup,
        check_gate::{CheckState, ProjectGate},
    },
};

/// Changes that the proof of a task lists.
const LISTED_MAX: usize = 20;

/// Whether a person has seen the protected files as they are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedProof {
    /// `passed`, or `review` while a person has to look.
    pub state: CheckState,
    /// Against what the person saw; 20 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ProtectedChange>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
    /// Who looked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_by: Option<Author>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at_ms: Option<i64>,
}

impl ProtectedProof {
    /// Of the files that the call has read; `None` in a project without protected files.
    pub(super) fn of(gate: &ProjectGate<'_>) -> TaskLookup<Option<Self>> {
        let Some(mut standing) = gate.protected_standing()? else { return Ok(None) };
        let count = standing.changes.len() as u64;
        standing.changes.truncate(LISTED_MAX);
        Ok(Some(Self {
            state: standing.state,
            changes: standing.changes,
            changed: (count > 0).then_some(count),
            seen_by: standing.baseline.and_then(|baseline| baseline.by.clone()),
            seen_at_ms: standing.baseline.map(|baseline| baseline.at.0),
        }))
    }
}
