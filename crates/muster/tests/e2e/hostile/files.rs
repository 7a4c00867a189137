//! An agent that reaches for pipes, for the storage folder and for what git runs, with the file
//! tools that Muster gives it.

use std::{fs, path::Path, process::Command, time::Duration};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{
    program,
    runs::{Client as _, agent, started, until},
};

/// How long a server may take to stop.
const STOP: Duration = Duration::from_secs(30);

/// Makes the calls of `calls.jsonl`, keeps what comes of them, and is done when all are answered.
const CALLER: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.default]
command = ["sh", "-c", '''
answered=0
while read -r line; do case "$line" in
  *'"type":"prompt"'*) cat calls.jsonl; wanted=$(wc -l < calls.jsonl);;
  *'"type":"tool.result"'*)
    printf '%s\n' "$line" >> results.jsonl
    answered=$((answered + 1))
    [ "$answered" -eq "$wanted" ] && echo '{"type":"message.assistant.final","content":"Done."}';;
esac; done''']
"#;

/// Starts a server whose storage folder lies inside the directory that agents work in.
fn serve_inside(dir: &Path) -> ServerProcess {
    let store = dir.join("store");
    fs::create_dir(&store).unwrap();
    fs::write(store.join("runs.toml"), CALLER).unwrap();
    ServerProcess::start(program::path(), &store, &[]).unwrap()
}

/// Has an agent make these calls; returns its results by the ids of the calls.
fn results(server: &ServerProcess, dir: &Path, calls: &[Value]) -> Vec<Value> {
    let line = |(number, call): (usize, &Value)| {
        let name = &call["name"];
        let args = &call["args"];
        format!(
            "{}\n",
            json!({"type": "tool.call", "id": number.to_string(), "name": name,
            "args": args})
        )
    };
    let lines: String = calls.iter().enumerate().map(line).collect();
    fs::write(dir.join("calls.jsonl"), lines).unwrap();
    let run = started(server, dir, json!({}));
    let node = agent(server, &run, "default", json!({"roleTemplate": "implementer"}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    until(server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let text = fs::read_to_string(dir.join("results.jsonl")).unwrap();
    let mut results: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    results.sort_by_key(|result| result["toolId"].as_str().unwrap().parse::<usize>().unwrap());
    results
}

fn call(name: &str, path: &str) -> Value {
    let mut args = json!({"path": path});
    if name == "write_file" {
        args["content"] = json!("x");
    }
    json!({"name": name, "args": args})
}

#[test]
fn pipes_do_not_freeze_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = serve_inside(dir.path());
    let made = Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let calls: Vec<Value> = (0..32)
        .map(|at| call(if at % 2 == 0 { "write_file" } else { "read_file" }, "pipe"))
        .collect();
    for result in results(&server, dir.path(), &calls) {
        assert!(result.to_string().contains("FORBIDDEN_PATH"), "{result}");
    }
    assert_eq!(server.send(&server.request("GET", "/health")).unwrap().status, 200);
    server.terminate().unwrap();
    assert_eq!(server.wait(STOP).unwrap().code(), Some(0));
}

#[test]
fn a_document_that_is_a_pipe_does_not_hold_up_a_handoff() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = serve_inside(dir.path());
    let made = Command::new("mkfifo").arg(dir.path().join("README.md")).status().unwrap();
    assert!(made.success());
    let spawn = json!({"name": "spawn_node", "args": {"label": "child", "role": "implementer",
        "instructions": "go"}});
    let calls: Vec<Value> = (0..8).map(|_| spawn.clone()).collect();
    assert_eq!(results(&server, dir.path(), &calls).len(), 8);
    server.terminate().unwrap();
    assert_eq!(server.wait(STOP).unwrap().code(), Some(0));
}

#[test]
fn the_storage_folder_and_git_are_closed_to_file_tools() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve_inside(dir.path());
    let token = server.token().unwrap().to_owned();
    for folder in ["sub/.git/hooks", ".git/hooks"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("store", dir.path().join("link")).unwrap();
    let closed = [
        call("read_file", "store/token"),
        call("read_file", "./store//token"),
        call("read_file", "link/token"),
        call("write_file", "store/runs.toml"),
        call("delete_file", "store/token"),
        call("list_files", "store"),
        call("write_file", "sub/.git/hooks/post-checkout"),
        call("write_file", ".git/hooks/post-checkout"),
        call("delete_file", "sub/.git/hooks"),
        call("write_file", "deep/.muster/templates/implementer.md"),
        json!({"name": "command", "args": {"cmd": "cat token", "cwd": "store"}}),
    ];
    let open = [call("write_file", "deep/file.txt"), call("read_file", "deep/file.txt")];
    let calls: Vec<Value> = closed.iter().chain(&open).cloned().collect();
    let results = results(&server, dir.path(), &calls);
    for (result, call) in results.iter().zip(&closed) {
        assert!(result.to_string().contains("FORBIDDEN_PATH"), "{call}: {result}");
    }
    for result in &results {
        assert!(!result.to_string().contains(&token), "{result}");
    }
    assert!(!results.last().unwrap().to_string().contains("FORBIDDEN_PATH"));
    assert_eq!(fs::read_to_string(dir.path().join("store/token")).unwrap().trim(), token);
    assert_eq!(fs::read_to_string(dir.path().join("store/runs.toml")).unwrap(), CALLER);
    for hook in ["sub/.git/hooks/post-checkout", ".git/hooks/post-checkout"] {
        assert!(!dir.path().join(hook).exists(), "{hook}");
    }
}
