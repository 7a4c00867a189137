//! What the bridge refuses, and how it says so (HB-2, HB-3, HB-4, HB-11).

use muster_testkit::server::{Reply, Request};
use serde_json::{Value, json};

use super::{Bridge as _, Stream};
use crate::program::{Server, serve};

/// A refusal is JSON with three keys; returns its code, detail and path.
fn fault(reply: &Reply) -> (u16, String, Value, Value) {
    assert_eq!(reply.header("content-type"), Some("application/json"), "{}", reply.text());
    let mut body = reply.json().unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "{body}");
    for key in ["error", "detail", "path"] {
        assert!(body.get(key).is_some(), "{body}");
    }
    let code = body["error"].as_str().unwrap().to_owned();
    (reply.status, code, body["detail"].take(), body["path"].take())
}

/// Sends a request under both prefixes and wants the same refusal (HB-1).
fn refused(server: &Server, method: &str, path: &str, body: &str) -> (u16, String, Value, Value) {
    let send = |path: &str| {
        let request = server.request(method, path);
        let request = match body {
            "" => request,
            body => request.header("Content-Type", "application/json").body(body),
        };
        fault(&server.send(&request).unwrap())
    };
    let answer = send(path);
    let prefixed = send(&format!("/v1{path}"));
    assert_eq!(
        (prefixed.0, &prefixed.1, &prefixed.3),
        (answer.0, &answer.1, &answer.3),
        "the detail may name the path: {path}"
    );
    answer
}

#[test]
fn hb_2_every_refusal_has_its_status_code_and_path() {
    let server = serve(&[]);
    let id = server.session();
    let at = |rest: &str| format!("{id}{rest}");
    for (method, path, body, status, code, blamed) in [
        ("POST", at("/input"), "{\"content\"", 400, "invalid_request", None),
        ("POST", at("/input"), "[]", 422, "invalid_request", Some("body")),
        ("POST", at("/input"), "{}", 422, "invalid_request", Some("content")),
        ("POST", at("/input"), "{\"content\": 7}", 422, "invalid_request", Some("content")),
        ("POST", at("/events"), "{}", 422, "invalid_request", Some("type")),
        ("POST", at("/command"), "{\"command\": \"fly\"}", 400, "unknown_command", Some("command")),
        ("GET", "/sessions/nobody".to_owned(), "", 404, "not_found", None),
        ("GET", "/sessions/no%20body".to_owned(), "", 404, "not_found", None),
        ("DELETE", "/sessions/nobody".to_owned(), "", 404, "not_found", None),
        ("GET", "/sessions/nobody/events".to_owned(), "", 404, "not_found", None),
        ("GET", at("/todos?scope=lane-x"), "", 404, "not_found", Some("scope")),
        ("GET", at("/todos/history?limit=0"), "", 422, "invalid_request", Some("limit")),
        ("GET", at("/todos/history?limit=501"), "", 422, "invalid_request", Some("limit")),
        ("GET", at("/events?replay=maybe"), "", 422, "invalid_request", Some("replay")),
        ("GET", at("/events?limit=0"), "", 422, "invalid_request", Some("limit")),
        ("GET", at("/events?limit=1.5"), "", 422, "invalid_request", Some("limit")),
        ("GET", at("/events?from_id=999"), "", 409, "resume_window_exceeded", None),
        ("GET", at("/events?from_id=ev-none-1"), "", 409, "resume_window_exceeded", None),
        ("GET", at("/ctrees/tree?stage=cooked"), "", 422, "invalid_request", Some("stage")),
        ("GET", at("/ctrees/compiled?max_chars=0"), "", 422, "invalid_request", Some("max_chars")),
        ("PUT", at("/input"), "{}", 405, "method_not_allowed", None),
        ("POST", at("/todos"), "{}", 405, "method_not_allowed", None),
    ] {
        let (answered, error, detail, path_of) = refused(&server, method, &path, body);
        let blamed = blamed.map_or(Value::Null, Value::from);
        assert_eq!((answered, error.as_str(), path_of), (status, code, blamed), "{path} {body}");
        assert!(!detail.is_null(), "{path} says why");
    }
}

