//! What is shown of a session: pure functions of its documents.

mod object;
mod todos;
mod tree;

pub use object::{SessionObject, TodoCount, object};
pub use todos::{
    EntryView, ScopeView, SessionTodos, Snapshots, TodoHistory, TodoHistoryPage, TodoLine,
    TodoList, history, snapshots, todo_list_at, todo_read, todos,
};
pub use tree::{
    Ctrees, DroppedPage, DroppedRequest, NodesPage, TreeRequest, TreeStage, compiled, ctrees,
    dropped_page, tree_page, tree_text,
};

use super::{SessionAggregate, lookup};
use crate::{Documents, WorkRefusal};

type Docs = Documents<SessionAggregate>;
type Shown<T> = Result<T, WorkRefusal<SessionAggregate>>;

/// Number of the session's newest event.
pub fn last_seq(docs: &Docs) -> Shown<u64> {
    Ok(lookup::session(docs)?.last_seq)
}
