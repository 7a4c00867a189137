//! The todo tool's write (TT-5 to TT-10). Faults of the list itself were reported before it became
//! a [`crate::todo::WrittenList`].

use super::{CommandDraft, Decided, SessionEvent, check, reject};
use crate::{
    session::{
        SessionRejection,
        body::{self, ListWritten},
        command::WriteTodos,
        event::Aside,
        lookup,
        receipt::TodoSource,
    },
    todo::{ScopeKey, TodoScope},
};

/// Writes the session's own list.
pub(super) fn write(draft: &mut CommandDraft<'_>, write: &WriteTodos) -> Decided<()> {
    let main = ScopeKey::main();
    let unwritten = TodoScope::unwritten(main.clone(), 0);
    let scope = lookup::scope(draft.docs(), &main)?.unwrap_or(&unwritten);
    if let Some(expected) = write.expected_revision
        && i64::try_from(expected) != Ok(scope.revision)
    {
        let items = scope.items.iter().map(|item| item.title.clone()).collect();
        let actual = scope.revision;
        return reject(SessionRejection::RevisionMismatch { expected, actual, items });
    }
    let mut list = write.list.clone();
    let redacted = list.redact();
    let published = match scope.write(&list) {
        Ok(published) => published,
        Err(rejection) => return reject(SessionRejection::Todo(rejection)),
    };
    let written = ListWritten::of(published, list.as_slice().len());
    let event = SessionEvent::of(body::TOOL_RESULT, draft.here()?, &written);
    check::body(&event.data)?;
    let answer = write.key.clone();
    let source = Some(TodoSource::TodoWrite);
    draft.record(SessionEvent {
        aside: Aside { answer, redacted, source, ..Aside::default() },
        ..event
    })
}
