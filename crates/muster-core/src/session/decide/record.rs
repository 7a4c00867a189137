//! Events that others report: checked, redacted, given their place, and written (HB-10).

use serde_json::Value;

use super::{CommandDraft, Decided, SessionEvent, check, reject, turn};
use crate::{
    ctree::{Occurrence, TaskChange},
    field,
    session::{
        SessionRejection,
        body::{self, TaskEventBody, is_reserved},
        command::{Record, RecordOrigin},
        entity::InputTaker,
        event::{Aside, EventPlace},
        limits::{ID_CHARS_MAX, TURN_MAX, TYPE_CHARS_MAX},
        lookup,
        receipt::TodoReceipt,
    },
    text,
    todo::{self, Fallback, Published, TodoScope},
};

/// Where an event keeps a todo update that was not applied; readers ignore it.
const UNAPPLIED_TODO: &str = "unapplied_todo";

/// Records an event.
pub(super) fn record(draft: &mut CommandDraft<'_>, record: &Record) -> Decided<()> {
    check_type(record)?;
    check::body(&record.data)?;
    let mut data = record.data.clone();
    let todo = TodoPart::read(draft, record)?;
    let given_todo = data.shift_remove("todo");
    if let (Some(_), Some(given)) = (&todo.unapplied, given_todo) {
        data.insert(UNAPPLIED_TODO.to_owned(), given);
    }
    let redacted = check::redact_body(&mut data) | todo.redacted;
    if let Some(published) = todo.published {
        data.extend([field("todo", &published)]);
    }
    let place = place(draft, record)?;
    let answer = record.key.clone();
    let given = record.given.clone();
    let versioned = todo.versioned;
    let unapplied = todo.unapplied;
    let aside = Aside { answer, given, redacted, versioned, unapplied, ..Aside::default() };
    let event = SessionEvent { kind: record.kind.clone(), place, data, aside };
    match (record.kind.as_str(), record.author) {
        (body::TURN_START, _) => start_turn(draft, event),
        (body::TURN_END, _) => end_turn(draft, event),
        (body::TASK_EVENT, _) => record_task(draft, event),
        (body::TOOL_RESULT, _) => draft.record(agreeing(event)),
        (body::USER_MESSAGE, RecordOrigin::Outside) => {
            let mut event = event;
            // Only an input to this session waits here; other queues are not ours.
            event.data.shift_remove("queued");
            draft.record(event)
        }
        (_, RecordOrigin::Outside | RecordOrigin::Server) => draft.record(event),
    }
}

/// Reports a task of a workspace.
pub(super) fn task(draft: &mut CommandDraft<'_>, task: &TaskEventBody) -> Decided<()> {
    let mut event = SessionEvent::of(body::TASK_EVENT, draft.here()?, task);
    event.aside.redacted = check::redact_body(&mut event.data);
    check::body(&event.data)?;
    record_task(draft, event)
}

fn check_type(record: &Record) -> Decided<()> {
    let kind = &record.kind;
    if text::is_blank(kind) {
        return reject(SessionRejection::Blank { field: "type" });
    }
    check::within("type", text::chars(kind), TYPE_CHARS_MAX)?;
    if record.author == RecordOrigin::Outside && is_reserved(kind) || kind == body::SESSION_ENDED {
        return reject(SessionRejection::ReservedType { kind: kind.clone() });
    }
    let ids = [
        ("run_id", &record.run_id),
        ("turn_id", &record.turn_id),
        ("thread_id", &record.thread_id),
    ];
    for (field, id) in ids {
        check::within(field, id.as_deref().map_or(0, text::chars), ID_CHARS_MAX)?;
    }
    Ok(())
}

/// The outcome of an event's todo update (TS-6).
#[derive(Default)]
struct TodoPart {
    /// The update in the form in which it is sent.
    published: Option<Published>,
    /// The list that it leaves as it is.
    unapplied: Option<TodoReceipt>,
    /// Whether it had its own revision.
    versioned: bool,
    /// Whether it had a secret.
    redacted: bool,
}

