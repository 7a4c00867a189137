//! Who may use the routes of runs (RUNS-SEC-1, RUNS-SEC-2).

use muster_testkit::server::{Request, Socket};
use serde_json::json;

use super::Client as _;
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
fn runs_sec_1_everything_but_health_needs_the_token() {
    let server = serve(&[]);
    for path in ["/api/runs", "/api/attention", "/api/fs/list", "/api/nothing", "/ws"] {
        let reply = server.send(&Request::new("GET", path)).unwrap();
        let told = (reply.status, reply.json().unwrap()["error"].clone());
        assert_eq!(told, (401, json!("UNAUTHORIZED")), "{path}");
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
