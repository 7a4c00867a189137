//! Lines in, lines out.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    fixture::Fixture,
    wire::{PATIENCE, Wire, call, initialize, names, request, stateless},
};
use crate::{line::LINE_BYTES_MAX, outbox::WAITING_BYTES_MAX};

const HANDSHAKE_VERSIONS: [&str; 3] = ["2024-11-05", "2025-06-18", "2025-11-25"];

fn wire() -> Wire {
    Wire::to(Arc::new(Fixture::default()))
}

#[tokio::test]
async fn every_older_revision_is_negotiated_as_asked() {
    for version in HANDSHAKE_VERSIONS {
        let mut wire = wire();
        let answer = wire.ask(initialize(1, version)).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "fixture");
        let answer = wire.ask(call(2, "echo", json!({"a": 1}))).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"arguments": {"a": 1}}));
        assert_eq!(answer["result"].get("resultType"), None, "older clients do not know it");
    }
}

#[tokio::test]
async fn an_unknown_revision_is_answered_with_the_newest_that_has_a_handshake() {
    for version in ["1999-01-01", "2026-07-28", "2099-01-01"] {
        let answer = wire().ask(initialize(1, version)).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "asked for {version}");
    }
}

/// It requires batches. Its clients know the revision before it.
#[tokio::test]
async fn the_revision_with_batches_is_not_negotiated() {
    let mut wire = wire();
    let answer = wire.ask(initialize(1, "2025-03-26")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    let refused = wire.ask(json!([request(2, "ping", json!({}))])).await;
    assert_eq!(refused["error"]["code"], -32600);
    let offered = wire.ask(stateless(3, "server/discover", json!({}))).await;
    let offered = &offered["result"]["supportedVersions"];
    assert_eq!(*offered, json!(["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"]));
}

#[tokio::test]
async fn the_stateless_revision_needs_no_handshake() {
    let mut wire = wire();
    let answer = wire.ask(stateless(1, "server/discover", json!({}))).await;
    let versions = answer["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{versions:?}");
    let answer =
        wire.ask(stateless(2, "tools/call", json!({"name": "echo", "arguments": {}}))).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let answer = wire.ask(stateless(3, "ping", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32601, "ping was removed");
}

#[tokio::test]
async fn both_eras_share_one_connection() {
    let mut wire = wire();
    wire.ask(stateless(1, "server/discover", json!({}))).await;
    wire.ask(initialize(2, "2025-06-18")).await;
    let older = wire.ask(call(3, "echo", json!({}))).await;
    let newer = wire.ask(stateless(4, "tools/call", json!({"name": "echo"}))).await;
    assert_eq!(older["result"].get("resultType"), None);
    assert_eq!(newer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn requests_before_initialized_are_served_and_notifications_never_answered() {
    let mut wire = wire();
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/of/nobody", "params": {"a": 1}}))
        .await;
    wire.send(json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}})).await;
    wire.send(initialize(1, "2025-06-18")).await;
    wire.send(request(2, "tools/list", json!({}))).await;
    wire.send(json!({"jsonrpc": "2.0", "method": "textDocument/didOpen"})).await;
    let mut ids = vec![wire.receive().await["id"].clone(), wire.receive().await["id"].clone()];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(2)]);
    assert_eq!(wire.finish().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_response_nobody_asked_for_is_ignored() {
    let mut wire = wire();
    wire.send(json!({"jsonrpc": "2.0", "id": 77, "result": {}})).await;
    wire.send(json!({"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": "no"}})).await;
    let answer = wire.ask(request(1, "ping", json!({}))).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_that_names_the_nearest() {
    let mut wire = wire();
    let answer = wire.ask(call(1, "ecko", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["data"]["code"], "UNKNOWN_TOOL");
    let message = answer["error"]["message"].as_str().expect("message");
    assert!(message.contains("\"echo\""), "{message}");
}

#[tokio::test]
async fn a_refusal_is_a_result_with_the_error_flag() {
    let mut wire = wire();
    let refused = wire.ask(call(1, "refuse", json!({}))).await;
    assert_eq!(refused["result"]["isError"], true);
    let accepted = wire.ask(call(2, "echo", json!({}))).await;
    assert_eq!(accepted["result"]["isError"], false);
}

#[tokio::test]
async fn missing_and_null_arguments_mean_none() {
    let mut wire = wire();
    for params in [json!({"name": "echo"}), json!({"name": "echo", "arguments": null})] {
        let answer = wire.ask(request(1, "tools/call", params)).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"arguments": {}}));
    }
}

