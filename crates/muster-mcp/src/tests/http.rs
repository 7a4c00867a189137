//! Requests to the endpoint, without a socket.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    fixture::Fixture,
    wire::{PATIENCE, call, initialize, names, request, stateless},
};
use crate::{
    HttpEndpoint, HttpOptions, http_endpoint, http_sessions::SESSIONS_MAX, line::LINE_BYTES_MAX,
};

pub(super) const PORT: u16 = 7717;
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

fn endpoint() -> HttpEndpoint {
    http_endpoint(Arc::new(Fixture::default()), HttpOptions::loopback(PORT))
}

/// A request as a well-behaved client of the message's era sends it.
fn post(path: &str, message: &Value) -> Request<Body> {
    let mut builder = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", format!("127.0.0.1:{PORT}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28" {
        builder = builder.header("mcp-protocol-version", "2026-07-28");
        builder = builder.header("mcp-method", message["method"].as_str().expect("method"));
        let params = &message["params"];
        if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()) {
            builder = builder.header("mcp-name", name);
        }
    }
    builder.body(Body::from(message.to_string())).expect("a request")
}

async fn answer(endpoint: &HttpEndpoint, request: Request<Body>) -> Response<Body> {
    timeout(PATIENCE, endpoint.answer(request)).await.expect("in time")
}

/// Status and message of a response, as JSON or as one event.
async fn read(response: Response<Body>) -> (StatusCode, Value) {
    let status = response.status();
    let body = timeout(PATIENCE, to_bytes(response.into_body(), BODY_BYTES_MAX));
    let body = body.await.expect("in time").expect("readable");
    let text = String::from_utf8(body.to_vec()).expect("text");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let event = lines.rfind(|line| !line.is_empty());
    let message = serde_json::from_str(event.unwrap_or(&text));
    (status, message.unwrap_or_else(|_| panic!("JSON, got {text:?}")))
}

pub(super) async fn ask(
    endpoint: &HttpEndpoint,
    path: &str,
    message: &Value,
) -> (StatusCode, Value) {
    read(answer(endpoint, post(path, message)).await).await
}

fn with_session(mut request: Request<Body>, session: &str) -> Request<Body> {
    let headers = request.headers_mut();
    headers.insert("mcp-session-id", session.parse().expect("a header"));
    headers.insert("mcp-protocol-version", "2025-06-18".parse().expect("a header"));
    request
}

#[tokio::test]
async fn the_stateless_revision_is_answered_in_plain_json() {
    let endpoint = endpoint();
    let message = stateless(1, "tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    let response = answer(&endpoint, post("/mcp", &message)).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let (status, message) = read(response).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(message["result"]["structuredContent"], json!({"arguments": {"a": 1}}));
    assert_eq!(message["result"]["isError"], false);
}

#[tokio::test]
async fn the_older_revisions_get_a_session() {
    let endpoint = endpoint();
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let opened = answer(&endpoint, post("/mcp", &initialize(1, version))).await;
        let session = opened.headers()["mcp-session-id"].to_str().expect("text").to_owned();
        let (_, opened) = read(opened).await;
        assert_eq!(opened["result"]["protocolVersion"], version);

        // A call may come before the initialized notification (TASKS-MCP-2).
        let message = call(2, "echo", json!(null));
        let called = answer(&endpoint, with_session(post("/mcp", &message), &session)).await;
        assert_eq!(read(called).await.1["result"]["structuredContent"], json!({"arguments": {}}));

        let ended = Request::builder().method(Method::DELETE).uri("/mcp");
        let ended = ended.header("host", format!("localhost:{PORT}")).body(Body::empty());
        let ended = answer(&endpoint, with_session(ended.expect("a request"), &session)).await;
        assert_eq!(ended.status(), StatusCode::ACCEPTED);
        let late = answer(&endpoint, with_session(post("/mcp", &message), &session)).await;
        let (status, late) = read(late).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "the client has to initialize again");
        assert_eq!(late["error"]["code"], -32600);
    }
}

