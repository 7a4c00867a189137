//! `POST /sessions/{id}/input` and `/command` (HB-9, HB-12).

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use muster_core::{
    ctree::NodeId,
    session::{
        SessionCommand,
        command::{PermissionAnswer, SessionControl, SessionDecision, SessionInput, SessionOrder},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsResponse, ask, json as answer, key, parse},
};
use crate::server_state::ServerState;

/// The commands, by the names that `unknown_command` lists.
pub(crate) const COMMANDS: [&str; 6] =
    ["stop", "interrupt", "set_model", "set_mode", "permission_decision", "ctree_pin"];

#[derive(Deserialize)]
struct InputRequest {
    content: Option<String>,
}

/// Says something to a session.
pub(super) async fn input(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> SessionsResponse {
    let request: InputRequest = parse(&body)?;
    let missing = || SessionHttpFault::invalid("content", "a text is needed");
    let text = request.content.ok_or_else(missing)?;
    let key = key(&headers, uri.path(), &body)?;
    let input = SessionInput { text, source: None, key };
    let said = ask(&site, move |app| app.sessions().say(&id, input)).await?;
    let body = json!({
        "status": "accepted", "seq": said.seq, "turn_id": said.turn_id, "queued": said.queued,
    });
    Ok(answer(StatusCode::ACCEPTED, &body))
}

#[derive(Deserialize)]
struct CommandRequest {
    command: Option<String>,
    payload: Option<Value>,
}

/// Gives a session an order.
pub(super) async fn command(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> SessionsResponse {
    let request: CommandRequest = parse(&body)?;
    let missing = || SessionHttpFault::invalid("command", "the name of a command is needed");
    let name = request.command.filter(|name| !name.trim().is_empty()).ok_or_else(missing)?;
    let payload = request.payload.unwrap_or_else(|| json!({}));
    let order = order(name.trim(), &payload)?;
    let key = key(&headers, uri.path(), &body)?;
    let command = SessionCommand::Control(SessionControl { order, by: None, key });
    let done = ask(&site, move |app| app.sessions().perform(&id, command)).await?;
    let detail = json!({"seq": done.receipt.seq});
    Ok(answer(StatusCode::ACCEPTED, &json!({"status": "accepted", "detail": detail})))
}

fn order(name: &str, payload: &Value) -> Result<SessionOrder, SessionHttpFault> {
    match name {
        "stop" => Ok(SessionOrder::Stop),
        "interrupt" => Ok(SessionOrder::Interrupt),
        "set_model" => Ok(SessionOrder::SetModel(text(payload, "model")?)),
        "set_mode" => Ok(SessionOrder::SetMode(text(payload, "mode")?)),
        "permission_decision" | "respond_permission" | "permission_response" => {
            permission(payload).map(SessionOrder::Decide)
        }
        "ctree_pin" => pin(payload),
        _ => Err(SessionHttpFault::unknown_command(&COMMANDS)),
    }
}

fn permission(payload: &Value) -> Result<PermissionAnswer, SessionHttpFault> {
    let request_id = text(payload, "request_id")?;
    let word = text(payload, "decision")?;
    let decision = SessionDecision::of_word(&word).ok_or_else(|| {
        let words = SessionDecision::ALL.map(SessionDecision::word).join(", ");
        SessionHttpFault::invalid("payload.decision", format!("one of {words} is needed"))
    })?;
    let given = |name: &str| payload.get(name).filter(|value| !value.is_null()).cloned();
    let note = payload.get("note").and_then(Value::as_str).map(str::to_owned);
    Ok(PermissionAnswer { request_id, decision, note, rule: given("rule"), scope: given("scope") })
}

fn pin(payload: &Value) -> Result<SessionOrder, SessionHttpFault> {
    let id = text(payload, "node_id")?;
    let node = NodeId::given(&id);
    let wrong = || SessionHttpFault::invalid("payload.pinned", "true or false is needed");
    let pinned = payload.get("pinned").and_then(Value::as_bool).ok_or_else(wrong)?;
    Ok(SessionOrder::Pin { node, pinned })
}

fn text(payload: &Value, name: &str) -> Result<String, SessionHttpFault> {
    let given = payload.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let missing = || SessionHttpFault::invalid(&format!("payload.{name}"), "a text is needed");
    given.map(str::to_owned).ok_or_else(missing)
}
