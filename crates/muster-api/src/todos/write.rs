//! `todo_write`.

use muster_core::{
    answers::CallKey,
    field,
    schema::Schema,
    session::{
        SessionId, SessionRejection,
        command::{Create, WriteTodos},
    },
    tasks::id::WorkspaceId,
    text,
    todo::{TitleFault, WrittenList},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    lines::{self, TodoInput},
    read::TodoAnswer,
    session_choice::{Choice, confirm_own, refused, unnamed},
};
use crate::{
    ApiError, ErrorCode, OperationEffect, SessionFault, Suggestion, Toolset, WarningCode,
    arguments::{self, Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    refusals,
    registry::Operation,
    sessions::{TodoWriteFault, WrittenTodos},
};

/// Longest idempotency key, in characters.
const KEY_CHARS_MAX: usize = 200;
/// Open items from which on emptying a list is worth a warning.
const OPEN_ITEMS_WARNED: usize = 5;
/// Items that this warning names.
const TITLES_NAMED_MAX: usize = 10;

/// Writes the todo list: the complete new list, in order, replacing the old one, as items (lines of
/// text) or todos (with status). Others may use it too: send the revision of todo_read as
/// expected_revision; if the list has changed since, the refusal has the current one to merge.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TodoWrite {
    /// The whole list, none blank; without it: empty.
    items: Option<Vec<String>>,
    /// Instead of items.
    todos: Option<Vec<TodoInput>>,
    /// Revision that you have read.
    expected_revision: Option<u64>,
    /// Key that makes a retry safe, 1 to 200 characters.
    #[schemars(length(min = 1, max = 200))]
    idempotency_key: Option<String>,
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    /// Session id; default: the connection's.
    session_id: Option<String>,
}

impl Operation for TodoWrite {
    const NAME: &'static str = "todo_write";
    const TITLE: &'static str = "Write the todo list";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = TodoAnswer;

    /// TT-5: names, then the list from the front, then the rest.
    fn check(schema: &Schema, given: &mut Map<String, Value>) -> Result<(), CallFailure> {
        arguments::check_names(schema, given)?;
        given.retain(|name, value| name == "items" || !value.is_null());
        if let Some(items) = given.get("items") {
            WrittenList::read(items).map_err(bad_items)?;
            if given.contains_key("todos") {
                return Err(invalid_at("todos", Reason::Conflict, "left out beside items"));
            }
        }
        lines::keep_null_steps(given);
        let is_revision = |value: &Value| {
            let number = value.as_number().and_then(arguments::whole);
            number.is_some_and(|number| number.is_u64())
        };
        if given.get("expected_revision").is_some_and(|value| !is_revision(value)) {
            let expected = "an integer of 0 or more";
            return Err(invalid_at("expected_revision", Reason::WrongType, expected));
        }
        if let Some(key) = given.get("idempotency_key") {
            let key = key.as_str().unwrap_or_default();
            if text::is_blank(key) || text::chars(key) > KEY_CHARS_MAX {
                let expected = "a string of 1 to 200 characters";
                return Err(invalid_at("idempotency_key", Reason::BadFormat, expected));
            }
        }
        arguments::check(schema, given)
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let defaulted = self.items.is_none() && self.todos.is_none();
        let list = match self.todos {
            Some(todos) => lines::read(todos)?,
            None => WrittenList::of_titles(&self.items.unwrap_or_default()).map_err(bad_items)?,
        };
        let workspace = self.workspace.as_ref().or(call.app.default_workspace());
        if workspace.is_none() && list.steps().next().is_some() {
            let expected = "the workspace of the steps; this server has no default workspace";
            return Err(invalid("workspace", Reason::Missing, expected));
        }
        let digest = call.scene.digest.clone();
        let key = self.idempotency_key.map(|key| CallKey { key, digest });
        let write = WriteTodos { list, expected_revision: self.expected_revision, key };
        let sessions = call.app.sessions();
        let bound = call.app.bound();
        let (id, made) = match bound.choose(self.session_id.as_deref())? {
            Choice::Unnamed => return Err(unnamed()),
            Choice::Named(id) => {
                confirm_own(call, &id)?;
                (id, None)
            }
            Choice::Standing(id) => (id, Some(Create::default())),
            Choice::Unmade => (bound.take(sessions.fresh_id()?), Some(Create::default())),
        };
        let written = sessions
            .write_todos(&id, write, made, workspace)
            .map_err(|fault| explain(fault, &id, workspace))?;
        // From now on this is the caller's list.
        bound.take(id.clone());
        Ok(call.answer_in_session(Some(&id), reply(written, defaulted)))
    }
}

fn reply(written: WrittenTodos, defaulted: bool) -> CallReply {
    let emptied = written.list.items.is_empty();
    let mut reply = CallReply::new(&TodoAnswer::from(written.list));
    if written.replayed {
        return reply.replayed();
    }
    if defaulted {
        let message = "items was left out, so the list is empty now".to_owned();
        reply.warn(WarningCode::ItemsDefaulted, message, "Send items, even for an empty list.");
    }
    if emptied && written.open_before.len() >= OPEN_ITEMS_WARNED {
        let titles = written.open_before.iter().take(TITLES_NAMED_MAX);
        let titles: Vec<String> = titles.map(|line| text::echo(&line.content)).collect();
        let more = if written.open_before.len() > TITLES_NAMED_MAX { "; …" } else { "" };
        let count = written.open_before.len();
        let message = format!("dropped {count} open items: {}{more}", titles.join("; "));
        let recovery = "Write them again if this was a mistake; the list's history has them too.";
        reply.warn(WarningCode::ItemsDropped, message, recovery);
    }
    reply
}

fn bad_items(fault: TitleFault) -> CallFailure {
    let path = fault.path();
    let (reason, expected) = match fault {
        TitleFault::NotAnArray => (Reason::WrongType, "a list of strings"),
        TitleFault::NotAString(_) => (Reason::WrongType, "a string"),
        TitleFault::Blank(_) => (Reason::BadFormat, "a string that is not blank"),
    };
    let mut failure = invalid_at(&path, reason, expected);
    if let Some(index) = fault.index() {
        failure.error.details.extend([field("index", &index)]);
    }
    failure
}

/// An error whose details also name the position (TT-5).
fn invalid_at(path: &str, reason: Reason, expected: &str) -> CallFailure {
    let mut failure = invalid(path, reason, expected);
    failure.error.details.extend([field("path", path)]);
    failure
}

/// TT-7: with the current list, so that the caller can merge without another call.
fn explain(fault: TodoWriteFault, id: &SessionId, workspace: Option<&WorkspaceId>) -> CallFailure {
    let fault = match (fault, workspace) {
        (TodoWriteFault::Workspace(rejection), Some(workspace)) => {
            return refusals::explain(workspace, *rejection);
        }
        (TodoWriteFault::Workspace(rejection), None) => {
            unreachable!("no workspace was asked, but refused: {rejection:?}")
        }
        (TodoWriteFault::Session(fault), _) => fault,
    };
    let SessionFault::Refused(rejection) = fault else { return refused(fault, id) };
    let SessionRejection::RevisionMismatch { expected, actual, items } = *rejection else {
        return refused(SessionFault::Refused(rejection), id);
    };
    let message = format!("the list has revision {actual}, not {expected}");
    let recovery = "Merge with details.items and write again with the actual revision.";
    let reason = "shows the current list and its revision";
    ApiError::new(ErrorCode::RevisionMismatch, message, recovery)
        .with("id", "main")
        .with("expected", &expected)
        .with("actual", &actual)
        .with("items", &items)
        .suggesting(Suggestion::call("todo_read", reason))
}
