//! `POST /sessions/{id}/input` and `/command` (HB-9, HB-12).

use std::sync::Arc;

use axum::extract::State;
use muster_core::{
    AnyObject,
    ctree::NodeId,
    session::{
        SessionCommand, SessionId,
        command::{PermissionAnswer, SessionControl, SessionDecision, SessionInput, SessionOrder},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    fault::SessionHttpFault,
    request::{SessionsReply, ask},
};
use crate::{
    reply::Reply,
    request::{Asked, Ids},
    server_state::ServerState,
};

/// The commands, by the names that `unknown_command` lists.
const COMMANDS: [&str; 6] =
    ["stop", "interrupt", "set_model", "set_mode", "permission_decision", "ctree_pin"];

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct InputRequest {
    #[schemars(required)]
    content: Option<String>,
}

/// Common fields of accepted requests.
pub(super) const ACCEPTED: &str = "accepted";

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct InputAnswer {
    #[schemars(extend("const" = ACCEPTED))]
    status: &'static str,
    seq: u64,
    turn_id: Option<String>,
    queued: bool,
}

/// Sends an input to a session.
pub(super) async fn input(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    asked: Asked<InputRequest>,
) -> SessionsReply<InputAnswer, 202> {
    let missing = || SessionHttpFault::invalid("content", "a string is required");
    let text = asked.body.content.ok_or_else(missing)?;
    let input = SessionInput { text, source: None, key: asked.once };
    let said = ask(&site, move |app| app.sessions().say(&id, input)).await?;
    Ok(Reply::of(&InputAnswer {
        status: ACCEPTED,
        seq: said.seq,
        turn_id: said.turn_id,
        queued: said.queued,
    }))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SessionCommand")]
pub(super) struct CommandRequest {
    /// respond_permission and permission_response mean permission_decision.
    #[schemars(required, extend("enum" = COMMANDS))]
    command: Option<String>,
    /// set_model {model}; set_mode {mode}; permission_decision {request_id, decision, note?, rule?,
    /// scope?}; ctree_pin {node_id, pinned}; the others take none.
    #[schemars(extend("type" = ["object", "null"], "additionalProperties" = true))]
    payload: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct CommandAnswer {
    #[schemars(extend("const" = ACCEPTED))]
    status: &'static str,
    #[schemars(with = "Option<AnyObject>")]
    detail: CommandDetail,
}

#[derive(Serialize)]
struct CommandDetail {
    seq: u64,
}

/// Sends a command to a session.
pub(super) async fn command(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    asked: Asked<CommandRequest>,
) -> SessionsReply<CommandAnswer, 202> {
    let CommandRequest { command, payload } = asked.body;
    let missing = || SessionHttpFault::invalid("command", "the name of a command is required");
    let name = command.filter(|name| !name.trim().is_empty()).ok_or_else(missing)?;
    let order = order(name.trim(), &payload.unwrap_or_else(|| json!({})))?;
    let command = SessionCommand::Control(SessionControl { order, by: None, key: asked.once });
    let done = ask(&site, move |app| app.sessions().perform(&id, command)).await?;
    let detail = CommandDetail { seq: done.receipt.seq };
    Ok(Reply::of(&CommandAnswer { status: ACCEPTED, detail }))
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
        SessionHttpFault::invalid("payload.decision", format!("it must be one of {words}"))
    })?;
    let given = |name: &str| payload.get(name).filter(|value| !value.is_null()).cloned();
    let note = payload.get("note").and_then(Value::as_str).map(str::to_owned);
    Ok(PermissionAnswer { request_id, decision, note, rule: given("rule"), scope: given("scope") })
}

fn pin(payload: &Value) -> Result<SessionOrder, SessionHttpFault> {
    let id = text(payload, "node_id")?;
    let node = NodeId::given(&id);
    let wrong = || SessionHttpFault::invalid("payload.pinned", "it must be true or false");
    let pinned = payload.get("pinned").and_then(Value::as_bool).ok_or_else(wrong)?;
    Ok(SessionOrder::Pin { node, pinned })
}

fn text(payload: &Value, name: &str) -> Result<String, SessionHttpFault> {
    let given = payload.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let missing = || SessionHttpFault::invalid(&format!("payload.{name}"), "a string is required");
    given.map(str::to_owned).ok_or_else(missing)
}
