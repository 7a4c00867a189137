//! `POST /sessions/{id}/events`: an outside program reports what happened (HB-10).

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use muster_api::CallKey;
use muster_core::session::{
    SessionCommand,
    command::{Author, Record},
    limits::ID_CHARS_MAX,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsResponse, ask, digest, json as answer, key, parse},
};
use crate::server_state::ServerState;

/// The type of event whose fields are checked.
const TOOL_CALL: &str = "tool_call";

#[derive(Deserialize)]
struct EventRequest {
    id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    data: Option<Value>,
    payload: Option<Value>,
    run_id: Option<String>,
    turn_id: Option<String>,
    thread_id: Option<String>,
}

/// Records an event.
pub(super) async fn record(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> SessionsResponse {
    let request: EventRequest = parse(&body)?;
    let missing = || SessionHttpFault::invalid("type", "the type of the event is needed");
    let kind = request.kind.filter(|kind| !kind.trim().is_empty()).ok_or_else(missing)?;
    let given = match request.id {
        Some(id) if id.trim().is_empty() || id.chars().count() > ID_CHARS_MAX => {
            let detail = format!("1 to {ID_CHARS_MAX} characters are needed");
            return Err(SessionHttpFault::invalid("id", detail).into());
        }
        Some(id) => Some(CallKey { key: id, digest: digest("", &body) }),
        None => None,
    };
    let data = body_of(request.data, request.payload)?;
    if kind.trim() == TOOL_CALL {
        check_tool_call(&data)?;
    }
    let command = SessionCommand::Record(Box::new(Record {
        author: Author::Outside,
        kind: kind.trim().to_owned(),
        data,
        run_id: request.run_id,
        turn_id: request.turn_id,
        thread_id: request.thread_id,
        given,
        key: key(&headers, uri.path(), &body)?,
    }));
    let session = id.clone();
    let done = ask(&site, move |app| app.sessions().perform(&session, command)).await?;
    let receipt = done.receipt;
    let mut body = json!({
        "status": "accepted", "seq": receipt.seq, "id": id.event_id(receipt.seq), "todo": null,
    });
    if let Some(todo) = receipt.todo {
        body["todo"] = json!({"scopeKey": todo.scope_key, "revision": todo.revision});
        body["applied"] = todo.applied.into();
    }
    Ok(answer(StatusCode::ACCEPTED, &body))
}

/// A call without these fields cannot be shown, or joined with its result.
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
            Some(_) => return Err(SessionHttpFault::invalid(name, "an object is needed")),
        }
    }
    Ok(Map::new())
}
