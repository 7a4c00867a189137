//! Who may use the routes of runs (RUNS-SEC-1, RUNS-SEC-2).

use muster_testkit::server::{Connection, Reply, Request, ServerProcess, Socket};
use serde_json::json;

use super::{Client as _, agent, drive, started, until};
use crate::program::serve;

#[test]
fn runs_pit_47_other_origins_and_names_reach_nothing() {
    for flags in [&[][..], &["--no-auth"]] {
        let server = serve(flags);
        let bearer = server.token().map(|token| format!("Bearer {token}"));
        let open = |headers: &[(&str, &str)]| {
            let mut all = headers.to_vec();
            all.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
            match Socket::open(server.address(), "/ws", &all).unwrap() {
                Ok(_) => 101,
                Err(refused) => refused.status,
            }
        };
        assert_eq!(open(&[]), 101);
        assert_eq!(open(&[("Origin", "http://evil.example")]), 403);
        assert_eq!(open(&[("Host", "evil.example")]), 403);
        let start = |name: &str, value: &str| {
            let request = server.request("POST", "/api/runs").json(&json!({})).header(name, value);
            let reply = server.send(&request).unwrap();
            (reply.status, reply.json().unwrap()["error"].as_str().unwrap().to_owned())
        };
        assert_eq!(start("Origin", "http://evil.example"), (403, "FORBIDDEN_ORIGIN".to_owned()));
        assert_eq!(start("Host", "evil.example"), (403, "FORBIDDEN_HOST".to_owned()));
        assert_eq!(server.see("/api/runs")["runs"], json!([]));
    }
}

#[test]
fn runs_sec_2_pages_of_allowed_origins_may_call() {
    const APP: &str = "http://app.example:3000";
    let server = serve(&["--allow-origin", APP]);
    let run = server.run(json!({}));
    let page =
        |request: Request| request.header("Origin", APP).header("Sec-Fetch-Site", "cross-site");
    let allows = |reply: &Reply| {
        let names = ["origin", "methods", "headers"];
        names.map(|name| {
            let value = reply.header(&format!("access-control-allow-{name}"));
            value.unwrap_or_default().to_owned()
        })
    };
    for path in ["/api/runs", "/sessions", "/api/ops/tasks_context", run.as_str()] {
        let question =
            Request::new("OPTIONS", path).header("Access-Control-Request-Method", "POST");
        let reply = server.send(&page(question.clone())).unwrap();
        let [origin, methods, headers] = allows(&reply);
        assert_eq!((reply.status, origin.as_str()), (204, APP), "{path}");
        assert_eq!(methods, "GET, POST, PATCH, PUT, DELETE");
        assert!(headers.starts_with("Content-Type, Authorization"), "{headers}");
        assert_eq!(reply.header("vary"), Some("Origin"));
        let stranger = server.send(&question.header("Origin", "http://app.example")).unwrap();
        assert_eq!((stranger.status, &*allows(&stranger)[0]), (403, ""), "exactly those");
    }
    let made = server.send(&page(server.request("POST", "/api/runs").json(&json!({})))).unwrap();
    assert_eq!((made.status, &*allows(&made)[0]), (200, APP));
    let events = page(server.request("GET", "/api/work/changes?workspace=w"));
    let mut stream = Connection::open(server.address()).unwrap();
    stream.write(&events.bytes(server.address())).unwrap();
    let head = stream.read_until("\n\n").unwrap();
    let allowed = format!("access-control-allow-origin: {APP}");
    assert!(head.contains("200 OK") && head.contains(&allowed), "server-sent events: {head}");
    let unknown = server.send(&page(Request::new("GET", "/api/runs"))).unwrap();
    assert_eq!((unknown.status, &*allows(&unknown)[0]), (401, APP), "the token is needed");
    let own = server.send(&server.request("GET", "/api/runs")).unwrap();
    assert_eq!(allows(&own), ["", "", ""], "programs and the own page get none of it");
    let token = server.token().unwrap();
    let open = |origin: &str| {
        let target = format!("/ws?token={token}");
        Socket::open(server.address(), &target, &[("Origin", origin)]).unwrap().is_ok()
    };
    assert!(open(APP) && !open("http://app.example") && !open("http://evil.example"));
}

