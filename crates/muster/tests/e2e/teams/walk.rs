//! Every route and every operation with every role, as the document of the server says.

use std::collections::BTreeMap;

use muster_testkit::server::{Connection, Reply, Request, ServerProcess};
use serde_json::Value;

use super::{code, send, token, with};
use crate::program::serve_with;

/// The roles, the least first.
const ROLES: [&str; 4] = ["viewer", "agent", "member", "owner"];
/// Requests of the walk must not meet the limit.
const NO_LIMIT: [(&str, &str); 1] = [("MUSTER_LIMITS_REQUESTS_PER_SECOND", "1000000")];

/// A route of the document.
struct Documented {
    method: String,
    path: String,
    role: String,
    reach: String,
}

fn documented(server: &ServerProcess) -> Vec<Documented> {
    let document = server.send(&server.request("GET", "/openapi.json")).unwrap().json().unwrap();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            let word = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
            let (role, reach) = (word("x-role"), word("x-reach"));
            assert!(!role.is_empty() && !reach.is_empty(), "{method} {path} says no role");
            let method = method.to_uppercase();
            all.push(Documented { method, path: path.clone(), role, reach });
        }
    }
    all
}

/// The reply to a request, without the body of a stream.
fn head(server: &ServerProcess, request: &Request) -> Reply {
    let mut connection = Connection::open(server.address()).unwrap();
    connection.write(&request.bytes(server.address())).unwrap();
    // Without a body, so that a stream does not keep the walk.
    connection.read_reply("HEAD").unwrap()
}

fn is_refused_by_role(server: &ServerProcess, token: &str, route: &Documented) -> bool {
    let path = route.path.replace(['{', '}'], "");
    let mut request = with(token, &route.method, &path);
    if route.method != "GET" && route.method != "DELETE" {
        request = request.json(&Value::Object(serde_json::Map::new()));
    }
    if head(server, &request).status != 403 {
        return false;
    }
    let code = code(&server.send(&request).unwrap());
    assert!(["FORBIDDEN_ROLE", "PERSON_REQUIRED"].contains(&&*code), "{path}: {code}");
    true
}

#[test]
fn every_role_gets_what_the_rows_say() {
    let server = serve_with(&NO_LIMIT);
    let tokens: BTreeMap<&str, String> =
        ROLES.map(|role| (role, token(&server, role, &["--role", role]))).into();
    let routes = documented(&server);
    assert!(routes.len() > 100, "{}", routes.len());
    for route in &routes {
        let Documented { method, path, role, reach } = route;
        if role == "public" || role == "node" {
            continue;
        }
        let needed = ROLES.iter().position(|known| known == role).unwrap();
        for (rank, role) in ROLES.iter().enumerate() {
            // An agent reaches operations, MCP and its own sessions, and nothing else.
            let is_in_reach = *role != "agent" || ["sessions", "checked"].contains(&&**reach);
            let refused = is_refused_by_role(&server, &tokens[role], route);
            let expected = rank < needed || !is_in_reach;
            assert_eq!(refused, expected, "{method} {path} as {role}");
        }
    }
}

#[test]
fn nothing_gets_around_the_rows() {
    let server = serve_with(&NO_LIMIT);
    let agent = token(&server, "ci", &["--role", "agent"]);
    let viewer = token(&server, "eve", &["--role", "viewer"]);
    for (method, path) in [
        ("GET", "/api/runs"),
        ("HEAD", "/api/runs"),
        ("GET", "/api/runs/"),
        ("GET", "//api/runs"),
        ("GET", "/api/./runs"),
        ("GET", "/api/ops/../runs"),
        ("GET", "/api/%72uns"),
        ("GET", "/v1/api/runs"),
        ("GET", "/api/tokens"),
        ("GET", "/api/tokens/x"),
        ("OPTIONS", "/api/runs"),
        ("GET", "/ws"),
        ("GET", "/api/about"),
        ("GET", "/api/attention"),
        ("GET", "/api/find?q=x"),
        ("GET", "/status"),
        ("GET", "/v1/status"),
        ("GET", "/nowhere"),
    ] {
        let reply = head(&server, &with(&agent, method, path));
        assert!([403, 404].contains(&reply.status), "{method} {path}: {}", reply.status);
    }
    let upgrade = with(&agent, "GET", "/ws")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(head(&server, &upgrade).status, 403);
    let in_address = Request::new("GET", &format!("/ws?token={viewer}"));
    assert_eq!(head(&server, &in_address).status, 401, "a named token belongs in no address");
    for (method, path) in [("POST", "/api/tokens"), ("DELETE", "/api/tokens/ci")] {
        let reply = server.send(&with(&viewer, method, path).json(&Value::Null)).unwrap();
        assert_eq!((reply.status, &*code(&reply)), (403, "FORBIDDEN_ROLE"), "{method} {path}");
    }
    let resolve = with(&agent, "POST", "/api/approvals/x/resolve").json(&Value::Null);
    let reply = server.send(&resolve).unwrap();
    assert_eq!((reply.status, &*code(&reply)), (403, "PERSON_REQUIRED"));
    assert_eq!(send(&server, &viewer, "GET", "/api/runs").status, 200);
}
