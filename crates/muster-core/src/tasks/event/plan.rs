//! What happens to a plan alone: its creation, its checklist and its contract.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tasks::{entity::Checklist, id::PlanId};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanCreated {
    pub id: PlanId,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Its structured contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract_data: Option<Map<String, Value>>,
}

/// A plan's checklist changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChecklistSet {
    pub plan: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
    /// The checklist afterwards.
    pub checklist: Checklist,
    /// Names of what was given: `steps`, `doc`, `advance`.
    pub given: Vec<String>,
}

/// A plan's contract changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ContractSet {
    pub plan: PlanId,
    /// Its revision afterwards.
    pub revision: u64,
    /// The contract afterwards.
    pub contract: Option<String>,
    /// The structured contract afterwards.
    pub contract_data: Option<Map<String, Value>>,
    /// Whether it was cleared.
    pub clear: bool,
}
