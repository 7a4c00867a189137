//! What changes with nearly every event: the head of the log, counts, and recent changes of the
//! graph. Kept apart from the run, so that an event is cheap.

use serde::{Deserialize, Serialize};

use super::{
    id::{EdgeId, NodeId},
    limits::JOURNAL_ENTRIES_MAX,
    moment::Moment,
};

/// The head of a run's log, and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPulse {
    /// Number of the newest event.
    pub last_seq: u64,
    /// Its time.
    pub updated_at: Moment,
    /// Nodes that there ever were.
    pub nodes: u64,
    pub living_nodes: u32,
    /// Edges that there ever were.
    pub edges: u64,
    /// Turns that there ever were.
    pub turns: u64,
    /// Turns that have not ended.
    pub active_turns: u32,
    pub artifacts: u64,
    /// Approvals that there ever were.
    pub approvals: u64,
    pub pending_approvals: u32,
}

/// Recent changes of the graph, for prompts that contain only what is new.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// Number of the newest event that was dropped; zero when nothing was.
    pub forgotten: u64,
    /// Oldest first.
    pub entries: Vec<GraphEntry>,
}

/// A change of the graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GraphEntry {
    /// Number of its event.
    pub seq: u64,
    /// What happened.
    pub change: GraphChange,
}

/// What happened to the graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum GraphChange {
    /// A node was added.
    Added { node: NodeId },
    /// A node went.
    Removed {
        node: NodeId,
        /// Its name.
        label: String,
    },
    /// A node's name, role or provider changed.
    Changed { node: NodeId },
    /// A node failed.
    Failed { node: NodeId },
    /// An edge was made, changed or removed.
    Edge {
        edge: EdgeId,
        /// Where it begins.
        from: NodeId,
        /// Where it leads.
        to: NodeId,
    },
}

impl Journal {
    /// Adds a change, and drops the oldest beyond the limit.
    pub(super) fn add(&mut self, seq: u64, change: GraphChange) {
        self.entries.push(GraphEntry { seq, change });
        if self.entries.len() > JOURNAL_ENTRIES_MAX {
            self.forgotten = self.entries.remove(0).seq;
        }
    }

    /// The changes after an event, or `None` when some of them were dropped.
    pub fn since(&self, seq: u64) -> Option<impl Iterator<Item = &GraphChange>> {
        let changes = self.entries.iter().filter(move |entry| entry.seq > seq);
        (self.forgotten <= seq).then(|| changes.map(|entry| &entry.change))
    }
}
