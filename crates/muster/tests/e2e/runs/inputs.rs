//! Chat and inbox, idempotency, approvals that do not exist.

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

#[test]
fn runs_pit_12_and_inbox_1_messages_wait_in_their_order() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    let chat = format!("{run}/chat");
    let first = server.fine("POST", &chat, json!({"content": "one"}));
    server.fine("POST", &chat, json!({"content": "two", "nodeId": node}));
    let front = server.fine("POST", &chat, json!({"content": "now", "interrupt": true}));
    let inbox = server.see(&format!("{run}/nodes/{node}/inbox"));
    let said = |at: usize| inbox["inbox"][at]["content"]["message"]["content"].clone();
    assert_eq!([said(0), said(1), said(2)], [json!("now"), json!("one"), json!("two")], "{inbox}");
    assert_eq!(inbox["inbox"][0]["refId"], front["messageId"]);
    let item = format!("{run}/nodes/{node}/inbox/{}", first["messageId"].as_str().unwrap());
    assert_eq!(server.fine("DELETE", &item, Value::Null)["itemId"], first["messageId"]);
    let (status, code, _) = server.refused("DELETE", &item, Value::Null);
    assert_eq!((status, code.as_str()), (409, "ITEM_CONSUMED"));
    assert_eq!(server.see(&run)["run"]["nodes"][&node]["inboxCount"], 2);
}

#[test]
fn runs_pit_13_chat_that_says_nothing_or_reaches_nobody_is_refused() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let chat = format!("{run}/chat");
    let no_target = server.refused("POST", &chat, json!({"content": "x"}));
    assert_eq!((no_target.0, no_target.1.as_str()), (422, "NO_TARGET_NODE"));
    server.node(&run, "a", "implementer");
    let seq = server.last_seq(&run);
    let refused = |body| server.refused("POST", &chat, body);
    let refusal = |status: u16, code: &str, at: &str| (status, code.to_owned(), json!(at));
    assert_eq!(refused(json!({})), refusal(422, "MISSING_FIELD", "content"));
    assert_eq!(refused(json!({"content": " \n\t"})), refusal(422, "BAD_VALUE", "content"));
    assert_eq!(refused(json!({"content": 7})), refusal(422, "BAD_VALUE", "content"));
    let long = "x".repeat(200_001);
    assert_eq!(refused(json!({"content": long})), refusal(422, "TOO_LONG", "content"));
    for node in ["nobody", "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f"] {
        let body = json!({"content": "x", "nodeId": node});
        assert_eq!(refused(body), refusal(404, "UNKNOWN_NODE", "nodeId"));
    }
    assert_eq!(server.last_seq(&run), seq, "no event was written");
}

#[test]
fn runs_rest_7_a_key_makes_a_request_happen_once() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    server.node(&run, "a", "implementer");
    let post = |key: &str, body: Value| {
        let request = server.request("POST", &format!("{run}/chat")).json(&body);
        let reply = server.send(&request.header("Idempotency-Key", key)).unwrap();
        (reply.status, reply.json().unwrap())
    };
    let first = post("k-1", json!({"content": "once", "interrupt": false}));
    let again = post("k-1", json!({"interrupt": false, "content": "once"}));
    assert_eq!((first.0, &first), (200, &again));
    let (status, other) = post("k-1", json!({"content": "other"}));
    assert_eq!((status, &other["error"]), (409, &json!("IDEMPOTENCY_CONFLICT")));
    let (status, _) = post(&"k".repeat(129), json!({"content": "x"}));
    assert_eq!(status, 422);
    let nodes = server.see(&run)["run"]["nodes"].clone();
    let counts: Vec<_> = nodes.as_object().unwrap().values().map(|n| &n["inboxCount"]).collect();
    assert_eq!(counts, [&json!(1)]);
    let make = || {
        let request = server.request("POST", "/api/runs").json(&json!({"autoStart": false}));
        server.send(&request.header("Idempotency-Key", "r-1")).unwrap().json().unwrap()
    };
    assert_eq!(make(), make(), "one run and one answer");
    assert_eq!(server.see("/api/runs")["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn runs_pit_30_an_unknown_approval_is_404() {
    let server = serve(&[]);
    let approve = json!({"resolution": {"status": "approved"}});
    for id in ["x", "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f"] {
        let path = format!("/api/approvals/{id}/resolve");
        let (status, code, _) = server.refused("POST", &path, approve.clone());
        assert_eq!((status, code.as_str()), (404, "UNKNOWN_APPROVAL"));
    }
    assert_eq!(server.see("/api/approvals"), json!({"approvals": []}));
    assert_eq!(server.see("/api/approvals?status=all"), json!({"approvals": []}));
    assert_eq!(server.see("/api/attention"), json!({"items": [], "work": []}));
    assert_eq!(server.refused("GET", "/api/approvals?status=old", Value::Null).0, 422);
}