#[tokio::test]
async fn the_listing_follows_the_parameter_then_the_url_then_the_default() {
    let endpoint = endpoint();
    let cases: [(&str, Value, &[&str]); 5] = [
        ("/mcp", json!({}), &["echo", "append", "tally"]),
        ("/mcp?toolset=core", json!({}), &["echo"]),
        (
            "/mcp?x=1&toolset=full",
            json!({}),
            &["echo", "append", "tally", "refuse", "wait", "linger", "ponder"],
        ),
        ("/mcp?toolset=full", json!({"toolset": "core"}), &["echo"]),
        ("/mcp?toolset=core", json!({"toolset": null}), &["echo"]),
    ];
    for (path, params, expected) in cases {
        let (status, listed) = ask(&endpoint, path, &stateless(1, "tools/list", params)).await;
        assert_eq!((status, names(&listed)), (StatusCode::OK, expected.to_vec()), "{path}");
    }
    let wrong = stateless(1, "tools/list", json!({"toolset": "huge"}));
    let (_, refused) = ask(&endpoint, "/mcp", &wrong).await;
    assert_eq!(refused["error"]["code"], -32602);
    let (status, refused) = ask(&endpoint, "/mcp?toolset=huge", &initialize(1, "2025-06-18")).await;
    assert_eq!((status, &refused["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32602)));
}

#[tokio::test]
async fn a_session_lists_by_its_url_too() {
    let endpoint = endpoint();
    let opened = answer(&endpoint, post("/mcp?toolset=core", &initialize(1, "2025-06-18"))).await;
    let session = opened.headers()["mcp-session-id"].to_str().expect("text").to_owned();
    let listing = post("/mcp?toolset=core", &request(2, "tools/list", json!({})));
    let listed = answer(&endpoint, with_session(listing, &session)).await;
    assert_eq!(names(&read(listed).await.1), ["echo"]);
    let listing = post("/mcp?toolset=core", &request(3, "tools/list", json!({"toolset": "full"})));
    let listed = answer(&endpoint, with_session(listing, &session)).await;
    assert_eq!(names(&read(listed).await.1).len(), 7);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let endpoint = endpoint();
    let cases = [
        ("host", "evil.example.com"),
        ("host", "127.0.0.1:1"),
        ("host", "localhost"),
        ("origin", "http://evil.example.com"),
        ("origin", "https://localhost:7717"),
        ("origin", "http://localhost:1"),
        ("origin", "null"),
    ];
    for (header, value) in cases {
        let mut request = post("/mcp", &stateless(1, "tools/list", json!({})));
        request.headers_mut().insert(header, value.parse().expect("a header"));
        let (status, refused) = read(answer(&endpoint, request).await).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{header}: {value}");
        assert_eq!(refused["error"]["code"], -32600);
    }
    for origin in ["http://localhost:7717", "http://127.0.0.1:7717", "http://[::1]:7717"] {
        let mut request = post("/mcp", &stateless(1, "tools/list", json!({})));
        request.headers_mut().insert("origin", origin.parse().expect("a header"));
        assert_eq!(answer(&endpoint, request).await.status(), StatusCode::OK, "{origin}");
    }
}

#[tokio::test]
async fn broken_bodies_are_answered_with_json() {
    let endpoint = endpoint();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{deep}}}"#);
    let large = "y".repeat(LINE_BYTES_MAX);
    let large = format!(r#"{{"params":"{large}","jsonrpc":"2.0","id":"last","method":"ping"}}"#);
    let cases: [(&[u8], StatusCode, i64); 8] = [
        (b"{", StatusCode::BAD_REQUEST, -32700),
        (b"\xff\xfe", StatusCode::BAD_REQUEST, -32700),
        (b"", StatusCode::BAD_REQUEST, -32700),
        (deep.as_bytes(), StatusCode::BAD_REQUEST, -32700),
        (b"[]", StatusCode::BAD_REQUEST, -32600),
        (b"{}", StatusCode::BAD_REQUEST, -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, StatusCode::BAD_REQUEST, -32600),
        (large.as_bytes(), StatusCode::PAYLOAD_TOO_LARGE, -32600),
    ];
    for (body, status, code) in cases {
        let mut request = post("/mcp", &json!({}));
        *request.body_mut() = Body::from(body.to_vec());
        let (seen, refused) = read(answer(&endpoint, request).await).await;
        assert_eq!((seen, &refused["error"]["code"]), (status, &json!(code)));
        let id = (status == StatusCode::PAYLOAD_TOO_LARGE).then(|| json!("last"));
        assert_eq!(refused.get("id"), id.as_ref());
    }
    let mut request = post("/mcp", &json!({}));
    request.headers_mut().insert("content-type", "text/plain".parse().expect("a header"));
    let (status, refused) = read(answer(&endpoint, request).await).await;
    assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(refused["error"]["code"], -32600);
}

#[tokio::test]
async fn an_unknown_tool_and_malformed_parameters_are_protocol_errors() {
    let endpoint = endpoint();
    let (_, refused) =
        ask(&endpoint, "/mcp", &stateless(1, "tools/call", json!({"name": "ecko"}))).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(refused["error"]["data"]["code"], "UNKNOWN_TOOL");
    let wrong = stateless(2, "tools/call", json!({"name": "echo", "arguments": [1]}));
    let (_, refused) = ask(&endpoint, "/mcp", &wrong).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(refused["id"], 2);
}

#[tokio::test]
async fn a_client_that_accepts_anything_is_served() {
    let endpoint = endpoint();
    for accept in [None, Some("*/*")] {
        let mut request = post("/mcp", &stateless(1, "tools/list", json!({})));
        request.headers_mut().remove("accept");
        if let Some(accept) = accept {
            request.headers_mut().insert("accept", accept.parse().expect("a header"));
        }
        assert_eq!(answer(&endpoint, request).await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_call_up() {
    let fixture = Arc::new(Fixture::default());
    let endpoint = http_endpoint(fixture.clone(), HttpOptions::loopback(PORT));
    let message = stateless(1, "tools/call", json!({"name": "wait"}));
    let calling = tokio::spawn(async move { endpoint.answer(post("/mcp", &message)).await });
    timeout(PATIENCE, fixture.waiting.notified()).await.expect("the call began");
    calling.abort();
    timeout(PATIENCE, fixture.given_up.notified()).await.expect("the call was given up");
}

#[tokio::test]
async fn the_session_that_was_used_least_recently_makes_room() {
    let endpoint = endpoint();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS_MAX {
        let opened = answer(&endpoint, post("/mcp", &initialize(1, "2025-06-18"))).await;
        sessions.push(opened.headers()["mcp-session-id"].to_str().expect("text").to_owned());
        read(opened).await;
    }
    let ping = |session: &str| with_session(post("/mcp", &request(2, "ping", json!({}))), session);
    assert_eq!(answer(&endpoint, ping(&sessions[0])).await.status(), StatusCode::OK);
    let opened = answer(&endpoint, post("/mcp", &initialize(1, "2025-06-18"))).await;
    assert_eq!(opened.status(), StatusCode::OK);
    assert_eq!(answer(&endpoint, ping(&sessions[1])).await.status(), StatusCode::NOT_FOUND);
    for kept in [0, 2, SESSIONS_MAX - 1] {
        assert_eq!(answer(&endpoint, ping(&sessions[kept])).await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn shutting_down_ends_open_streams() {
    let endpoint = endpoint();
    let opened = answer(&endpoint, post("/mcp", &initialize(1, "2025-06-18"))).await;
    let session = opened.headers()["mcp-session-id"].to_str().expect("text").to_owned();
    let listening = Request::builder().method(Method::GET).uri("/mcp");
    let listening = listening.header("host", format!("localhost:{PORT}"));
    let listening = listening.header("accept", "text/event-stream").body(Body::empty());
    let listening = with_session(listening.expect("a request"), &session);
    let stream = answer(&endpoint, listening).await;
    assert_eq!(stream.status(), StatusCode::OK);
    endpoint.shut_down();
    let ended = timeout(PATIENCE, to_bytes(stream.into_body(), BODY_BYTES_MAX)).await;
    ended.expect("the stream ended").expect("readable");
}
