//! The fact of an undo or redo.

use serde::{Deserialize, Serialize};

use super::{Derived, EntityRef};
use crate::tasks::{
    fields,
    history::FieldValues,
    id::{EntityId, PlanId},
    path::StepPath,
};

/// An operation was undone or redone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Restored {
    /// The plan or task.
    pub subject: EntityRef,
    /// Position of the operation in the history.
    pub op_seq: u64,
    pub intent: String,
    /// True for undo, false for redo.
    pub undo: bool,
    /// Step that was written, if it was one.
    pub path: Option<StepPath>,
    /// Node that was written, if it was one.
    pub node: Option<u32>,
    /// The values written.
    pub fields: FieldValues,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
    /// Steps that went or came back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepPath>,
    /// Plan and task that went or came back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<EntityId>,
}

impl Restored {
    /// The plan that it put the task back under, if it moved the task.
    pub fn other_plan(&self) -> Option<PlanId> {
        let mut plan = None;
        fields::read(&self.fields, "plan", &mut plan);
        plan
    }
}