#[tokio::test]
async fn the_listing_follows_its_toolset_parameter_and_keeps_its_order() {
    let mut wire = wire();
    let daily = ["echo", "append", "tally"];
    let full = ["echo", "append", "tally", "refuse", "wait", "linger", "ponder"];
    let cases: [(Value, &[&str]); 5] = [
        (json!({}), &daily),
        (json!({"toolset": null}), &daily),
        (json!({"toolset": "core"}), &["echo"]),
        (json!({"toolset": "full"}), &full),
        (json!({"toolset": "full", "cursor": "ignored"}), &full),
    ];
    for (params, expected) in cases {
        let older = wire.ask(request(1, "tools/list", params.clone())).await;
        assert_eq!(names(&older), expected, "{params}");
        assert_eq!(older["result"].get("nextCursor"), None);
        let newer = wire.ask(stateless(2, "tools/list", params)).await;
        assert_eq!(names(&newer), expected);
    }
    for wrong in [json!("huge"), json!(3), json!(["core"])] {
        let answer = wire.ask(request(3, "tools/list", json!({"toolset": wrong}))).await;
        assert_eq!(answer["error"]["code"], -32602, "{wrong}");
    }
    assert_eq!(names(&wire.ask(request(4, "tools/list", Value::Null)).await), daily);
}

#[tokio::test]
async fn pipelined_calls_keep_their_order() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let texts: Vec<String> = (0..200).map(|number| format!("line {number}")).collect();
    let mut lines = String::new();
    for (number, text) in texts.iter().enumerate() {
        let id = u32::try_from(number).expect("small");
        lines.push_str(&format!("{}\n", call(2 * id, "append", json!({"text": text}))));
        lines.push_str(&format!("{}\n", call(2 * id + 1, "tally", json!({}))));
    }
    wire.write(lines.as_bytes()).await;
    let answers = wire.finish().await;
    assert_eq!(answers.len(), 400);
    assert_eq!(*fixture.journal.lock().expect("journal"), texts);
    for answer in answers.iter().filter(|answer| answer["id"].as_u64().expect("id") % 2 == 1) {
        // A tally sees its own append and no later one.
        let expected = answer["id"].as_u64().expect("id").div_ceil(2);
        assert_eq!(answer["result"]["structuredContent"]["count"], expected);
    }
}

#[tokio::test]
async fn a_cancelled_call_is_given_up_and_not_answered() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    wire.send(call(1, "wait", json!({}))).await;
    timeout(PATIENCE, fixture.waiting.notified()).await.expect("the call began");
    let params = json!({"requestId": 1, "reason": "changed my mind"});
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    timeout(PATIENCE, fixture.given_up.notified()).await.expect("the call was given up");
    assert_eq!(wire.ask(request(2, "ping", json!({}))).await["id"], 2);
    assert_eq!(wire.finish().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_cancelled_writer_in_the_queue_never_runs() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    wire.send(call(1, "wait", json!({}))).await;
    timeout(PATIENCE, fixture.waiting.notified()).await.expect("the call began");
    // The reader in front keeps both writers waiting.
    wire.send(call(2, "append", json!({"text": "cancelled"}))).await;
    wire.send(call(3, "append", json!({"text": "kept"}))).await;
    let params = json!({"requestId": 2});
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    assert_eq!(wire.ask(request(4, "ping", json!({}))).await["id"], 4);
    fixture.released.notify_one();
    let mut ids: Vec<_> = wire.finish().await.iter().map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(3)]);
    assert_eq!(*fixture.journal.lock().expect("journal"), ["kept"]);
}

#[tokio::test]
async fn nothing_overtakes_a_cancelled_writer_that_still_runs() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    wire.send(call(1, "linger", json!({}))).await;
    timeout(PATIENCE, fixture.waiting.notified()).await.expect("the call began");
    let params = json!({"requestId": 1});
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    wire.send(call(2, "append", json!({"text": "later"}))).await;
    for id in 3..100 {
        // Round trips during which the later call would have run and returned.
        assert_eq!(wire.ask(request(id, "ping", json!({}))).await["id"], id);
    }
    fixture.released.notify_one();
    let ids: Vec<_> = wire.finish().await.iter().map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids, [Some(2)]);
    assert_eq!(*fixture.journal.lock().expect("journal"), ["lingered", "later"]);
}

#[tokio::test]
async fn progress_reaches_the_client_that_asked_for_it() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let params = json!({"name": "wait", "_meta": {"progressToken": "p1"}});
    let progress = wire.ask(request(1, "tools/call", params)).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p1");
    fixture.released.notify_one();
    assert_eq!(wire.receive().await["result"]["structuredContent"]["waited"], true);
}

#[tokio::test]
async fn a_broken_line_is_answered_and_the_server_lives() {
    let mut wire = wire();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{deep}}}"#);
    let broken: [(&[u8], i64); 7] = [
        (b"{\"jsonrpc\":\"2.0\",", -32700),
        (b"hello", -32700),
        (b"\xff\xfe{}", -32700),
        (nested.as_bytes(), -32700),
        (b"[]", -32600),
        (b"42", -32600),
        (b"{\"jsonrpc\":\"2.0\"}", -32600),
    ];
    for (line, code) in broken {
        wire.write(line).await;
        wire.write(b"\n").await;
        let answer = wire.receive().await;
        assert_eq!(answer["error"]["code"], code, "{}", String::from_utf8_lossy(line));
        assert_eq!(answer.get("id"), None);
    }
    wire.write(b"\n  \r\n\xEF\xBB\xBF").await;
    let answer = wire.ask(request(9, "ping", json!({}))).await;
    assert_eq!(answer["id"], 9);
}