impl TodoPart {
    fn read(draft: &CommandDraft<'_>, record: &Record) -> Decided<Self> {
        let mut update = match todo::read(&record.kind, &record.data, Fallback::Never) {
            Ok(Some(update)) => update,
            Ok(None) => return Ok(Self::default()),
            Err(malformed) => return reject(SessionRejection::MalformedTodo(malformed)),
        };
        let redacted = update.redact();
        let order = draft.session()?.scopes + 1;
        let unwritten = TodoScope::unwritten(update.scope.clone(), order);
        let scope = lookup::scope(draft.docs(), &update.scope)?.unwrap_or(&unwritten);
        let is_outside = record.author == RecordOrigin::Outside;
        // A fallback must not override what its producer numbers.
        if is_outside && scope.versioned && update.revision.is_none() {
            let unapplied = Some(TodoReceipt::unapplied(scope));
            return Ok(Self { unapplied, redacted, ..Self::default() });
        }
        let versioned = is_outside && update.revision.is_some();
        match scope.accept(&update) {
            Ok(published) => {
                Ok(Self { published: Some(published), unapplied: None, versioned, redacted })
            }
            Err(rejection) => reject(SessionRejection::Todo(rejection)),
        }
    }
}

/// Where the event belongs: as its author claims, else the running turn.
fn place(draft: &CommandDraft<'_>, record: &Record) -> Decided<EventPlace> {
    let here = draft.here()?;
    Ok(EventPlace {
        run_id: record.run_id.clone().or(here.run_id),
        turn_id: record.turn_id.clone().or(here.turn_id),
        thread_id: record.thread_id.clone(),
        turn: here.turn,
    })
}

/// A turn that begins while another one runs replaces it; numbers only go up.
fn start_turn(draft: &mut CommandDraft<'_>, event: SessionEvent) -> Decided<()> {
    let running = draft.session()?.turns.running.clone();
    let taker = draft.input_taker()?;
    turn::end(draft, "interrupted", Some("superseded"))?;
    let session = draft.session()?;
    let newest = session.turns.newest;
    let given = event
        .data
        .get("turn")
        .and_then(Value::as_u64)
        .filter(|turn| (newest + 1..=TURN_MAX).contains(turn));
    let number = given.unwrap_or(newest + 1);
    // The id of the previous turn is only there because no other was named.
    let named = event.place.turn_id.clone();
    let named = named.filter(|id| running.is_none_or(|turn| turn.id != *id));
    // A host that names no turn begins the one of the waiting input.
    let waiting = session.queue.first().filter(|_| taker == InputTaker::Host);
    let waiting = waiting.map(|waiting| waiting.turn_id.clone());
    let turn_id = Some(named.or(waiting).unwrap_or_else(|| session.next_turn_id()));
    let mut event = event;
    event.data.insert("turn".to_owned(), number.into());
    event.place = EventPlace { turn_id, turn: Some(number), ..event.place };
    draft.record(event)
}

/// Ends the running turn, whatever number its author has for it; then the next waiting input gets
/// its turn.
fn end_turn(draft: &mut CommandDraft<'_>, mut event: SessionEvent) -> Decided<()> {
    let Some(number) = event.place.turn else { return draft.record(event) };
    event.data.insert("turn".to_owned(), number.into());
    if !event.data.get("status").is_some_and(Value::is_string) {
        event.data.insert("status".to_owned(), "completed".into());
    }
    draft.record_end(event)?;
    turn::take_waiting(draft)
}

/// Makes the three fields of a result agree (EV-2).
fn agreeing(mut event: SessionEvent) -> SessionEvent {
    let has = |field: &str, value: Value| event.data.get(field) == Some(&value);
    let failed =
        has("status", "error".into()) || has("error", true.into()) || has("success", false.into());
    event.data.insert("status".to_owned(), if failed { "error" } else { "ok" }.into());
    event.data.insert("error".to_owned(), failed.into());
    event.data.insert("success".to_owned(), (!failed).into());
    event
}

/// Adds the state of its task's part of the tree to the event (CE-3).
fn record_task(draft: &mut CommandDraft<'_>, mut event: SessionEvent) -> Decided<()> {
    let Some(Occurrence::TaskChanged(TaskChange { task_id, .. })) =
        Occurrence::read(body::TASK_EVENT, &event.data)
    else {
        return draft.record(event);
    };
    event.data.insert("task_id".to_owned(), task_id.clone().into());
    for field in ["ctree_node_id", "ctree_snapshot"] {
        event.data.shift_remove(field);
    }
    if let Some((node, snapshot)) = draft.foresee(&event, &task_id)? {
        let added = [field("ctree_node_id", &node), field("ctree_snapshot", &snapshot)];
        event.data.extend(added);
    }
    draft.record(event)
}
