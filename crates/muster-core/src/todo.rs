//! The todo room: the lists of a session, and the updates that change them.
//!
//! ```text
//!            event ──read──► Update ──┬── Reader.handle          a reader's copy of all lists
//!                                     └── Scope.accept ─┐
//!   todo_write ──► Titles ─────────────── Scope.write ──┴─► Published ──Scope.follow──► Scope
//! ```
//!
//! Readers are generous about what they take, the server is strict about what it sends; both read
//! with the same code ([`read()`]) and change lists with the same code (`settle`, then
//! [`Change::apply`]).
//!
//! Not here: sessions and their event log, redaction by default (a caller asks for it before an
//! update is accepted), words for people who are refused, and the width of characters on a
//! screen.

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
mod titles;
mod update;
pub mod view;

pub use change::{Change, Op};
pub use incoming::Incoming;
pub use item::{Counts, Item, ItemId, Metadata, Priority, Status};
pub use key::{SCOPE_KEY_CHARS_MAX, ScopeKey};
pub use patch::Patch;
pub use published::{Published, SnapshotResult};
pub use read::{Fallback, Malformed, read};
pub use reader::{Connection, Handled, HandledSeqs, Ignored, Reader, ScopeState};
pub use scope::{Rejection, Scope, Stamp};
pub use titles::{TitleFault, Titles};
pub use update::{Entry, Operation, Progress, Update};
