//! What is shown of a session: pure functions of its documents.

mod object;
mod todos;
mod tree;

pub use object::{SessionObject, TodoCount, object};
pub use todos::{
    EntryView, History, HistoryPage, ScopeView, Snapshots, TodoList, Todos, history, snapshots,
    todo_read, todos,
};
pub use tree::{
    Ctrees, DroppedPage, DroppedRequest, NodesPage, Stage, TreeRequest, compiled, ctrees,
    dropped_page, tree_page, tree_text,
};

use super::{Sessions, lookup};
use crate::{Documents, Refusal};

type Docs = Documents<Sessions>;
type Shown<T> = Result<T, Refusal<Sessions>>;

/// Number of the session's newest event.
pub fn last_seq(docs: &Docs) -> Shown<u64> {
    Ok(lookup::session(docs)?.last_seq)
}
