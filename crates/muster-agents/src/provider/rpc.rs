//! Requests, responses and notifications as JSON lines, as codex and the Agent Client Protocol use
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::agent::TranslatorAction;
use crate::provider::reading::{Count, lenient};

/// The error code of a method that is not served.
const NOT_SERVED: i64 = -32_601;

enum RpcMessage {
    /// The id is for the response.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
    /// A response to one of our requests.
    Answer {
        id: u64,
        outcome: Result<Value, RpcError>,
    },
}

/// Why a request was refused.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(default)]
pub(super) struct RpcError {
    #[serde(deserialize_with = "lenient")]
    pub(super) code: i64,
    #[serde(deserialize_with = "lenient")]
    message: String,
    data: Value,
}

impl RpcError {
    /// The error in a value; some send just a string.
    fn of(value: Value) -> Self {
        if let Value::String(message) = value {
            return Self { message, ..Self::default() };
        }
        shaped(value).unwrap_or_default()
    }

    /// Its message, with additional data.
    pub(super) fn words(&self) -> String {
        match self.data.get("details").and_then(Value::as_str) {
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        }
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

/// How a translator handles the messages of such a program.
pub(super) trait Peer {
    /// The program responds to one of our requests.
    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> Vec<TranslatorAction>;
    /// A request; the id is for the response.
    fn on_request(&mut self, id: &Value, method: &str, params: Value) -> Vec<TranslatorAction>;
    /// The program sends a notification.
    fn on_notification(&mut self, method: &str, params: Value) -> Vec<TranslatorAction>;
}

/// Parses a line and passes it to the peer.
pub(super) fn dispatch(peer: &mut impl Peer, line: &str) -> Vec<TranslatorAction> {
    match read(line) {
        Some(RpcMessage::Answer { id, outcome }) => peer.on_response(id, outcome),
        Some(RpcMessage::Request { id, method, params }) => peer.on_request(&id, &method, params),
        Some(RpcMessage::Notice { method, params }) => peer.on_notification(&method, params),
        None => vec![TranslatorAction::Unknown],
    }
}

/// Parses a line; `None` when it is not a message.
fn read(line: &str) -> Option<RpcMessage> {
    let Line { id, method, params, result, error } = serde_json::from_str(line).ok()?;
    match (id, method) {
        (Some(id), Some(method)) => Some(RpcMessage::Request { id, method, params }),
        (None, Some(method)) => Some(RpcMessage::Notice { method, params }),
        (Some(id), None) => {
            let fault = error.map(RpcError::of);
            let outcome = fault.map_or_else(|| Ok(result.unwrap_or_default()), Err);
            Some(RpcMessage::Answer { id: Count::of(&id).value()?, outcome })
        }
        (None, None) => None,
    }
}

/// Deserializes a value, if it has this shape.
pub(super) fn shaped<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

#[derive(Serialize)]
struct Request<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
}

#[derive(Serialize)]
struct Reply<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReplyFault<'a>>,
}

#[derive(Serialize)]
struct ReplyFault<'a> {
    code: i64,
    message: &'a str,
}

/// Our side: builds lines and remembers requests.
pub(super) struct RpcCaller<K> {
    jsonrpc: Option<&'static str>,
    last: u64,
    open: BTreeMap<u64, K>,
}

impl<K> RpcCaller<K> {
    /// With the version field in every line.
    pub(super) fn versioned() -> Self {
        Self { jsonrpc: Some("2.0"), last: 0, open: BTreeMap::new() }
    }

    /// Without it.
    pub(super) fn bare() -> Self {
        Self { jsonrpc: None, last: 0, open: BTreeMap::new() }
    }

    /// Sends a request; `kind` identifies its response.
    pub(super) fn ask<T: Serialize>(&mut self, kind: K, method: &str, params: &T) -> String {
        self.last += 1;
        self.open.insert(self.last, kind);
        let id = Some(self.last);
        let params = Some(params);
        written(&Request { jsonrpc: self.jsonrpc, id, method, params })
    }

    pub(super) fn notify<T: Serialize>(&self, method: &str, params: Option<&T>) -> String {
        written(&Request { jsonrpc: self.jsonrpc, id: None, method, params })
    }

    pub(super) fn reply<T: Serialize>(&self, id: &Value, result: &T) -> String {
        written(&Reply { jsonrpc: self.jsonrpc, id, result: Some(result), error: None })
    }

    /// Rejects a method that we do not serve.
    pub(super) fn decline(&self, id: &Value) -> String {
        let error = Some(ReplyFault { code: NOT_SERVED, message: "this is not offered" });
        written(&Reply::<()> { jsonrpc: self.jsonrpc, id, result: None, error })
    }

    /// What an answer is for.
    pub(super) fn answered(&mut self, id: u64) -> Option<K> {
        self.open.remove(&id)
    }
}

fn written<T: Serialize>(line: &T) -> String {
    serde_json::to_string(line)
        .unwrap_or_else(|error| unreachable!("lines are plain JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RpcCaller, RpcMessage, read};

    #[test]
    fn requests_notices_and_answers_are_told_apart() {
        let message = read(r#"{"id":0,"method":"m","params":{"a":1}}"#);
        assert!(matches!(message, Some(RpcMessage::Request { method, .. }) if method == "m"));
        assert!(matches!(read(r#"{"method":"m"}"#), Some(RpcMessage::Notice { .. })));
        let answer = read(r#"{"id":3,"error":{"code":-1,"message":"no","data":{"details":"x"}}}"#);
        let Some(RpcMessage::Answer { id: 3, outcome: Err(fault) }) = answer else { panic!() };
        assert_eq!((fault.code, fault.words().as_str()), (-1, "no: x"));
        assert!(matches!(read(r#"{"id":3,"result":null}"#), Some(RpcMessage::Answer { .. })));
        for odd in [r#""no""#, r#"{"code":"E","message":"no"}"#, r#"{"code":1.5,"message":"no"}"#] {
            let answer = read(&format!(r#"{{"id":3.0,"error":{odd}}}"#));
            let Some(RpcMessage::Answer { id: 3, outcome: Err(fault) }) = answer else {
                panic!("{odd}")
            };
            assert_eq!((fault.code, fault.words().as_str()), (0, "no"));
        }
        assert!(read("{}").is_none() && read("[]").is_none() && read("x").is_none());
    }

    #[test]
    fn what_was_asked_is_answered_once() {
        let mut caller = RpcCaller::versioned();
        let line = caller.ask("kind", "m", &json!({"a": 1}));
        assert_eq!(line, r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#);
        assert_eq!((caller.answered(1), caller.answered(1)), (Some("kind"), None));
        let bare: RpcCaller<()> = RpcCaller::bare();
        assert_eq!(bare.notify::<()>("n", None), r#"{"method":"n"}"#);
        let declined = r#"{"id":"x","error":{"code":-32601,"message":"this is not offered"}}"#;
        assert_eq!(bare.decline(&json!("x")), declined);
    }
}
