//! `POST /sessions/{id}/events`: an outside program reports what happened (HB-10).

use std::sync::Arc;

use axum::extract::State;
use muster_api::CallKey;
use muster_core::{
    AnyObject,
    session::{
        SessionCommand, SessionId,
        command::{Record, RecordOrigin},
        limits::ID_CHARS_MAX,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    commands::ACCEPTED,
    fault::SessionHttpFault,
    request::{SessionsReply, ask},
};
use crate::{
    once::digest,
    reply::Reply,
    request::{Asked, Ids},
    server_state::ServerState,
};

/// The type of event whose fields are checked.
const TOOL_CALL: &str = "tool_call";

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct EventRequest {
    #[serde(rename = "type")]
    #[schemars(required)]
    kind: Option<String>,
    id: Option<String>,
    #[schemars(with = "Option<AnyObject>")]
    data: Option<Value>,
    #[schemars(with = "Option<AnyObject>")]
    payload: Option<Value>,
    run_id: Option<String>,
    turn_id: Option<String>,
    thread_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct EventAnswer {
    #[schemars(extend("const" = ACCEPTED))]
    status: &'static str,
    seq: u64,
    id: String,
    todo: Option<TodoUpdate>,
    /// Whether the todo update of the event changed the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct TodoUpdate {
    scope_key: String,
    revision: i64,
}

/// Records an event.
pub(super) async fn record(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    asked: Asked<EventRequest>,
) -> SessionsReply<EventAnswer, 202> {
    let request = asked.body;
    let missing = || SessionHttpFault::invalid("type", "the type of the event is required");
    let kind = request.kind.filter(|kind| !kind.trim().is_empty()).ok_or_else(missing)?;
    let given = match request.id {
        Some(id) if id.trim().is_empty() || id.chars().count() > ID_CHARS_MAX => {
            let detail = format!("it must have 1 to {ID_CHARS_MAX} characters");
            return Err(SessionHttpFault::invalid("id", detail).into());
        }
        Some(id) => Some(CallKey { key: id, digest: digest("", &asked.raw) }),
        None => None,
    };
    let data = body_of(request.data, request.payload)?;
    if kind.trim() == TOOL_CALL {
        check_tool_call(&data)?;
    }
    let command = SessionCommand::Record(Box::new(Record {
        author: RecordOrigin::Outside,
        kind: kind.trim().to_owned(),
        data,
        run_id: request.run_id,
        turn_id: request.turn_id,
        thread_id: request.thread_id,
        given,
        key: asked.once,
    }));
    let session = id.clone();
    let done = ask(&site, move |app| app.sessions().perform(&session, command)).await?;
    let receipt = done.receipt;
    Ok(Reply::of(&EventAnswer {
        status: ACCEPTED,
        seq: receipt.seq,
        id: id.event_id(receipt.seq),
        applied: receipt.todo.as_ref().map(|todo| todo.applied),
        todo: receipt
            .todo
            .map(|todo| TodoUpdate { scope_key: todo.scope_key, revision: todo.revision }),
    }))
}

/// A call without these fields cannot be shown, or matched with its result.
fn check_tool_call(data: &Map<String, Value>) -> Result<(), SessionHttpFault> {
    for name in ["call_id", "tool"] {
        let is_usable = |value: &Value| value.is_string() || value.is_number() || value.is_null();
        if !data.get(name).is_some_and(is_usable) {
            return Err(SessionHttpFault::invalid(
                &format!("data.{name}"),
                "a tool_call needs a string here",
            ));
        }
    }
    if !data.get("call").is_some_and(Value::is_object) {
        let detail = "a tool_call needs an object here: {name, arguments}";
        return Err(SessionHttpFault::invalid("data.call", detail));
    }
    Ok(())
}

/// EN-5: `data` if it is an object, otherwise `payload` if that is one, otherwise nothing.
fn body_of(
    data: Option<Value>,
    payload: Option<Value>,
) -> Result<Map<String, Value>, SessionHttpFault> {
    for (name, given) in [("data", data), ("payload", payload)] {
        match given {
            Some(Value::Object(body)) => return Ok(body),
            None | Some(Value::Null) => {}
            Some(_) => return Err(SessionHttpFault::invalid(name, "it must be an object")),
        }
    }
    Ok(Map::new())
}
