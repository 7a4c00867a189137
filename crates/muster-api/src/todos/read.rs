//! `todo_read`.

use muster_core::session::{SessionRejection, view::TodoList};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session_choice::{Choice, refused};
use crate::{
    OperationEffect, SessionFault, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Reads this session's todo list: the lines in order and a revision. Read before you write; no
/// items and revision 0 mean that no list was written yet.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TodoRead {
    /// Session id; only where the connection has none.
    session_id: Option<String>,
}

/// A todo list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TodoAnswer {
    /// Lines in order.
    pub(super) items: Vec<String>,
    /// Revision; 0 before the first list.
    pub(super) revision: i64,
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
        let (id, list) = match call.app.bound().choose(self.session_id.as_deref())? {
            Choice::Unmade => (None, TodoList::default()),
            Choice::Named(id) => {
                let list = sessions.todo_read(&id).map_err(|fault| refused(fault, &id))?;
                (Some(id), list)
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
                (Some(id), list)
            }
        };
        let answer = TodoAnswer { items: list.items, revision: list.revision };
        Ok(call.answer_in_session(id.as_ref(), CallReply::new(&answer)))
    }
}
