//! What a person looks at before saying yes, over the routes that the page uses: worktrees with the
//! merge that would result, and the file that a call would overwrite.

use std::{fs, path::Path, process::Command};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::program::serve_with_file;

fn git(folder: &Path, words: &[&str]) {
    let who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let status = Command::new("git").args(who).args(words).current_dir(folder).status().unwrap();
    assert!(status.success(), "git {words:?}");
}

/// The status of a request with the agents' token.
fn as_agent(server: &ServerProcess, method: &str, path: &str) -> u16 {
    server.send(&server.request(method, path).json(&json!({}))).unwrap().status
}

#[test]
fn worktrees_are_shown_with_their_merge_and_merged_by_a_person_alone() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.txt"), "mine\n").unwrap();
    git(dir.path(), &["init", "--quiet", "--initial-branch=trunk"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({"settings": {"isolation": "worktree"}}));
    let list = || server.see(&format!("{run}/worktrees"))["worktrees"].take();
    assert_eq!(list(), json!([]), "a run without nodes has none");
    let node = agent(&server, &run, "writer", json!({"label": "Coder"}));
    until(&server, &run, |run| run["nodes"][&node]["workdir"] != json!(dir.path()));
    let merge = format!("{run}/nodes/{node}/merge");
    let nothing = server.refused("POST", &merge, json!({}));
    assert_eq!((nothing.0, nothing.1.as_str()), (409, "NOT_MERGEABLE"));
    let fresh = list()[0].clone();
    assert_eq!((&fresh["merged"], &fresh["files"]), (&json!(true), &json!([])), "{fresh}");
    assert!(fresh["obstacle"].is_null(), "{fresh}");
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let shown = list()[0].clone();
    assert_eq!((&shown["label"], &shown["nodeId"]), (&json!("Coder"), &json!(node)), "{shown}");
    assert_eq!((&shown["files"], &shown["into"]), (&json!(["made.txt"]), &json!("trunk")));
    assert_eq!((&shown["running"], &shown["merged"]), (&json!(false), &json!(false)));
    assert!(shown["branch"].as_str().unwrap().starts_with("muster/"), "{shown}");
    assert_eq!(as_agent(&server, "GET", &format!("{run}/worktrees")), 200);
    assert_eq!(as_agent(&server, "POST", &merge), 403, "an agent merges nothing");
    // A file of the user stands in the way.
    fs::write(dir.path().join("made.txt"), "mine\n").unwrap();
    assert!(list()[0]["obstacle"].as_str().unwrap().contains("made.txt"));
    assert_eq!(server.refused("POST", &merge, json!({})).1, "NOT_MERGEABLE");
    assert_eq!(fs::read_to_string(dir.path().join("made.txt")).unwrap(), "mine\n");
    fs::remove_file(dir.path().join("made.txt")).unwrap();
    let merged = server.fine("POST", &merge, json!({}));
    assert_eq!((&merged["files"], &merged["into"]), (&json!(["made.txt"]), &json!("trunk")));
    assert_eq!(fs::read_to_string(dir.path().join("made.txt")).unwrap(), "more\n");
    assert_eq!(list()[0]["merged"], true);
    let unknown = format!("{run}/nodes/0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f/merge");
    assert_eq!(server.refused("POST", &unknown, json!({})).1, "UNKNOWN_NODE");
    let nowhere = "/api/runs/0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f/worktrees";
    assert_eq!(server.refused("GET", nowhere, Value::Null).1, "UNKNOWN_RUN");
}

#[test]
fn the_file_that_a_call_would_overwrite_is_shown_to_a_person_alone() {
    let server = serve_with_file("runs.toml", super::rules::ASKING);
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    agent(&server, &run, "asking", json!({}));
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/a.rs"), "fn a() {}\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("src/link")).unwrap();
    for (path, content) in [
        ("src/a.rs", json!("fn a() {}\n")),
        ("src/new.rs", json!("")),
        ("src/link", Value::Null),
        ("/etc/passwd", Value::Null),
        ("../x", Value::Null),
    ] {
        let args = json!({"file_path": path, "content": "x"});
        let call = format!("\"name\":\"Write\",\"args\":{args}");
        fs::write(dir.path().join("call.json"), call).unwrap();
        server.fine("POST", &format!("{run}/chat"), json!({"content": "go"}));
        let shown = until(&server, &run, |run| run["approvals"].as_object().unwrap().len() == 1);
        let id = shown["approvals"].as_object().unwrap().keys().next().unwrap().clone();
        let route = format!("/api/approvals/{id}/file");
        let file = server.see(&route);
        assert_eq!((&file["path"], &file["content"]), (&json!(path), &content), "{file}");
        assert_eq!(as_agent(&server, "GET", &route), 403);
        let denied = json!({"status": "denied"});
        server.fine("POST", &format!("/api/approvals/{id}/resolve"), denied);
        until(&server, &run, |run| run["activeTurns"] == 0);
    }
    let unknown = "/api/approvals/0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f/file";
    assert_eq!(server.refused("GET", unknown, Value::Null).1, "UNKNOWN_APPROVAL");
}