#[test]
fn runs_sec_1_everything_but_health_needs_the_token() {
    let server = serve(&[]);
    for path in ["/api/runs", "/api/attention", "/api/fs/list", "/api/nothing", "/ws"] {
        let reply = server.send(&Request::new("GET", path)).unwrap();
        let outcome = (reply.status, reply.json().unwrap()["error"].clone());
        assert_eq!(outcome, (401, json!("UNAUTHORIZED")), "{path}");
    }
    let health = server.send(&Request::new("GET", "/api/health")).unwrap();
    let body = health.json().unwrap();
    assert_eq!(
        (health.status, &body["ok"], &body["contractVersion"]),
        (200, &json!(true), &json!("1"))
    );
    let token = server.token().unwrap();
    let open = |target: &str| Socket::open(server.address(), target, &[]).unwrap();
    assert!(open(&format!("/ws?token={token}")).is_ok(), "a browser has no headers to send");
    assert_eq!(open("/ws?token=wrong").err().unwrap().status, 401);
    assert_eq!(open("/ws").err().unwrap().status, 401);
    let elsewhere = Request::new("GET", &format!("/api/runs?token={token}"));
    assert_eq!(server.send(&elsewhere).unwrap().status, 401, "only of the WebSocket");
}

/// How the routes of agents begin.
const AGENTS: &str = "/api/agent/";

/// Every route of runs in the document, with an id in the place of each parameter.
fn documented(server: &ServerProcess) -> Vec<(String, String)> {
    let document = server.send(&server.request("GET", "/openapi.json")).unwrap().json().unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let others = [
            "/api/session",
            "/api/page-",
            "/api/about",
            "/api/health",
            "/api/ready",
            "/api/ops",
            "/api/tokens",
        ];
        let other = others.iter().any(|word| path.starts_with(word));
        if other || !(path.starts_with("/api/") || path == "/ws") {
            continue;
        }
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let target = parts.collect::<Vec<_>>().join("/");
        let methods = item.as_object().unwrap().keys();
        routes.extend(methods.map(|method| (method.to_uppercase(), target.clone())));
    }
    routes
}

#[test]
fn runs_sec_2_every_route_of_the_document_is_behind_the_shield() {
    let server = serve(&[]);
    let routes = documented(&server);
    assert!(routes.len() > 30, "{routes:?}");
    let bearer = format!("Bearer {}", server.token().unwrap());
    for (method, path) in &routes {
        let request = || Request::new(method, path).json(&json!({}));
        let outcome = |request: Request| {
            let reply = server.send(&request).unwrap();
            (reply.status, reply.json().unwrap()["error"].as_str().unwrap().to_owned())
        };
        let what = format!("{method} {path}");
        assert_eq!(outcome(request()), (401, "UNAUTHORIZED".to_owned()), "{what}");
        let named = request().header("Authorization", &bearer);
        let forged = named.clone().header("Host", "evil.example");
        assert_eq!(outcome(forged), (403, "FORBIDDEN_HOST".to_owned()), "{what}");
        let foreign = named.header("Origin", "http://evil.example");
        assert_eq!(outcome(foreign), (403, "FORBIDDEN_ORIGIN".to_owned()), "{what}");
    }
}

#[test]
fn runs_pit_49_the_token_of_a_node_opens_no_route() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "teller", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    until(&server, &run, |run| run["nodes"][&node]["connection"]["streaming"] == true);
    let token = std::fs::read_to_string(dir.path().join("told.txt")).unwrap();
    assert!(token.len() > 20, "a node has a token of its own: {token:?}");
    assert_ne!(Some(token.as_str()), server.token());
    // But those that are for agents alone.
    let others = documented(&server).into_iter().filter(|(_, path)| !path.starts_with(AGENTS));
    for (method, path) in others {
        let request = Request::new(&method, &path).json(&json!({}));
        let request = request.header("Authorization", &format!("Bearer {token}"));
        assert_eq!(server.send(&request).unwrap().status, 401, "{method} {path}");
    }
    let query = format!("/ws?token={token}");
    let refused = Socket::open(server.address(), &query, &[]).unwrap().err().unwrap();
    assert_eq!(refused.status, 401);
}