#[test]
fn hb_11_routes_of_other_servers_are_unknown() {
    let server = serve(&[]);
    let id = server.session();
    for path in ["/attachments", "/files", "/skills", "/records", "/download"] {
        let (status, code, _, _) = refused(&server, "GET", &format!("{id}{path}"), "");
        assert_eq!((status, code.as_str()), (404, "not_found"), "{path}");
    }
    assert_eq!(refused(&server, "GET", "/sessions/x/y/z", "").0, 404);
}

#[test]
fn hb_3_strangers_and_foreign_names_are_refused_on_every_route() {
    let server = serve(&[]);
    let id = server.session();
    for path in ["/sessions", &id, &format!("{id}/events"), "/v1/status", "/models"] {
        for token in [None, Some("Bearer wrong")] {
            let request = Request::new("GET", path);
            let request =
                token.map_or(request.clone(), |token| request.header("Authorization", token));
            let reply = server.send(&request).unwrap();
            let (status, code, _, blamed) = fault(&reply);
            assert_eq!((status, code.as_str(), blamed), (401, "unauthorized", Value::Null));
            assert!(reply.header("www-authenticate").is_some(), "{path}");
        }
        let foreign = server.request("GET", path).header("Host", "evil.example");
        assert_eq!(fault(&server.send(&foreign).unwrap()).0, 403, "{path}");
    }
    for path in ["/health", "/v1/health"] {
        let foreign = Request::new("GET", path).header("Host", "evil.example");
        let (status, code, _, _) = fault(&server.send(&foreign).unwrap());
        assert_eq!((status, code.as_str()), (403, "forbidden"), "{path}");
        let page = Request::new("GET", path).header("Origin", "http://evil.example");
        assert_eq!(fault(&server.send(&page).unwrap()).1, "forbidden", "{path}");
    }
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
}

#[test]
fn hb_2_bodies_that_are_too_large_or_of_another_type_are_refused() {
    let server = serve(&[]);
    let input = format!("{}/input", server.session());
    let before = server.get(input.trim_end_matches("/input"))["last_seq"].clone();
    let text = "x".repeat(4 * 1024 * 1024);
    let large = server.request("POST", &input).json(&json!({"content": text}));
    let (status, code, _, _) = fault(&server.send(&large).unwrap());
    assert_eq!((status, code.as_str()), (413, "payload_too_large"));
    let plain = server.request("POST", &input).header("Content-Type", "text/plain").body("hello");
    let (status, code, _, _) = fault(&server.send(&plain).unwrap());
    assert_eq!((status, code.as_str()), (415, "unsupported_media_type"));
    let invalid = b"{\"content\": \"\xff\xfe\"}".to_vec();
    let broken = server.request("POST", &input).header("Content-Type", "application/json");
    assert_eq!(fault(&server.send(&broken.body(invalid)).unwrap()).0, 400, "no UTF-8");
    let after = server.get(input.trim_end_matches("/input"))["last_seq"].clone();
    assert_eq!(after, before, "nothing of it was stored");
}

#[test]
fn pf_25_a_blank_input_is_422_and_leaves_nothing() {
    let server = serve(&[]);
    let id = server.session();
    let before = server.get(&id);
    for content in ["", "   ", "\t\n", "\u{1c}"] {
        let body = json!({"content": content}).to_string();
        let (status, code, _, path) = refused(&server, "POST", &format!("{id}/input"), &body);
        assert_eq!((status, code.as_str(), path), (422, "invalid_request", json!("content")));
    }
    assert_eq!(server.get(&id), before);
}

