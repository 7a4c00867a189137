//! Parses a line into a JSON-RPC message, or into the error to reply with.
//!
//! `tools/call` is built by hand: the SDK's own parser tries every kind of message in turn.
//! Everything else goes through the SDK.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, GetExtensions,
        JsonObject, JsonRpcMessage, MetaObject, RequestId, RequestMetaObject,
    },
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::toolset_choice::RequestedToolset;

/// The content of a line.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// A message for the service loop.
    Message(Box<ClientJsonRpcMessage>),
    /// An error to reply with, and the request's id if it could be read.
    Refused(Option<RequestId>, ErrorData),
    /// Blank, or a notification or response that cannot be parsed: never answered (TASKS-MCP-2).
    Ignored,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Decodes one line, without its line break.
pub(crate) fn decode(line: &[u8]) -> Decoded {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Decoded::Ignored;
    }
    match parse(line) {
        Ok(message) => dispatch(message),
        Err(error) => Decoded::Refused(None, error),
    }
}

/// Parses text as a JSON object that claims to be JSON-RPC 2.0.
pub(crate) fn parse(text: &[u8]) -> Result<JsonObject, ErrorData> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(Value::Array(_)) => Err(ErrorData::invalid_request(
            "JSON-RPC batches are not part of the negotiated revision: send one message at a time",
            None,
        )),
        Ok(_) => Err(ErrorData::invalid_request("a JSON-RPC message is a JSON object", None)),
        Err(error) => Err(ErrorData::parse_error(format!("not valid JSON: {error}"), None)),
    }
}

fn dispatch(mut message: JsonObject) -> Decoded {
    let method = message.get("method").and_then(Value::as_str);
    let has_id = message.contains_key("id");
    if method.is_none() && (message.contains_key("result") || message.contains_key("error")) {
        return through_sdk(message).map_or(Decoded::Ignored, Decoded::Message);
    }
    if !has_id {
        return match method {
            Some(_) => through_sdk(message).map_or(Decoded::Ignored, Decoded::Message),
            None => invalid(None, "a JSON-RPC message has a method, a result or an error"),
        };
    }
    let Some(id) = message.get("id").and_then(request_id) else {
        return invalid(None, "the id of a request is text or an integer");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(Some(id), "jsonrpc must be \"2.0\"");
    }
    match method {
        None => invalid(Some(id), "method must be text"),
        Some("tools/call") => match tool_call(message.remove("params")) {
            Ok(request) => Decoded::Message(Box::new(JsonRpcMessage::request(request, id))),
            Err(error) => Decoded::Refused(Some(id), error),
        },
        Some(_) => through_sdk(message).map_or_else(
            || invalid(Some(id), "the request does not have the shape of its method"),
            Decoded::Message,
        ),
    }
}

fn invalid(id: Option<RequestId>, reason: &'static str) -> Decoded {
    Decoded::Refused(id, ErrorData::invalid_request(reason, None))
}

pub(crate) fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn through_sdk(message: JsonObject) -> Option<Box<ClientJsonRpcMessage>> {
    let message = Value::Object(message);
    let toolset = RequestedToolset::of(&message);
    let mut decoded: ClientJsonRpcMessage = match serde_json::from_value(message) {
        Ok(decoded) => decoded,
        Err(error) => {
            tracing::debug!(%error, "could not parse a message; it is ignored");
            return None;
        }
    };
    if let (Some(toolset), JsonRpcMessage::Request(request)) = (toolset, &mut decoded) {
        request.request.extensions_mut().insert(toolset);
    }
    Some(Box::new(decoded))
}

fn tool_call(params: Option<Value>) -> Result<ClientRequest, ErrorData> {
    let Some(Value::Object(mut params)) = params else {
        return Err(ErrorData::invalid_params(
            "tools/call takes an object with name and arguments",
            None,
        ));
    };
    let Some(Value::String(name)) = params.remove("name") else {
        return Err(ErrorData::invalid_params("name must be the name of a tool", None));
    };
    let mut call = CallToolRequestParams::new(name);
    // TASKS-ARG-1: missing or null means no arguments.
    if let Some(arguments) = member(&mut params, "arguments", "an object")? {
        call = call.with_arguments(arguments);
    }
    if let Some(responses) = member(&mut params, "inputResponses", "an object")? {
        call = call.with_input_responses(responses);
    }
    if let Some(state) = member::<String>(&mut params, "requestState", "text")? {
        call = call.with_request_state(state);
    }
    let mut request = CallToolRequest::new(call);
    if let Some(meta) = member(&mut params, "_meta", "an object")? {
        request.extensions_mut().insert(RequestMetaObject(MetaObject(meta)));
    }
    Ok(ClientRequest::CallToolRequest(request))
}

/// Takes a member out; one that is null is not there.
fn member<T: DeserializeOwned>(
    params: &mut JsonObject,
    name: &str,
    expected: &str,
) -> Result<Option<T>, ErrorData> {
    let member = params.remove(name).unwrap_or_default();
    serde_json::from_value(member)
        .map_err(|_| ErrorData::invalid_params(format!("{name} must be {expected}"), None))
}
