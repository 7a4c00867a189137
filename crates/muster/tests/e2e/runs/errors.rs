//! Errors of every kind are JSON with a code, and change nothing (RUNS-REST-1, 2, 6, 8).

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

const UNKNOWN: &str = "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f";

#[test]
fn runs_rest_1_every_path_and_method_answers_json() {
    let server = serve(&[]);
    for (method, path, status, code) in [
        ("GET", "/api", 404, "NOT_FOUND"),
        ("GET", "/api/nothing", 404, "NOT_FOUND"),
        ("GET", "/api/runs/x/nothing", 404, "NOT_FOUND"),
        ("PUT", "/api/runs", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/api/runs/x/chat", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/api/runs/%ff%fe", 404, "NOT_FOUND"),
        ("GET", "/api/runs/..%2f..%2fetc", 404, "UNKNOWN_RUN"),
        ("GET", "/ws", 422, "BAD_VALUE"),
        ("POST", "/ws", 405, "METHOD_NOT_ALLOWED"),
    ] {
        let body = if method == "GET" { Value::Null } else { json!({}) };
        let refused = server.refused(method, path, body);
        assert_eq!((refused.0, refused.1.as_str()), (status, code), "{method} {path}");
    }
}

#[test]
fn runs_pit_27_and_rest_8_malformed_bodies_answer_json() {
    let server = serve(&[]);
    let send = |body: &[u8]| {
        let request =
            server.request("POST", "/api/runs").header("Content-Type", "application/json");
        let reply = server.send(&request.body(body)).unwrap();
        (reply.status, reply.json().unwrap()["error"].as_str().unwrap().to_owned())
    };
    let refusal = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(send(b"{"), refusal(400, "BAD_JSON"));
    assert_eq!(send(b"\xff\xfe"), refusal(400, "BAD_JSON"));
    assert_eq!(send("[".repeat(200).as_bytes()), refusal(400, "BAD_JSON"));
    assert_eq!(send(b"[]"), refusal(422, "BAD_VALUE"));
    assert_eq!(send(b"\"x\""), refusal(422, "BAD_VALUE"));
    let large = format!(r#"{{"goal":"{}"}}"#, "x".repeat(5 * 1024 * 1024));
    assert_eq!(send(large.as_bytes()), refusal(413, "TOO_LARGE"));
    let plain = server.request("POST", "/api/runs").header("Content-Type", "text/plain").body("{}");
    let reply = server.send(&plain).unwrap();
    assert_eq!((reply.status, reply.json().unwrap()["error"].clone()), (415, json!("NOT_JSON")));
    assert_eq!(server.see("/api/runs")["runs"], json!([]), "no run came of it");
}

#[test]
fn runs_rest_3_a_post_without_a_body_needs_no_content_type() {
    let server = serve(&[]);
    let made = server.send(&server.request("POST", "/api/runs")).unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
    let made = made.json().unwrap();
    assert_eq!(made["run"]["layout"]["viewport"], json!({"x": 0.0, "y": 0.0, "zoom": 1.0}));
    let run = server.run(json!({}));
    let node = format!("{run}/nodes/{}", server.node(&run, "a", "implementer"));
    for path in [format!("{node}/start"), format!("{node}/stop"), format!("{node}/reset")] {
        let reply = server.send(&server.request("POST", &path)).unwrap();
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    }
    for path in [format!("{node}/interrupt"), format!("{run}/verify")] {
        let reply = server.send(&server.request("POST", &path)).unwrap();
        assert_ne!(reply.status, 415, "{path}: {}", reply.text());
    }
    let foreign = server.request("POST", "/api/runs").header("Origin", "http://evil.example");
    assert_eq!(server.send(&foreign).unwrap().status, 403);
    let undeclared = server.request("POST", "/api/runs").body("{}");
    assert_eq!(server.send(&undeclared).unwrap().status, 415);
}

#[test]
fn an_unknown_id_is_404_whatever_its_form() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    for id in ["x", "TASK-001", UNKNOWN, "00000000-0000-0000-0000-000000000000", "%00", "'--"] {
        for (method, path, code) in [
            ("GET", format!("/api/runs/{id}"), "UNKNOWN_RUN"),
            ("GET", format!("/api/runs/{id}/events"), "UNKNOWN_RUN"),
            ("POST", format!("/api/runs/{id}/chat"), "UNKNOWN_RUN"),
            ("DELETE", format!("/api/runs/{id}"), "UNKNOWN_RUN"),
            ("PATCH", format!("{run}/nodes/{id}"), "UNKNOWN_NODE"),
            ("POST", format!("{run}/nodes/{id}/stop"), "UNKNOWN_NODE"),
            ("GET", format!("{run}/nodes/{id}/inbox"), "UNKNOWN_NODE"),
            ("DELETE", format!("{run}/nodes/{node}/inbox/{id}"), "UNKNOWN_ITEM"),
            ("DELETE", format!("{run}/edges/{id}"), "UNKNOWN_EDGE"),
            ("GET", format!("{run}/turns/{id}"), "UNKNOWN_TURN"),
        ] {
            let body = match method {
                "POST" | "PATCH" => json!({}),
                _ => Value::Null,
            };
            let refused = server.refused(method, &path, body);
            assert_eq!((refused.0, refused.1.as_str()), (404, code), "{method} {path}");
        }
    }
}

