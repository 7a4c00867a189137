//! MCP-SEC-1 and MCP-SEC-2 on every route of a real server: names, origins, tokens, methods,
//! upgrades.

use muster_testkit::server::{Reply, Request, ServerProcess};
use serde_json::json;

use crate::program::{self, serve};

/// Every route with a method it takes and errors of this form, and one that does not exist.
const ROUTES: [(&str, &str); 10] = [
    ("GET", "/"),
    ("GET", "/openapi.json"),
    ("GET", "/assets/nothing.js"),
    ("GET", "/api/about"),
    ("GET", "/api/ops"),
    ("POST", "/api/ops/tasks_create"),
    ("POST", "/api/session"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("GET", "/nowhere"),
];

/// Routes that answer without a token.
const PUBLIC: [(&str, &str); 3] =
    [("GET", "/"), ("GET", "/assets/nothing.js"), ("POST", "/api/session")];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// What a browser adds to open a WebSocket.
const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn with_headers(request: Request, headers: &[(&str, &str)]) -> Request {
    headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// A request that would be fine but for what the test adds.
fn fine(server: &ServerProcess, method: &str, path: &str) -> Request {
    let request = server.request(method, path);
    if method == "POST" { request.json(&json!({"workspace": "w"})) } else { request }
}

fn assert_refused(reply: &Reply, status: u16, code: &str, what: &str) {
    assert_eq!(reply.status, status, "{what}: {}", reply.text());
    if !reply.body.is_empty() {
        let body = reply.json().unwrap();
        assert_eq!(body["error"]["code"], code, "{what}");
        assert_eq!(body["success"], false, "{what}");
    }
    assert_eq!(reply.header("access-control-allow-origin"), None, "{what}");
}

#[test]
fn a_forged_host_is_refused_on_every_route_and_method() {
    let server = serve(&[]);
    let port = server.address().port();
    let forged = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1:{port}.evil.example"),
        format!("user@127.0.0.1:{port}"),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        String::new(),
    ];
    for (method, path) in ROUTES {
        for host in &forged {
            let request = fine(&server, method, path).header("Host", host);
            let reply = server.send(&request).unwrap();
            assert_refused(&reply, 421, "FOREIGN_HOST", &format!("{method} {path} as {host:?}"));
        }
    }
    for (_, path) in ROUTES {
        for method in METHODS {
            let request = fine(&server, method, path).header("Host", "evil.example");
            let reply = server.send(&request).unwrap();
            assert_refused(&reply, 421, "FOREIGN_HOST", &format!("{method} {path}"));
        }
    }
}

#[test]
fn a_missing_doubled_or_contradicted_host_is_refused() {
    let server = serve(&[]);
    let own = server.address().to_string();
    let token = format!("Bearer {}", server.token().unwrap());
    let bare = Request::new("GET", "/").header("Authorization", &token);
    let missing = bare.clone().as_it_is();
    let doubled = bare.clone().header("Host", &own).header("Host", &own);
    let target = Request::new("GET", "http://evil.example/").header("Host", &own);
    for request in [missing, doubled, target] {
        let reply = server.send(&request).unwrap();
        assert!([400, 421].contains(&reply.status), "{request:?}: {}", reply.status);
    }
    let own_target = Request::new("GET", &format!("http://{own}/")).header("Host", &own);
    assert_eq!(server.send(&own_target).unwrap().status, 200);
}

#[test]
fn every_loopback_name_is_answered_to() {
    let server = serve(&[]);
    let port = server.address().port();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{name}:{port}");
        let request = server.request("GET", "/api/ops").header("Host", &host);
        let with_origin = request.clone().header("Origin", &format!("http://{host}"));
        assert_eq!(server.send(&request).unwrap().status, 200, "{host}");
        assert_eq!(server.send(&with_origin).unwrap().status, 200, "{host}");
    }
}

