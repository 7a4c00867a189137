//! Sessions of agents, and MCP with named tokens.

use muster_testkit::server::{Reply, ServerProcess};
use serde_json::{Value, json};

use super::{call, code, make_task, send, token, with};
use crate::program::serve;

fn make_session(server: &ServerProcess, token: &str) -> String {
    let made = server.send(&with(token, "POST", "/sessions").json(&json!({}))).unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
    made.json().unwrap()["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_sees_its_own_sessions_only() {
    let server = serve(&[]);
    let mine = token(&server, "ci", &["--role", "agent"]);
    let other = token(&server, "bot", &["--role", "agent"]);
    let viewer = token(&server, "eve", &["--role", "viewer"]);
    let own = make_session(&server, &mine);
    let theirs = make_session(&server, &other);
    let local = server.send(&server.request("POST", "/sessions").json(&json!({}))).unwrap();
    let local = local.json().unwrap()["session_id"].as_str().unwrap().to_owned();
    let listed = |token: &str, path: &str| {
        let list = send(&server, token, "GET", path).json().unwrap();
        list.as_array().unwrap().len()
    };
    assert_eq!((listed(&mine, "/sessions"), listed(&mine, "/v1/sessions")), (1, 1));
    assert_eq!(listed(&viewer, "/sessions"), 3);
    for prefix in ["", "/v1"] {
        for foreign in [&theirs, &local, &"never-made".to_owned()] {
            for rest in ["", "/events", "/todos", "/ctrees", "/todos/history"] {
                let path = format!("{prefix}/sessions/{foreign}{rest}");
                let reply = send(&server, &mine, "GET", &path);
                assert_eq!((reply.status, &*code(&reply)), (404, "NOT_FOUND"), "{path}");
            }
            let input = json!({"content": "hello"});
            let said = with(&mine, "POST", &format!("{prefix}/sessions/{foreign}/input"));
            assert_eq!(server.send(&said.json(&input)).unwrap().status, 404);
            let ended = send(&server, &mine, "DELETE", &format!("{prefix}/sessions/{foreign}"));
            assert_eq!(ended.status, 404);
        }
        let shown = send(&server, &mine, "GET", &format!("{prefix}/sessions/{own}"));
        assert_eq!(shown.status, 200);
    }
    // The router decodes parameters: another spelling must not be another session.
    let first = theirs.as_bytes()[0];
    let spelled = format!("/sessions/%{first:02x}{}", &theirs[1..]);
    assert_eq!(send(&server, &mine, "GET", &spelled).status, 404);
    let keyed = |token: &str| {
        let request = with(token, "POST", "/sessions").header("Idempotency-Key", "first");
        let made = server.send(&request.json(&json!({}))).unwrap();
        made.json().unwrap()["session_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(keyed(&mine), keyed(&mine));
    assert_ne!(keyed(&mine), keyed(&other), "a key belongs to its token");
    let list =
        |token: &str, id: &str| call(&server, token, "todo_read", &json!({"session_id": id}));
    assert_eq!(list(&mine, &own).0, 200);
    let (status, refused) = list(&mine, &theirs);
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("UNKNOWN_ID")));
    let write = json!({"session_id": theirs, "items": ["mine now"]});
    assert_eq!(call(&server, &mine, "todo_write", &write).0, 404);
    assert_eq!(send(&server, &other, "GET", &format!("/sessions/{theirs}")).status, 200);
}

/// Sends a message of MCP with a token, in a session if there is one.
fn mcp(server: &ServerProcess, token: &str, session: Option<&str>, message: &Value) -> Reply {
    let request = with(token, "POST", "/mcp")
        .header("Accept", "application/json, text/event-stream")
        .json(message);
    let request = match session {
        Some(session) => request.header("Mcp-Session-Id", session),
        None => request,
    };
    server.send(&request).unwrap()
}

fn initialize(server: &ServerProcess, token: &str) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "Claude", "version": "1"},
    }});
    let reply = mcp(server, token, None, &message);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    mcp(server, token, Some(&session), &ready);
    session
}

fn tool(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
}

#[test]
fn mcp_has_the_rights_of_its_token_and_sessions_are_not_shared() {
    let server = serve(&[]);
    let owner = token(&server, "root", &["--role", "owner"]);
    let acme = token(&server, "ada", &["--role", "member", "--workspace", "acme/*"]);
    let viewer = token(&server, "eve", &["--role", "viewer"]);
    assert_eq!(make_task(&server, &owner, "secret").0, 200);
    let session = initialize(&server, &acme);
    let ask = |token: &str, message: &Value| mcp(&server, token, Some(&session), message);
    let radar = |workspace: &str| tool("tasks_radar", &json!({"workspace": workspace}));
    let refused = ask(&acme, &radar("secret")).text();
    assert!(refused.contains("FORBIDDEN_ROLE"), "{refused}");
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {
        "uri": "muster://secret/task/TASK-001",
    }});
    let read = ask(&acme, &read).text();
    assert!(!read.contains("Parse the header"), "{read}");
    let follow = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/subscribe", "params": {
        "uri": "muster://secret/task/TASK-001",
    }});
    let follow = ask(&acme, &follow).text();
    assert!(follow.contains("error"), "{follow}");
    assert_eq!(ask(&owner, &radar("secret")).status, 404, "a session of another token");
    assert_eq!(ask(server.token().unwrap(), &radar("secret")).status, 404);
    let made = tool(
        "tasks_macro_start",
        &json!({
            "workspace": "acme/api",
            "task_title": "Over MCP",
            "steps": [{"title": "Read", "success_criteria": ["done"], "tests": ["cargo test"]}],
        }),
    );
    let text = ask(&acme, &made).text();
    assert!(text.contains("TASK-001"), "{text}");
    let (_, changes) = call(&server, &owner, "tasks_delta", &json!({"workspace": "acme/api"}));
    // Whoever holds the token: an agent speaks MCP.
    let by = json!({"kind": "agent", "name": "ada", "via": "mcp"});
    assert_eq!(changes["result"]["events"][0]["by"], by, "{changes}");
    let session = initialize(&server, &viewer);
    let text = mcp(&server, &viewer, Some(&session), &made).text();
    assert!(text.contains("FORBIDDEN_ROLE"), "{text}");
}