#[tokio::test]
async fn a_giant_line_is_refused_without_being_kept() {
    let mut wire = wire();
    let chunk = vec![b'x'; 64 * 1024];
    for (head, tail, id) in [
        (r#"{"jsonrpc":"2.0","id":"first","method":"ping","params":{"x":""#, r#""}}"#, "first"),
        (r#"{"method":"ping","params":{"x":""#, r#""},"jsonrpc":"2.0","id":"last"}"#, "last"),
    ] {
        wire.write(head.as_bytes()).await;
        for _ in 0..=(LINE_BYTES_MAX / chunk.len()) {
            wire.write(&chunk).await;
        }
        wire.write(tail.as_bytes()).await;
        wire.write(b"\n").await;
        let refusal = wire.receive().await;
        assert_eq!(refusal["error"]["code"], -32600);
        assert_eq!(refusal["id"], id, "the client knows what was refused");
    }
    assert_eq!(wire.ask(request(2, "ping", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn a_line_of_the_longest_length_is_read() {
    let mut wire = wire();
    let frame = call(1, "echo", json!({"text": ""})).to_string().len();
    let message = call(1, "echo", json!({"text": "y".repeat(LINE_BYTES_MAX - frame)}));
    assert_eq!(message.to_string().len(), LINE_BYTES_MAX);
    wire.send(message).await;
    let answer = wire.receive().await;
    let echoed = &answer["result"]["structuredContent"]["arguments"]["text"];
    assert_eq!(echoed.as_str().expect("text").len(), LINE_BYTES_MAX - frame);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture);
    let big = call(1, "echo", json!({"text": "z".repeat(1024 * 1024)}));
    let line = format!("{big}\n");
    let mut sent = 0;
    // Each response is twice the size of its call; writing must stall once they pile up.
    loop {
        let writing = timeout(std::time::Duration::from_millis(500), wire.write(line.as_bytes()));
        if writing.await.is_err() {
            break;
        }
        sent += 1;
        assert!(sent < 64, "the server kept reading");
    }
    assert!(sent * line.len() <= 2 * WAITING_BYTES_MAX, "{sent} calls were taken");
}

#[tokio::test]
async fn malformed_calls_are_invalid_parameters() {
    let mut wire = wire();
    let wrong = [
        json!(null),
        json!([1]),
        json!({}),
        json!({"name": 1}),
        json!({"name": "echo", "arguments": "text"}),
        json!({"name": "echo", "arguments": [1]}),
        json!({"name": "echo", "_meta": 1}),
    ];
    for params in wrong {
        let answer = wire.ask(request(5, "tools/call", params.clone())).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        assert_eq!(answer["id"], 5);
    }
    let answer = wire.ask(request(6, "prompts/get", json!({"name": 5}))).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = wire.ask(request(7, "no/such/method", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn answers_under_way_are_delivered_after_the_client_closes_its_end() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    wire.send(call(1, "wait", json!({}))).await;
    timeout(PATIENCE, fixture.waiting.notified()).await.expect("the call began");
    fixture.released.notify_one();
    let answers = wire.finish().await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["result"]["structuredContent"]["waited"], true);
}

#[tokio::test]
async fn a_signal_takes_no_more_and_leaves_no_gap_in_what_was_done() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let texts: Vec<String> = (0..200).map(|number| format!("line {number}")).collect();
    let mut lines = String::new();
    for (id, text) in (0..).zip(&texts) {
        lines.push_str(&format!("{}\n", call(id, "append", json!({"text": text}))));
    }
    wire.write(lines.as_bytes()).await;
    assert_eq!(wire.receive().await["id"], 0);
    let answers = wire.stop().await;
    assert!(answers.iter().all(|answer| answer["result"]["isError"] != true), "{answers:?}");
    assert!(answers.iter().all(|answer| answer["error"].is_null()), "{answers:?}");
    let journal = fixture.journal.lock().expect("journal").clone();
    assert_eq!(journal.len(), answers.len() + 1, "what is done is answered");
    assert_eq!(journal, texts[..journal.len()]);
}

#[tokio::test]
async fn a_signal_ends_a_connection_that_nobody_reads() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture);
    let big = format!("{}\n", call(1, "echo", json!({"text": "z".repeat(1024 * 1024)})));
    for _ in 0..3 {
        let writing = timeout(std::time::Duration::from_millis(500), wire.write(big.as_bytes()));
        if writing.await.is_err() {
            break;
        }
    }
    wire.stop_unread().await;
}

/// The SDK rejects the revision and repeats it.
#[tokio::test]
async fn an_error_repeats_little_of_what_it_refuses() {
    let version = "2026 ".repeat(1_000);
    let mut discover = stateless(1, "server/discover", json!({}));
    discover["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
    let answer = wire().ask(discover).await;
    assert_eq!(answer["error"]["data"]["requested"].as_str().expect("text").chars().count(), 200);
    assert!(answer.to_string().len() < 1_000, "{answer}");
    let toolset = json!([{version: 1}]);
    let answer = wire().ask(request(2, "tools/list", json!({"toolset": toolset}))).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer.to_string().len() < 1_000, "{answer}");
}
