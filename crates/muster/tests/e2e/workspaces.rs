//! Which workspace commands, hooks and `muster mcp` use, and what `muster status` says about it.

#![cfg(target_os = "linux")]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use muster_testkit::settings::without_settings;
use serde_json::{Value, json};

use crate::{
    program::{self, answer, muster, stderr, stdout},
    terminal::at_a_terminal,
};

/// A repository called `rocket` and a store beside it.
struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let checkout = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(checkout.path("rocket/.git")).unwrap();
        fs::create_dir(checkout.path("rocket/src")).unwrap();
        fs::write(checkout.path("rocket/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The program in a directory of the repository.
    fn muster(&self, words: &[&str]) -> Command {
        let mut command = muster(words);
        command.args(["--storage-dir", self.path("store").to_str().unwrap()]);
        command.current_dir(self.path("rocket/src")).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.muster(words).output().unwrap()
    }

    /// Name and reason, as `muster status` shows them.
    fn status(&self, change: impl FnOnce(&mut Command)) -> (Value, String) {
        let mut command = self.muster(&["status", "--json"]);
        change(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "no server runs");
        assert!(stderr(&output).contains("no server found"), "{}", stderr(&output));
        let workspace = answer(&output)["workspace"].clone();
        (workspace["name"].clone(), workspace["why"].as_str().unwrap().to_owned())
    }

    fn declare(&self, workspace: &str) {
        let text = format!("workspace = \"{workspace}\"\n\n[checks.tests]\nrun = \"true\"\n");
        fs::write(self.path("rocket/muster.toml"), text).unwrap();
    }

    fn accept(&self) {
        let words = format!("trust '{}'", self.path("rocket").display());
        let question = "Type yes or no: ";
        let shown = at_a_terminal(&self.path("store"), &words, &[(question, "yes\r")]);
        assert!(shown.contains("Accepted for the tasks"), "{shown}");
    }

    fn create(&self, title: &str) {
        let output = self.run(&["call", "tasks_create", "--kind", "plan", "--title", title]);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn each_source_counts_in_its_order() {
    let checkout = Checkout::new();
    let rocket = checkout.path("rocket").display().to_string();
    let (name, why) = checkout.status(|_| {});
    assert_eq!((name, why), (json!("rocket"), format!("named after the repository {rocket}")));
    assert!(!checkout.path("store").exists(), "asking creates no store");
    let settings = checkout.path("config.toml");
    fs::write(&settings, "workspace = \"everyday\"\n").unwrap();
    let with_file = |command: &mut Command| {
        command.env("MUSTER_CONFIG", &settings);
    };
    let (name, why) = checkout.status(with_file);
    assert_eq!(name, "everyday");
    assert_eq!(why, format!("set by {} line 1", settings.display()));
    checkout.declare("acme/rocket");
    let file = format!("{rocket}/muster.toml");
    let (name, why) = checkout.status(with_file);
    assert_eq!(name, "acme/rocket");
    assert_eq!(why, format!("declared in {file}, not accepted yet"));
    let with_variable = |command: &mut Command| {
        command.env("MUSTER_WORKSPACE", "chosen").env("MUSTER_CONFIG", &settings);
    };
    let (name, why) = checkout.status(with_variable);
    assert_eq!((name, why.as_str()), (json!("chosen"), "set by MUSTER_WORKSPACE"));
    let (name, why) = checkout.status(|command| {
        with_variable(command);
        command.args(["--workspace", "flagged"]);
    });
    assert_eq!((name, why.as_str()), (json!("flagged"), "set by --workspace"));
    let text = stdout(&checkout.run(&["status"]));
    let store = checkout.path("store");
    let shown = format!(
        "workspace acme/rocket  declared in {file}, not accepted yet\n\
         store     {}  not there yet\n",
        store.display()
    );
    assert_eq!(text, shown);
}

#[test]
fn an_edited_or_removed_file_moves_no_work_once_it_was_accepted() {
    let checkout = Checkout::new();
    checkout.declare("agreed");
    checkout.accept();
    let file = checkout.path("rocket/muster.toml");
    let by = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let by = by.unwrap_or_else(|_| "person".to_owned());
    let expected = (json!("agreed"), format!("declared in {}, accepted by {by}", file.display()));
    assert_eq!(checkout.status(|_| {}), expected);
    checkout.declare("elsewhere");
    assert_eq!(checkout.status(|_| {}), expected);
    fs::write(&file, "workspace = broken").unwrap();
    assert_eq!(checkout.status(|_| {}), expected);
    fs::remove_file(&file).unwrap();
    assert_eq!(checkout.status(|_| {}), expected);
    checkout.create("Fly");
    let tasks = checkout.run(&["tasks", "--workspace", "agreed"]);
    assert!(stdout(&tasks).contains("Fly"), "{}", stdout(&tasks));
}

#[test]
fn a_broken_file_is_reported_and_names_no_other_workspace() {
    let checkout = Checkout::new();
    fs::write(checkout.path("rocket/muster.toml"), "workspace = 5\n").unwrap();
    let (name, why) = checkout.status(|_| {});
    assert_eq!(name, Value::Null);
    assert!(why.contains("muster.toml:1") && why.contains("--workspace"), "{why}");
    let call = ["call", "tasks_create", "--kind", "plan", "--title", "x"];
    let refused = checkout.run(&call);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("muster.toml:1"), "{}", stderr(&refused));
    assert!(checkout.run(&[&call[..], &["--workspace", "w"]].concat()).status.success());
    let hook = checkout.run(&["hook", "stop"]);
    assert_eq!(hook.status.code(), Some(0), "an agent may stop: {}", stderr(&hook));
}

#[test]
fn commands_hooks_and_mcp_agree() {
    let checkout = Checkout::new();
    checkout.create("Fly to the moon");
    let tasks = checkout.run(&["tasks"]);
    assert!(stdout(&tasks).contains("Fly to the moon"), "{}", stdout(&tasks));
    let begin = json!({"task_title": "Fly", "plan_title": "Moon", "steps": [
        {"title": "Lift off", "success_criteria": ["up"], "tests": ["look"]}]});
    let begin = checkout.run(&["call", "tasks_macro_start", "--json", &begin.to_string()]);
    assert!(begin.status.success(), "{}", stdout(&begin));
    let hook = checkout.run(&["hook", "session-start"]);
    assert!(stdout(&hook).contains("Lift off"), "{}", stdout(&hook));
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":\
        {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\
        \"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":\
        {\"name\":\"tasks_snapshot\",\"arguments\":{}}}\n";
    let file = checkout.path("input");
    fs::write(&file, input).unwrap();
    let mut mcp = checkout.muster(&["mcp", "--toolset", "full"]);
    let said = mcp.stdin(fs::File::open(file).unwrap()).output().unwrap();
    assert!(stdout(&said).contains("Lift off"), "{}{}", stdout(&said), stderr(&said));
}

#[test]
fn a_worktree_shares_the_workspace_of_its_repository() {
    let checkout = Checkout::new();
    let own = checkout.path("rocket/.git/worktrees/try");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::create_dir(checkout.path("try")).unwrap();
    fs::write(checkout.path("try/.git"), format!("gitdir: {}\n", own.display())).unwrap();
    let (name, _) = checkout.status(|command| {
        command.current_dir(checkout.path("try"));
    });
    assert_eq!(name, "rocket");
}

#[test]
fn an_empty_workspace_of_the_repository_hints_at_others() {
    let checkout = Checkout::new();
    checkout.run(&["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "x"]);
    let tasks = checkout.run(&["tasks"]);
    assert!(stderr(&tasks).contains("workspace rocket"), "{}", stderr(&tasks));
    assert!(stderr(&tasks).contains("others: w"), "{}", stderr(&tasks));
    // Outside of a repository the only workspace is meant.
    let (name, why) = checkout.status(|command| {
        command.current_dir(checkout.path("."));
    });
    assert_eq!((name, why.as_str()), (json!("w"), "the only one in the store"));
    let elsewhere = without_settings(&mut Command::new(program::path()))
        .args(["status", "--storage-dir", checkout.path("none").to_str().unwrap()])
        .output()
        .unwrap();
    assert!(stdout(&elsewhere).starts_with("workspace none  name one"), "{}", stdout(&elsewhere));
}
