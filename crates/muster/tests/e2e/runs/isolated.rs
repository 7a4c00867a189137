//! Nodes with worktrees of their own, from the run to the merge; and which agents there are.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::program::{muster, stderr, stdout};

fn git(folder: &Path, words: &[&str]) {
    let who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let status = Command::new("git").args(who).args(words).current_dir(folder).status().unwrap();
    assert!(status.success(), "git {words:?}");
}

#[test]
fn runs_diff_6_work_in_a_worktree_is_shown_and_merged_by_the_user() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.txt"), "mine\n").unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({"settings": {"isolation": "worktree"}}));
    let node = agent(&server, &run, "writer", json!({}));
    until(&server, &run, |run| run["nodes"][&node]["workdir"] != json!(dir.path()));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert!(!dir.path().join("made.txt").exists());
    let worktrees = |words: &[&str]| {
        let mut command = muster(&["worktrees"]);
        command.args(words).arg("--storage-dir").arg(server.storage_dir()).output().unwrap()
    };
    let listed: Value = serde_json::from_slice(&worktrees(&["--json"]).stdout).unwrap();
    let one = &listed["worktrees"][0];
    assert_eq!((&one["label"], &one["state"]), (&json!("writer"), &json!("dirty")), "{listed}");
    assert_eq!((&one["changedFiles"], &one["nodeId"]), (&json!(1), &json!(node)));
    assert!(stdout(&worktrees(&[])).contains("1 files changed"));
    // What the user has not committed is not touched, and what they staged stands in the way.
    fs::write(dir.path().join("own.txt"), "changed\n").unwrap();
    git(dir.path(), &["add", "own.txt"]);
    let refused = worktrees(&["merge", "writer"]);
    assert!(stderr(&refused).contains("staged changes"), "{}", stderr(&refused));
    git(dir.path(), &["reset", "--quiet"]);
    let check = worktrees(&["merge", "writer", "--check"]);
    assert!(check.status.success() && !dir.path().join("made.txt").exists(), "{}", stderr(&check));
    let merged = worktrees(&["merge", &node[node.len() - 8..]]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!(fs::read_to_string(dir.path().join("made.txt")).unwrap(), "more\n");
    assert_eq!(fs::read_to_string(dir.path().join("own.txt")).unwrap(), "changed\n");
    let removed = worktrees(&["remove", "writer"]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert_eq!(stdout(&worktrees(&[])), "No worktrees.\n");
    assert_eq!(worktrees(&["merge", "writer"]).status.code(), Some(1));
}

#[test]
fn work_in_a_worktree_outlives_its_run() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({"settings": {"isolation": "worktree"}}));
    let node = agent(&server, &run, "writer", json!({}));
    // Whoever is asked at once still does not work before its worktree is there.
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert!(!dir.path().join("made.txt").exists());
    let work = shown["nodes"][&node]["workdir"].as_str().unwrap().to_owned();
    server.fine("DELETE", &run, Value::Null);
    assert_eq!(fs::read_to_string(Path::new(&work).join("made.txt")).unwrap(), "more\n");
}

#[test]
fn providers_are_told_with_their_version_and_how_to_install_them() {
    let folder = tempfile::tempdir().unwrap();
    let codex = folder.path().join("codex");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo codex-cli 9.9.9 && exit 0\nexit 1\n";
    fs::write(&codex, script).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let providers = |words: &[&str]| {
        let mut command = muster(&["providers"]);
        command.args(words).arg("--storage-dir").arg(folder.path().join("store"));
        let output = command.env("PATH", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let told: Value = serde_json::from_str(&providers(&["--json"])).unwrap();
    let of = |name: &str| {
        let all = told["providers"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let codex = of("codex");
    assert_eq!((&codex["available"], &codex["version"]), (&json!(true), &json!("codex-cli 9.9.9")));
    assert_eq!((&codex["loggedIn"], &codex["caps"]["modify"]), (&json!(false), &json!("hook")));
    assert_eq!(of("claude")["caps"]["modify"], "native");
    let gemini = of("gemini");
    assert_eq!(gemini["install"], "npm install -g @google/gemini-cli");
    assert_eq!(gemini["caps"]["modify"], "emulated");
    let opencode = &of("custom")["byProfile"]["opencode"];
    assert_eq!(opencode["install"], "npm install -g opencode-ai");
    let text = providers(&[]);
    assert!(text.contains("codex-cli 9.9.9, not logged in"), "{text}");
    assert!(text.contains("npm install -g @anthropic-ai/claude-code"), "{text}");
    assert!(text.contains("custom opencode"), "{text}");
}
