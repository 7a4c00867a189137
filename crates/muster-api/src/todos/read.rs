//! `todo_read`.

use muster_core::{
    session::{
        SessionId, SessionRejection,
        view::{TodoLine, TodoList},
    },
    tasks::id::WorkspaceId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session_choice::{Choice, confirm_own, refused, unnamed};
use crate::{
    OperationEffect, SessionFault, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Reads the todo list: the lines in order, the same with status, and a revision; 0 means that no
/// list was written yet. Read before you write. A list with carried_over is of an earlier session:
/// write with its session_id to continue it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TodoRead {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    /// Session id; default: the connection's.
    session_id: Option<String>,
}

/// A todo list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TodoAnswer {
    /// Lines in order.
    pub(super) items: Vec<String>,
    /// The same items with their status.
    pub(super) todos: Vec<TodoLine>,
    /// Revision; 0 before the first list.
    pub(super) revision: i64,
    /// The session whose list was carried over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<SessionId>,
    /// Whether it is the list of an earlier session.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) carried_over: bool,
}

impl From<TodoList> for TodoAnswer {
    fn from(list: TodoList) -> Self {
        let TodoList { items, todos, revision } = list;
        Self { items, todos, revision, session_id: None, carried_over: false }
    }
}

impl Operation for TodoRead {
    const NAME: &'static str = "todo_read";
    const TITLE: &'static str = "Read the todo list";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = TodoAnswer;

    fn is_brief(_arguments: &Map<String, Value>) -> bool {
        true
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let sessions = call.app.sessions();
        let workspace = self.workspace.as_ref().or(call.app.default_workspace());
        let (id, list) = match call.app.bound().choose(self.session_id.as_deref())? {
            Choice::Unnamed if workspace.is_none() => return Err(unnamed()),
            Choice::Unmade | Choice::Unnamed => return carried_over(call, workspace),
            Choice::Named(id) => {
                confirm_own(call, &id)?;
                let list = sessions.todo_read(&id).map_err(|fault| refused(fault, &id))?;
                (id, list)
            }
            Choice::Standing(id) => {
                let list = match sessions.todo_read(&id) {
                    // It is created when its first list is written.
                    Err(SessionFault::Refused(rejection))
                        if *rejection == SessionRejection::UnknownSession =>
                    {
                        TodoList::default()
                    }
                    answer => answer.map_err(|fault| refused(fault, &id))?,
                };
                (id, list)
            }
        };
        Ok(call.answer_in_session(Some(&id), CallReply::new(&TodoAnswer::from(list))))
    }
}

/// The workspace's newest list, for a caller that has none of its own (EASE-TODO-2).
fn carried_over(
    call: &CheckedCall<'_>,
    workspace: Option<&WorkspaceId>,
) -> Result<CallAction, CallFailure> {
    let newest = match workspace {
        Some(workspace) => call.app.sessions().newest_list(workspace)?,
        None => None,
    };
    let Some((id, list)) = newest else {
        let none = TodoAnswer::from(TodoList::default());
        return Ok(call.answer_in_session(None, CallReply::new(&none)));
    };
    let session_id = Some(id.clone());
    let answer = TodoAnswer { session_id, carried_over: true, ..TodoAnswer::from(list) };
    Ok(call.answer_in_session(Some(&id), CallReply::new(&answer)))
}
