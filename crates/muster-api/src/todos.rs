//! The todo tool: `todo_write` and `todo_read` (TT-1 to TT-14).
//!
//! A caller that is bound to a session works on that one; others have to name one. What a list
//! is and how it changes is defined in the room ([`muster_core::session`]).

mod lines;
mod read;
mod session_choice;
mod write;

use crate::registry::OfOperation;

pub(crate) use session_choice::BoundSession;
pub use session_choice::SessionBinding;

/// The rows of the todo tool.
pub(crate) fn rows<R: OfOperation>() -> Vec<R> {
    vec![R::of::<read::TodoRead>(), R::of::<write::TodoWrite>()]
}
