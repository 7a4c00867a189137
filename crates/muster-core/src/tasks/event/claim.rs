//! Claims of tasks.

use serde::{Deserialize, Serialize};

use crate::{
    ConnectionId,
    tasks::id::{PlanId, TaskId},
};

/// The claim of a task changed; the author of the event is the one who did it. It is not a change
/// of the task, whose revision stays.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimSet {
    pub task: TaskId,
    pub parent: PlanId,
    pub change: ClaimChange,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimChange {
    Taken {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<ConnectionId>,
        lease_seconds: u32,
        /// Where the holder works, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
    },
    /// The holder wrote to the task; only for replay.
    Renewed,
    Released,
}
