//! People, agents and programs with tokens of their own (TEAM-WHO): roles, workspaces, sessions,
//! limits, and what ends with a token.

mod access;
mod network;
mod sessions;
mod walk;

use std::time::{Duration, Instant};

use muster_testkit::server::{Reply, Request, ServerProcess};
use serde_json::{Value, json};

use crate::program::{answer, muster, stderr};

/// How long something may take that happens within a second or two.
const SOON: Duration = Duration::from_secs(20);

/// Makes a token with the command line; returns its secret.
fn token(server: &ServerProcess, name: &str, flags: &[&str]) -> String {
    let storage_dir = server.storage_dir().to_str().unwrap();
    let base = ["token", "create", name, "--json", "--storage-dir", storage_dir];
    let output = muster(&[&base[..], flags].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    answer(&output)["token"].as_str().unwrap().to_owned()
}

/// Sends a request with a token.
fn send(server: &ServerProcess, token: &str, method: &str, target: &str) -> Reply {
    server.send(&with(token, method, target)).unwrap()
}

fn with(token: &str, method: &str, target: &str) -> Request {
    Request::new(method, target).header("Authorization", &format!("Bearer {token}"))
}

/// Calls an operation with a token; returns the status and the answer.
fn call(server: &ServerProcess, token: &str, name: &str, arguments: &Value) -> (u16, Value) {
    let request = with(token, "POST", &format!("/api/ops/{name}")).json(arguments);
    let reply = server.send(&request).unwrap();
    (reply.status, reply.json().unwrap())
}

/// The code of a refusal, in any of the formats.
fn code(reply: &Reply) -> String {
    let body = reply.json().unwrap_or_default();
    let code = [&body["error"]["code"], &body["error"]];
    code.iter().find_map(|code| code.as_str()).unwrap_or_default().to_uppercase()
}

/// A task of a workspace, made with a token.
fn make_task(server: &ServerProcess, token: &str, workspace: &str) -> (u16, Value) {
    let arguments = json!({
        "workspace": workspace,
        "task_title": "Parse the header",
        "steps": [{"title": "Read", "success_criteria": ["done"], "tests": ["cargo test"]}],
    });
    call(server, token, "tasks_macro_start", &arguments)
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}