#[test]
fn runs_rest_6_bad_fields_of_a_run_write_nothing() {
    let server = serve(&[]);
    for (body, code, at) in [
        (json!({"gaol": "x"}), "UNKNOWN_FIELD", "gaol"),
        (json!({"run": {"naem": "x"}}), "UNKNOWN_FIELD", "run.naem"),
        (json!({"name": ""}), "BAD_VALUE", "name"),
        (json!({"name": "x".repeat(121)}), "TOO_LONG", "name"),
        (json!({"id": UNKNOWN}), "READ_ONLY_FIELD", "id"),
        (json!({"status": "running"}), "READ_ONLY_FIELD", "status"),
        (json!({"mode": "auto"}), "BAD_VALUE", "mode"),
        (json!({"cwd": "relative"}), "BAD_VALUE", "cwd"),
        (json!({"cwd": "/nowhere/at/all"}), "BAD_VALUE", "cwd"),
        (json!({"workspace": "nobody"}), "UNKNOWN_REF", "workspace"),
        (json!({"taskId": "TASK-001"}), "UNKNOWN_REF", "taskId"),
        (json!({"settings": {"retryMax": 11}}), "BAD_VALUE", "settings.retryMax"),
        (json!({"settings": {"retryMaks": 1}}), "UNKNOWN_FIELD", "settings.retryMaks"),
        (json!({"budget": {"maxTurns": 0}}), "BAD_VALUE", "budget.maxTurns"),
        (json!({"checks": [{"name": "t"}]}), "BAD_VALUE", "checks[0].command"),
        (
            json!({"checks": [{"name": "t", "command": "x", "cwd": "../.."}]}),
            "BAD_VALUE",
            "checks.cwd",
        ),
        (json!({"docsPaths": ["/etc"]}), "BAD_VALUE", "docsPaths"),
        (json!({"autoStart": "yes"}), "BAD_VALUE", "autoStart"),
        (json!({"nodes": {}}), "BAD_VALUE", "nodes"),
    ] {
        let refused = server.refused("POST", "/api/runs", body.clone());
        let at = match code {
            "BAD_VALUE" if at == "checks[0].command" => refused.2.clone(),
            _ => json!(at),
        };
        assert_eq!(refused, (422, code.to_owned(), at), "{body}");
    }
    assert_eq!(server.see("/api/runs")["runs"], json!([]));
    let (_, answer) = server.ask("POST", "/api/runs", json!({"gaol": "x"}));
    assert_eq!(answer["detail"], "unknown field gaol: did you mean goal?");
}

#[test]
fn runs_st_2_impossible_wishes_are_409_and_what_is_so_already_is_no_event() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let seq = server.last_seq(&run);
    for wish in ["paused", "completed", "stopped"] {
        let (status, code, _) = server.refused("PATCH", &run, json!({"status": wish}));
        assert_eq!((status, code.as_str()), (409, "BAD_TRANSITION"), "{wish}");
    }
    server.fine("PATCH", &run, json!({"patch": {"status": "queued"}}));
    assert_eq!(server.last_seq(&run), seq);
    let failed = server.fine("PATCH", &run, json!({"patch": {"status": "failed"}}));
    assert_eq!(failed["run"]["statusReason"]["code"], "abandoned");
    server.refused("POST", &format!("{run}/chat"), json!({"content": "x"}));
    let node = server.node(&run, "a", "planner");
    let body = json!({"content": "x", "nodeId": node});
    let (status, code, _) = server.refused("POST", &format!("{run}/chat"), body);
    assert_eq!((status, code.as_str()), (409, "RUN_NOT_ACTIVE"));
}
