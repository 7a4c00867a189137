//! Outside hosts that drive a session on a lease.

use std::{
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Bridge as _, Frame, PATIENCE, Stream};
use crate::program::{path, serve};

fn story(frames: &[Frame]) -> Vec<&str> {
    let own = frames.iter().filter(|frame| !frame.kind().starts_with("ctree_"));
    own.map(Frame::kind).collect()
}

#[test]
fn input_waits_for_the_host_that_has_claimed_the_session() {
    let server = serve(&[]);
    let session = server.session();
    let driver = format!("{session}/driver");
    assert_eq!(server.get(&session)["driver"], Value::Null);
    let claimed = server.post(&driver, &json!({"host": "editor", "lease_seconds": 600}));
    let shown = json!({"kind": "host", "host": "editor", "expires_at": claimed["expires_at"]});
    assert_eq!(server.get(&session)["driver"], shown);
    let mut host = Stream::open(&server, &session, "");
    host.hello();
    let said = server.post(&format!("{session}/input"), &json!({"content": "fix it"}));
    assert_eq!(said["queued"], true);
    let heard = host.until(said["seq"].as_u64().unwrap()).pop().unwrap().event;
    assert_eq!(
        (&heard["type"], &heard["data"]["text"]),
        (&json!("user_message"), &json!("fix it"))
    );
    assert_eq!((&heard["turn_id"], &heard["data"]["queued"]), (&said["turn_id"], &json!(true)));
    assert_eq!(server.get(&session)["queued_inputs"], 1);
    let start = json!({"type": "turn_start", "turn_id": heard["turn_id"]});
    let started = server.post(&format!("{session}/events"), &start);
    assert_eq!(server.get(&session)["status"], "running");
    server.report(&session, "assistant_message", json!({"text": "fixed"}));
    server.report(&session, "turn_end", json!({"status": "completed"}));
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    let frames = host.until(last);
    assert_eq!(story(&frames), ["turn_start", "assistant_message", "turn_end", "completion"]);
    assert_eq!(frames[0].id, started["seq"].as_u64());
    let tree = server.get(&format!("{session}/ctrees/tree"));
    let nodes = tree["nodes"].as_array().unwrap();
    let message = nodes.iter().find(|node| node["label"] == "fix it").unwrap();
    assert_eq!(message["turn"], 1, "the input hangs under its turn");
}

#[test]
fn a_claim_is_one_hosts_own_until_it_is_released() {
    let server = serve(&[]);
    let session = server.session();
    let driver = format!("{session}/driver");
    let claim = |host: &str| {
        server.ask("POST", &driver, Some(&json!({"host": host, "lease_seconds": 600})))
    };
    let (_, first) = claim("editor");
    let (status, fault) = claim("other");
    assert_eq!((status, &fault["error"]), (409, &json!("conflict")));
    assert_eq!(fault["detail"]["host"], "editor");
    let (status, renewed) = claim("editor");
    assert_eq!(status, 200);
    assert!(renewed["expires_at"].as_str() >= first["expires_at"].as_str());
    for (body, path) in [
        (json!({}), "host"),
        (json!({"host": " "}), "host"),
        (json!({"host": "x", "lease_seconds": 0}), "lease_seconds"),
        (json!({"host": "x", "lease_seconds": 3_601}), "lease_seconds"),
    ] {
        let (status, fault) = server.ask("POST", &driver, Some(&body));
        assert_eq!((status, &fault["path"]), (422, &json!(path)), "{body}");
    }
    server.post(&format!("{session}/input"), &json!({"content": "waits"}));
    assert_eq!(server.ask("DELETE", &format!("{driver}?host=other"), None).0, 409);
    assert_eq!(server.ask("DELETE", &driver, None).0, 204);
    assert_eq!(server.ask("DELETE", &driver, None).0, 404);
    let shown = server.get(&session);
    assert_eq!((&shown["driver"], &shown["queued_inputs"]), (&Value::Null, &json!(0)));
    assert_eq!(shown["completion_summary"]["reason"], "no_agent");
    assert_eq!(claim("other").0, 200);
    assert_eq!(server.ask("POST", "/sessions/nobody/driver", Some(&json!({"host": "x"}))).0, 404);
}

#[test]
fn what_waits_for_a_host_that_is_gone_ends_without_an_agent() {
    let server = serve(&[]);
    let session = server.session();
    let claim = json!({"host": "editor", "lease_seconds": 1});
    server.post(&format!("{session}/driver"), &claim);
    let mut reader = Stream::open(&server, &session, "");
    reader.hello();
    assert_eq!(server.post(&format!("{session}/input"), &json!({"content": "x"}))["queued"], true);
    // Nobody asks for anything: the server itself notices that the lease is over.
    let mut heard = Vec::new();
    while heard.last().is_none_or(|frame: &Frame| frame.kind() != "completion") {
        heard.push(reader.next().unwrap());
    }
    let expected = ["user_message", "session.driver", "turn_start", "turn_end", "completion"];
    assert_eq!(story(&heard), expected);
    assert_eq!(heard.last().unwrap().event["data"]["summary"]["reason"], "no_agent");
    assert_eq!(server.get(&session)["driver"], Value::Null);
}

#[test]
fn a_lease_outlives_the_server_and_still_ends() {
    let directory = tempfile::tempdir().unwrap();
    let start = || ServerProcess::start(path(), directory.path(), &[]).unwrap();
    let mut server = start();
    let driven = server.session();
    let left = server.session();
    let claim = |session: &str, seconds: u32| {
        let body = json!({"host": "editor", "lease_seconds": seconds});
        server.post(&format!("{session}/driver"), &body)
    };
    let claimed = claim(&driven, 600);
    claim(&left, 1);
    server.post(&format!("{left}/input"), &json!({"content": "waits"}));
    server.kill().unwrap();

    let server = start();
    let shown = json!({"kind": "host", "host": "editor", "expires_at": claimed["expires_at"]});
    assert_eq!(server.get(&driven)["driver"], shown);
    let said = server.post(&format!("{driven}/input"), &json!({"content": "still waits"}));
    assert_eq!(said["queued"], true);
    // Nobody asks for anything of the other session; reading does not end its lease.
    let deadline = Instant::now() + PATIENCE;
    while server.get(&left)["completion_summary"]["reason"] != "no_agent" {
        assert!(Instant::now() < deadline, "{}", server.get(&left));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.get(&left)["driver"], Value::Null);
    let waiting = server.get(&driven);
    assert_eq!((&waiting["driver"], &waiting["queued_inputs"]), (&shown, &json!(1)));
}
