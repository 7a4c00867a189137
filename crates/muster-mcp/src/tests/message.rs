//! One line to one message.

use rmcp::model::{JsonRpcMessage, RequestId};
use serde_json::json;

use crate::message::{Decoded, decode};

fn refused(text: &str) -> (Option<RequestId>, i32) {
    let decoded = decode(text.as_bytes());
    let Decoded::Refused(id, error) = decoded else { panic!("{text} was taken as {decoded:?}") };
    (id, error.code.0)
}

#[test]
fn the_id_is_echoed_wherever_it_can_be_read() {
    assert_eq!(refused(r#"{"id":7,"method":"ping"}"#), (Some(RequestId::Number(7)), -32600));
    assert_eq!(
        refused(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#),
        (Some(RequestId::String("a".into())), -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":7,"method":3}"#),
        (Some(RequestId::Number(7)), -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":8,"method":"tools/call"}"#),
        (Some(RequestId::Number(8)), -32602)
    );
    for id in ["null", "1.5", "true", "[1]", "{}", "99999999999999999999"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(refused(&text), (None, -32600), "{id}");
    }
}

#[test]
fn a_hand_built_call_equals_the_parsed_one() {
    let message = json!({
        "jsonrpc": "2.0",
        "id": "call",
        "method": "tools/call",
        "params": {
            "name": "echo",
            "arguments": {"a": [1, null, {"b": "c"}]},
            "inputResponses": {"x": {"action": "accept"}},
            "requestState": "state",
            "_meta": {"progressToken": 3, "other": {"deep": true}},
        },
    });
    let decoded = decode(message.to_string().as_bytes());
    let Decoded::Message(ours) = decoded else { panic!("{decoded:?}") };
    let theirs: rmcp::model::ClientJsonRpcMessage =
        serde_json::from_value(message.clone()).expect("a message");
    let shown = |message: &_| serde_json::to_value(message).expect("JSON");
    assert_eq!(shown(&*ours), shown(&theirs));
    assert_eq!(shown(&*ours), message);
    assert!(matches!(*ours, JsonRpcMessage::Request(_)));
}
