//! `todo_write`.

use muster_core::{
    answers::CallKey,
    field,
    schema::Schema,
    session::{
        SessionId, SessionRejection,
        command::{Create, WriteTodos},
    },
    text,
    todo::{TitleFault, Titles},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    read::TodoAnswer,
    session_choice::{Choice, refused},
};
use crate::{
    ApiError, ErrorCode, OperationEffect, SessionFault, Suggestion, Toolset, WarningCode,
    arguments::{self, Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Longest idempotency key, in characters.
const KEY_CHARS_MAX: usize = 200;

/// Writes this session's todo list: the complete new list, in order, replacing the old one. Each
/// item is a line of text and may not be blank. Others may use the list too: send the revision of
/// todo_read as expected_revision; if the list has changed since, the write is refused and
/// returns the current list: merge, then write again.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TodoWrite {
    /// The whole list; default: empty.
    items: Option<Vec<String>>,
    /// Revision that you have read.
    expected_revision: Option<u64>,
    /// Same key, same arguments: the first result again.
    #[schemars(length(min = 1, max = 200))]
    idempotency_key: Option<String>,
    /// Session id; only where the connection has none.
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
            Titles::read(items).map_err(bad_items)?;
        }
        if given.get("expected_revision").is_some_and(|value| value.as_u64().is_none()) {
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
        let defaulted = self.items.is_none();
        let titles = Titles::of(&self.items.unwrap_or_default()).map_err(bad_items)?;
        let digest = call.scene.digest.clone();
        let key = self.idempotency_key.map(|key| CallKey { key, digest });
        let write = WriteTodos { titles, expected_revision: self.expected_revision, key };
        let choice = call.app.bound().choose(self.session_id.as_deref())?;
        let sessions = call.app.sessions();
        let (id, made) = match choice {
            Choice::Named(id) => (id, None),
            Choice::Standing(id) => (id, Some(Create::default())),
            Choice::Unmade => {
                (call.app.bound().take(sessions.fresh_id()?), Some(Create::default()))
            }
        };
        let written = sessions.write_todos(&id, write, made);
        let done = written.map_err(|fault| explain(fault, &id))?;
        let Some(todo) = done.receipt.todo else { unreachable!("a write leaves a list") };
        let answer = TodoAnswer { items: todo.titles.unwrap_or_default(), revision: todo.revision };
        let mut reply = CallReply::new(&answer);
        if defaulted {
            let message = "items was left out, so the list is empty now".to_owned();
            reply.warn(WarningCode::ItemsDefaulted, message, "Send items, even for an empty list.");
        }
        if done.replayed {
            reply = reply.replayed();
        }
        Ok(call.answer_in_session(Some(&id), reply))
    }
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
fn explain(fault: SessionFault, id: &SessionId) -> CallFailure {
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