#[test]
fn a_foreign_origin_is_refused_on_every_route_and_method() {
    let server = serve(&[]);
    let port = server.address().port();
    let foreign = [
        "null".to_owned(),
        "http://evil.example".to_owned(),
        format!("http://evil.example:{port}"),
        "http://127.0.0.1".to_owned(),
        "http://127.0.0.1:1".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}.evil.example"),
    ];
    for (method, path) in ROUTES {
        for origin in &foreign {
            let request = fine(&server, method, path).header("Origin", origin);
            let reply = server.send(&request).unwrap();
            assert_refused(&reply, 403, "FOREIGN_ORIGIN", &format!("{method} {path} {origin}"));
        }
        for site in ["cross-site", "same-site", "nonsense"] {
            let request = fine(&server, method, path).header("Sec-Fetch-Site", site);
            let reply = server.send(&request).unwrap();
            assert_refused(&reply, 403, "FOREIGN_ORIGIN", &format!("{method} {path} {site}"));
        }
    }
    for method in METHODS {
        let request = fine(&server, method, "/api/ops").header("Origin", "null");
        let reply = server.send(&request).unwrap();
        assert_refused(&reply, 403, "FOREIGN_ORIGIN", method);
    }
}

#[test]
fn no_or_a_wrong_token_is_refused_on_every_route_but_the_public_ones() {
    let server = serve(&[]);
    let token = server.token().unwrap().to_owned();
    let wrong = [
        None,
        Some("Bearer".to_owned()),
        Some(format!("Bearer {}", "0".repeat(64))),
        Some(format!("Bearer {}", &token[..63])),
        Some(format!("Bearer {token}0")),
        Some(format!("Basic {token}")),
        Some(token.clone()),
    ];
    for (method, path) in ROUTES {
        let is_public = PUBLIC.contains(&(method, path));
        for value in &wrong {
            let mut request = Request::new(method, path);
            if method == "POST" {
                request = request.json(&json!({"workspace": "w"}));
            }
            if let Some(value) = value {
                request = request.header("Authorization", value);
            }
            let reply = server.send(&request).unwrap();
            let what = format!("{method} {path} with {value:?}");
            if path.starts_with("/assets/") {
                assert_eq!(reply.status, 404, "{what}: no such file for any caller");
            } else if path == "/api/session" {
                assert_eq!(reply.status, 400, "{what}: no sign-in in the body");
            } else if is_public {
                assert_eq!(reply.status, 200, "{what}");
            } else {
                assert_refused(&reply, 401, "UNAUTHORIZED", &what);
            }
            if reply.status == 401 {
                assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"muster\""));
            }
        }
        let in_url = Request::new("GET", &format!("/api/ops?token={token}&access_token={token}"));
        assert_eq!(server.send(&in_url).unwrap().status, 401);
    }
}

#[test]
fn methods_other_than_reading_need_the_token_on_public_routes_too() {
    let server = serve(&[]);
    for (_, path) in &PUBLIC {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"] {
            if (method, *path) == ("POST", "/api/session") {
                continue;
            }
            let request = Request::new(method, path).json(&json!({}));
            let reply = server.send(&request).unwrap();
            assert_eq!(reply.status, 401, "{method} {path}");
        }
    }
}

#[test]
fn a_forged_upgrade_is_refused_on_every_route() {
    let server = serve(&[]);
    let own_origin = format!("http://{}", server.address());
    for (_, path) in ROUTES {
        let upgrade = with_headers(Request::new("GET", path), &UPGRADE);
        let cases = [
            ("no token", 401, upgrade.clone()),
            ("an origin alone", 401, upgrade.clone().header("Origin", &own_origin)),
            ("a foreign origin", 403, upgrade.clone().header("Origin", "http://evil.example")),
            ("a null origin", 403, upgrade.clone().header("Origin", "null")),
            ("a forged host", 421, upgrade.clone().header("Host", "evil.example")),
            ("a wrong token", 401, upgrade.clone().header("Authorization", "Bearer nonsense")),
        ];
        for (what, status, request) in cases {
            let reply = server.send(&request).unwrap();
            assert_eq!(reply.status, status, "{path} with {what}: {}", reply.text());
        }
        // With the token a forged host or origin still counts.
        let known = with_headers(server.request("GET", path), &UPGRADE);
        let reply = server.send(&known.clone().header("Origin", "http://evil.example")).unwrap();
        assert_eq!(reply.status, 403, "{path}");
        let reply = server.send(&known.header("Host", "evil.example")).unwrap();
        assert_eq!(reply.status, 421, "{path}");
    }
}

