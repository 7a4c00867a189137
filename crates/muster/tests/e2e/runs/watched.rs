//! What a person who watches is sent: completions that were refused, whose session it is, and that
//! something happened in a workspace.

use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::{program::serve, sessions::Stream};

#[test]
fn runs_done_2_a_refused_completion_is_in_the_list_until_it_is_put_away() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"name": "the run"}));
    let lead = agent(&server, &run, "finisher", json!({"roleTemplate": "orchestrator"}));
    let busy = agent(&server, &run, "sleeper", json!({}));
    let say = |node: &str| {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "x", "nodeId": node}));
    };
    say(&busy);
    until(&server, &run, |run| run["nodes"][&busy]["status"] == "running");
    say(&lead);
    let shown = until(&server, &run, |run| !run["refusedCompletion"].is_null());
    let items = server.see("/api/attention")["items"].clone();
    let item = &items[0];
    assert_eq!((&item["kind"], &item["nodeId"]), (&json!("refused"), &json!(lead)), "{items}");
    let title = format!("the run: completion refused, work is open: node {busy} is running");
    assert_eq!(item["title"], json!(title));
    assert_eq!(item["since"], shown["refusedCompletion"]["at"]);
    assert_eq!(server.fine("POST", &format!("{run}/dismiss"), json!({})), json!({"ok": true}));
    assert_eq!(server.see("/api/attention")["items"], json!([]));
    let unknown = server.refused("POST", "/api/runs/nobody/dismiss", json!({}));
    assert_eq!((unknown.0, unknown.1.as_str()), (404, "UNKNOWN_RUN"));
    assert_eq!(server.refused("POST", &format!("{run}/dismiss"), json!({"x": 1})).0, 422);
}

#[test]
fn a_session_of_a_node_says_whose_it_is() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    let shown = until(&server, &run, |run| run["nodes"][&node]["lastTurn"].is_object());
    let session = shown["nodes"][&node]["musterSessionId"].as_str().unwrap();
    let session = crate::sessions::Bridge::get(&*server, &format!("/sessions/{session}"));
    assert_eq!(session["metadata"], json!({"run_id": shown["id"], "node_id": node}));
}

#[test]
fn every_change_of_a_workspace_is_heard_of() {
    let server = serve(&[]);
    let create = |title: &str| {
        let body = json!({"workspace": "w", "title": title});
        let request = server.request("POST", "/api/ops/tasks_create").json(&body);
        assert_eq!(server.send(&request).unwrap().status, 200);
    };
    let mut stream = Stream::open_with(&server, "/api/work/changes?workspace=w", None);
    let first = stream.next().unwrap().id.unwrap();
    assert_eq!(first, 0, "nothing happened yet");
    create("one");
    let second = stream.next().unwrap().id.unwrap();
    assert!(second > first);
    let mut late = Stream::open_with(&server, "/api/work/changes?workspace=w", None);
    assert_eq!(late.next().unwrap().id, Some(second), "it begins at the head of the workspace");
    create("two");
    assert!(stream.next().unwrap().id > Some(second) && late.next().unwrap().id > Some(second));
    let refused = server.refused("GET", "/api/work/changes?workspace=%20", Value::Null);
    assert_eq!((refused.0, refused.1.as_str()), (422, "BAD_VALUE"));
}
