//! Work over HTTP: what a person accepts, runs of checks with their output, waivers, and what waits
//! for a person.

#![cfg(target_os = "linux")]

mod attention;
mod decisions;
mod notified;
mod output;

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{program, runs::Client as _};

/// Passes when the state is good, and prints a secret.
const PROJECT: &str = "workspace = \"acme\"\ngates = \"plain\"\n\n[checks.tests]\n\
     run = \"echo token ghp_0123456789abcdefABCDEF0123456789abcd; grep -q good state.txt\"\n\n\
     [checks.slow]\nrun = \"while ! test -e ../go; do echo waiting; sleep 0.1; done\"\n\n\
     [protect]\npaths = [\"contract/**\"]\n";

/// A repository and a server that may look at it.
struct Stage {
    server: ServerProcess,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        Self::with(&[])
    }

    /// The same with variables for the server.
    fn with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let store = root.join("store");
        fs::create_dir_all(root.join("work/contract")).unwrap();
        fs::create_dir_all(&store).unwrap();
        let settings = format!("roots = [\"{}\"]\n", root.join("work").display());
        fs::write(store.join("runs.toml"), settings).unwrap();
        let server = ServerProcess::start_in(program::path(), &store, &[], variables).unwrap();
        let stage = Self { server, folder };
        stage.write("muster.toml", PROJECT);
        stage.write("state.txt", "bad\n");
        stage.write("contract/a", "1\n");
        stage.git(&["init", "-q"]);
        stage.commit();
        stage
    }

    /// The same with an accepted project.
    fn accepted() -> Self {
        Self::new().accept()
    }

    fn accept(self) -> Self {
        let stage = self;
        stage.decide("accept", &stage.found());
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn root(&self) -> String {
        self.path("work").to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("work").join(name), text).unwrap();
    }

    fn git(&self, words: &[&str]) {
        let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        let done = git.args(identity).args(words).current_dir(self.path("work")).output();
        assert!(done.unwrap().status.success(), "git {words:?}");
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "a state"]);
    }

    /// The project as the server shows it.
    fn project(&self) -> Value {
        let shown = self.server.see(&format!("/api/projects?directory={}", self.root()));
        shown["projects"][0].clone()
    }

    /// Digest of what the file says.
    fn found(&self) -> String {
        let project = self.project();
        project["found"]["digest"].as_str().unwrap_or_else(|| panic!("{project:#}")).to_owned()
    }

    fn decision(&self, decision: &str, digest: &str) -> Value {
        json!({"root": self.root(), "digest": digest, "decision": decision})
    }

    fn decide(&self, decision: &str, digest: &str) -> Value {
        self.server.fine("POST", "/api/projects/decide", self.decision(decision, digest))
    }

    /// Calls an operation with the agents' token; the whole answer.
    fn call(&self, operation: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!("acme");
        self.server.call(operation, &arguments).unwrap().1
    }

    fn ok(&self, operation: &str, arguments: Value) -> Value {
        let answer = self.call(operation, arguments);
        assert_eq!(answer["success"], true, "{operation}: {answer:#}");
        answer["result"].clone()
    }

    /// A task with one step in progress that names a check.
    fn start(&self, check: &str) -> String {
        let steps = json!([{
            "title": "Make it good", "success_criteria": ["it is"], "tests": ["look"],
            "checks": [check],
        }]);
        let started = self.ok("tasks_macro_start", json!({"task_title": "Work", "steps": steps}));
        let task = started["task_id"].as_str().unwrap().to_owned();
        self.ok("tasks_note", json!({"task": task, "path": "s:0", "note": "half way"}));
        self.ok(
            "tasks_verify",
            json!({"task": task, "path": "s:0", "checkpoints": {"criteria": {"confirmed": true}}}),
        );
        task
    }

    /// What the agents' token gets.
    fn as_agent(&self, path: &str, body: &Value) -> (u16, Value) {
        let reply = self.server.send(&self.server.request("POST", path).json(body)).unwrap();
        (reply.status, reply.json().unwrap()["error"].clone())
    }

    /// Status and code of a refusal.
    fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, code, _) = self.server.refused(method, path, body);
        (status, code)
    }

    fn attention(&self) -> Vec<Value> {
        self.server.see("/api/attention")["work"].as_array().unwrap().clone()
    }

    /// The kinds of what waits for a person.
    fn kinds(&self) -> Vec<String> {
        let items = self.attention().into_iter();
        items.map(|item| item["kind"].as_str().unwrap().to_owned()).collect()
    }
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