#[test]
fn without_authentication_names_and_origins_still_count() {
    let server = serve(&["--no-auth"]);
    assert_eq!(server.token(), None);
    for (method, path) in ROUTES {
        let forged = fine(&server, method, path).header("Host", "evil.example");
        assert_eq!(server.send(&forged).unwrap().status, 421, "{method} {path}");
        let foreign = fine(&server, method, path).header("Origin", "null");
        assert_eq!(server.send(&foreign).unwrap().status, 403, "{method} {path}");
    }
    assert_eq!(server.send(&Request::new("GET", "/api/ops")).unwrap().status, 200);
}

#[test]
fn every_answer_carries_the_security_headers() {
    let server = serve(&[]);
    let forged = Request::new("GET", "/").header("Host", "evil.example");
    let requests = ROUTES.map(|(method, path)| fine(&server, method, path));
    for request in requests.iter().chain([&forged]) {
        let reply = server.send(request).unwrap();
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
}

#[test]
fn bodies_must_be_declared_as_json() {
    let server = serve(&[]);
    for path in ["/api/ops/tasks_create", "/api/session", "/mcp"] {
        for content_type in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
        {
            let request = server
                .request("POST", path)
                .header("Content-Type", content_type)
                .body("{\"workspace\":\"w\"}");
            let reply = server.send(&request).unwrap();
            assert_refused(&reply, 415, "NOT_JSON", &format!("{path} {content_type:?}"));
        }
    }
}

#[test]
fn the_token_is_in_no_log_and_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let everything = [("MUSTER_LOG", "trace")];
    let mut server =
        ServerProcess::start_in(program::path(), directory.path(), &[], &everything).unwrap();
    let token = server.token().unwrap().to_owned();
    let mut answers = String::new();
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    let request = server
        .request("POST", "/mcp")
        .header("Accept", "application/json, text/event-stream")
        .json(&initialize);
    assert_eq!(server.send(&request).unwrap().status, 200);
    for (method, path) in ROUTES {
        let reply = server.send(&fine(&server, method, path)).unwrap();
        answers += &format!("{:?} {}", reply.headers, reply.text());
    }
    let code = server.page_link().split("code=").nth(1).unwrap().to_owned();
    let log = server.kill().unwrap();
    assert!(log.contains("listening") && log.contains("rmcp"), "{log}");
    assert!(!log.contains(&token) && !log.contains(&code), "a secret is in the log");
    assert!(!answers.contains(&token), "the token is in an answer");
}

#[test]
fn a_server_for_other_machines_needs_a_token_and_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().to_str().unwrap();
    let base = ["serve", "--addr", "0.0.0.0:0", "--storage-dir", storage_dir];
    let open = program::run(&[&base[..], &["--no-auth"]].concat());
    assert_eq!(open.status.code(), Some(1));
    assert!(program::stderr(&open).contains("--no-auth"), "{}", program::stderr(&open));
    let nameless = program::run(&base);
    assert_eq!(nameless.status.code(), Some(1));
    assert!(program::stderr(&nameless).contains("--allow-host NAME"));
    let plain = program::run(&[&base[..], &["--allow-host", "muster.example.org"]].concat());
    assert_eq!(plain.status.code(), Some(1));
    for fix in ["--tls-cert", "--trust-proxy", "127.0.0.1"] {
        assert!(program::stderr(&plain).contains(fix), "{}", program::stderr(&plain));
    }
    let odd = program::run(&[&base[..], &["--allow-host", "*"]].concat());
    assert_eq!(odd.status.code(), Some(2));
}

#[test]
fn an_allowed_host_is_answered_to() {
    let server = serve(&["--allow-host", "muster.example.org:443"]);
    let request = server.request("GET", "/api/ops").header("Host", "muster.example.org");
    assert_eq!(server.send(&request).unwrap().status, 200);
    let page = request.clone().header("Origin", "https://muster.example.org");
    assert_eq!(server.send(&page).unwrap().status, 200);
    let other = server.request("GET", "/api/ops").header("Host", "other.example.org");
    assert_eq!(server.send(&other).unwrap().status, 421);
}
