//! The todo tool: `todo_write` and `todo_read` (TT-1 to TT-14).
//!
//! A caller that is bound to a session works on that one; anybody else has to name one. What a list
//! is and how it changes is the room's matter ([`muster_core::session`]).

mod read;
mod session_choice;
mod write;

use crate::Row;

pub use session_choice::Binding;
pub(crate) use session_choice::Bound;

/// The rows of the todo tool.
pub(crate) fn rows() -> Vec<Row> {
    vec![Row::of::<read::TodoRead>(), Row::of::<write::TodoWrite>()]
}
