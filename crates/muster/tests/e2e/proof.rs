//! Work has to pass its checks before it is done: an honest agent closes a step with one call, a
//! cheating one does not close it at all.

#![cfg(target_os = "linux")]

mod cheats;
mod protected;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    agent::{Agent, Caller as _},
    program,
    terminal::at_a_terminal,
};

const WORKSPACE: &str = "acme";
/// Passes when the state is good. The line in the file of runs is outside of the tree.
const PROJECT: &str = "workspace = \"acme\"\ngates = \"plain\"\n\n[checks.tests]\n\
     run = \"echo ran >> ../runs; grep -q good state.txt\"\n\n[checks.slow]\n\
     run = \"sleep 1; grep -q good state.txt\"\n\n[checks.all]\n\
     run = \"grep -q good state.txt\"\nrequired = true\n";

/// A repository whose checks a person has accepted, next to a store.
pub(crate) struct Proving {
    folder: tempfile::TempDir,
}

impl Proving {
    pub(crate) fn new() -> Self {
        Self::with(PROJECT)
    }

    pub(crate) fn with(project: &str) -> Self {
        Self::with_files(project, |_| {})
    }

    /// With more files than the state that is checked.
    fn with_files(project: &str, write: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let stage = Self { folder };
        stage.write("muster.toml", project);
        stage.write("state.txt", "bad\n");
        write(&stage.work());
        stage.git(&["init", "-q"]);
        stage.commit();
        stage.trust();
        stage
    }

    pub(super) fn trust(&self) -> String {
        let words = format!("trust '{}'", self.work().display());
        at_a_terminal(&self.store(), &words, &[("Type yes or no: ", "yes\r")])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("store")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).unwrap();
    }

    pub(super) fn git(&self, words: &[&str]) {
        let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let done = Command::new("git").args(identity).args(words).current_dir(self.work()).output();
        assert!(done.unwrap().status.success(), "git {words:?}");
    }

    pub(super) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a state"]);
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::start_at(&self.store(), &self.work(), &[])
    }

    pub(crate) fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).map_or(0, |ran| ran.lines().count())
    }
}

/// Calls an operation in the workspace.
pub(crate) fn call(agent: &mut Agent, operation: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!(WORKSPACE);
    agent.call(operation, &arguments).unwrap()
}

pub(crate) fn ok(agent: &mut Agent, operation: &str, arguments: Value) -> Value {
    let answer = call(agent, operation, arguments);
    assert_eq!(answer["success"], true, "{operation}: {answer:#}");
    answer["result"].clone()
}

/// A task with one step that names a check; its id.
pub(crate) fn start(agent: &mut Agent, check: &str) -> String {
    let steps = json!([{
        "title": "Make it good", "success_criteria": ["it is good"], "tests": ["look"],
        "checks": [check],
    }]);
    let started = ok(agent, "tasks_macro_start", json!({"task_title": "Work", "steps": steps}));
    started["task_id"].as_str().unwrap_or_else(|| panic!("{started:#}")).to_owned()
}

/// Whether a task is DONE, and whether all of its steps are closed.
pub(super) fn standing(agent: &mut Agent, task: &str) -> (bool, bool) {
    let shown = ok(agent, "tasks_resume", json!({"target": task, "read_only": true}));
    let steps = shown["steps"].as_array().unwrap_or_else(|| panic!("{shown:#}"));
    let is_done = shown["target"]["status"] == "DONE";
    (is_done, steps.iter().all(|step| step["completed"] == true))
}

