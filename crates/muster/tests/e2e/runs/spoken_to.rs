//! The session of a node: what is said there reaches the node, and a client that only follows the
//! session knows the state of the run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Client as _, PATIENCE, agent, drive, started, until};
use crate::{
    program::Server,
    sessions::{Bridge as _, Frame, Stream},
};

/// The path of a node's session, as soon as that is there.
fn session_of(server: &Server, run: &str, node: &str) -> String {
    let shown = server.see(run)["run"]["nodes"][node].clone();
    let session = format!("/sessions/{}", shown["musterSessionId"].as_str().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while ask(server, "GET", &session, None).0 == 404 {
        assert!(Instant::now() < deadline, "{session} was not made");
        std::thread::sleep(Duration::from_millis(20));
    }
    session
}

fn ask(server: &Server, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    crate::sessions::Bridge::ask(&**server, method, path, body)
}

/// Events of a session up to one of a type, C-Tree events left out.
fn heard(server: &Server, session: &str, last: &str) -> Vec<Frame> {
    let mut stream = Stream::open(server, session, "?replay=true");
    let mut frames = Vec::new();
    while frames.last().is_none_or(|frame: &Frame| frame.kind() != last) {
        let frame = stream.next().unwrap();
        if frame.id.is_some() && !frame.kind().starts_with("ctree_") {
            frames.push(frame);
        }
    }
    frames
}

#[test]
fn hb_9_input_to_the_session_of_a_node_is_a_message_to_the_node() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    let session = session_of(&server, &run, &node);
    let say = |content: &str, key: &str| {
        let request = server.request("POST", &format!("{session}/input"));
        let request = request.json(&json!({"content": content}));
        let reply = server.send(&request.header("Idempotency-Key", key)).unwrap();
        (reply.status, reply.json().unwrap())
    };
    let first = say("how far are you?", "k");
    assert_eq!((first.0, &first.1["queued"]), (202, &json!(true)), "{}", first.1);
    assert_eq!(say("how far are you?", "k"), first, "once");
    assert_eq!(say("something else", "k").0, 409);
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let frames = heard(&server, &session, "completion");
    let kinds: Vec<&str> = frames.iter().map(Frame::kind).collect();
    let turn = ["turn_start", "user_message", "assistant_message", "turn_end", "completion"];
    assert_eq!(kinds, [&["session.meta"][..], &turn].concat());
    let message = &frames[2].event;
    assert_eq!(message["data"]["text"], "how far are you?");
    assert!(message["seq"].as_u64() > first.1["seq"].as_u64(), "it follows what was answered");
    assert_eq!(message["turn_id"], frames[1].event["turn_id"]);
    assert!(message["turn_id"].is_string() && message["turn"] == 1, "{message}");
    let run_id = run.rsplit('/').next().unwrap();
    assert!(frames[1..].iter().all(|frame| frame.event["run_id"] == run_id), "{frames:?}");
    let tree = server.get(&format!("{session}/ctrees/tree"));
    let nodes = tree["nodes"].as_array().unwrap();
    let said = nodes.iter().find(|node| node["label"] == "how far are you?").unwrap();
    let parent = nodes.iter().find(|node| node["id"] == said["parent_id"]).unwrap();
    assert_eq!(parent["kind"], "turn");
    let driver = &server.get(&session)["driver"];
    assert_eq!((&driver["kind"], &driver["node_id"]), (&json!("run"), &json!(node)));
    let claim = json!({"host": "editor"});
    let claimed = ask(&server, "POST", &format!("{session}/driver"), Some(&claim));
    assert_eq!(claimed.0, 409, "a run drives it");
}

#[test]
fn hb_9_input_is_refused_when_the_run_or_the_node_takes_no_more() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let say = |session: &str, content: &str| {
        let body = json!({"content": content});
        let path = format!("{session}/input");
        ask(&server, "POST", &path, Some(&body))
    };
    let gone = agent(&server, &run, "default", json!({}));
    let stays = agent(&server, &run, "default", json!({"label": "stays"}));
    let [first, second] = [&gone, &stays].map(|node| session_of(&server, &run, node));
    let blank = say(&second, " ");
    assert_eq!((blank.0, &blank.1["path"]), (422, &json!("content")));
    server.fine("DELETE", &format!("{run}/nodes/{gone}"), Value::Null);
    until(&server, &run, |run| run["nodes"].get(&gone).is_none());
    let refused = say(&first, "x");
    assert_eq!((refused.0, &refused.1["error"]), (409, &json!("conflict")), "{}", refused.1);
    assert!(refused.1["detail"].as_str().unwrap().contains("deleted"), "{}", refused.1);
    assert_eq!(
        heard(&server, &first, "run_finished").last().unwrap().event["data"]["reason"],
        "node_deleted"
    );
    server.fine("DELETE", &run, Value::Null);
    let refused = say(&second, "x");
    assert_eq!((refused.0, &refused.1["error"]), (409, &json!("conflict")), "{}", refused.1);
    let last = heard(&server, &second, "run_finished").pop().unwrap().event;
    assert_eq!(
        (&last["data"]["completed"], &last["data"]["reason"]),
        (&json!(false), &json!("run_deleted"))
    );
}

#[test]
fn ev_1_the_end_of_a_run_is_told_in_the_sessions_of_its_nodes() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let lead = agent(&server, &run, "finisher", json!({"roleTemplate": "orchestrator"}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": lead}));
    until(&server, &run, |run| run["status"] == "completed");
    let session = session_of(&server, &run, &lead);
    let frames = heard(&server, &session, "run_finished");
    let last = &frames.last().unwrap().event;
    assert_eq!((&last["data"]["completed"], last["data"]["steps"].is_u64()), (&json!(true), true));
    assert!(last["data"]["eventCount"].as_u64().unwrap() < last["seq"].as_u64().unwrap());
    let ends = frames.iter().filter(|frame| frame.kind() == "completion").count();
    assert_eq!(ends, frames.iter().filter(|frame| frame.kind() == "turn_start").count());
    let shown = server.get(&session);
    assert_eq!(shown["status"], "completed");
    let refused =
        ask(&server, "POST", &format!("{session}/input"), Some(&json!({"content": "more"})));
    assert_eq!(refused.0, 409, "{}", refused.1);
}
