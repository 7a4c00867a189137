//! Calls that take long: progress, cancellation, and handles for clients that take them.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    fixture::Fixture,
    http,
    wire::{PATIENCE, Wire, call, initialize, patient, request, stateless},
};
use crate::{
    HttpOptions, http_endpoint,
    long_calls::{ENDED_KEPT, ENDED_MAX, RUNNING_MAX},
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn ponder(id: u32) -> Value {
    patient(id, "tools/call", json!({"name": "ponder"}))
}

fn about(id: u32, method: &str, task: &Value) -> Value {
    patient(id, method, json!({"taskId": task}))
}

/// Asks until the call has ended.
async fn ended(wire: &mut Wire, task: &Value) -> Value {
    let asking = async {
        loop {
            let mut answer = wire.ask(about(90, "tasks/get", task)).await;
            if answer["result"]["status"] != "working" {
                return answer["result"].take();
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("in time")
}

async fn begun(fixture: &Fixture, count: usize) {
    let beginning = async {
        let mut seen = 0;
        while seen < count {
            seen += fixture.enough();
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, beginning).await.expect("in time");
}

#[tokio::test]
async fn a_call_that_takes_long_is_answered_with_a_handle() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let created = wire.ask(ponder(1)).await;
    let created = &created["result"];
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert_eq!(created["ttlMs"], Value::Null);
    let task = &created["taskId"];
    assert_eq!(task.as_str().expect("an id").len(), 32);

    // A writer that has its reply holds up no later one.
    let append = json!({"name": "append", "arguments": {"text": "meanwhile"}});
    let appended = wire.ask(patient(2, "tools/call", append)).await;
    assert_eq!(appended["result"]["structuredContent"]["appended"], "meanwhile");

    sleep(Duration::from_millis(300)).await;
    let working = wire.ask(about(3, "tasks/get", task)).await;
    let working = &working["result"];
    assert_eq!(working["resultType"], "complete");
    assert_eq!((&working["taskId"], &working["status"]), (task, &json!("working")));
    assert_eq!(working["statusMessage"], "pondering");

    begun(&fixture, 1).await;
    let completed = ended(&mut wire, task).await;
    assert_eq!(completed["status"], "completed");
    assert_eq!(completed["result"]["structuredContent"], json!({"pondered": true}));
    assert_eq!(completed["result"]["isError"], false);
    assert!(completed["ttlMs"].is_u64(), "{completed}");
    assert_eq!(wire.finish().await, [] as [Value; 0], "a handle has no progress notifications");
}

#[tokio::test]
async fn a_call_that_ends_soon_needs_no_handle() {
    let params = json!({"name": "ponder", "arguments": {"quick": true}});
    let answer = Wire::to(Arc::new(Fixture::default())).ask(patient(1, "tools/call", params)).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"]["pondered"], true);
}

#[tokio::test]
async fn only_clients_that_declare_the_extension_get_handles() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let offered = wire.ask(stateless(1, "server/discover", json!({}))).await;
    assert_eq!(offered["result"]["capabilities"]["extensions"][EXTENSION], json!({}));
    let older = wire.ask(initialize(2, "2025-11-25")).await;
    assert_eq!(older["result"]["capabilities"].get("extensions"), None);
    for message in
        [stateless(3, "tools/call", json!({"name": "ponder"})), call(4, "ponder", json!({}))]
    {
        wire.send(message).await;
        sleep(Duration::from_millis(250)).await;
        begun(&fixture, 1).await;
        assert_eq!(wire.receive().await["result"]["structuredContent"]["pondered"], true);
    }
    let refused = wire.ask(stateless(5, "tasks/get", json!({"taskId": "x"}))).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[tokio::test]
async fn cancelling_a_handle_reaches_the_work() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let created = wire.ask(ponder(1)).await;
    let task = &created["result"]["taskId"];
    let acknowledged = wire.ask(about(2, "tasks/cancel", task)).await;
    assert_eq!(acknowledged["result"], json!({"resultType": "complete"}));
    let cancelled = ended(&mut wire, task).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!((cancelled.get("result"), cancelled.get("error")), (None, None));
    // Once more changes nothing, and neither does unrequested input.
    for method in ["tasks/cancel", "tasks/update"] {
        let mut message = about(3, method, task);
        message["params"]["inputResponses"] = json!({});
        assert_eq!(wire.ask(message).await["result"], json!({"resultType": "complete"}));
    }
}

#[tokio::test]
async fn unknown_and_expired_handles_are_refused() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let created = wire.ask(ponder(1)).await;
    let task = &created["result"]["taskId"];
    begun(&fixture, 1).await;
    ended(&mut wire, task).await;
    tokio::time::pause();
    tokio::time::advance(ENDED_KEPT).await;
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        for task in [task, &json!("nobody")] {
            let mut message = about(2, method, task);
            message["params"]["inputResponses"] = json!({});
            let refused = wire.ask(message).await;
            assert_eq!(refused["error"]["code"], -32602, "{method}");
            let message = refused["error"]["message"].as_str().expect("a message");
            assert!(message.contains("10 minutes"), "{message}");
        }
        let shapeless = wire.ask(patient(3, method, json!({"task": 1}))).await;
        assert_eq!(shapeless["error"]["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn running_calls_and_kept_results_are_limited() {
    let fixture = Arc::new(Fixture::default());
    let endpoint = http_endpoint(fixture.clone(), HttpOptions::loopback(http::PORT));
    let mut first = None;
    for _ in 0..=ENDED_MAX / RUNNING_MAX {
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..=RUNNING_MAX {
            let endpoint = endpoint.clone();
            asking.spawn(async move { http::ask(&endpoint, "/mcp", &ponder(1)).await.1 });
        }
        let mut handles = Vec::new();
        for _ in 0..RUNNING_MAX {
            let answer = asking.join_next().await.expect("an answer").expect("no panic");
            assert_eq!(answer["result"]["resultType"], "task", "{answer}");
            handles.push(answer["result"]["taskId"].clone());
        }
        begun(&fixture, RUNNING_MAX + 1).await;
        let last = asking.join_next().await.expect("an answer").expect("no panic");
        assert_eq!(last["result"]["structuredContent"]["pondered"], true, "no room for a handle");
        for task in &handles {
            let status = async || {
                let (_, answer) = http::ask(&endpoint, "/mcp", &about(2, "tasks/get", task)).await;
                answer["result"]["status"].clone()
            };
            let ending = async {
                while status().await != "completed" {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(PATIENCE, ending).await.expect("in time");
        }
        first.get_or_insert_with(|| handles[0].clone());
    }
    let first = first.expect("a handle");
    let (_, forgotten) = http::ask(&endpoint, "/mcp", &about(3, "tasks/get", &first)).await;
    assert_eq!(forgotten["error"]["code"], -32602);
}

#[tokio::test]
async fn a_client_without_handles_gets_progress_and_may_cancel() {
    let fixture = Arc::new(Fixture::default());
    let mut wire = Wire::to(fixture.clone());
    let newer = stateless(1, "tools/call", json!({"name": "ponder"}));
    for mut message in [newer, request(2, "tools/call", json!({"name": "ponder"}))] {
        let id = message["id"].clone();
        message["params"]["_meta"]["progressToken"] = json!("p");
        wire.send(message).await;
        let mut last = 0.0;
        for expected in ["pondering", "pondering"] {
            let progress = wire.receive().await;
            assert_eq!(progress["method"], "notifications/progress", "{progress}");
            assert_eq!(progress["params"]["message"], expected);
            let done = progress["params"]["progress"].as_f64().expect("a number");
            assert!(done > last, "{done} after {last}");
            last = done;
        }
        let params = json!({"requestId": id});
        wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
            .await;
        // The next writer waits for the work of the cancelled call, which was asked to stop.
        let appended = wire.ask(call(9, "append", json!({"text": "after"}))).await;
        assert_eq!(appended["result"]["structuredContent"]["appended"], "after");
    }
}

#[tokio::test]
async fn a_process_that_ends_stops_its_calls_first() {
    let mut wire = Wire::to(Arc::new(Fixture::default()));
    let created = wire.ask(ponder(1)).await;
    let long_calls = Arc::clone(&wire.long_calls);
    timeout(PATIENCE, long_calls.stop()).await.expect("in time");
    let cancelled = wire.ask(about(2, "tasks/get", &created["result"]["taskId"])).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
}