#[test]
fn an_honest_agent_closes_a_step_with_one_call_and_runs_nothing_twice() {
    let stage = Proving::new();
    let mut agent = stage.agent();
    let task = start(&mut agent, "tests");
    let refused = call(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(refused["error"]["code"], "CHECK_REQUIRED", "{refused:#}");
    let check = &refused["error"]["details"]["checks"][0];
    assert_eq!((&check["name"], &check["state"]), (&json!("tests"), &json!("failed")));
    assert_eq!(stage.runs(), 1);
    let again = call(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(again["error"]["code"], "CHECK_REQUIRED");
    assert_eq!(stage.runs(), 1, "a verdict on the same files is not asked for twice");
    stage.write("state.txt", "good\n");
    let closed = ok(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(closed["step"]["path"], "s:0", "{closed:#}");
    assert_eq!(stage.runs(), 2);
    let kinds: Vec<&str> =
        closed["events"].as_array().unwrap().iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(kinds, ["step_verified", "step_verified", "step_done"], "{closed:#}");
    ok(&mut agent, "tasks_complete", json!({"task": task}));
    assert_eq!(standing(&mut agent, &task), (true, true));
    let delta = ok(&mut agent, "tasks_delta", json!({"limit": 100}));
    let events = delta["events"].as_array().unwrap();
    let proven = events.iter().find(|event| event["by"]["kind"] == "server").unwrap();
    assert_eq!(
        (&proven["type"], &proven["by"]["name"]),
        (&json!("step_verified"), &json!("check"))
    );
    let closing = events.iter().find(|event| event["type"] == "step_done").unwrap();
    assert_eq!(closing["by"], json!({"kind": "agent", "name": "crash-test 0", "via": "mcp"}));
    let doctor = program::run(&["doctor", "--storage-dir", stage.store().to_str().unwrap()]);
    assert!(doctor.status.success());
}

#[test]
fn a_slow_check_answers_that_it_runs_and_the_same_call_goes_on_with_it() {
    let stage = Proving::new();
    stage.write("state.txt", "good\n");
    let mut agent = stage.agent();
    let task = start(&mut agent, "slow");
    let arguments = json!({"task": task, "wait_seconds": 0});
    let running = call(&mut agent, "tasks_macro_close_step", arguments);
    assert_eq!(running["error"]["code"], "CHECK_RUNNING", "{running:#}");
    let run = running["error"]["details"]["run"].clone();
    let closed = call(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(closed["success"], true, "{closed:#}");
    let checked = ok(&mut agent, "tasks_check", json!({"task": task, "checks": ["slow"]}));
    assert_eq!((&checked["holds"], &checked["runs"][0]["run"]), (&json!(true), &run));
    assert_eq!(checked["runs"][0]["reused"], true, "{checked:#}");
}

#[test]
fn strict_rules_hold_unless_the_project_says_plain() {
    let stage = Proving::with(&PROJECT.replace("gates = \"plain\"\n", ""));
    stage.write("state.txt", "good\n");
    let mut agent = stage.agent();
    let task = start(&mut agent, "tests");
    let bulk = call(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(bulk["error"]["code"], "CHECKPOINTS_NOT_CONFIRMED", "{bulk:#}");
    assert_eq!(bulk["error"]["details"]["unconfirmed"], json!(["it is good"]));
    assert!(bulk["error"]["recovery"].as_str().unwrap().contains("index"), "{bulk:#}");
    let one_by_one = json!({"criteria": [{"index": 0, "evidence": "state.txt says so"}]});
    let arguments = json!({"task": task, "checkpoints": one_by_one});
    ok(&mut agent, "tasks_macro_close_step", arguments);
}

#[test]
fn without_an_accepted_project_a_check_is_untrusted_and_nothing_runs() {
    let stage = Proving::new();
    let elsewhere = stage.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(stage.work().join("muster.toml"), elsewhere.join("muster.toml")).unwrap();
    let mut agent = Agent::start_at(&stage.store(), &elsewhere, &[]);
    let task = start(&mut agent, "tests");
    let refused = call(&mut agent, "tasks_check", json!({"task": task}));
    assert_eq!(refused["error"]["code"], "CHECK_UNTRUSTED", "{refused:#}");
    let closing = call(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(closing["error"]["code"], "CHECK_REQUIRED", "{closing:#}");
    assert_eq!(stage.runs(), 0);
}

pub(super) fn copy_tree(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}
