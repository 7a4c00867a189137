//! Bodies no client should send: each gets a clear JSON error, and the server goes on.

use muster_api::CALL_BYTES_MAX;
use muster_testkit::server::{Connection, Reply, ServerProcess};
use serde_json::{Value, json};

use crate::program::serve;

const ONE_MIB: usize = 1024 * 1024;

/// Sends a body to an operation.
fn post(server: &ServerProcess, body: impl Into<Vec<u8>>) -> Reply {
    let request = server.request("POST", "/api/ops/tasks_create");
    let request = request.header("Content-Type", "application/json").body(body);
    server.send(&request).unwrap()
}

fn assert_error(reply: &Reply, status: u16, code: &str) {
    let body = reply.json().unwrap();
    let text = reply.text();
    assert_eq!((reply.status, &body["error"]["code"]), (status, &json!(code)), "{text:.400}");
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["success", "intent", "result", "warnings", "suggestions", "context", "error", "timestamp"];
    assert_eq!(keys, expected, "the keys of every answer");
    assert_eq!(body["intent"], "create");
    for text in ["message", "recovery"] {
        assert!(!body["error"][text].as_str().unwrap().is_empty(), "{text} of {body}");
    }
}

fn assert_lives(server: &ServerProcess) {
    assert_eq!(server.send(&server.request("GET", "/health")).unwrap().status, 200);
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let server = serve(&[]);
    let with_title = |bytes: usize| {
        let frame = r#"{"workspace":"w","title":""}"#.len();
        format!(r#"{{"workspace":"w","title":"{}"}}"#, "x".repeat(bytes - frame))
    };
    // Within the limit: read, and refused by the operation for its title.
    assert_error(&post(&server, with_title(8 * ONE_MIB)), 400, "INVALID_INPUT");
    assert_error(&post(&server, with_title(CALL_BYTES_MAX + 1)), 413, "BODY_TOO_LARGE");
    assert_lives(&server);
}

#[test]
fn a_message_over_the_limit_is_refused_with_its_id() {
    let server = serve(&[]);
    let filling = "x".repeat(CALL_BYTES_MAX);
    let message = format!(r#"{{"method":"ping","params":{{"x":"{filling}"}},"id":"last"}}"#);
    let request = server.request("POST", "/mcp").header("Content-Type", "application/json");
    let reply = server.send(&request.body(message)).unwrap();
    assert_eq!(reply.status, 413);
    let refusal = reply.json().unwrap();
    assert_eq!(refusal["id"], "last", "{refusal}");
    assert_eq!(refusal["error"]["code"], -32600);
}

/// What a capture may hold arrives, and comes back.
#[test]
fn the_largest_evidence_can_be_sent() {
    let server = serve(&[]);
    let send = |name: &str, arguments: &Value| {
        let path = format!("/api/ops/{name}");
        let request = server.request("POST", &path).header("Content-Type", "application/json");
        server.send(&request.body(arguments.to_string())).unwrap().json().unwrap()
    };
    let steps = json!([{"title": "S", "success_criteria": ["c"], "tests": ["t"]}]);
    send("tasks_macro_start", &json!({"workspace": "w", "task_title": "T", "steps": steps}));
    let item = json!({"stdout": "x".repeat(255_000)});
    let capture = json!({"workspace": "w", "path": "s:0", "items": vec![item; 20]});
    let captured = send("tasks_evidence_capture", &capture);
    assert_eq!(captured["success"], true, "{}", captured["error"]);
}

#[test]
fn a_body_that_is_no_object_is_refused_with_a_reason() {
    let server = serve(&[]);
    for (body, reason) in [("[]", "wrong_type"), ("7", "wrong_type"), ("{", "bad_format")] {
        let reply = post(&server, body);
        assert_error(&reply, 400, "INVALID_INPUT");
        assert_eq!(reply.json().unwrap()["error"]["details"]["reason"], reason, "{body}");
    }
}

#[test]
fn a_chunked_body_over_the_limit_is_refused() {
    let server = serve(&[]);
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, "x".repeat(64 * 1024));
    let body = format!("{}0\r\n\r\n", chunk.repeat(CALL_BYTES_MAX / (64 * 1024) + 1));
    let request = server
        .request("POST", "/api/ops/tasks_create")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked")
        .body(body);
    assert_error(&server.send(&request).unwrap(), 413, "BODY_TOO_LARGE");
    assert_lives(&server);
}

#[test]
fn a_declared_length_over_the_limit_is_refused_at_once() {
    let server = serve(&[]);
    let request = server
        .request("POST", "/api/ops/tasks_create")
        .header("Content-Type", "application/json")
        .header("Content-Length", "10000000000")
        .body("{");
    assert_error(&server.send(&request).unwrap(), 413, "BODY_TOO_LARGE");
    assert_lives(&server);
}

#[test]
fn broken_json_is_refused_with_the_place() {
    let server = serve(&[]);
    for body in ["{", "{\"a\":1,}", "[]", "42", "\"text\"", "{} {}", "\u{0}", "not json"] {
        assert_error(&post(&server, body), 400, "INVALID_INPUT");
    }
    let reply = post(&server, "{\"a\":\n  oops}").json().unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("line 2 column 3"), "{message}");
    assert_lives(&server);
}

