//! The C-Tree room: the tree of a session's context, hashed, scored and compiled into text.
//!
//! ```text
//!   event ──Occurrence::read──► Occurrence ──plant──► nodes in storage      the session's own tree
//!                                                          │
//!                                                          └──► Tree ──collapse, compile──► text
//!
//!   C-Tree events, REST body ──merge──► Summary ──► line                    a reader's copy of it
//! ```
//!
//! A [`TreeLookup`] stores the nodes, one document each. Planting reads only the few documents that
//! it needs ([`growth`]).
//!
//! Not here: the session and its log, which call this room for every event; how documents are
//! stored; who may pin what; what a screen does with a line.

mod canonical;
pub mod chain;
mod digest;
pub mod growth;
pub mod merge;
mod node;
mod node_storage;
mod notice;
mod occurrence;
mod planting;
mod score;
mod task_status;
#[cfg(test)]
mod tests;
pub mod tree;

pub use digest::{DIGEST_BYTES, Digest};
pub use growth::{EventMoment, GrowthEffect, Restatement, Sprout};
pub use node::{Kind, LABEL_CHARS_MAX, NodeId, NodeText, Role, Status, TreeNode, start};
pub use node_storage::{Anchor, TreeLookup, TreeStorage};
pub use notice::{
    Collapse, CollapsePolicy, Compiler, LastNode, NodeNotice, NoticedNode, Runner, Sections,
    TaskSnapshot, TreeSnapshot, last_node, snapshot, task_snapshot,
};
pub use occurrence::{CallOccurrence, Occurrence, Proof, ResultOccurrence, TakenInput, TaskChange};
pub use planting::{Planted, TodoChange, plant, root_label};
pub use score::Score;
pub use tree::ContextTree;