#[test]
fn hb_10_refused_events_are_not_stored_and_use_no_revision() {
    let server = serve(&[]);
    let id = server.session();
    server.report_todo(&id, json!({"op": "replace", "revision": 5, "items": [{"title": "A"}]}));
    let before = (server.get(&id), server.get(&format!("{id}/todos")));
    let events = format!("{id}/events");
    for kind in ["stream.hello", "stream.x", "ctree_node", "session.meta", "run_finished"] {
        let body = json!({"type": kind, "data": {}}).to_string();
        let (status, _, _, path) = refused(&server, "POST", &events, &body);
        assert_eq!((status, path), (422, json!("type")), "{kind}");
    }
    for todo in [json!(7), json!({"op": "fly"}), json!({"op": "patch", "patches": []})] {
        let body = json!({"type": "warning", "data": {"todo": todo}}).to_string();
        let (status, _, _, path) = refused(&server, "POST", &events, &body);
        assert_eq!((status, path), (422, json!("data.todo")), "{body}");
    }
    for revision in [5, 4, 0] {
        let todo = json!({"op": "clear", "revision": revision});
        let body = json!({"type": "warning", "data": {"todo": todo}}).to_string();
        let (status, code, detail, _) = refused(&server, "POST", &events, &body);
        assert_eq!((status, code.as_str()), (409, "revision_mismatch"));
        assert_eq!(detail, json!({"scopeKey": "main", "given": revision, "current": 5}));
    }
    assert_eq!((server.get(&id), server.get(&format!("{id}/todos"))), before);
}

#[test]
fn hb_4_an_idempotency_key_makes_a_request_happen_once() {
    let server = serve(&[]);
    let id = server.session();
    let send = |path: &str, key: &str, body: &Value| {
        let request = server.request("POST", path).header("Idempotency-Key", key).json(body);
        let reply = server.send(&request).unwrap();
        (reply.status, reply.json().unwrap())
    };
    let input = format!("{id}/input");
    let events = format!("{id}/events");
    let todo = json!({"type": "warning", "data": {"todo": {"op": "clear"}}});
    for (path, body, other) in [
        (&*input, json!({"content": "a"}), json!({"content": "b"})),
        (&events, todo, json!({"type": "warning", "data": {}})),
        ("/sessions", json!({"title": "one"}), json!({"title": "two"})),
    ] {
        let key = format!("key {path}");
        let first = send(path, &key, &body);
        assert!(first.0 < 300, "{first:?}");
        let sizes =
            || (server.get(&id)["last_seq"].clone(), server.get("/status")["sessions"].clone());
        let before = sizes();
        assert_eq!(send(path, &key, &body), first, "{path}");
        let (status, fault) = send(path, &key, &other);
        assert_eq!((status, &fault["error"]), (409, &json!("conflict")), "{path}");
        assert_eq!(sizes(), before, "{path}: a repetition does nothing else");
    }
    let (status, fault) = send(&input, &"k".repeat(129), &json!({"content": "a"}));
    assert_eq!((status, &fault["path"]), (422, &json!("Idempotency-Key")));
}

#[test]
fn hb_4_a_creation_is_answered_again_after_its_session_was_deleted() {
    let server = serve(&[]);
    let make = |body: &Value| {
        let request = server.request("POST", "/sessions").header("Idempotency-Key", "k");
        let reply = server.send(&request.json(body)).unwrap();
        (reply.status, reply.json().unwrap())
    };
    let body = json!({"title": "one", "task": "begin"});
    let first = make(&body);
    let session = format!("/sessions/{}", first.1["session_id"].as_str().unwrap());
    server.report(&session, "turn_start", json!({}));
    assert_eq!(make(&body), first, "while it works, too");
    assert_eq!(server.ask("DELETE", &session, None).0, 204);
    assert_eq!(make(&body), first);
    let (status, fault) = make(&json!({"title": "two"}));
    assert_eq!((status, &fault["error"]), (409, &json!("conflict")));
    assert_eq!(server.ask("GET", &session, None).0, 404, "nothing was made");
}

