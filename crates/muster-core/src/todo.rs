//! The todo room: the lists of a session, and the updates that change them.
//!
//! ```text
//!            event ──read──► Update ──┬── Reader.handle          a reader's copy of all lists
//!                                     └── Scope.accept ─┐
//!   todo_write ──► WrittenList ────────── Scope.write ──┴─► Published ──Scope.follow──► Scope
//! ```
//!
//! Readers are generous about what they take, the server is strict about what it sends; both read
//! with the same code ([`read()`]) and change lists with the same code (`settle`, then
//! [`ListChange::apply`]).
//!
//! Not here: sessions and their event log, redaction by default (a caller requests it before an
//! update is accepted), messages for rejections, and the width of characters on a screen.

mod change;
mod incoming;
mod item;
mod key;
mod patch;
mod published;
pub mod read;
mod reader;
mod scope;
mod settle;
#[cfg(test)]
mod tests;
mod update;
pub mod view;
mod written;

pub use change::{ListChange, Op};
pub use incoming::Incoming;
pub use item::{ItemId, TodoCounts, TodoItem, TodoMetadata, TodoPriority, TodoStatus};
pub use key::{SCOPE_KEY_CHARS_MAX, ScopeKey};
pub use patch::TodoPatch;
pub use published::{Published, SnapshotResult};
pub use read::{Fallback, Malformed, read};
pub use reader::{ConnectionStart, Handled, HandledSeqs, IgnoredUpdate, ScopeState, TodoReader};
pub use scope::{Stamp, TodoRejection, TodoScope};
pub use update::{GivenStatus, TodoEntry, TodoOperation, TodoUpdate};
pub use written::{StepLink, TitleFault, ToolStatus, WrittenList, WrittenTodo};