#[test]
fn deep_nesting_is_refused() {
    let server = serve(&[]);
    for depth in [65, 1000, 100_000] {
        let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert_error(&post(&server, objects), 400, "INVALID_INPUT");
        let unclosed = "[".repeat(depth);
        assert_error(&post(&server, unclosed), 400, "INVALID_INPUT");
    }
    let over_mcp = server.request("POST", "/mcp").header("Content-Type", "application/json");
    let reply = server.send(&over_mcp.body("[".repeat(200_000))).unwrap();
    assert_eq!(reply.status, 400);
    assert_lives(&server);
}

#[test]
fn invalid_utf8_is_refused_with_the_place() {
    let server = serve(&[]);
    let mut body = br#"{"workspace":"w","title":"caf"#.to_vec();
    body.extend_from_slice(b"\xff\xfe\"}");
    let reply = post(&server, body);
    assert_error(&reply, 400, "INVALID_INPUT");
    assert!(reply.text().contains("position 29"), "{}", reply.text());
    // A lone surrogate is valid UTF-8 bytes but no text.
    assert_error(&post(&server, r#"{"workspace":"w","title":"\ud800"}"#), 400, "INVALID_INPUT");
    assert_lives(&server);
}

#[test]
fn unknown_arguments_and_operations_are_named() {
    let server = serve(&[]);
    let arguments = json!({"workspace": "w", "kind": "plan", "titel": "Typo"});
    let (status, answer) = server.call("tasks_create", &arguments).unwrap();
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("INVALID_INPUT")), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("titel") && message.contains("title"), "{message}");
    let (status, answer) = server.call("tasks_creat", &json!({})).unwrap();
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("UNKNOWN_TOOL")), "{answer}");
    assert!(answer["error"].to_string().contains("tasks_create"), "{answer}");
    assert_lives(&server);
}

#[test]
fn odd_paths_and_methods_get_json_errors() {
    let server = serve(&[]);
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("GET", "/api/ops/tasks_create", 405),
        ("DELETE", "/api/ops", 405),
        ("POST", "/api/about", 405),
        ("GET", "/api/ops/../../etc/passwd", 404),
        ("GET", "/assets/..%2f..%2ftoken", 404),
        ("POST", "/api/ops/%ff%fe", 400),
        ("POST", "/api/ops/%00", 404),
        ("POST", "/api/ops/", 404),
    ] {
        let mut request = server.request(method, path);
        if method == "POST" {
            request = request.json(&json!({}));
        }
        let reply = server.send(&request).unwrap();
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
        assert!(reply.json().unwrap()["error"]["code"].is_string(), "{method} {path}");
    }
    assert_lives(&server);
}

#[test]
fn headers_over_the_limit_and_no_http_at_all_are_refused() {
    let server = serve(&[]);
    let large = server.request("GET", "/health").header("X-Large", &"x".repeat(20_000));
    assert_eq!(server.send(&large).unwrap().status, 431);
    let many = (0..200).fold(server.request("GET", "/health"), |request, number| {
        request.header(&format!("X-{number}"), "x")
    });
    assert_eq!(server.send(&many).unwrap().status, 431);
    for noise in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..], b"GARBAGE\r\n\r\n", b"\0\0\0\0\r\n\r\n"]
    {
        let mut connection = Connection::open(server.address()).unwrap();
        connection.write(noise).unwrap();
        let answer = connection.read_to_end().unwrap();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{noise:?}");
    }
    assert_lives(&server);
}