#[test]
fn hb_10_a_tool_call_needs_what_its_readers_need() {
    let server = serve(&[]);
    let id = server.session();
    let whole = json!({"call_id": "c", "tool": "shell", "call": {"name": "shell"}});
    let before = server.get(&id)["last_seq"].clone();
    for field in ["call_id", "tool", "call"] {
        let mut data = whole.clone();
        data.as_object_mut().unwrap().remove(field);
        for data in [data.clone(), json!({})] {
            let event = json!({"type": "tool_call", "data": data});
            let (status, fault) = server.ask("POST", &format!("{id}/events"), Some(&event));
            assert_eq!((status, &fault["error"]), (422, &json!("invalid_request")), "{fault}");
            let missing = if data == json!({}) { "call_id" } else { field };
            assert_eq!(fault["path"], format!("data.{missing}"));
        }
    }
    assert_eq!(server.get(&id)["last_seq"], before);
    server.report(&id, "tool_call", whole);
}

#[test]
fn ts_6_updates_without_a_revision_do_not_override_numbered_ones() {
    let server = serve(&[]);
    let id = server.session();
    let post = |title: &str, revision: Option<u64>| {
        let items = json!([{"title": title}]);
        let todo = json!({"op": "replace", "items": items, "revision": revision});
        let event = json!({"type": "warning", "data": {"message": title, "todo": todo}});
        server.post(&format!("{id}/events"), &event)
    };
    assert_eq!(post("counted here", None)["applied"], true);
    assert_eq!(post("numbered", Some(5))["applied"], true);
    let late = post("late", None);
    assert_eq!(late["applied"], false, "{late}");
    assert_eq!(late["todo"], json!({"scopeKey": "main", "revision": 5}));
    let list = server.get(&format!("{id}/todos"));
    assert_eq!(list["scopes"][0]["items"][0]["title"], "numbered");
    let seq = late["seq"].as_u64().unwrap();
    let frames = Stream::open(&server, &id, &format!("?from_id={}", seq - 1)).until(seq);
    let sent = &frames.last().unwrap().event["data"];
    assert_eq!((&sent["message"], sent.get("todo")), (&json!("late"), None), "it is recorded");
}

#[test]
fn hb_10_an_event_id_is_recorded_once() {
    let server = serve(&[]);
    let id = server.session();
    let events = format!("{id}/events");
    let event = json!({
        "id": "outside-1", "type": "warning",
        "data": {"message": "m", "todo": {"op": "replace", "items": [{"id": "a", "title": "A"}]}},
    });
    let first = server.post(&events, &event);
    assert_eq!(first["todo"], json!({"scopeKey": "main", "revision": 1}));
    let before = server.get(&id)["last_seq"].clone();
    assert_eq!(server.post(&events, &event), first);
    let mut other = event.clone();
    other["data"]["message"] = json!("another");
    let (status, fault) = server.ask("POST", &events, Some(&other));
    assert_eq!((status, &fault["error"], &fault["path"]), (409, &json!("conflict"), &json!("id")));
    assert_eq!(server.get(&id)["last_seq"], before);
    assert_eq!(server.get(&format!("{id}/todos"))["scopes"][0]["revision"], 1);
}

#[test]
fn a_refusal_repeats_little_of_an_overlong_value() {
    let server = serve(&[]);
    let id = server.session();
    let long = "long ".repeat(100);
    for event in [
        json!({"type": "warning", "data": {"todo": {"op": long}}}),
        json!({"type": "warning", "turn_id": {"a": long}}),
        json!({"type": 7, "id": long}),
        json!({"type": "warning", "data": long}),
    ] {
        let (status, fault) = server.ask("POST", &format!("{id}/events"), Some(&event));
        assert_eq!(status, 422, "{fault}");
        assert!(fault.to_string().len() < 400, "{fault}");
    }
}
